"""`butfor bench arithmetic --room mistakes`: does the located step agree with what a human marked?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from butfor.benchmarks import labelled
from butfor.benchmarks.beds.bigbench.local_check import first_wrong_equation
from butfor.benchmarks.beds.bigbench.tasks import TASKS, Located, load
from butfor.benchmarks.beds.shares import NOT_RUN, Share, share
from butfor.benchmarks.harness import Check, Report, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "arithmetic:mistakes"
MISSING = "the data are not here: set BUTFOR_DATA to a folder with bigbench_mistake/ (Apache-2.0)"
OURS = "largest blame (ours)"
_NOTES = [
    (
        "over failed runs with a labelled mistake; the label is the first mistake a human saw, which need not be"
        " the one"
        " that made the answer wrong"
    ),
    (
        "v(k) holds the steps before k as written, mistakes included, and decides the rest by the task's rule;"
        " the located"
        " step has the largest v(k + 1) − v(k), the earliest of several"
    ),
    "'constant' is the best fixed step, chosen with the labels in hand: it is optimistic",
    "'first equation that does not hold' applies to multistep arithmetic alone; elsewhere it names no step",
    (
        "'largest effect' is the contrastive rule without a hold on what is decided later (an early step decides"
        " the pivotal"
        " one again too), first of the tied; 'commit point' is the last step with any effect"
    ),
]


def run(settings: Settings) -> Report:
    """Locate the step in every trace and score it beside the baselines."""
    folder = labelled.data_folder(settings, "bigbench_mistake")
    shown = {"seed": settings.seed, "data": str(folder) if folder else None}
    if folder is None:
        rows: list[dict[str, Any]] = [{"task": "all", "method": "all", "exact": NOT_RUN}]
        return Report(name=NAME, settings=shown, rows=rows, checks=[], notes=[MISSING])
    traces = {task: load(folder, task) for task in TASKS}
    everything = [each for task in TASKS for each in traces[task]]
    rows = [row for task in TASKS for row in _rows(task, traces[task])] + _rows("all five", everything)
    checks = [_ahead(task, traces[task]) for task in TASKS] + [_ahead("all five", everything)]
    notes = [*_NOTES, *(_coverage(task, traces[task]) for task in TASKS)]
    return Report(name=NAME, settings=shown, rows=rows, checks=checks, notes=notes)


def scored(traces: Sequence[Located]) -> list[Located]:
    """Return the failed runs that a human marked; one that cannot be executed again counts as not located."""
    return [each for each in traces if each.failed and each.label is not None]


def exact_hits(traces: Sequence[Located]) -> dict[str, list[float]]:
    """Return, by method, whether it names the marked step, one a run; for a random step its probability."""
    runs = scored(traces)
    constant = Counter(each.label for each in runs).most_common(1)[0][0] if runs else None
    return {
        OURS: [float(each.decisive[:1] == (each.label,)) for each in runs],
        "commit point: last step with an effect": [float(_last_effect(each) == each.label) for each in runs],
        "largest effect, first of the tied": [float(_first_effect(each) == each.label) for each in runs],
        "first equation that does not hold": [float(first_wrong_equation(each.steps) == each.label) for each in runs],
        f"constant: step {constant}": [float(each.label == constant) for each in runs],
        "first step": [float(each.label == 0) for each in runs],
        "last step": [float(each.label == len(each.steps) - 1) for each in runs],
        "random step": [1 / len(each.steps) for each in runs],
    }


def _rows(task: str, traces: Sequence[Located]) -> list[dict[str, Any]]:
    runs = scored(traces)
    rows = []
    for method, hits in exact_hits(traces).items():
        ours = method == OURS
        rows.append(
            {
                "task": task,
                "method": method,
                "runs": len(runs),
                "exact": _cell(hits),
                "among the equally largest": str(share([each.label in each.decisive for each in runs])) if ours else "",
                "fixed there": str(share([_fixes(each) for each in runs])) if ours else "",
            }
        )
    return rows


def _cell(hits: Sequence[float]) -> str:
    if all(hit in (0.0, 1.0) for hit in hits):
        return str(Share(hits=int(sum(hits)), n=len(hits)))
    return f"{100 * sum(hits) / len(hits):.1f}% (expected)"


def _fixes(each: Located) -> bool:
    """Whether deciding the located step again by the rule, and what follows from it, gives the right answer."""
    return bool(each.decisive) and each.value is not None and each.value[each.decisive[0]] == 0.0


def _last_effect(each: Located) -> int | None:
    if each.value is None:
        return None
    return max((step for step in range(len(each.steps)) if each.value[step] < each.value[-1]), default=None)


def _first_effect(each: Located) -> int | None:
    if each.value is None:
        return None
    return next((step for step in range(len(each.steps)) if each.value[step] < each.value[-1]), None)


def _ahead(task: str, traces: Sequence[Located]) -> Check:
    """Hold our exact agreement against the best baseline's."""
    hits = exact_hits(traces)
    ours = sum(hits.pop(OURS))
    # The two other readings of the same effects are ours as well; they are shown, not raced.
    rivals = {name: sum(each) for name, each in hits.items() if "effect" not in name}
    best = max(rivals, key=lambda name: rivals[name])
    return Check(
        name=f"{task}: exact agreements above the best baseline's ({best}) >",
        value=ours,
        bound=rivals[best],
        ok=ours > rivals[best],
    )


def _coverage(task: str, traces: Sequence[Located]) -> str:
    runs = scored(traces)
    fine = [each for each in traces if not each.failed and each.value is not None]
    blamed = sum(bool(each.decisive) for each in fine if each.label is None)
    return (
        f"{task}: {sum(each.value is None for each in runs)} of {len(runs)} scored runs cannot be executed again"
        f" and count"
        f" as misses; of {sum(each.label is None for each in fine)} right runs without a mistake {blamed} are blamed;"
        f" {sum(each.failed and each.label is None for each in traces)} failed runs have no label"
    )
