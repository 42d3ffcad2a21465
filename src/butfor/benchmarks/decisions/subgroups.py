"""Treat a subgroup or not: ACIC 2016 (real covariates, planted outcomes) and IHDP where a user has its files.

Protocol, ours: a subgroup is everyone with one value of a covariate of few values, with at least `SMALLEST` people on
either side. Treating it is right where its planted mean effect is above τ_u, the price of the treatment: the
planted mean effect of the whole world, and up to half a standard deviation of the outcome more or less, drawn for
each subgroup and each of its prices. So about half of the decisions are harmful, by little and by much.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.table_data import CAUSALLIB, csv_columns, member
from butfor.benchmarks.toolbench.regression import effect_of, lower
from butfor.errors import CorruptRecord, InputError
from butfor.estimation import Columns
from butfor.gate import DEFAULT, PAPER, Inputs, Rules, Sample, answer_for
from butfor.gate.decide import decide
from butfor.graphs import Graph
from butfor.identification import Query
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from butfor.gate import Preset
    from butfor.graphs import Role

ALPHA = 0.05
SMALLEST = 200
MOST_VALUES = 6
# Prices for each subgroup, and how far they lie from the mean effect, in standard deviations of the outcome.
PRICES, PRICES_WITHIN = 2, 0.5
_ACIC = "causallib/datasets/data/acic_challenge_2016"
IHDP_COVARIATES = 25


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """People with both of their expected outcomes.

    Attributes:
        name: Of the table.
        covariates: By name: numbers, or text.
        z: Who was treated, shape (n,).
        y: The outcome that was seen, shape (n,).
        effect: The planted effect on each, shape (n,).
    """

    name: str
    covariates: Mapping[str, Sequence[float] | Sequence[str]]
    z: NDArray[np.float64]
    y: NDArray[np.float64]
    effect: NDArray[np.float64]

    def price(self, subgroup: str, number: int) -> float:
        """Draw τ_u."""
        away = float(numpy_generator("decisions, price", self.name, subgroup, number).uniform(-1.0, 1.0))
        return float(self.effect.mean()) + away * PRICES_WITHIN * float(self.y.std())


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Subgroup:
    """Everyone with one value of a covariate.

    Attributes:
        name: The covariate and its value.
        gain: Planted mean effect less τ_u.
        threshold: τ_u.
        table: The subgroup's rows: `z`, `y`, and every covariate that still varies.
    """

    name: str
    gain: float
    threshold: float
    table: Mapping[str, NDArray[Any]]

    @functools.cached_property
    def numbers(self) -> Mapping[str, NDArray[np.float64]]:
        """The rows with every text as its number in sorted order."""
        return {
            name: np.unique(values, return_inverse=True)[1].astype(np.float64) if values.dtype.kind in "OU" else values
            for name, values in self.table.items()
        }


def acic(worlds: int) -> list[World] | None:
    """Read worlds of ACIC 2016; None where the wheel was not fetched."""
    raw = member(CAUSALLIB, f"{_ACIC}/x.csv")
    if raw is None:
        return None
    covariates = {name: _column(values) for name, values in csv_columns(raw).items()}
    found = []
    for i in range(1, worlds + 1):
        planted = member(CAUSALLIB, f"{_ACIC}/zymu_{i}.csv")
        assert planted is not None
        parts = {name: np.array(values, dtype=float) for name, values in csv_columns(planted).items()}
        seen = np.where(parts["z"] == 1, parts["y1"], parts["y0"])
        effect = parts["mu1"] - parts["mu0"]
        found.append(World(name=f"zymu_{i}", covariates=covariates, z=parts["z"], y=seen, effect=effect))
    return found


def ihdp(worlds: int) -> list[World] | None:
    """Read ``ihdp_npci_1.csv`` and on from the folder `BUTFOR_IHDP`; None where there is none.

    A row is treatment, outcome, counterfactual outcome, μ₀, μ₁ and 25 covariates. The files carry no licence, so
    nothing here fetches them.

    Raises:
        CorruptRecord: A file has another shape.
    """
    folder = os.environ.get("BUTFOR_IHDP")
    files = sorted(Path(folder).glob("ihdp_npci_*.csv"))[:worlds] if folder else []
    return [_ihdp_world(path) for path in files] or None


def _ihdp_world(path: Path) -> World:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        data = np.array(rows, dtype=float)
    except ValueError:
        data = np.empty((0, 0))
    if data.ndim != 2 or data.shape[1] != 5 + IHDP_COVARIATES:
        raise CorruptRecord("expected rows of 30 numbers without a header", where=str(path), fix="see the protocol")
    covariates = {f"x{i + 1}": data[:, 5 + i].tolist() for i in range(IHDP_COVARIATES)}
    return World(name=path.stem, covariates=covariates, z=data[:, 0], y=data[:, 1], effect=data[:, 4] - data[:, 3])


def _column(values: list[str]) -> list[float] | list[str]:
    try:
        return [float(value) for value in values]
    except ValueError:
        return values


def subgroups(world: World, smallest: int = SMALLEST) -> Iterator[Subgroup]:
    """Yield the subgroups of a world."""
    for name, column in world.covariates.items():
        values = np.asarray(column)
        kinds, counts = np.unique(values, return_counts=True)
        if kinds.size > MOST_VALUES:
            continue
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            if smallest <= count <= values.size - smallest:
                yield from _subgroup(world, f"{name} = {kind}", values == kind)


def _subgroup(world: World, name: str, kept: NDArray[np.bool_]) -> Iterator[Subgroup]:
    table: dict[str, NDArray[Any]] = {"z": world.z[kept], "y": world.y[kept]}
    seen: set[bytes] = set()
    for covariate, column in world.covariates.items():
        values = np.asarray(column)[kept]
        code = np.unique(values, return_inverse=True)[1].astype(np.int64)
        if code.max() > 0 and code.tobytes() not in seen:
            seen.add(code.tobytes())
            table[covariate] = values
    for number in range(PRICES):
        threshold = world.price(name, number)
        gain = float(world.effect[kept].mean()) - threshold
        yield Subgroup(name=f"{world.name}: {name}", gain=gain, threshold=threshold, table=table)


def oracle(group: Subgroup) -> bool:
    """Know the planted effect."""
    return group.gain > 0


def always(group: Subgroup) -> bool:
    """Treat everyone."""
    del group
    return True


def naive_sign(group: Subgroup) -> bool:
    """Treat where the difference in means is above τ_u."""
    return effect_of(group.numbers, "z", "y")[0] > group.threshold


def naive_bound(group: Subgroup) -> bool:
    """Treat where the lower bound of the difference in means is above τ_u."""
    return lower(effect_of(group.numbers, "z", "y"), ALPHA) > group.threshold


def predictor(group: Subgroup) -> bool:
    """Predict each arm's outcome from the covariates, and compare means; no bound."""
    rows = group.numbers
    names = [name for name in rows if name not in ("z", "y")]
    means = []
    for arm in (1.0, 0.0):
        kept = rows["z"] == arm
        design = np.column_stack([np.ones(int(kept.sum())), *(rows[name][kept] for name in names)])
        # Columns may repeat each other within an arm: the least-norm solution predicts the same.
        slopes = np.linalg.lstsq(design, rows["y"][kept], rcond=None)[0]
        means.append(float(slopes @ np.array([1.0, *(rows[name].mean() for name in names)])))
    return means[0] - means[1] > group.threshold


