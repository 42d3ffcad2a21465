"""Failure logs with a human's answer to *which step, which agent*: scoring, baselines, and a judge."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from butfor.confidence import Estimate, clopper_pearson
from butfor.replay import boundaries, reading
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.benchmarks.harness import Settings
    from butfor.canonical import Json

NOT_RUN = "not run"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One labelled log.

    Attributes:
        name: For messages.
        task: What was asked.
        entries: (speaker, text) of every entry.
        first: Number of the first entry in the set's own numbering.
        step: The label: number of the entry that decided the failure.
        agent: The label: who made it.
    """

    name: str
    task: str
    entries: tuple[tuple[str, str], ...]
    first: int
    step: int
    agent: str

    def speaker(self, step: int | None) -> str | None:
        """Return who speaks at an entry, None where there is none."""
        position = -1 if step is None else step - self.first
        return self.entries[position][0] if 0 <= position < len(self.entries) else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What a method says: a step, an agent (by default the one that speaks there), or neither."""

    step: int | None
    agent: str | None = None


Method: TypeAlias = "Callable[[Case], Answer]"


def data_folder(settings: Settings, name: str) -> Path | None:
    """Find a data set in the option ``data``, else ``BUTFOR_DATA``, else ``../shared/data``; None where it is not."""
    root = settings.options.get("data") or os.environ.get("BUTFOR_DATA") or "../shared/data"
    folder = Path(root) / name
    return folder if folder.is_dir() else None


def scored(method: str, kind: str, cases: Sequence[Case], answers: Sequence[Answer]) -> dict[str, Json]:
    """Score answers by exact match; a missing answer is wrong.

    Estimand: accuracy over logs like these. Assumptions: logs are independent draws of one population; a constant
    chosen on the same logs is optimistic, and its row says so. Guarantee: finite-sample (Clopper–Pearson, 95%).

    Args:
        method: The method's name.
        kind: Baseline, baseline chosen on these logs, judge, ours.
        cases: The logs.
        answers: One for each.
    """
    pairs = list(zip(cases, answers, strict=True))
    agents = [answer.agent or case.speaker(answer.step) for case, answer in pairs]
    row: dict[str, Json] = {"method": method, "kind": kind, "n": len(pairs)}
    row |= _share("exact", [answer.step == case.step for case, answer in pairs])
    row |= _share("within_1", [answer.step is not None and abs(answer.step - case.step) <= 1 for case, answer in pairs])
    return row | _share("agent", [agent == case.agent for (case, _), agent in zip(pairs, agents, strict=True)])


def _share(name: str, hits: list[bool]) -> dict[str, Json]:
    interval = clopper_pearson(sum(hits), len(hits))
    if not isinstance(interval, Estimate):
        return {name: interval.reason, f"{name}_95": interval.reason}
    return {name: interval.point, f"{name}_95": f"{interval.lower:.3f}–{interval.upper:.3f}"}


def not_run(method: str, kind: str, count: int) -> dict[str, Json]:
    """Return the row of a method that was not run."""
    cells = ("exact", "exact_95", "within_1", "within_1_95", "agent", "agent_95")
    return {"method": method, "kind": kind, "n": count} | dict.fromkeys(cells, NOT_RUN)


def constants(cases: Sequence[Case]) -> list[dict[str, Json]]:
    """Score answers that do not read the log: fixed entries, and the best constants in hindsight."""
    rows = [
        scored("first entry", "baseline", cases, [Answer(step=case.first) for case in cases]),
        scored("last entry", "baseline", cases, [Answer(step=case.first + len(case.entries) - 1) for case in cases]),
    ]
    best = Counter(case.step for case in cases).most_common(1)[0][0]
    rows.append(scored(f"always step {best}", "chosen on these logs", cases, [Answer(step=best) for _ in cases]))
    name = Counter(case.agent for case in cases).most_common(1)[0][0]
    answers = [Answer(step=_first_of(case, name), agent=name) for case in cases]
    return [*rows, scored(f"first entry of {name}", "chosen on these logs", cases, answers), uniform(cases)]


def uniform(cases: Sequence[Case]) -> dict[str, Json]:
    """Return the expected score of an entry drawn at random: a known number, so it has no interval."""
    exact = sum(1 / len(case.entries) for case in cases) / len(cases)
    near = sum(_near(case) / len(case.entries) for case in cases) / len(cases)
    agent = sum(sum(name == case.agent for name, _ in case.entries) / len(case.entries) for case in cases) / len(cases)
    row = not_run("entry at random", "baseline, expected", len(cases))
    return row | dict.fromkeys(("exact_95", "within_1_95", "agent_95"), "known") | {
        "exact": exact, "within_1": near, "agent": agent
    }  # fmt: skip


def _near(case: Case) -> int:
    last = case.first + len(case.entries) - 1
    return sum(case.first <= step <= last for step in (case.step - 1, case.step, case.step + 1))


def _first_of(case: Case, name: str) -> int | None:
    return next((case.first + i for i, (speaker, _) in enumerate(case.entries) if speaker == name), None)


def by_substring(step: str, cases: Sequence[Case]) -> float:
    """Return what a constant gets from a scorer that looks for the label inside the answer."""
    return sum(str(case.step) in step for case in cases) / len(cases)


# --- A judge over the model boundary

_SYSTEM = (
    "You are given the log of a failed run of agents. Name the earliest entry whose mistake decided the failure: had "
    'it been right, the run would have succeeded. Answer with JSON only: {"agent": "NAME", "step": NUMBER}.'
)
_NUMBER = re.compile(r'"?step"?\D{0,12}(\d{1,6})', re.IGNORECASE)
_NAME = re.compile(r'"agent"\s*:\s*"([^"]{1,200})"')


def judged(judge: str | None, cases: Sequence[Case]) -> tuple[dict[str, Json], str | None]:
    """Ask a judge about every log, all at once; returns its row and a note.

    Args:
        judge: ``module:function`` of one request that returns an answer; None where there is none.
        cases: The logs.
    """
    if judge is None:
        note = "the judge was not run: give one with --set judge=module:function, a function of one chat request"
        return not_run("judge, whole log", "judge", len(cases)), note
    ask = boundaries.model(import_by_name(judge, what="the judge"), name="judge")
    answers = [parsed(reading.read(ask(request_for(case))).text) for case in cases]
    silent = sum(answer.step is None for answer in answers)
    told = f"{silent} answers of the judge name no step and count as wrong" if silent else None
    return scored(f"judge {judge}", "judge", cases, answers), told


def request_for(case: Case) -> dict[str, Json]:
    """Write the judge's request for a log."""
    lines = [f"[{case.first + i}] {speaker}: {text}" for i, (speaker, text) in enumerate(case.entries)]
    content = f"Task: {case.task}\n\nLog:\n" + "\n".join(lines)
    return {
        "messages": [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": content}],
        "temperature": 0,
    }


def parsed(text: str | None) -> Answer:
    """Read a judge's answer: its JSON, else the first number after the word *step*; None where there is none."""
    found, name = _NUMBER.search(text or ""), _NAME.search(text or "")
    return Answer(step=int(found.group(1)) if found else None, agent=name.group(1) if name else None)


def text_of(content: Json) -> str:
    """Return content as text."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
