"""NHEFS: what quitting smoking did to weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.benchmarks.harness import Check
from butfor.benchmarks.table_data import CAUSALLIB, csv_columns, member
from butfor.benchmarks.tables.part import ALPHA, Part, adjusting, answered, mark, row
from butfor.estimation import EffectEstimate, estimate
from butfor.estimation.evidence import Roles, read_object
from butfor.estimation.sensitivity import LinearSensitivity, linear_sensitivity

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Settings

# Hernán and Robins, *Causal Inference: What If*, chapters 12 to 15: 3.4 to 3.5 kg (95% interval 2.5 to 4.5).
PUBLISHED = (2.5, 4.5)
_COVARIATES = ("sex", "race", "age", "education", "smokeintensity", "smokeyrs", "active", "exercise", "wt71")


def nhefs(settings: Settings) -> Part | None:
    """Answer by straight lines and by the default; None where the table is not here."""
    raw = member(CAUSALLIB, "causallib/datasets/data/nhefs/NHEFS.csv")
    if raw is None:
        return None
    table = csv_columns(raw)
    names = ("qsmk", "wt82_71", *_COVARIATES)
    # As the book does: those whose weight in 1982 is known. It assumes that being lost to follow-up is no cause.
    kept = [i for i in range(len(table["qsmk"])) if all(table[name][i] for name in names)]
    columns = {name: [float(table[name][i]) for i in kept] for name in names}
    roles = Roles(treatment="qsmk", outcome="wt82_71", covariates=_COVARIATES)
    data = read_object(columns, roles, kind="observational", name="NHEFS")
    query, proof = adjusting(data.columns)
    effect = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed, method="linear")
    series = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed)
    truth = f"{PUBLISHED[0]:g} to {PUBLISHED[1]:g} kg published"
    hidden = linear_sensitivity(data.columns, _COVARIATES, alpha=ALPHA)
    words = hidden.in_words() if isinstance(hidden, LinearSensitivity) else hidden.reason
    rows = [
        answered("NHEFS", "effect of quitting on weight, linear", data, effect, truth=truth),
        answered("NHEFS", "effect of quitting on weight, default", data, series, truth=truth),
        row(
            "NHEFS",
            "how strong must a hidden cause be",
            words.split(". ")[0],
            n=len(kept),
            digest=data.evidence.digest[7:],
        ),
    ]
    checks = []
    for named, answer in (("linear", effect), ("default", series)):
        point = answer.point if isinstance(answer, EffectEstimate) else float("nan")
        inside = PUBLISHED[0] <= point <= PUBLISHED[1]
        name = f"NHEFS, {named}: estimate within the published interval"
        checks.append(Check(name=name, value=point, bound=PUBLISHED[1], ok=inside))
    marks = [
        mark("quitting, straight lines", effect, *PUBLISHED),
        mark("quitting, default (sparse series)", series, *PUBLISHED),
    ]
    return Part(rows=rows, checks=checks, marks=marks, unit="kg gained")
