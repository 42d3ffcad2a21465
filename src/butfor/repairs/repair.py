"""The verb: from a failed run to the smallest change that really fixes it."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from butfor.attribution import Bill, Question, Quote
from butfor.attribution.bill import bill
from butfor.attribution.case import Case, open_case
from butfor.attribution.methods import METHODS, Ask
from butfor.attribution.quotes import quote_method
from butfor.errors import BudgetStop, NotFound, NothingFailed, TransportFault
from butfor.repairs.accounting import price, price_of_responsibility, together
from butfor.repairs.ask import RepairAsk
from butfor.repairs.candidates import Candidate, Sifter
from butfor.repairs.engine import EngineExecutor, null_arm
from butfor.repairs.failure import failure_of
from butfor.repairs.ledger import Ledger, StoredAnswers
from butfor.repairs.locate import Located, find_blame, find_responsible, stored_blame
from butfor.repairs.proposers import ArgumentEdits, AskedModel, Proposer, Resamples
from butfor.repairs.provenance import check_declared
from butfor.repairs.result import Repair, RepairAnswer, Tried
from butfor.repairs.smaller import Shrinker
from butfor.repairs.stored import save_answer
from butfor.repairs.validation import RepairTest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.canonical import Json
    from butfor.repairs.proposal import Failure
    from butfor.repairs.verdict import Verdict
    from butfor.replay import Rollout
    from butfor.store import Storage


def repair_run(
    run_id: str,
    *,
    store: Storage,
    ask: RepairAsk | None = None,
    question: Question | None = None,
    proposers: Sequence[Proposer] = (),
    announce: Callable[[Quote], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RepairAnswer:
    """Find the smallest change to a recorded run's decisive step that is shown to fix it.

    Args:
        run_id: The run, or the beginning of its id.
        store: Where the run is; rollouts, hypotheses and answers are stored there, so that a killed call goes on.
        ask: How to look.
        question: Agent, outcome, tools and budget, where they differ from what was recorded.
        proposers: Asked before the built-in ones: the user's proposals, a model.
        announce: Told the price before anything is spent.
        progress: Called after each rollout with (finished, asked for).

    Returns:
        Accepted repairs, the smallest first, every candidate that was tested, and what it cost.

    Raises:
        NotFound: No such run or step.
        NothingFailed: The run's outcome is good.
        InputError: The run does not hold what a replay needs.
        AgentError: The agent cannot be imported.
        ReplayDivergence: An untouched replay differs from the recording.
        OutcomeError: The outcome function failed.
    """
    asked, chosen = question or Question(), ask or RepairAsk()
    case = open_case(run_id, store=store, question=asked, progress=progress)
    _check(case, chosen)
    work = _Work(case=case, ask=chosen, proposers=tuple(proposers))
    return work.answer(announce, {**chosen.to_json(), "question": asked.to_json()})


@dataclass(kw_only=True)
class _Work:
    """One call of the verb."""

    case: Case
    ask: RepairAsk
    proposers: tuple[Proposer, ...]
    started: float = field(default_factory=time.monotonic)
    repairs: list[Repair] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    stopped: str | None = None
    unusable: str | None = None

    def __post_init__(self) -> None:
        case, ask = self.case, self.ask
        self.bought_before = case.rollouts.meter.rollouts
        self.failure: Failure = failure_of(case, secrets=ask.secrets)
        self.sifter = Sifter(failure=self.failure)
        self.resamples = Resamples(case, draws=ask.resamples)
        self.answers = StoredAnswers(case.rollouts.store, case.run.run_id, case.rollouts.meter)
        own = [each.remembering(self.answers) if isinstance(each, AskedModel) else each for each in self.proposers]
        built_in: list[Proposer] = [ArgumentEdits()] if ask.argument_edits else []
        self.proposers = (*own, *built_in, *([self.resamples] if ask.resamples else []))
        self.executors = {name: EngineExecutor(case, purpose=name) for name in ("screen", "validate", "shrink")}
        self.ledger = Ledger(case.rollouts.store, case.run.run_id, case.score.name, case.rollouts.fingerprint)
        # A judge's mean, or an outcome between 0 and 1, shows that others will be graded too.
        graded = ask.standard.graded or case.factual not in (0.0, 1.0)
        standard = replace(ask.standard, graded=graded)
        self.test = RepairTest(standard=standard, tested=self.ledger.tested)

    def answer(self, announce: Callable[[Quote], None] | None, settings: dict[str, Any]) -> RepairAnswer:
        """Locate, propose, screen, test, shrink, store."""
        located = self._locate(announce)
        if announce is not None and located.steps:
            announce(price(self.case, self.ask, located.steps, proposers=len(self.proposers)))
        for step in located.steps:
            if len(self.repairs) >= self.ask.wanted or self._is_stopped():
                break
            self._repair_step(step)
        return self._store(located, settings)

    # Which steps

    def _locate(self, announce: Callable[[Quote], None] | None) -> Located:
        ask = self.ask
        if ask.steps:
            named = ", ".join(str(step) for step in ask.steps)
            return Located(steps=ask.steps, sentence=f"step {named}, as asked for")
        if ask.locate == "responsibility":
            if announce is not None:
                announce(price_of_responsibility(self.case, ask, proposers=len(self.proposers)))
            return self._by_responsibility()
        stored = stored_blame(self.case, most=ask.most_steps)
        if stored is not None:
            return stored
        if announce is not None:
            announce(quote_method(METHODS["search"](self.case, Ask()), self.case, Ask()))
        return find_blame(self.case, most=ask.most_steps)

    def _by_responsibility(self) -> Located:
        """Let every step but the last be responsible for what its proposals can save."""
        actions = {
            step: [
                each.proposal.action
                for each in Sifter(failure=self.failure).sift(self._proposed(step))
                if self._is_usable(each)
            ]
            for step in range(self.case.steps - 1)
        }
        given = {step: found for step, found in actions.items() if found}
        if not given:
            return Located(steps=(), sentence="no step has a proposal.")
        return find_responsible(self.case, given, draws=self.ask.standard.most // 2, most=self.ask.most_steps)

    # One step

    def _repair_step(self, step: int) -> None:
        candidates = [each for each in self.sifter.sift(self._proposed(step)) if self._is_usable(each)]
        ranked = self.sifter.screen(candidates, self.executors["screen"], draws=self.ask.screening)
        actions = [each.proposal.action for each in ranked]
        start = self.ledger.null_from(step, actions, seen=self._null_seen(step))
        for candidate in ranked:
            if len(self.repairs) >= self.ask.wanted or self._is_stopped():
                return
            verdict = self._validate(step, candidate.proposal.action, start)
            self.sifter.funnel["tested"] += 1
            self.tried.append(Tried(proposal=candidate.proposal, verdict=verdict, distance=candidate.edit.distance))
            if verdict.accepted:
                self.sifter.funnel["accepted"] += 1
                self._accept(candidate, verdict)

    def _is_usable(self, candidate: Candidate) -> bool:
        """Drop what cannot stand for the recorded answer, and remember why."""
        proposal = candidate.proposal
        why = self.executors["validate"].why_unusable(proposal.step, proposal.action)
        if why is not None:
            self.sifter.funnel["unusable"] += 1
            self.unusable = why
        return why is None

    def _proposed(self, step: int) -> list[Any]:
        found: list[Any] = []
        for each in self.proposers:
            try:
                found += each.propose(self.failure, step, self.ask.proposals)
            except (BudgetStop, TransportFault) as stop:
                self.stopped = self.stopped or str(stop)
        return found

    def _validate(self, step: int, action: Json, null_from: int) -> Verdict:
        number = self.ledger.number(step, action)
        return self.test.test(step, action, self.executors["validate"], number=number, null_from=null_from)

    def _validate_smaller(self, step: int, action: Json) -> Verdict:
        """Test what was found in view of the null draws so far: it begins after them."""
        return self._validate(step, action, self.ledger.null_from(step, [action], seen=self._null_seen(step)))

    def _null_seen(self, step: int) -> int:
        rollouts = self.case.rollouts
        stored = rollouts.store.load_rollouts(rollouts.run_id, rollouts.fingerprint, null_arm(step))
        return max(len(stored), self.test.null_seen(step))

    def _accept(self, candidate: Candidate, verdict: Verdict) -> None:
        step, action = candidate.proposal.step, candidate.proposal.action
        repair = Repair(
            run_id=self.case.run.run_id,
            step=step,
            outcome=self.case.score.name,
            factual=self.failure.actions[step],
            repaired=action,
            proposal=candidate.proposal,
            verdict=verdict,
            edit=candidate.edit,
        )
        shrinker = Shrinker(
            executor=self.executors["shrink"], validate=self._validate_smaller, calls=self.ask.shrink_calls
        )
        smallest = shrinker.shrink(repair)
        self.sifter.funnel["shrunk"] += smallest.shrunk_from is not None
        self.repairs.append(smallest)

    # The end

    def _is_stopped(self) -> bool:
        rollouts = self.case.rollouts
        if rollouts.interrupted:
            self.stopped = "interrupted; finished rollouts are kept, run the same command to go on"
        elif rollouts.stopped is not None:
            self.stopped = str(rollouts.stopped)
        return self.stopped is not None

    def _store(self, located: Located, settings: dict[str, Any]) -> RepairAnswer:
        self._is_stopped()
        answer = RepairAnswer(
            result_id=str(uuid.uuid4()),
            run_id=self.case.run.run_id,
            steps=located.steps,
            located=located.sentence,
            repairs=tuple(sorted(self.repairs, key=lambda each: each.edit.distance)),
            tried=tuple(self.tried),
            funnel=dict(self.sifter.funnel),
            bill=self._bill(located),
            notes=self._notes(),
            stopped=self.stopped,
            settings=settings | {"outcome": self.case.score.name, "agent": self.case.agent.name},
        )
        save_answer(self.case.rollouts.store, answer)
        return answer

    def _bill(self, located: Located) -> Bill:
        """Add up what repairing cost, and finding the step where this call did it."""
        meter = self.case.rollouts.meter
        seconds = time.monotonic() - self.started
        own = bill(self._rollouts(), found=0, seconds=seconds, prices=meter.budget.prices)
        bills = [own] if located.attribution is None else [own, located.attribution.bill]
        return together(bills, bought=meter.rollouts - self.bought_before)

    def _rollouts(self) -> list[Rollout]:
        used = [*self.resamples.bought, *(each for name in self.executors.values() for each in name.bought)]
        return list({(each.arm, each.ordinal): each for each in used}.values())

    def _notes(self) -> tuple[str, ...]:
        notes = list(self.case.notes)
        leaking = [each for each in self.repairs if each.proposal.leaks]
        if leaking:
            named = ", ".join(sorted({literal for each in leaking for literal in each.proposal.leaks}))
            notes.append(
                f"an accepted repair contains what only the verifier knows ({named}) and was not there before: it may "
                "have been copied, so it is not exported"
            )
        if self.answers.asked or self.answers.found:
            notes.append(f"the proposer was asked {self.answers.asked} times; {self.answers.found} answers were kept")
        if self.unusable is not None:
            notes.append(f"a proposal cannot stand for the recorded answer: {self.unusable}")
        declared = check_declared(self.case.run)
        if declared is not None and (declared.unseen or declared.undeclared):
            notes.append(declared.sentence)
        simulated = sum(each.counts.get("simulated", 0) for each in self.executors["validate"].bought)
        if simulated:
            notes.append(f"{simulated} tool calls went to a simulator: the answer is as good as the simulator")
        unsupported = Counter(each.tool for each in self._rollouts() if each.status == "unsupported")
        for tool, count in unsupported.most_common(1):
            notes.append(f"{count} rollouts could not be answered for the tool {tool!r}: register a simulator for it")
        return tuple(notes)


def _check(case: Case, ask: RepairAsk) -> None:
    for step in ask.steps:
        if not 0 <= step < case.steps:
            raise NotFound(f"the run has no step {step}", fix=f"its {case.steps} steps are 0 to {case.steps - 1}")
    factual = case.factual if isinstance(case.factual, float) else case.factual.point
    if factual == 0.0:
        raise NothingFailed(
            f"the run did not fail ({case.score.name} gave {factual:g}; 1 = bad)",
            where=f"run {case.run.run_id}",
            fix="repair a run whose outcome is bad, or give another --outcome",
        )
