"""What is wrong with a policy beyond its form: graphs, columns, thresholds that nothing can meet."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.errors import ButforError
from butfor.gate.commitments.directory import NotCommitted
from butfor.gate.inputs import answer_for
from butfor.gate.material import Material
from butfor.gate.policy.entry import policy_digest, ready_entry
from butfor.gate.policy.reading import read_text
from butfor.gate.policy.signatures import NotSigned, counting, names_of, read_signatures
from butfor.gate.warm import Warm
from butfor.graphs import read_file
from butfor.identification import Hedge, Proof, Query, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from butfor.gate.evidence import Loaded
    from butfor.gate.policy.entry import Ready
    from butfor.gate.policy.marks import Marked
    from butfor.gate.policy.model import Entry, Policy
    from butfor.gate.policy.signatures import Signatures
    from butfor.graphs import Graph

Severity: TypeAlias = Literal["mistake", "warning", "note"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing to know about a policy.

    Attributes:
        severity: A mistake keeps the gate from opening or every call from running; a warning is likely one.
        line: Line, from 1.
        column: Column, from 1.
        sentence: What, and what to do.
    """

    severity: Severity
    line: int
    column: int
    sentence: str


def lint(
    text: str,
    directory: Path,
    *,
    now: datetime,
    home: Path | None = None,
    name: str = "gate.yaml",
    trust: Path | None = None,
) -> tuple[Finding, ...]:
    """Explain what is wrong with a policy.

    Args:
        text: The policy file's text.
        directory: Its folder.
        now: The present.
        home: The run store.
        name: The file's name, beside which its signatures are.
        trust: The operator's trust file, where the gate will be given one.
    """
    read = read_text(text)
    if read.policy is None:
        return tuple(
            Finding(severity="mistake", line=m.line, column=m.column, sentence=m.sentence) for m in read.mistakes
        )
    policy, document = read.policy, read.document
    signatures = read_signatures(directory / name, policy_digest(policy))
    material = Material(policy, directory, Warm(), home, operators_trust=trust, signatures=signatures)
    found: list[Finding] = [*_signed(material, signatures, document, now)]
    for tool in policy.tools:
        found += _Entry(policy, tool, directory, document).findings(material, now)
    return tuple(sorted(found, key=lambda each: (each.line, each.column)))


def _signed(material: Material, signatures: Signatures, document: Marked, now: datetime) -> Iterator[Finding]:
    """Say who signed the policy; where the operator wants it signed and nobody did, every call is refused."""
    if not (material.wants_signed_policy or signatures.found or signatures.faults):
        return
    mark = document.at(("trust",))
    try:
        found = counting(signatures, material.trust()).by(now)
    except ButforError as error:
        if material.wants_signed_policy:
            yield Finding(severity="mistake", line=mark.line, column=mark.column, sentence=str(error))
        return
    if isinstance(found, NotSigned):
        wanted = material.wants_signed_policy
        words = f"no signature of this policy counts: {found.sentence}"
        words = f"{words}. `butfor gate sign` makes one" if wanted else words
        yield Finding(severity="mistake" if wanted else "note", line=mark.line, column=mark.column, sentence=words)
    else:
        words = f"this policy is signed by {names_of(found.approvers)}"
        yield Finding(severity="note", line=mark.line, column=mark.column, sentence=words)


