"""One call on its way through the gate: what is known of it so far."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from butfor.errors import ButforError, InputError
from butfor.estimation.questions import Randomised
from butfor.gate.answerable import listed
from butfor.gate.budget import BudgetRules, Exhausted, Spend, Stored, reserve, spend_key
from butfor.gate.commitment import NotCommitted
from butfor.gate.context import Unread, read_context
from butfor.gate.decide import Decision, before_data, refused
from butfor.gate.envelope import unseal
from butfor.gate.epochs import Extent, Family
from butfor.gate.experiment import Request, request_for
from butfor.gate.inputs import Inputs
from butfor.gate.strict_json import digest
from butfor.identification import Hedge, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from butfor.canonical import Json
    from butfor.gate.action import Action
    from butfor.gate.budget import Grant
    from butfor.gate.commitment import Commitment
    from butfor.gate.context import Reading
    from butfor.gate.evidence import Loaded
    from butfor.gate.ledger import Ledger
    from butfor.gate.material import Material
    from butfor.gate.policy.entry import Ready
    from butfor.gate.policy.signatures import PolicySignature
    from butfor.gate.verdict import Reason
    from butfor.gate.warm import Warm


class Stop(Exception):
    """A refusal on the way."""

    def __init__(self, reason: Reason, *missing: str) -> None:
        self.reason = reason
        self.missing = missing
        super().__init__(*missing)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Level:
    """The error level that a question was granted.

    Attributes:
        family: Digest of the family.
        epoch: The epoch that paid.
        place: Its number in its share.
        alpha: The level.
        key: Names the question on its evidence under its entry.
        share: Whose share paid.
        questions: How many questions have an equal part of the level; None where it follows the order of asking.
    """

    family: str
    epoch: int
    place: int
    alpha: float
    key: str
    share: str
    questions: int | None


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


def hypothesis(query: Query, within: Mapping[str, float | str], to: float | str, ready: Ready) -> str:
    """Name a question: the effect, the stratum, and the two treatment values."""
    entry = ready.entry
    return digest(
        {
            "schema": "butfor.hypothesis/1",
            "treatment": query.treatments[0],
            "outcome": query.outcomes[0],
            "stratum": {name: _plain(value) for name, value in within.items()},
            "to": _plain(to),
            "against": entry.treatment.against,
            "bound_on": entry.bound_on,
            "tau_u": entry.tau_u,
        }
    )


def budget_rules(ready: Ready, inputs: Inputs) -> BudgetRules:
    """Return what an entry says of its budget.

    Where it says nothing, every question that the evidence can answer has an equal part of the error level. Levels by
    order of asking are for entries that name shares, and where the questions cannot be listed.
    """
    budget = ready.entry.budget
    rest = max(0.0, 1.0 - sum(budget.shares.values()))
    questions = listed(ready.entry, inputs.sample, inputs.rules.to)
    return BudgetRules(
        alpha=ready.entry.alpha,
        shares=dict(budget.shares),
        others=rest if budget.other_agents is None else budget.other_agents,
        hypotheses=None
        if questions is None
        else tuple(hypothesis(inputs.query, stratum, to, ready) for to, stratum in questions),
    )


def _plain(value: float | str) -> float | str:
    """Write a truth value as the number that evidence has for it."""
    return value if isinstance(value, str) else float(value)


def level_of(grant: Spend | Stored, key: str, rules: BudgetRules) -> Level:
    """Return the level that a question has, whether granted now or with its first answer.

    Raises:
        InputError: The stored certificate names none.
    """
    if isinstance(grant, Spend):
        return Level(
            family=grant.family,
            epoch=grant.epoch,
            place=grant.place,
            alpha=grant.alpha,
            key=key,
            share=grant.share,
            questions=None if rules.hypotheses is None else len(rules.hypotheses),
        )
    budget = unseal(grant.certificate).body.get("budget")
    if not isinstance(budget, dict) or set(budget) != {field.name for field in dataclasses.fields(Level)}:
        raise InputError("the stored verdict names no error level", where=f"entry {grant.position} of the ledger")
    return Level(**budget)
