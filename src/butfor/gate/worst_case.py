"""Bounds that stand for identification where they can: Manski's on a level, Balke and Pearl's with an instrument."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from butfor.estimation.cells import Cells
from butfor.estimation.columns import Columns
from butfor.estimation.endpoints import Moments, Range
from butfor.estimation.few_events import two_valued
from butfor.estimation.partial import Bounds, balke_pearl, manski_contrast, manski_level, manski_level_from_sums
from butfor.gate.coding import treatment_code
from butfor.identification import Instrument, Proof, check

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.confidence import Undefined
    from butfor.gate.inputs import Inputs

WORST_CASE_SCHEMA = "butfor.worst_case/1"

Kind: TypeAlias = Literal["manski_level", "manski_contrast", "balke_pearl"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorstCase:
    """A bound that needs no identification: a proof of its own kind.

    Attributes:
        kind: Which bound.
        bounds: The interval with its confidence bounds, or why there is none.
        instrument: The instrument, for Balke and Pearl's.
    """

    kind: Kind
    bounds: Bounds | Undefined
    instrument: str | None = None

    @property
    def lower(self) -> float:
        """The confidence bound on the lower end; not a number where there is none."""
        return self.bounds.lower_bound if isinstance(self.bounds, Bounds) else math.nan

    @property
    def upper(self) -> float:
        """The confidence bound on the upper end; not a number where there is none."""
        return self.bounds.upper_bound if isinstance(self.bounds, Bounds) else math.nan

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values: what the proof is, not what it gave."""
        return {"schema": WORST_CASE_SCHEMA, "kind": self.kind, "instrument": self.instrument}


def worst_case(inputs: Inputs, data: Columns | Cells) -> WorstCase | None:
    """Bound the effect that τ_u meets without identification, where that can clear τ_u at all.

    Estimand: E[Y | do(t*)], or the contrast.
    Assumptions: consistency, independent rows, the declared outcome range; for Balke and Pearl's an instrument that the
    graph has and the policy names.
    Guarantee: finite-sample (asymptotic with clusters), at the inputs' alpha.
    Reference: Manski 1990; Balke and Pearl 1997.

    Returns:
        The bound; None where none of them could clear τ_u: no outcome range, or a contrast with τ_u ≥ 0 and no binary
        instrument (Manski's lower end of a contrast is never above 0).
    """
    rules = inputs.rules
    if rules.outcome_range is None:
        return None
    if rules.bound_on == "level":
        return WorstCase(kind="manski_level", bounds=_manski_level(inputs, data))
    by_instrument = _by_instrument(inputs, data)
    if by_instrument is not None:
        return by_instrument
    if rules.tau_u < 0 and not isinstance(data, Cells):
        return WorstCase(kind="manski_contrast", bounds=_manski_contrast(inputs, data))
    return None


def _limits(inputs: Inputs) -> Range:
    assert inputs.rules.outcome_range is not None
    low, high = inputs.rules.outcome_range
    return Range(low=low, high=high, two_valued=inputs.rules.two_valued)


def _manski_level(inputs: Inputs, data: Columns | Cells) -> Bounds | Undefined:
    limits, alpha = _limits(inputs), inputs.level
    if isinstance(data, Columns):
        at = data.value(data.treatment, inputs.rules.to)
        return manski_level(data.y, data.t, level=at, limits=limits, alpha=alpha, clusters=data.clusters)
    place = np.flatnonzero(data.arms == treatment_code(inputs))
    n, total, squares = (int(part[:, place].sum()) for part in (data.n, data.total, data.squares))
    arm = Moments(n=n, total=total * data.unit, squares=squares * data.unit**2)
    return manski_level_from_sums(arm, rows=int(data.n.sum()), limits=limits, alpha=alpha)


def _manski_contrast(inputs: Inputs, columns: Columns) -> Bounds | Undefined:
    to, against = (columns.value(columns.treatment, value) for value in (inputs.rules.to, inputs.rules.against))
    return manski_contrast(
        columns.y,
        columns.t,
        level=to,
        reference=against,
        limits=_limits(inputs),
        alpha=inputs.level,
        clusters=columns.clusters,
    )


def instrument_holds(inputs: Inputs) -> str | None:
    """Return the policy's instrument where the graph makes it as good as randomised without conditioning."""
    named, query = inputs.rules.instrument, inputs.query
    if named is None or query.given:
        return None
    argument = Instrument(instrument=named[0], adjust_for=(), assumption="monotonicity")
    # The checker's conditions for monotonicity are Balke and Pearl's, who do without monotonicity itself.
    claim = Proof(graph=inputs.graph.digest, query=query, argument=argument)
    return named[0] if check(inputs.graph, query, claim).ok else None


def _by_instrument(inputs: Inputs, data: Columns | Cells) -> WorstCase | None:
    name, rules = instrument_holds(inputs), inputs.rules
    if name is None or rules.outcome_range != (0.0, 1.0) or (rules.to, rules.against) not in ((1.0, 0.0), (0.0, 1.0)):
        return None
    if not isinstance(data, Cells):
        data.require([name])
        if data.clusters is not None or name not in data.discrete:
            return None
        data = Cells.of(data, [name])
    cells = data.over([name])
    if two_valued(cells) != 1 or cells.arms.tolist() != [0.0, 1.0] or cells.keys.ravel().tolist() != [0.0, 1.0]:
        return None
    # [instrument, treatment, outcome]; for do(0) against do(1) the treatment's two values change places.
    counts = np.stack([cells.n - cells.total, cells.total], axis=2)
    counts = counts if rules.to == 1.0 else counts[:, ::-1]
    return WorstCase(kind="balke_pearl", bounds=balke_pearl(counts, alpha=inputs.level), instrument=name)
