"""Who&When: logs of failed multi-agent runs with a human's answer to *which agent, which step*."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import Draft, RunBuilder, source_of
from butfor.importers.entries import said
from butfor.importers.fields import Fields, kept, listing, mapping, printable
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import outcome_of
from butfor.runs import Observation, Outcome, PartKind, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally

NAME = "who_and_when"
_SAMPLING = ("sampling.model: not in the file", "sampling.temperature: not in the file")
# Entries of these are what an environment showed, not what a policy decided.
_TERMINALS = frozenset({"computer_terminal", "computerterminal"})
_PARENTHESIS = re.compile(r"\s*\(.*\)$")


def matches(value: Json) -> bool:
    """Say whether a record is a labelled log."""
    return isinstance(value, dict) and isinstance(value.get("history"), list) and "mistake_step" in value


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each log."""
    for record in records.each(tally.problem):
        value = mapping(record.value)
        if not matches(value):
            tally.ignored.add("record of another kind")
            continue
        log = _Log(value, record)
        run = log.run(records.digest)
        if run.steps:
            yield run
        else:
            tally.problem(record.malformed("the log has no entry of an agent", "history"))


class _Log:
    def __init__(self, value: dict[str, Json], record: Record) -> None:
        self._value = value
        self._record = record
        self._builder = RunBuilder(NAME, record)
        self._views: dict[str, tuple[GrowingRequest, int]] = {}
        self._prompts = mapping(value.get("system_prompt"))
        self._step_of: dict[int, int] = {}
        self._said: list[tuple[str, Json]] = []

    def run(self, digest: str | None) -> Run:
        fields = Fields(self._value, self._builder.ignored, "log")
        history = fields.listing("history")
        fields.known("system_prompt")
        for position, entry in enumerate(history):
            self._entry(position, mapping(entry))
        labels = self._labels(fields)
        names = {key: fields.take(key) for key in ("ground_truth", "question_ID", "level") if key in self._value}
        question = fields.take("question")
        verdict = fields.first("is_correct", "is_corrected")
        outcome = outcome_of(verdict, "is_correct", self._builder.ignored) or Outcome(
            value=1.0, rule="is_correct", source="label", detail=kept("every log of this set is a failure")
        )
        fields.close()
        mark = canonical.digest([self._value.get("question_ID"), history]).split(":")[-1][:12]
        return self._builder.build(
            f"who-and-when-{mark}",
            task=question,
            outcome=outcome,
            dialect="algorithm-generated" if self._prompts else "hand-crafted",
            digest=digest,
            extra={"labels": labels} | names,
        )

    def _labels(self, fields: Fields) -> Json:
        """Return the human's answer, with the step of ours that holds the entry which the label names."""
        step = fields.whole("mistake_step")
        return {
            "mistake_agent": fields.take("mistake_agent"),
            "mistake_step": step,
            "decisive_step": self._step_of.get(step) if step is not None else None,
            "mistake_reason": fields.take("mistake_reason"),
            "mistake_type": fields.take("mistake_type"),
            "entries": len(listing(self._value.get("history"))),
        }

    def _entry(self, position: int, entry: dict[str, Json]) -> None:
        fields = Fields(entry, self._builder.ignored, "entry")
        content, role, name = fields.take("content"), fields.text("role") or "", fields.text("name")
        fields.close()
        speaker = _PARENTHESIS.sub("", name or role) or role or "agent"
        steps = len(self._builder)
        if role == "human" and not steps:
            self._step_of[position] = 0
        elif role == "human" or speaker.lower() in _TERMINALS:
            self._show(position, speaker, content)
        else:
            self._decide(position, speaker, role, content)
        self._said.append((speaker, content))

    def _show(self, position: int, speaker: str, content: Json) -> None:
        last = self._builder.last
        self._step_of[position] = max(0, len(self._builder) - 1)
        if last is None:
            self._builder.ignored.add("entry of an environment before the first step")
            return
        last.parts.append(
            Observation(kind=PartKind.ENVIRONMENT_OBSERVATION, content=kept(content), extra=kept({"name": speaker}))
        )

    def _decide(self, position: int, speaker: str, role: str, content: Json) -> None:
        prompt = self._prompts.get(speaker)
        is_thought = "(thought)" in role
        missing = ["request: rebuilt from the group's log", "tools: not in the file", *_SAMPLING]
        if prompt is None:
            missing.append("request.system: not in the file")
        index = len(self._builder)
        step = self._builder.decide(
            Draft(
                parts=said(content, PartKind.REASONING if is_thought else PartKind.LLM_RESPONSE),
                request=self._request(speaker, prompt).at(index),
                agent=printable(speaker),
                missing=tuple(missing),
                content_missing=prompt is None,
                follows=index - 1 if index else None,
                source=source_of(self._record, f"history[{position}]"),
                extra={"role": role} if role not in ("user", "assistant", speaker) else {},
            )
        )
        self._step_of[position] = step

    def _request(self, speaker: str, prompt: Json) -> GrowingRequest:
        """Return the conversation as this agent sees it: its own entries are the assistant's."""
        if speaker not in self._views:
            self._views[speaker] = GrowingRequest({"messages": []}), 0
            self._views[speaker][0].extend([] if prompt is None else [{"role": "system", "content": prompt}])
        view, seen = self._views[speaker]
        view.extend(
            {"role": "assistant", "content": content}
            if name == speaker
            else {"role": "user", "name": name, "content": content}
            for name, content in self._said[seen:]
        )
        self._views[speaker] = view, len(self._said)
        return view
