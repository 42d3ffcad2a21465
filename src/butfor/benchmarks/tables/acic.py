"""ACIC 2016: ten worlds with planted effects on 58 real covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.harness import Check
from butfor.benchmarks.table_data import CAUSALLIB, csv_columns, member
from butfor.benchmarks.tables.part import ALPHA, Part, adjusting, answered, mark
from butfor.estimation import EffectEstimate, estimate
from butfor.estimation.evidence import Roles, read_object

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Settings
    from butfor.estimation import Method

_FOLDER = "causallib/datasets/data/acic_challenge_2016"
_METHODS: tuple[Method | None, ...] = (None, "boosted", "linear")
# Straight lines are shown too, though nobody says that they are right here: their misses are no fault.
_HELD = ("default", "boosted")


def acic(settings: Settings) -> Part | None:
    """Answer each world by each method; None where the tables are not here."""
    raw = member(CAUSALLIB, f"{_FOLDER}/x.csv")
    if raw is None:
        return None
    x = {name: _numeric(values) for name, values in csv_columns(raw).items()}
    covariates = tuple(name for name in x if len(set(x[name])) > 1)
    rows, marks = [], []
    answers: dict[str, list[bool]] = {method: [] for method in _HELD}
    for i in (1, 2) if settings.quick else range(1, 11):
        world = member(CAUSALLIB, f"{_FOLDER}/zymu_{i}.csv")
        assert world is not None
        planted = {name: np.array(values, dtype=float) for name, values in csv_columns(world).items()}
        z = planted["z"]
        table = {**x, "z": z, "y": np.where(z == 1, planted["y1"], planted["y0"])}
        roles = Roles(treatment="z", outcome="y", covariates=covariates)
        data = read_object(table, roles, kind="observational", name=f"zymu_{i}")
        truth = float((planted["mu1"] - planted["mu0"]).mean())
        query, proof = adjusting(data.columns)
        for method in _METHODS:
            effect = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed, method=method)
            named = method or "default"
            rows.append(answered(f"ACIC 2016 zymu_{i}", f"effect, {named}", data, effect, truth=f"{truth:.4g} planted"))
            marks.append(mark(f"zymu_{i}, {named}", effect, truth))
            if named in answers and isinstance(effect, EffectEstimate):
                answers[named].append(effect.lower > truth)
    checks = [
        Check(
            name=f"ACIC 2016, {method}: lower bounds above the planted truth, of {len(missed)} answers",
            value=sum(missed),
            bound=_most(len(missed)),
            ok=sum(missed) <= _most(len(missed)),
        )
        for method, missed in answers.items()
    ]
    return Part(rows=rows, checks=checks, marks=marks, unit="planted unit of the outcome")


def _most(answers: int) -> int:
    """Misses of a bound of this level that are exceeded at most one time in twenty: 1 of 7, 2 of 10."""
    from scipy.stats import binom

    return int(binom.ppf(1 - ALPHA, answers, ALPHA)) if answers else 0


def _numeric(values: list[str]) -> list[float] | list[str]:
    try:
        return [float(value) for value in values]
    except ValueError:
        return values
