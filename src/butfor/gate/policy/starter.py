"""A policy to start from, with a comment on every line that a person must decide."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

from butfor.errors import CorruptRecord, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from butfor.runs import Run
    from butfor.store import Store

_HEAD = """\
# A gate policy: one entry a tool. `butfor gate lint` explains every mistake, docs/gate.md every key.
schema: butfor.policy/1
preset: default        # or paper: the published settings of CIVeX
mode: observe          # decides and records, and lets every call pass; write enforce when you trust it
graphs: graphs         # committed graphs: `butfor graph commit`, then `butfor graph approve`
trust: trust.json      # whose approval counts: `butfor gate keys new --role approver --trust trust.json`
tools:
"""

_ENTRY = """\
  {name}:{note}
    outcome:
      name: {outcome}          # the column and node that says how it went
      range: [0, 1]            # declared, never read off the data
      {outcome_more}
    treatment:
      name: {treatment}        # the column and node that says what was done
      to: 1                    # t*: this call acts; or {{argument: mode}} where an argument says how
      against: 0               # t0: not acting
    graph: {graph}             # name of a committed graph
{drawing}    evidence:                  # past units
{evidence}
    # context:                 # what is read when the call comes; arguments, functions, commands, HTTP, SQL
    #   tier: {{argument: tier}}
    #   load: {{command: [./load, "{{service}}"], timeout: 2s, max_age: 1m}}
    # strata: [tier]           # ask for the effect within the value of these
    bound_on: contrast         # or level: which of the two tau_u meets
    tau_u: 0                   # the lower bound of the effect must be above it
    alpha: 0.05                # chance, per family, of executing a harmful action
    cost: 0                    # what the action costs, in a unit of yours
    tau_c: 0.5                 # most that it may cost
    risk:                      # or the word none
      harm_line: 0.5           # an outcome below it is harm
      tau_r: 0.2               # most chance of harm
    reversible: false          # can it be undone?
    # experiment: {{arms: [0, 1], most_units: 1000, effect: 0.1}}   # leave out to forbid trials
    # max_evidence_age: 90d    # older evidence is stale (needs a time column)
    # robustness: {{falsification: true, odds_factor: 1.2}}          # what the verdict must survive
    # approval: required       # EXECUTE also takes `butfor gate approve CALL`, once a call
"""

_FILE = """\
      file: evidence.csv       # or sql: a query, saved: a description, runs: an agent's recorded runs
      kind: observational      # or randomised, mixed, policy-confounded
      # time: seen_at          # when a unit was seen"""
_RUNS = """\
      runs: "{agent}"          # recorded runs of this agent, one row a decision; the agent chose, so a graph
                               # without treatment <-> outcome takes a signed statement"""
_DRAWING = """\
                               # to draw one, start from what recorded runs suggest:
                               #   butfor evidence build --tool {tool} --out runs.jsonl
                               #   butfor graph commit runs.jsonl.graph.yaml --name {graph} --author YOU --reason WHY
"""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draft:
    """One entry to be written.

    Attributes:
        tool: The tool.
        agent: The agent whose recorded runs are the evidence; None for a file.
        note: Why it is there.
    """

    tool: str
    agent: str | None = None
    note: str = ""


def starter(drafts: Iterable[Draft]) -> str:
    """Return a commented policy.

    Raises:
        InputError: There is no tool to write an entry for.
    """
    entries = [_entry(draft) for draft in drafts]
    if not entries:
        raise InputError("there is no tool to write an entry for", fix="name one: --tool NAME")
    return _HEAD + "\n".join(entries)


def _entry(draft: Draft) -> str:
    recorded = draft.agent is not None
    graph = re.sub(r"[^A-Za-z0-9._-]", "_", draft.tool).lstrip("._-") or "graph"
    more = "better: less           # recorded outcomes count failure: 1 is bad" if recorded else "better: more"
    return _ENTRY.format(
        name=draft.tool if _PLAIN.fullmatch(draft.tool) else json.dumps(draft.tool, ensure_ascii=False),
        note=f"   # {' '.join(draft.note.split())}" if draft.note else "",
        outcome="outcome" if recorded else "recovered",
        outcome_more=more,
        treatment="treatment" if recorded else "acted",
        graph=graph,
        drawing=_DRAWING.format(tool=json.dumps(draft.tool), graph=graph) if recorded else "",
        evidence=_RUNS.format(agent=draft.agent) if recorded else _FILE,
    )


def drafts_of_run(run: Run) -> list[Draft]:
    """Draft one entry for each tool that a run called, the first called first."""
    called = dict.fromkeys(call.name for step in run.steps for call in step.tool_calls)
    return [Draft(tool=name, agent="*", note=f"called in run {run.run_id}") for name in called]


def drafts_of_attribution(store: Store, result_id: str) -> list[Draft]:
    """Draft the entry of the tool call that an attribution blames.

    Raises:
        NotFound: There is no such answer.
        InputError: It names no step, or the step called no tool.
    """
    record = store.load_result(result_id)
    step = blamed_step(record.body)
    if step is None:
        raise InputError("this attribution names no step", where=result_id, fix="use --from-run, or --tool")
    run = store.load_run(record.run_id)
    calls = run.steps[step].tool_calls if 0 <= step < len(run.steps) else ()
    if not calls:
        raise InputError(
            f"step {step}, which it blames, called no tool", where=result_id, fix="use --from-run, or --tool"
        )
    note = f"step {step} of run {record.run_id}, blamed by {record.kind} {result_id}"
    return [Draft(tool=name, agent="*", note=note) for name in dict.fromkeys(call.name for call in calls)]


def blamed_step(text: str) -> int | None:
    """Return the step that a stored answer names: its leading step, else the one with the largest value.

    Raises:
        CorruptRecord: It is no stored answer.
    """
    try:
        document = json.loads(text)
    except ValueError:
        raise CorruptRecord("the stored answer is not JSON") from None
    answer = document.get("answer", document) if isinstance(document, dict) else {}
    leading = answer.get("leading")
    if isinstance(leading, int):
        return leading
    steps = [each for each in answer.get("steps", []) if isinstance(each, dict) and "step" in each]
    scored = [(point, -int(each["step"])) for each in steps if (point := _point(each)) is not None]
    return -max(scored)[1] if scored else None


def _point(step: Mapping[str, Any]) -> float | None:
    for name in ("value", "blame", "crs", "effect"):
        found = step.get(name)
        point = found.get("point") if isinstance(found, dict) else found
        if isinstance(point, int | float):
            return float(point)
    return None
