"""LaLonde's job programme: the experiment, and its treated beside people from a survey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.benchmarks.harness import Check
from butfor.benchmarks.table_data import CAUSALDATA, member, stata_columns
from butfor.benchmarks.tables.part import ALPHA, Part, adjusting, answered, mark
from butfor.estimation import Contrast, EffectEstimate, Insufficient, Randomised, estimate
from butfor.estimation.evidence import Roles, read_object
from butfor.estimation.on_treated import effect_on_treated

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Settings

# Lalonde 1986 in the Dehejia–Wahba sample: the experiment's own difference in means, in dollars of 1978.
EXPERIMENTAL = 1794.0
_COVARIATES = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")
_TO_1 = Contrast(to=1.0, against=0.0)


def lalonde(settings: Settings) -> Part | None:
    """Answer the experiment, and what an observational study would have asked; None where the table is not here."""
    raw = [member(CAUSALDATA, f"causaldata/{name}/{name}.dta") for name in ("nsw_mixtape", "cps_mixtape")]
    if raw[0] is None or raw[1] is None:
        return None
    nsw, cps = (stata_columns(each) for each in raw if each is not None)
    roles = Roles(treatment="treat", outcome="re78", covariates=_COVARIATES)
    trial = read_object(nsw, roles, kind="randomised", name="NSW")
    # The treated of the experiment beside people from a survey: what an observational study would have had.
    chosen = [i for i, treated in enumerate(nsw["treat"]) if treated == 1]
    mixed = {name: [*(nsw[name][i] for i in chosen), *cps[name]] for name in roles.columns}
    study = read_object(mixed, roles, kind="observational", name="NSW treated + CPS")
    query, proof = adjusting(study.columns)
    experiment = estimate(query, Randomised(), trial.columns, alpha=ALPHA, seed=settings.seed)
    ate = estimate(query, proof, study.columns, alpha=ALPHA, seed=settings.seed, method="linear")
    att = effect_on_treated(study.columns, _COVARIATES, target=_TO_1, alpha=ALPHA, seed=settings.seed)
    known = f"{EXPERIMENTAL:g} in the experiment"
    rows = [
        answered("NSW", "effect, randomised", trial, experiment, truth=known),
        answered("NSW treated + CPS", "effect on all", study, ate, truth="must be refused: no overlap"),
        answered("NSW treated + CPS", "effect on the treated", study, att, truth=known),
    ]
    found = experiment.point if isinstance(experiment, EffectEstimate) else float("nan")
    refused = isinstance(ate, Insufficient) and ate.reason_code == "positivity"
    lower = att.lower if isinstance(att, EffectEstimate) else float("nan")
    checks = [
        Check(
            name="LaLonde: |difference in means − 1,794|",
            value=abs(found - EXPERIMENTAL),
            bound=1.0,
            ok=abs(found - EXPERIMENTAL) <= 1.0,
        ),
        Check(name="LaLonde: effect on all refused for overlap", value=float(refused), bound=1.0, ok=refused),
        # A refusal is no answer that is too high.
        Check(
            name="LaLonde: bound on the treated ≤ 1,794", value=lower, bound=EXPERIMENTAL, ok=not lower > EXPERIMENTAL
        ),
    ]
    marks = [
        mark("NSW, randomised", experiment, EXPERIMENTAL),
        mark("NSW treated + CPS, on all", ate),
        mark("NSW treated + CPS, on the treated", att, EXPERIMENTAL),
    ]
    return Part(rows=rows, checks=checks, marks=marks, unit="dollars of 1978")