def gate(preset: Preset) -> Callable[[Subgroup], bool]:
    """Treat where the gate executes: every covariate is taken for a cause of both, nothing hidden, no trial."""

    def rule(group: Subgroup) -> bool:
        return gate_reason(group, preset) == "bound_met"

    return rule


def gate_reason(group: Subgroup, preset: Preset) -> str:
    """Return the gate's reason code about a subgroup; an unusable table is a refusal."""
    try:
        columns = Columns.of(group.table, treatment="z", outcome="y")
    except InputError:
        return "error"
    graph = _everything_confounds(columns.covariates)
    query = Query.effect("z", "y")
    return decide(
        Inputs(
            graph=graph,
            query=query,
            answer=answer_for(graph, query),
            sample=Sample(data=columns, age=0.0),
            rules=Rules(tau_u=group.threshold, tau_r=0.5 if preset.cost_limit == "tau_r" else None, preset=preset),
        )
    ).reason


@functools.cache
def _everything_confounds(covariates: tuple[str, ...]) -> Graph:
    nodes: dict[str, Role] = {"z": "treatment", "y": "outcome", **dict.fromkeys(covariates, "state")}
    return Graph.of(
        nodes=nodes,
        directed=[("z", "y"), *((name, end) for name in covariates for end in ("z", "y"))],
        bidirected=[(one, other) for i, one in enumerate(covariates) for other in covariates[i + 1 :]],
    )


LINEAR = dataclasses.replace(DEFAULT, method="linear")
"""Our defaults with straight lines: by default nothing is fitted to so many covariates."""

RULES: Mapping[str, Callable[[Subgroup], bool]] = {
    "Oracle": oracle,
    "treat everyone": always,
    "difference in means": naive_sign,
    "difference in means, LCB": naive_bound,
    "outcome predictor": predictor,
    "this gate, paper settings": gate(PAPER),
    "this gate, our defaults": gate(DEFAULT),
    "this gate, defaults with straight lines": gate(LINEAR),
}
