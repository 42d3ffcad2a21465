"""`butfor bench coverage`: how often one-sided bounds miss, and how often evidence is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy.stats import binom

from butfor.benchmarks.coverage.draws import MIRRORS, drawn, turned
from butfor.benchmarks.coverage.kept import Kept, fingerprint
from butfor.benchmarks.coverage.peeking import peeking
from butfor.benchmarks.coverage.peers import peer_rows
from butfor.benchmarks.coverage.tally import Tally
from butfor.benchmarks.coverage.worlds import QUERY, SIZES, WORLDS, World
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.errors import InputError
from butfor.estimation import Columns, Contrast, Insufficient, Randomised, estimate
from butfor.estimation.least_squares import ols_as_published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.benchmarks.coverage.draws import Mirror, Turned
    from butfor.estimation import Effect, Method, Target

ALPHA = 0.05
# A correct bound fails the check of one cell once in a million runs.
SURE = 1.0 - 1e-6
REPETITIONS = 2000
RESAMPLED_REPETITIONS = 300
_QUICK = {100: 30, 500: 20, 2000: 5}
_QUICK_RESAMPLED = {100: 2, 500: 1, 2000: 1}
NAIVE = "naive difference"
PAPER = "OLS, normal (paper default)"


def run(settings: Settings) -> Report:
    """Draw worlds again and again, in three orientations, and count how often a lower bound exceeds the truth.

    Options: ``worlds`` (names, or beginnings with ``*``, separated by semicolons), ``repetitions``, ``n`` (sizes),
    ``peers`` (``no`` to leave them out, ``only`` to ask nobody else), ``peer_repetitions``, ``keep`` (a file of
    finished cells: a sweep that was cut off goes on).
    """
    chosen = [part for part in settings.options.get("worlds", "").split(";") if part]
    sizes = _sizes(settings.options.get("n", ",".join(map(str, SIZES))))
    worlds = [
        world
        for world in WORLDS
        if not chosen
        or any(part == world.name or (part.endswith("*") and world.name.startswith(part[:-1])) for part in chosen)
    ]
    kept = Kept(settings.options.get("keep"))
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    asked = settings.options.get("peers")
    for world in () if asked == "only" else worlds:
        for n in sizes:
            for mirror in MIRRORS:
                cell_rows, cell_checks = _cell(world, n, mirror, settings, kept)
                rows += cell_rows
                checks += cell_checks
    if asked != "only" and (not chosen or "peeking" in chosen):
        peeked, held = peeking(settings)
        rows += peeked
        checks += held
    peers, notes = ([], []) if asked == "no" else peer_rows(worlds, settings)
    return Report(
        name="coverage",
        settings={"quick": settings.quick, "seed": settings.seed, "alpha": ALPHA, "n": sizes, "worlds": len(worlds)},
        rows=[*rows, *peers],
        checks=_condensed(checks) if settings.quick else checks,
        notes=[
            "ours, all simulated here; a bound misses where it is above the truth; nothing is a published figure",
            "mirrors: treatment 1 − T, outcome −Y: a bound that is right by the luck of a sign fails in one of them",
            f"each cell is held at the binomial 1 − 10⁻⁶ quantile of its own repetitions; α = {ALPHA}",
            "naive and paper default have no check: they are there to be compared with",
            *notes,
        ],
    )


def _sizes(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"n = {text!r} is no list of sizes", fix="pass n=100,500, say")
    return [int(part) for part in parts]


def repetitions(world: World, n: int, settings: Settings) -> int:
    """Return how often a cell of the table is drawn."""
    if "repetitions" in settings.options:
        return settings.count("repetitions", REPETITIONS)
    if settings.quick:
        return (_QUICK_RESAMPLED if world.resampled else _QUICK)[n if n in _QUICK else 500]
    return RESAMPLED_REPETITIONS if world.resampled else REPETITIONS


def _cell(
    world: World, n: int, mirror: Mirror, settings: Settings, kept: Kept
) -> tuple[list[dict[str, Any]], list[Check]]:
    names = {f"butfor, {method or 'default'}": method for method in world.methods}
    cell = {
        "world": world.name,
        "n": n,
        "mirror": mirror,
        "methods": list(names),
        "repetitions": repetitions(world, n, settings),
        "seed": settings.seed,
        "truth": world.truth,
        **fingerprint(world, n, settings.seed),
    }
    tallies = kept.find(cell)
    if tallies is None:
        tallies = _drawn_again(world, n, mirror, settings, names)
        kept.keep(cell, tallies)
    rows = [tally.row(world.name, n, mirror, name) for name, tally in tallies.items()]
    checks = [check for name in names for check in _checks(world, n, f"{mirror}, {name}", tallies[name])]
    return rows, checks


def _drawn_again(
    world: World, n: int, mirror: Mirror, settings: Settings, names: Mapping[str, Method | None]
) -> dict[str, Tally]:
    published = (NAIVE, PAPER) if isinstance(world.target, Contrast) else ()
    tallies = {name: Tally() for name in (*names, *published)}
    for repetition in range(repetitions(world, n, settings)):
        one = turned(world, drawn(world, n, repetition, settings.seed), mirror)
        columns = _columns(world, one)
        for name, method in names.items():
            tallies[name].enter(_ask(world, columns, one.target, method, mirror), one.truth)
        # What is published regresses on the treatment: it has contrasts only.
        if isinstance(one.target, Contrast):
            tallies[NAIVE].enter(naive(columns), one.truth)
            tallies[PAPER].enter(paper(columns), one.truth)
    return tallies


def _columns(world: World, one: Turned) -> Columns | None:
    # A sample of a rare outcome may show none at all, and a treatment may be constant: that is an error of the input,
    # which never gives a bound.
    try:
        return Columns.of(one.table, treatment="t", outcome="y", clusters=world.clusters)
    except ValueError:
        return None


def _ask(world: World, columns: Columns | None, target: Target, method: Method | None, mirror: Mirror) -> Effect:
    if columns is None:
        return _unusable()
    return estimate(
        QUERY,
        world.proof,
        columns,
        target=target,
        alpha=ALPHA,
        method=method,
        outcome_range=_range_turned(world.outcome_range) if mirror == "−Y" else world.outcome_range,
        graph=world.graph if world.proof.kind == "general_id" else None,
    )


def _range_turned(outcome_range: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if outcome_range is None else (-outcome_range[1], -outcome_range[0])


def _unusable() -> Insufficient:
    return Insufficient(reason_code="insufficient_evidence", sentence="the table cannot be used")


def naive(columns: Columns | None) -> Effect:
    """Compare means as if the treatment had been assigned."""
    if columns is None:
        return _unusable()
    if columns.treatment not in columns.discrete:
        return ols_as_published(columns, (), target=Contrast(), alpha=ALPHA)
    return estimate(QUERY, Randomised(), columns, alpha=ALPHA)


def paper(columns: Columns | None) -> Effect:
    """Regress on every covariate that is there, classical standard error, normal quantile."""
    if columns is None:
        return _unusable()
    return ols_as_published(columns, columns.covariates, target=Contrast(), alpha=ALPHA)


def _checks(world: World, n: int, name: str, tally: Tally) -> list[Check]:
    where = f"{world.name}, n = {n}, {name}"
    checks = [
        _held(f"{where}: missed among answers", tally.misses, tally.answers, ALPHA),
        _held(f"{where}: missed of all", tally.misses, tally.repetitions, ALPHA),
    ]
    if n in world.refusals:
        refused = tally.repetitions - tally.answers
        checks.append(_held(f"{where}: refused", refused, tally.repetitions, world.refusals[n]))
    return checks


def _held(name: str, count: int, of: int, share: float) -> Check:
    """Hold a count against the binomial quantile that a share of this size exceeds once in a million."""
    allowed = float(binom.ppf(SURE, of, share)) / of if of else 1.0
    value = count / of if of else 0.0
    return Check(name=f"{name} ≤ {share:g}", value=value, bound=allowed, ok=value <= allowed)


def _condensed(checks: list[Check]) -> list[Check]:
    """Keep every failed check, and one line for those that hold."""
    failed = [check for check in checks if not check.ok]
    held = len(checks) - len(failed)
    return [*failed, Check(name=f"{held} of {len(checks)} checks hold", value=held, bound=len(checks), ok=not failed)]
