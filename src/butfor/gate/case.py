"""One call on its way through the gate: what is known of it so far."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from butfor.errors import ButforError, CorruptRecord, InputError
from butfor.estimation.questions import Randomised
from butfor.gate.approvals import Used, use_pending
from butfor.gate.budget.epochs import Extent, Family
from butfor.gate.budget.levels import budget_rules, hypothesis, level_of
from butfor.gate.budget.reservation import Exhausted, Spend, reserve, spend_key
from butfor.gate.commitments.commitment import NotCommitted
from butfor.gate.context import Unread, read_context
from butfor.gate.decide import Decision, before_data, refused, withheld
from butfor.gate.experiment import Request, request_for
from butfor.gate.inputs import Inputs
from butfor.identification import Hedge, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from butfor.canonical import Json
    from butfor.gate.action import Action
    from butfor.gate.budget.levels import Level
    from butfor.gate.budget.reservation import Grant
    from butfor.gate.commitments.commitment import Commitment
    from butfor.gate.context import Reading
    from butfor.gate.evidence import Loaded
    from butfor.gate.ledger.chain import Ledger, Pending
    from butfor.gate.material import Material
    from butfor.gate.policy.entry import Ready
    from butfor.gate.policy.signatures import PolicySignature
    from butfor.gate.signing.trust import TrustFile
    from butfor.gate.verdict import Reason
    from butfor.gate.warm import Warm


class Stop(Exception):
    """A refusal on the way."""

    def __init__(self, reason: Reason, *missing: str) -> None:
        self.reason = reason
        self.missing = missing
        super().__init__(*missing)


@dataclasses.dataclass(kw_only=True, eq=False)
class Case:
    """One call on its way; each step fills in what it found, and a refusal keeps what was found until then."""

    id: str
    action: Action
    at: datetime | None = None
    call: str | None = None
    ready: Ready | None = None
    to: float | str | None = None
    context: Mapping[str, Reading] = dataclasses.field(default_factory=dict)
    commitment: Commitment | None = None
    loaded: Loaded | None = None
    inputs_or_none: Inputs | None = None
    grant: Grant | None = None
    level: Level | None = None
    first_of: str | None = None
    signatures: tuple[PolicySignature, ...] = ()
    policy_holds: bool = False
    proven: Decision | None = None
    consent: Used | None = None
    decision: Decision = dataclasses.field(default_factory=lambda: refused("error"))

    @property
    def inputs(self) -> Inputs:
        """What is decided from."""
        assert self.inputs_or_none is not None
        return self.inputs_or_none

    @property
    def stamp(self) -> str:
        """When, ISO 8601 in UTC."""
        at = self.at or datetime.fromtimestamp(0, UTC)
        return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def name_call(self) -> None:
        """Name the exact call, and take it from its canonical bytes: from here on nobody else holds it."""
        try:
            self.action, self.call = self.action.frozen()
        except ButforError as error:
            raise Stop("unusable_call", str(error)) from None

    def find_treatment(self) -> None:
        """Find t*."""
        assert self.ready is not None
        try:
            self.to = self.ready.treatment_of(self.action)
        except InputError as error:
            raise Stop("unusable_call", str(error)) from None

    def read_context(self, now: Callable[[], datetime]) -> None:
        """Read the context variables."""
        assert self.ready is not None
        found = read_context(self.ready.sources, self.action.arguments, now)
        if isinstance(found, Unread):
            raise Stop("context_unavailable", found.sentence)
        self.context = found

    def find_graph(self, material: Material) -> None:
        """Find the committed graph."""
        assert self.ready is not None
        assert self.at is not None
        try:
            found = material.commitment(self.ready, self.at)
        except ButforError as error:
            raise Stop("not_committed", str(error)) from None
        if isinstance(found, NotCommitted):
            raise Stop("not_committed", found.sentence)
        self.commitment = found

    def find_evidence(self, material: Material) -> None:
        """Read the evidence, and ask whether the commitment admits its kind."""
        assert self.ready is not None
        assert self.at is not None
        assert self.commitment is not None
        self.loaded = material.evidence(self.ready, self.commitment, self.at)
        entry = self.ready.entry
        refusal = self.commitment.admits(
            self.loaded.sample.kind, treatment=entry.treatment.name, outcome=entry.outcome.name
        )
        if refusal is not None:
            raise Stop("not_committed", refusal.sentence)

    def find_answer(self, warm: Warm) -> None:
        """Ask the query of the graph."""
        assert self.ready is not None
        assert self.commitment is not None
        assert self.loaded is not None
        assert self.at is not None
        assert self.to is not None
        entry, graph = self.ready.entry, self.commitment.graph
        query = warm.remember(("query", self.ready.digest, graph.digest, self.loaded.description.roles), self._query)
        rules = self.ready.rules(self.to)
        randomised = self.loaded.sample.kind == "randomised"
        answer = warm.answer(graph, query, randomised=randomised, instrument=rules.instrument)
        self.inputs_or_none = Inputs(
            graph=graph,
            query=query,
            answer=answer,
            sample=self.loaded.at(self.at),
            rules=rules,
            within={name: self.context[name].value for name in entry.strata},
        )

    def _query(self) -> Query:
        """Ask for the entry's effect, of the columns that the evidence has."""
        assert self.ready is not None
        assert self.commitment is not None
        assert self.loaded is not None
        entry, graph = self.ready.entry, self.commitment.graph
        columns = {entry.treatment.name, entry.outcome.name, *self.loaded.description.roles.covariates}
        return Query.effect(
            entry.treatment.name, entry.outcome.name, within=entry.strata, measured=[n for n in columns if n in graph]
        )

    def take_trial(self, request: Request, loaded: Loaded) -> None:
        """Ask the question of a request of the randomised rows of its trial."""
        assert self.commitment is not None
        assert self.ready is not None
        assert self.at is not None
        entry, graph = self.ready.entry, self.commitment.graph
        self.call, self.to, self.loaded = request.call, request.to, loaded
        self.inputs_or_none = Inputs(
            graph=graph,
            query=Query.effect(entry.treatment.name, entry.outcome.name, within=entry.strata),
            answer=Randomised(),
            sample=loaded.at(self.at),
            rules=self.ready.rules(request.to),
            within=dict(request.stratum),
        )

    def refused_before_data(self) -> Decision | None:
        """Refuse what no evidence could change, so that it spends no error budget."""
        return before_data(self.inputs)

    def looks_at_data(self) -> bool:
        """Say whether the verdict can depend on an outcome: a question that cannot execute costs nothing."""
        return not isinstance(self.inputs.answer, Hedge) or self.inputs.rules.may_clear_unidentified

    def reserve(self, ledger: Ledger, warm: Warm) -> None:
        """Reserve an error level, where the preset spends any and the data are going to be looked at."""
        if not self.inputs.rules.preset.spends_budget or not self.looks_at_data():
            return
        self.level = warm.peek(self._question())
        if self.level is None:
            self._ask_for_level(ledger)
        if self.level is not None:
            self.inputs_or_none = dataclasses.replace(self.inputs, alpha=self.level.alpha)

    def _question(self) -> Hashable:
        """Name question, evidence and entry in memory; only recorded answers are kept under it."""
        assert self.ready is not None
        assert self.loaded is not None
        inputs = self.inputs
        within = tuple(sorted(inputs.within.items()))
        return "level", self.ready.digest, self.loaded.lineage, inputs.sample.digest, inputs.query, within, self.to

    def _ask_for_level(self, ledger: Ledger) -> None:
        assert self.ready is not None
        assert self.loaded is not None
        family = Family(tool=self.ready.tool, outcome=self.ready.entry.outcome.name, lineage=self.loaded.lineage)
        asked = hypothesis(self.inputs.query, self.inputs.within, self.inputs.rules.to, self.ready)
        evidence, entry = self.inputs.sample.digest, self.ready.digest
        rules = budget_rules(self.ready, self.inputs)
        self.grant = reserve(
            ledger,
            family=family,
            hypothesis=asked,
            agent=self.action.agent,
            evidence=evidence,
            entry=entry,
            rules=rules,
            extent=Extent(window=self.loaded.description.window),
        )
        if not isinstance(self.grant, Exhausted):
            key = spend_key(family, asked, evidence, entry)
            self.first_of = key if isinstance(self.grant, Spend) else None
            self.level = level_of(self.grant, key, rules)

    def examine(self, warm: Warm) -> None:
        """Examine graph and verdict, where the preset tests graphs or the policy demands it."""
        assert self.ready is not None
        rules, robust = self.inputs.rules, self.ready.entry.robustness
        if not rules.preset.tests_graph and rules.demands == type(rules.demands)():
            return
        found = warm.robustness(self.inputs, show=robust.show)
        self.inputs_or_none = dataclasses.replace(self.inputs, robustness=found)

    def withhold(self) -> None:
        """Take back an EXECUTE for which the policy demands an approval; `ask_consent` gives it again."""
        assert self.ready is not None
        if self.decision.verdict == "EXECUTE" and self.ready.entry.approval == "required":
            self.proven, self.decision = self.decision, withheld(self.decision)

    def ask_consent(self, pending: Pending, trust: TrustFile) -> None:
        """Use an approval of this exact call, within the transaction that records the decision.

        Raises:
            StoreError: It could not be written.
        """
        assert self.proven is not None
        assert self.call is not None
        assert self.at is not None
        try:
            found = use_pending(pending, "approval", self.call, agent=self.action.agent, trust=trust, asked=self.at)
        except CorruptRecord as error:
            self.decision = withheld(self.proven, str(error))
            return
        if isinstance(found, Used):
            self.consent, self.decision = found, self.proven
        else:
            self.decision = withheld(self.proven, found.sentence)

    def settle(self, warm: Warm) -> None:
        """Remember the level of a question whose answer is recorded: asking again costs nothing."""
        if self.level is not None and self.decision.measured is not None:
            warm.keep(self._question(), self.level)

    def request(self) -> Request | None:
        """Return the trial that an EXPERIMENT verdict asks for."""
        if self.inputs_or_none is None or self.ready is None:
            return None
        assert self.call is not None
        return request_for(
            self.decision,
            self.inputs,
            decision_id=self.id,
            entry=self.ready.name,
            tool=self.action.tool,
            call=self.call,
        )

    def context_document(self) -> dict[str, Json]:
        """Return the context as plain JSON values."""
        return {name: {"value": r.value, "source": r.source, "at": r.at} for name, r in self.context.items()}

    def evidence_document(self) -> dict[str, Json] | None:
        """Return what the evidence is, as plain JSON values."""
        if self.loaded is None:
            return None
        described = self.loaded.description
        return {
            "level": self.loaded.level,
            "query": self.loaded.query,
            "lineage": self.loaded.lineage,
            "window": None if described.window is None else list(described.window),
            "roles": described.roles.to_json(),
            "rows": described.rows,
            "rows_hash": self.loaded.rows_hash,
            "arms": dict(described.arms),
        }

    def budget_document(self) -> dict[str, Json] | None:
        """Return what was spent, as plain JSON values."""
        return None if self.level is None else dataclasses.asdict(self.level)

    def approval_document(self) -> dict[str, Json] | None:
        """Return the approval that was used, as plain JSON values."""
        if self.consent is None:
            return None
        permit = self.consent.permit
        return {
            "terms": permit.terms.to_json(),
            "signature": permit.signature.to_json(),
            "use": self.consent.use,
        }
