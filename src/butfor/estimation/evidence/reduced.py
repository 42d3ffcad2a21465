"""Evidence reduced to counts and sums by stratum and arm, whichever engine added them up."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor import canonical
from butfor.errors import InputError
from butfor.estimation.cells import Cells
from butfor.estimation.evidence.description import Evidence, Kind, Roles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate:
    """Evidence reduced to sums; the rows were never loaded.

    Attributes:
        evidence: The description. Its digest names the sums: the level of re-derivation is `statistics`.
        cells: Counts and sums by stratum and arm, the same integers that the rows themselves would give.
        levels: For each text column its texts, in the order of their codes in `cells`.
        query: The aggregate query.
        rows_hash: A hash of the multiset of rows, computed in the same query; it can be compared only where the same
            version of the engine made it. Empty where the engine is not ours to ask for one.
    """

    evidence: Evidence
    cells: Cells
    levels: Mapping[str, tuple[str, ...]]
    query: str
    rows_hash: str


def reduced(
    groups: Sequence[tuple[Any, ...]],
    roles: Roles,
    *,
    text: Collection[str],
    kind: Kind,
    unit: float,
    query: str,
    rows_hash: str,
    where: str,
    note: str,
) -> Aggregate:
    """Make cells and their description from the groups that an engine returned.

    Args:
        groups: One tuple for each stratum and arm: the covariates, the treatment, then count, sum and sum of squares.
        roles: Which column plays which part.
        text: Columns that hold text.
        kind: How the treatments were chosen.
        unit: What the sums count in.
        query: The query.
        rows_hash: See `Aggregate`.
        where: The source, for errors.
        note: What a reader must know.

    Raises:
        InputError: The treatment is constant.
    """
    cells, levels = _cells(groups, roles, text, unit, where)
    named = {"cells": cells.to_json(), "levels": {name: list(texts) for name, texts in sorted(levels.items())}}
    evidence = Evidence(
        digest=canonical.digest(named),
        kind=kind,
        roles=roles,
        rows=int(cells.n.sum()),
        arms={
            _shown(arm, levels.get(roles.treatment)): int(n) for arm, n in zip(cells.arms, cells.n.sum(0), strict=True)
        },
        source=where,
        note=note,
    )
    return Aggregate(evidence=evidence, cells=cells, levels=levels, query=query, rows_hash=rows_hash)


def unchanged(counted: int, rows: int, where: str) -> None:
    """Make sure that two queries saw the same number of rows.

    Raises:
        InputError: They did not.
    """
    if counted != rows:
        raise InputError("the rows changed while they were read", where=where, fix="read a snapshot")


def not_finite(name: str, where: str) -> InputError:
    """Return the error of a column with NaN or infinity."""
    return InputError(f"the column {name!r} holds NaN or infinity", where=where, fix="fill them or leave the units out")


def _cells(
    groups: Sequence[tuple[Any, ...]], roles: Roles, text: Collection[str], unit: float, where: str
) -> tuple[Cells, dict[str, tuple[str, ...]]]:
    names = (*roles.covariates, roles.treatment)
    coded, levels = [], {}
    for i, name in enumerate(names):
        values = [group[i] for group in groups]
        if name in text:
            levels[name] = tuple(sorted(set(values)))
            code = {text: float(place) for place, text in enumerate(levels[name])}
            values = [code[value] for value in values]
        coded.append(np.array(values, dtype=float))
    arms, arm = np.unique(coded[-1], return_inverse=True)
    if arms.size < 2:
        raise InputError(
            f"the treatment {roles.treatment!r} is constant", where=where, fix="give evidence in which it varies"
        )
    by_stratum = np.column_stack([*coded[:-1], np.zeros(len(groups))])  # the zeros serve where there are no strata
    keys, stratum = np.unique(by_stratum, axis=0, return_inverse=True)

    def placed(column: int) -> NDArray[np.int64]:
        grid = np.zeros((keys.shape[0], arms.size), dtype=np.int64)
        grid[stratum.ravel(), arm] = [int(group[len(names) + column]) for group in groups]
        return grid

    cells = Cells(
        treatment=roles.treatment,
        outcome=roles.outcome,
        strata=roles.covariates,
        arms=arms,
        keys=keys[:, :-1],
        unit=unit,
        n=placed(0),
        total=placed(1),
        squares=placed(2),
    )
    return cells, levels


def _shown(arm: float, texts: tuple[str, ...] | None) -> str:
    return f"{arm:g}" if texts is None else texts[int(arm)]
