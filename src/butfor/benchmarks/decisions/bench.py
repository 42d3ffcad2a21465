"""`butfor bench decisions`: correct and false executions on ACIC 2016, IHDP and Open Bandit."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.benchmarks.decisions import bandit, subgroups
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.table_data import CAUSALLIB, HOW, OBP
from butfor.benchmarks.toolbench.scores import share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Part = tuple[list[dict[str, Any]], list[Check], list[str]]
ALPHA = 0.05
WORLDS = 10
# Quick runs take every so many decisions about subgroups.
QUICK_STEP = 40
LOGS, QUICK_LOGS = 20, 1
# A quick run asks the gate about every so many of the real items.
QUICK_REAL_STEP = 4
PUBLISHED = "published (IHDP, ZOZO): within 0.1 pp of Oracle's correct executions, ≥ 50× fewer false per execution"
NOTES = [
    "the protocols are ours (the paper's are not published), and so are all thresholds; " + PUBLISHED,
    "subgroups share people, so their intervals are too narrow; intervals of items are exact",
    "ACIC's outcomes bend with the covariates, which straight lines do not follow: what paper settings assume is false",
]


def run(settings: Settings) -> Report:
    """Decide on every table that is there.

    Raises:
        CorruptRecord: A fetched wheel is not the one that is meant, or an IHDP file has another shape.
    """
    step, logs = (QUICK_STEP, QUICK_LOGS) if settings.quick else (1, LOGS)
    parts = [
        _subgroups("ACIC 2016", subgroups.acic(WORLDS), step, f"in the wheel {CAUSALLIB.name}; to fetch it: {HOW}"),
        _subgroups(
            "IHDP", subgroups.ihdp(WORLDS), step, "put ihdp_npci_1.csv and on into a folder, name it in BUTFOR_IHDP"
        ),
        _synthetic([bandit.synthetic(settings.seed, number) for number in range(logs)]),
        _real(QUICK_REAL_STEP if settings.quick else 1),
    ]
    rows = [row for found, _, _ in parts for row in found]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return Report(
        name="decisions",
        settings={"seed": settings.seed, "quick": settings.quick, "worlds": WORLDS, "logs": logs, "alpha": ALPHA},
        rows=[{column: row.get(column, "") for column in columns} for row in rows],
        checks=[check for _, held, _ in parts for check in held],
        notes=[*NOTES, *(note for _, _, said in parts for note in said)],
    )


def _subgroups(name: str, worlds: list[subgroups.World] | None, step: int, how: str) -> Part:
    if worlds is None:
        return [{"table": name, "method": "not run"}], [], [f"{name} was not run: {how}"]
    # IHDP has 747 people: subgroups of it are smaller.
    smallest = subgroups.SMALLEST if worlds[0].y.size > 2000 else 100
    groups = [group for world in worlds for group in subgroups.subgroups(world, smallest)][::step]
    gain = np.array([group.gain for group in groups])
    executed = {rule: np.array([decides(group) for group in groups]) for rule, decides in subgroups.RULES.items()}
    rows = _rows(f"{name}, {len(groups)} decisions", gain, executed)
    return rows, _fewer(name, gain, executed, "difference in means", "this gate, defaults with straight lines"), []


def _synthetic(drawn: list[bandit.Log]) -> Part:
    gain = np.concatenate([log.rates - log.threshold for log in drawn if log.rates is not None])
    executed = {rule: np.concatenate([decides(log) for log in drawn]) for rule, decides in bandit.RULES.items()}
    checks = []
    for name in ("this gate, logged probabilities", "this gate, adjusting for the user"):
        harmful = int((gain <= 0).sum())
        false, most = int((executed[name] & (gain <= 0)).sum()), int(binom.ppf(1 - 1e-6, harmful, ALPHA))
        said = f"synthetic Open Bandit, {name}: false executions consistent with ≤ α of {harmful} harmful items"
        checks.append(Check(name=said, value=float(false), bound=float(most), ok=false <= most))
        checks += _fewer("synthetic Open Bandit", gain, executed, "raw click rate", name)
    return _rows(f"Open Bandit, synthetic, {len(drawn)} logs, {gain.size} items", gain, executed), checks, []


def _real(step: int) -> Part:
    """The truth of the real log is unknown: count what is decided, and why not."""
    rows = []
    for policy in ("random", "bts"):
        log = bandit.real(policy)
        if log is None:
            how = f"Open Bandit was not run: its logs are in the wheel {OBP.name}; to fetch it: {HOW}"
            return [{"table": "Open Bandit, real", "method": "not run"}], [], [how]
        decided = bandit.known_chances(log, step)
        reasons = collections.Counter(each.reason for each in decided)
        raw = {"raw click rate": bandit.raw_rate(log), "raw click rate, LCB": bandit.raw_bound(log)}
        table = f"Open Bandit, {policy}/women, {log.items.size} items"
        rows += [{"table": table, "method": name, "executed": int(found.sum())} for name, found in raw.items()]
        executed = sum(each.verdict == "EXECUTE" for each in decided)
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        rows.append({"table": table, "method": "this gate, logged probabilities", "executed": executed, "reasons": why})
    return rows, [], []


def _rows(table: str, gain: NDArray[np.float64], executed: Mapping[str, NDArray[np.bool_]]) -> list[dict[str, Any]]:
    good = gain > 0
    rows = []
    for name, found in executed.items():
        right, false = int((found & good).sum()), int((found & ~good).sum())
        rows.append(
            {
                "table": table,
                "method": name,
                "executed": int(found.sum()),
                "correct per good": share(right, int(good.sum())),
                "false per execution": share(false, int(found.sum())),
                "false per harmful": share(false, int((~good).sum())),
                "reasons": "",
            }
        )
    return rows


def _fewer(
    table: str, gain: NDArray[np.float64], executed: Mapping[str, NDArray[np.bool_]], naive: str, gate: str
) -> list[Check]:
    """Hold the gate's false executions per execution to the naive baseline's, and the gate to executing something."""
    rates = {}
    for name in (naive, gate):
        found = executed[name]
        rates[name] = float((found & (gain <= 0)).sum()) / max(1, int(found.sum()))
    some = bool(executed[gate].any())
    said = f"{table}, {gate}: false per execution ≤ that of {naive}, and something is executed"
    return [Check(name=said, value=rates[gate], bound=rates[naive], ok=some and rates[gate] <= rates[naive])]
