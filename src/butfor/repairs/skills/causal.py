"""The steps that caused a failure, over many runs, in words that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.confidence import Estimate
from butfor.errors import InputError
from butfor.repairs.edits import readable, short_form
from butfor.repairs.edits.actions import is_call, is_short
from butfor.repairs.locate import read_blame
from butfor.repairs.repair import REPAIR
from butfor.repairs.result import Repair
from butfor.replay.conversation import answer_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.canonical import Json
    from butfor.runs import Run
    from butfor.store import ResultRecord, Storage

_ATTRIBUTIONS = ("search", "profile", "responsibility")


@dataclass(frozen=True, kw_only=True)
class CausalStep:
    """A step that an attribution blames or that a validated repair mends.

    Attributes:
        run_id: The run.
        step: k.
        steps: N.
        agent: Who decided.
        task: What the agent was given, as text.
        outcome: What counted as bad.
        action: The factual action, for a reader.
        tools: The tools that it calls; empty for an answer in words.
        seen: What the step saw last: observations of the step before, or the task.
        blamed: Whether an attribution names it.
        repair: The smallest validated repair of it; None where there is none.
        result_id: That repair's name in the store.
    """

    run_id: str
    step: int
    steps: int
    agent: str
    task: str
    outcome: str
    action: str
    tools: tuple[str, ...]
    seen: str
    blamed: bool
    repair: Repair | None = None
    result_id: str | None = None

    @property
    def does(self) -> str:
        """What kind of action it is: the tools that it calls, or an answer."""
        return " + ".join(dict.fromkeys(self.tools)) or "answer"

    @property
    def repaired_by(self) -> str | None:
        """What kind of action mends it."""
        return None if self.repair is None else " + ".join(dict.fromkeys(_tools(self.repair.repaired))) or "answer"

    @property
    def luck(self) -> float | None:
        """P(success) when the step is merely decided again, where it was measured: the smaller, the harder."""
        null = self.repair.verdict.null if self.repair is not None and self.repair.verdict is not None else None
        return null.point if isinstance(null, Estimate) else None


def causal_steps(store: Storage, run_ids: Iterable[str]) -> list[CausalStep]:
    """Collect the causal steps of many runs: those of the last attribution, and those with a validated repair.

    Raises:
        InputError: None of the runs has one.
    """
    found = [step for run_id in run_ids for step in _of_run(store, run_id)]
    if not found:
        raise InputError(
            "none of the runs has a step that is known to have caused its outcome",
            fix="run butfor attribute RUN or butfor repair --all failed first",
        )
    return found


def _of_run(store: Storage, run_id: str) -> list[CausalStep]:
    records = store.list_results(run_id)
    repairs = _repairs(records)
    attributed = [each for each in records if each.kind in _ATTRIBUTIONS]
    # One step an attribution: of a set that may hold the decisive step, the most blamed.
    blamed = read_blame(canonical.decode(attributed[-1].body), most=1).steps if attributed else ()
    steps = sorted({*blamed, *repairs})
    run = store.load_run(run_id) if steps else None
    return [_causal(run, step, step in blamed, repairs.get(step)) for step in steps if run is not None]


def _repairs(records: Iterable[ResultRecord]) -> dict[int, tuple[Repair, str]]:
    """Return the smallest repair that may be learnt from, by step."""
    best: dict[int, tuple[Repair, str]] = {}
    for record in records:
        if record.kind != REPAIR:
            continue
        repair = Repair.from_json(canonical.decode(record.body))
        if repair.exportable and (repair.step not in best or repair.edit.distance < best[repair.step][0].edit.distance):
            best[repair.step] = (repair, record.result_id)
    return best


def _causal(run: Run, step: int, blamed: bool, repaired: tuple[Repair, str] | None) -> CausalStep:
    own = run.steps[step]
    factual = repaired[0].factual if repaired else short_form(answer_of(own))
    before = run.steps[step - 1].observations if step else ()
    return CausalStep(
        run_id=run.run_id,
        step=step,
        steps=len(run.steps),
        agent=own.agent,
        task=_text(_question(run.task.get())),
        outcome=repaired[0].outcome if repaired else run.outcome.rule if run.outcome else "",
        action=readable(factual),
        tools=_tools(factual),
        seen="\n".join(_text(each.content.get()) for each in before) or _text(_question(run.task.get())),
        blamed=blamed,
        repair=repaired[0] if repaired else None,
        result_id=repaired[1] if repaired else None,
    )


def _tools(action: Json) -> tuple[str, ...]:
    short = short_form(action)
    parts = short if isinstance(short, list) and is_short(short) else [short]
    return tuple(part["tool"] for part in parts if is_call(part))


def _question(task: Json) -> Json:
    """Leave out what is no text, such as a seed."""
    if isinstance(task, dict):
        words: dict[str, Any] = {name: value for name, value in task.items() if isinstance(value, str) and value}
        return next(iter(words.values())) if len(words) == 1 else words or task
    return task


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical.encode(value)