class _Entry:
    """The findings about one entry."""

    def __init__(self, policy: Policy, name: str, directory: Path, document: Marked) -> None:
        self.policy = policy
        self.name = name
        self.entry: Entry = policy.tools[name]
        self.directory = directory
        self.document = document

    def findings(self, material: Material, now: datetime) -> Iterator[Finding]:
        yield from self._thresholds()
        try:
            ready = ready_entry(self.name, self.entry, self.policy.preset, self.directory)
        except ButforError as error:
            yield self._say("mistake", str(error), "context")
            return
        graph = None
        for each in self._graph(ready, material, now):
            if isinstance(each, Finding):
                yield each
            else:
                graph = each
        if graph is not None:
            yield from self._evidence(ready, graph, material, now)

    def _say(self, severity: Severity, sentence: str, *path: str) -> Finding:
        mark = self.document.at(("tools", self.name, *path))
        return Finding(severity=severity, line=mark.line, column=mark.column, sentence=sentence)

    def _thresholds(self) -> Iterator[Finding]:
        entry = self.entry
        risk = None if isinstance(entry.risk, str) else entry.risk
        limit = entry.tau_c if self.policy.preset == "default" else (None if risk is None else risk.tau_r)
        if limit is None:
            yield self._say("mistake", "paper settings hold the cost against tau_r: give risk: {tau_r: …}", "risk")
        elif entry.cost > limit:
            yield self._say("mistake", f"the cost {entry.cost:g} is above its limit {limit:g}: nothing runs", "cost")
        if entry.experiment is not None and not entry.reversible:
            words = "a trial is allowed of an action that cannot be undone: EXPERIMENT needs reversible: true"
            yield self._say("warning", words, "experiment")
        if risk is not None and risk.harm_line is not None and not 0 <= risk.tau_r <= 1:
            yield self._say("warning", "with a harm line tau_r is a probability: choose it from 0 to 1", "risk")
        if entry.max_evidence_age is not None and entry.evidence.time is None and entry.evidence.file is not None:
            words = "max_evidence_age needs the time of the units: name evidence.time, or all evidence is stale"
            yield self._say("mistake", words, "max_evidence_age")
        if self.policy.mode == "observe":
            mark = self.document.at(("mode",))
            words = "this policy only observes: every call may run"
            yield Finding(severity="note", line=mark.line, column=mark.column, sentence=words)

    def _graph(self, ready: Ready, material: Material, now: datetime) -> Iterator[Finding | Graph]:
        try:
            found = material.commitment(ready, now)
        except ButforError as error:
            yield self._say("mistake", str(error), "graph")
            found = NotCommitted(reason="uncommitted", sentence="")
        if not isinstance(found, NotCommitted):
            yield found.graph
            return
        if found.sentence:
            yield self._say("mistake", f"{found.sentence}: `butfor graph commit`, then `butfor graph approve`", "graph")
        file = self.directory / self.entry.graph
        if file.is_file():
            try:
                yield read_file(file)
            except ButforError as error:
                yield self._say("mistake", str(error), "graph")

    def _evidence(self, ready: Ready, graph: Graph, material: Material, now: datetime) -> Iterator[Finding]:
        entry = self.entry
        wrong = False
        for part, name in (("treatment", entry.treatment.name), ("outcome", entry.outcome.name)):
            if name not in graph:
                wrong = True
                yield self._say("mistake", f"the graph has no node {name!r}", part, "name")
        for name in entry.strata:
            if name not in graph:
                wrong = True
                yield self._say("mistake", f"the graph has no node {name!r} for the stratum", "strata")
        if wrong:
            return
        try:
            loaded = _loaded(ready, graph, self.directory, now)
        except ButforError as error:
            yield self._say("mistake", str(error), "evidence")
            return
        del material
        yield from self._answer(graph, loaded)

    def _answer(self, graph: Graph, loaded: Loaded) -> Iterator[Finding]:
        entry = self.entry
        columns = {entry.treatment.name, entry.outcome.name, *loaded.description.roles.covariates}
        measured = [name for name in columns if name in graph]
        instrument = None if entry.instrument is None else (entry.instrument.name, entry.instrument.assumption)
        try:
            query = Query.effect(entry.treatment.name, entry.outcome.name, within=entry.strata, measured=measured)
            randomised = loaded.sample.kind == "randomised"
            answer = answer_for(graph, query, randomised=randomised, instrument=instrument)
        except ButforError as error:
            yield self._say("mistake", str(error), "strata")
            return
        rows = f"{loaded.description.rows} rows of {loaded.sample.kind} evidence"
        if isinstance(answer, Hedge):
            words = f"{in_words(graph, answer)} The gate says EXPERIMENT where it may, else ABSTAIN ({rows})"
            yield self._say("warning", words, "graph")
        elif isinstance(answer, Proof):
            yield self._say("note", f"{in_words(graph, answer)} ({rows})", "graph")


def _loaded(ready: Ready, graph: Graph, directory: Path, now: datetime) -> Loaded:
    from butfor.gate.evidence import load

    return load(ready.entry, directory, graph, now=now)
