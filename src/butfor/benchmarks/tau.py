"""tau-bench retail: runs of a real model with a reward, 14 of them with a labelled root cause."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from butfor import importers
from butfor.benchmarks import labelled
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.labelled import Answer, Case
from butfor.replay.imported import make_replayable
from butfor.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.runs import Run

# Tools of the retail domain that change the database.
WRITES = ("cancel_", "exchange_", "modify_", "return_", "transfer_")
_NOTES = [
    (
        "labels are of microsoft/AgentRx, steps are the messages of the trajectory, from 1; with 14 labels every"
        " interval is wide, and a method has to win by a lot to be told from a constant"
    ),
    (
        "replay attribution was not run: it decides again with the recorded model (butfor import --policy names one),"
        " and the reward of a changed run needs the benchmark's database as a simulator of the tools and the user"
    ),
]


def run(settings: Settings) -> Report:
    """Score baselines and a judge on the labelled runs, and replay every run untouched."""
    folder = labelled.data_folder(settings, "tau_retail")
    shown = {"seed": settings.seed, "data": str(folder) if folder else None, "judge": settings.options.get("judge")}
    if folder is None:
        missing = "the runs are not here: set BUTFOR_DATA to a folder with tau_retail/ (MIT, microsoft/AgentRx)"
        return Report(name="tau", settings=shown, rows=[labelled.not_run("all", "", 0)], checks=[], notes=[missing])
    cases = cases_of(folder)
    judge, note = labelled.judged(settings.options.get("judge"), cases)
    rows = [
        *labelled.constants(cases),
        labelled.scored("first write call", "baseline", cases, [Answer(step=_write(case, 0)) for case in cases]),
        labelled.scored("last write call", "baseline", cases, [Answer(step=_write(case, -1)) for case in cases]),
        judge,
        labelled.not_run("replay attribution", "ours", len(cases)),
    ]
    runs = list(importers.import_file(folder / "runs.json").runs)
    checks = [_rewards(folder, runs), _replays(runs[:: 4 if settings.quick else 1])]
    return Report(name="tau", settings=shown, rows=rows, checks=checks, notes=[*_NOTES, *([note] if note else [])])


def cases_of(folder: Path) -> list[Case]:
    """Join the labelled root causes with their runs."""
    runs = {each["task_id"]: each for each in json.loads((folder / "runs.json").read_text(encoding="utf-8"))}
    labels = json.loads((folder / "root_causes.json").read_text(encoding="utf-8"))
    return [_case(label, runs[label["trajectory_id"]]) for label in labels if label["trajectory_id"] in runs]


def _case(label: dict[str, Json], recorded: dict[str, Json]) -> Case:
    wanted = label["root_cause"]["failure_id"]
    failure = next(each for each in label["failures"] if each["failure_id"] == wanted)
    return Case(
        name=str(label["trajectory_id"]),
        task=recorded["info"]["task"]["instruction"],
        entries=tuple(map(_entry, recorded["traj"])),
        first=1,
        step=failure["step_number"],
        agent=failure["failed_agent"],
    )


def _entry(message: dict[str, Json]) -> tuple[str, str]:
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls") or []]
    text = "; ".join([*([labelled.text_of(message["content"])] if message.get("content") else []), *calls])
    return str(message["role"]).capitalize(), text


def _write(case: Case, which: int) -> int | None:
    """Return the first (0) or last (−1) entry in which the agent calls a tool that changes the database."""
    found = [
        case.first + i
        for i, (speaker, text) in enumerate(case.entries)
        if speaker == "Assistant" and any(re.search(rf"\b{name}\w*\(", text) for name in WRITES)
    ]
    return found[which] if found else None


def _rewards(folder: Path, runs: Sequence[Run]) -> Check:
    rewards = [each["reward"] for each in json.loads((folder / "runs.json").read_text(encoding="utf-8"))]
    wrong = sum(
        run.outcome is None or run.outcome.value != 1 - reward for run, reward in zip(runs, rewards, strict=True)
    )
    return Check(name="imported outcomes that are not 1 − reward", value=wrong, bound=0, ok=wrong == 0)


def _replays(runs: Sequence[Run]) -> Check:
    """Replay runs untouched: every request must be the recorded one."""
    differing = sum(bool(make_replayable(run, store=MemoryStore(), verify=False).differences) for run in runs)
    name = f"untouched replays that differ, of {len(runs)} runs"
    return Check(name=name, value=differing, bound=0, ok=differing == 0)
