"""Real tables end to end: what is answered, what is refused, and what is known about the truth."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.table_data import (
    CAUSALDATA,
    CAUSALLIB,
    HOW,
    OBP,
    Wheel,
    csv_columns,
    folder,
    member,
    stata_columns,
)
from butfor.benchmarks.tables_plot import Mark, tables_plot
from butfor.errors import InputError, MissingExtra
from butfor.estimation import Columns, Contrast, EffectEstimate, Insufficient, Level, Randomised, estimate
from butfor.estimation.evidence import Roles, Table, read_object
from butfor.estimation.on_treated import effect_on_treated
from butfor.estimation.sensitivity import LinearSensitivity, linear_sensitivity
from butfor.graphs import Graph
from butfor.identification import Proof, Query, identify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from butfor.estimation import Effect, Method
    from butfor.estimation.evidence import Kind

ALPHA = 0.05
# Lalonde 1986 in the Dehejia–Wahba sample: the experiment's own difference in means, in dollars of 1978.
EXPERIMENTAL = 1794.0
# Hernán and Robins, *Causal Inference: What If*, chapters 12 to 15: 3.4 to 3.5 kg (95% interval 2.5 to 4.5).
PUBLISHED_NHEFS = (2.5, 4.5)
_LALONDE = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")
_NHEFS = ("sex", "race", "age", "education", "smokeintensity", "smokeyrs", "active", "exercise", "wt71")
_ACIC = "causallib/datasets/data/acic_challenge_2016"
_ACIC_METHODS: tuple[Method | None, ...] = (None, "boosted", "linear")
# Straight lines are shown too, though nobody says that they are right here: their misses are no fault.
_ACIC_HELD = ("default", "boosted")
_TO_1 = Contrast(to=1.0, against=0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """What one table adds to the report."""

    rows: Sequence[dict[str, Any]] = ()
    marks: Sequence[Mark] = ()
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()


def run(settings: Settings) -> Report:
    """Answer each table, and hold the answers against what is known of the truth.

    Options: ``svg=FILE`` (plot of the answers).

    Raises:
        CorruptRecord: A fetched wheel is not the one that is meant.
    """
    parts = [
        _or_not_run("LaLonde", CAUSALDATA, lambda: _lalonde(settings)),
        _or_not_run("ACIC 2016", CAUSALLIB, lambda: _acic(settings)),
        _or_not_run("NHEFS", CAUSALLIB, lambda: _nhefs(settings)),
        _or_not_run("Open Bandit", OBP, lambda: _open_bandit(settings)),
    ]
    if "svg" in settings.options:
        _write(settings.options["svg"], tables_plot([mark for part in parts for mark in part.marks]))
    return Report(
        name="tables",
        settings={"seed": settings.seed, "quick": settings.quick, "alpha": ALPHA, "data": str(folder())},
        rows=[row for part in parts for row in part.rows],
        checks=[check for part in parts for check in part.checks],
        notes=[note for part in parts for note in part.notes],
    )


def _row(
    table: str, question: str, answer: str, *, n: int | str = "", truth: str = "", digest: str = ""
) -> dict[str, Any]:
    return {"table": table, "question": question, "n": n, "answer": answer, "known": truth, "evidence": digest[:14]}


def _answered(table: str, question: str, data: Table, effect: Effect, *, truth: str = "") -> dict[str, Any]:
    if isinstance(effect, Insufficient):
        answer = f"refused, {effect.reason_code}: {effect.sentence}"
    else:
        answer = f"{effect.point:.4g}, above {effect.lower:.4g} ({effect.estimator})"
    return _row(table, question, answer, n=data.columns.n, truth=truth, digest=data.evidence.digest[7:])


def _mark(label: str, effect: Effect, *known: float) -> Mark:
    if isinstance(effect, Insufficient):
        return Mark(label=label, known=known, refusal=effect.reason_code)
    return Mark(label=label, known=known, lower=effect.lower, point=effect.point)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the plot cannot be written ({error.strerror})", where=path) from None


def _or_not_run(name: str, wheel: Wheel, part: Callable[[], Part | None]) -> Part:
    try:
        found = part()
    except MissingExtra as error:
        return Part(rows=[_row(name, "", "not run")], notes=[f"{name} was not run: {error}"])
    if found is None:
        how = f"{name} was not run: its table is in the wheel {wheel.name} ({wheel.licence}); to fetch it: {HOW}"
        return Part(rows=[_row(name, "", "not run")], notes=[how])
    return found


def _table(columns: Mapping[str, Any], roles: Roles, kind: Kind, name: str) -> Table:
    return read_object(columns, roles, kind=kind, name=name)


def _adjusting(columns: Columns) -> tuple[Query, Proof]:
    """Return the query and its proof in the graph in which every covariate causes treatment and outcome."""
    t, y, covariates = columns.treatment, columns.outcome, columns.covariates
    graph = Graph.of(
        nodes={t: "treatment", y: "outcome", **dict.fromkeys(covariates, "state")},
        directed=[(t, y), *((name, end) for name in covariates for end in (t, y))],
        bidirected=[(a, b) for i, a in enumerate(covariates) for b in covariates[i + 1 :]],
    )
    query = Query.effect([t], [y])
    proof = identify(graph, query)
    assert isinstance(proof, Proof)
    return query, proof


def _lalonde(settings: Settings) -> Part | None:
    raw = [member(CAUSALDATA, f"causaldata/{name}/{name}.dta") for name in ("nsw_mixtape", "cps_mixtape")]
    if raw[0] is None or raw[1] is None:
        return None
    nsw, cps = (stata_columns(each) for each in raw if each is not None)
    roles = Roles(treatment="treat", outcome="re78", covariates=_LALONDE)
    trial = _table(nsw, roles, "randomised", "NSW")
    # The treated of the experiment beside people from a survey: what an observational study would have had.
    chosen = [i for i, treated in enumerate(nsw["treat"]) if treated == 1]
    mixed = {name: [*(nsw[name][i] for i in chosen), *cps[name]] for name in roles.columns}
    study = _table(mixed, roles, "observational", "NSW treated + CPS")
    query, proof = _adjusting(study.columns)
    experiment = estimate(query, Randomised(), trial.columns, alpha=ALPHA, seed=settings.seed)
    ate = estimate(query, proof, study.columns, alpha=ALPHA, seed=settings.seed, method="linear")
    att = effect_on_treated(study.columns, _LALONDE, target=_TO_1, alpha=ALPHA, seed=settings.seed)
    known = f"{EXPERIMENTAL:g} in the experiment"
    rows = [
        _answered("NSW", "effect, randomised", trial, experiment, truth=known),
        _answered("NSW treated + CPS", "effect on all", study, ate, truth="must be refused: no overlap"),
        _answered("NSW treated + CPS", "effect on the treated", study, att, truth=known),
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
        _mark("NSW, randomised: $", experiment, EXPERIMENTAL),
        _mark("NSW treated + CPS, on all: $", ate),
        _mark("NSW treated + CPS, on the treated: $", att, EXPERIMENTAL),
    ]
    return Part(rows=rows, checks=checks, marks=marks)


def _acic(settings: Settings) -> Part | None:
    raw = member(CAUSALLIB, f"{_ACIC}/x.csv")
    if raw is None:
        return None
    x = {name: _numeric(values) for name, values in csv_columns(raw).items()}
    covariates = tuple(name for name in x if len(set(x[name])) > 1)
    rows, marks = [], []
    answers: dict[str, list[bool]] = {method: [] for method in _ACIC_HELD}
    for i in (1, 2) if settings.quick else range(1, 11):
        world = member(CAUSALLIB, f"{_ACIC}/zymu_{i}.csv")
        assert world is not None
        planted = {name: np.array(values, dtype=float) for name, values in csv_columns(world).items()}
        z = planted["z"]
        table = {**x, "z": z, "y": np.where(z == 1, planted["y1"], planted["y0"])}
        data = _table(table, Roles(treatment="z", outcome="y", covariates=covariates), "observational", f"zymu_{i}")
        truth = float((planted["mu1"] - planted["mu0"]).mean())
        query, proof = _adjusting(data.columns)
        for method in _ACIC_METHODS:
            effect = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed, method=method)
            named = method or "default"
            rows.append(
                _answered(f"ACIC 2016 zymu_{i}", f"effect, {named}", data, effect, truth=f"{truth:.4g} planted")
            )
            if named in answers:
                marks.append(_mark(f"ACIC 2016 zymu_{i}, {named}", effect, truth))
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
    return Part(rows=rows, checks=checks, marks=marks)


def _most(answers: int) -> int:
    """Misses of a bound of this level that are exceeded at most one time in twenty: 1 of 7, 2 of 10."""
    from scipy.stats import binom

    return int(binom.ppf(1 - ALPHA, answers, ALPHA)) if answers else 0


def _numeric(values: list[str]) -> list[float] | list[str]:
    try:
        return [float(value) for value in values]
    except ValueError:
        return values


def _nhefs(settings: Settings) -> Part | None:
    raw = member(CAUSALLIB, "causallib/datasets/data/nhefs/NHEFS.csv")
    if raw is None:
        return None
    table = csv_columns(raw)
    names = ("qsmk", "wt82_71", *_NHEFS)
    # As the book does: those whose weight in 1982 is known. It assumes that being lost to follow-up is no cause.
    kept = [i for i in range(len(table["qsmk"])) if all(table[name][i] for name in names)]
    columns = {name: [float(table[name][i]) for i in kept] for name in names}
    data = _table(columns, Roles(treatment="qsmk", outcome="wt82_71", covariates=_NHEFS), "observational", "NHEFS")
    query, proof = _adjusting(data.columns)
    effect = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed, method="linear")
    series = estimate(query, proof, data.columns, alpha=ALPHA, seed=settings.seed)
    truth = f"{PUBLISHED_NHEFS[0]:g} to {PUBLISHED_NHEFS[1]:g} kg published"
    hidden = linear_sensitivity(data.columns, _NHEFS, alpha=ALPHA)
    words = hidden.in_words() if isinstance(hidden, LinearSensitivity) else hidden.reason
    rows = [
        _answered("NHEFS", "effect of quitting on weight, linear", data, effect, truth=truth),
        _answered("NHEFS", "effect of quitting on weight, default", data, series, truth=truth),
        _row(
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
        inside = PUBLISHED_NHEFS[0] <= point <= PUBLISHED_NHEFS[1]
        name = f"NHEFS, {named}: estimate within the published interval"
        checks.append(Check(name=name, value=point, bound=PUBLISHED_NHEFS[1], ok=inside))
    marks = [
        _mark("NHEFS, kg gained by quitting, linear", effect, *PUBLISHED_NHEFS),
        _mark("NHEFS, kg gained by quitting, default", series, *PUBLISHED_NHEFS),
    ]
    return Part(rows=rows, checks=checks, marks=marks)


def _open_bandit(settings: Settings) -> Part | None:
    rows, checks, marks = [], [], []
    for policy in ("random", "bts"):
        raw = member(OBP, f"obp/dataset/obd/{policy}/women/women.csv")
        if raw is None:
            return None
        table = csv_columns(raw)
        shown = {name: [float(v) for v in table[name]] for name in ("item_id", "position", "click", "propensity_score")}
        roles = Roles(treatment="item_id", outcome="click", covariates=("position",), probability="propensity_score")
        data = _table(shown, roles, "randomised", f"{policy}/women")
        items = np.unique(data.columns.t)
        weights = 1.0 / items.size / np.array(shown["propensity_score"])
        worth = float(weights.sum() ** 2 / (weights**2).sum())
        query = Query.effect(["item_id"], ["click"])
        answers = [
            estimate(query, Randomised(), data.columns, target=Level(at=float(item)), alpha=ALPHA, seed=settings.seed)
            for item in items
        ]
        uniform = uniform_value(data.columns, settings.seed)
        refused = [each for each in answers if isinstance(each, Insufficient)]
        rows += [
            _row(
                f"{policy}/women",
                f"click rate of each of {items.size} items",
                f"{items.size - len(refused)} answered, {len(refused)} refused",
                n=data.columns.n,
                digest=data.evidence.digest[7:],
            ),
            _answered(
                f"{policy}/women",
                "click rate of items at random",
                data,
                uniform,
                truth=f"largest weight {weights.max():,.0f}, worth {worth:,.0f} units",
            ),
        ]
        marks.append(_mark(f"Open Bandit {policy}/women, uniform", uniform))
        expected = policy == "bts"
        found = isinstance(uniform, Insufficient)
        say = "refused for overlap or a handful of units" if expected else "answered"
        checks.append(
            Check(
                name=f"Open Bandit: {policy}/women must be {say}; refused (0 or 1)",
                value=float(found),
                bound=float(expected),
                ok=found == expected,
            )
        )
    return Part(rows=rows, checks=checks, marks=marks)


def uniform_value(columns: Columns, seed: int) -> Effect:
    """Value the policy that shows an item at random: a unit is kept where an item so drawn is the one that was shown.

    So the question is about one arm, that of the kept units, each with a known probability.
    """
    from butfor.noise import numpy_generator

    assert columns.probability is not None
    items = np.unique(columns.t)
    drawn = numpy_generator("uniform value", seed).choice(items, columns.n)
    kept = (drawn == columns.t).astype(float)
    # P(kept | the drawn item) is known where the item was shown; of the others only their number is used.
    chance = np.where(kept == 1, columns.probability, 1.0)
    table = {"kept": kept, "click": columns.y, "chance": chance}
    arm = Columns.of(table, treatment="kept", outcome="click", covariates=[], probability="chance")
    return estimate(Query.effect(["kept"], ["click"]), Randomised(), arm, target=Level(at=1.0), alpha=ALPHA, seed=seed)
