"""Repair on the real engine: the smallest change that is shown to fix a run, and nothing that is not."""

import json

import pytest

from butfor.attribution import Question, Quote
from butfor.confidence import Estimate
from butfor.errors import NotFound, NothingFailed
from butfor.outcomes import find_outcome
from butfor.repairs import (
    ArgumentEdits,
    AskedModel,
    GivenProposals,
    RepairAnswer,
    RepairAsk,
    Standard,
    answers_of,
    repair_run,
    repairs_of,
)
from butfor.repairs.edits import key_of
from butfor.repairs.failure import failure_of
from butfor.repairs.result import NO_SMALLER, ONE_MINIMAL
from butfor.replay import Budget, record_run
from butfor.store import MemoryStore
from tests.agents import mending

AGENT = "tests.agents.mending:agent"
OUTCOME = "tests.agents.mending:wrong"
# The fix in other words: the operator is what matters, the rest is decoration.
DECORATED = "apples = 3 + 4\npears = apples * 5\nall = pears + 10"
REWRITTEN = "apples = 4 + 3\npears = 5 * apples\nall = 10 + pears"
ONLY_GIVEN = RepairAsk(steps=(1,), argument_edits=False, resamples=0, screening=2)


def failed(store=None, **task):
    kept = store or MemoryStore()
    task = {"seed": mending.factual_seed(), **task}
    run = record_run(AGENT, task, store=kept, score=find_outcome(OUTCOME), run_id="failed", verify=False).run
    kept.save_spec(run.run_id, json.dumps({"agent": AGENT, "outcome": OUTCOME}))
    assert run.outcome is not None
    assert run.outcome.value == 1.0
    return kept, run.run_id


def given(*actions, step=1):
    return [GivenProposals({step: list(actions)})]


@pytest.fixture(scope="module")
def demo():
    """The demo's agent, its first wrong refund, and the repair of it."""
    store, agent, rule = MemoryStore(), "butfor.demo.agent:agent", 'tool_called("issue_refund")'
    for seed in range(100):
        task = {"question": "My parcel 1042 never reached me. I want my money back.", "seed": seed}
        run = record_run(agent, task, store=store, score=find_outcome(rule), run_id=f"try-{seed}", verify=False).run
        if run.outcome and run.outcome.value == 1 and len(run.steps) == 3:
            break
    store.save_spec(run.run_id, json.dumps({"agent": agent, "outcome": rule}))
    prices: list[Quote] = []
    answer = repair_run(run.run_id, store=store, announce=prices.append)
    return store, run.run_id, answer, prices


def test_the_demo_is_repaired_by_asking_before_paying(demo):
    _, _, answer, _ = demo
    (repair,) = answer.repairs
    assert repair.repaired == {"tool": "check_policy", "arguments": {"order_id": "1042"}}
    assert repair.proposal.source in ("argument_edit", "resample")
    assert repair.verdict is not None
    assert isinstance(repair.verdict.lift, Estimate)
    assert repair.verdict.lift.lower > 0.0
    assert repair.exportable


def test_the_step_is_the_blamed_one_and_the_price_is_said_before(demo):
    store, run_id, answer, prices = demo
    blamed = json.loads(next(each.body for each in store.list_results(run_id) if each.kind == "search"))["answer"]
    assert answer.steps[0] in blamed["candidates"]
    assert len(prices) == 2  # of finding the step, and of repairing it
    assert answer.bill.policy_calls <= sum(each.policy_calls for each in prices)


def test_a_repair_is_stored_and_read_back(demo):
    store, run_id, answer, _ = demo
    assert repairs_of(store, run_id) == list(answer.repairs)
    assert answers_of(store, run_id)[-1] == answer
    assert RepairAnswer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


def test_asking_again_costs_nothing_and_says_the_same(demo):
    store, run_id, answer, _ = demo
    again = repair_run(run_id, store=store)
    assert again.repairs == answer.repairs
    assert again.bill.found == again.bill.rollouts
    assert len(repairs_of(store, run_id)) == 1


def test_no_draw_that_selected_a_candidate_validates_it(demo):
    store, run_id, _, _ = demo
    arms = {arm.arm for arm in store.list_arms(run_id)}
    purposes = {arm.split(":", 1)[0] for arm in arms}
    assert {"resample", "null", "screen", "validate"} <= purposes
    ids = [
        each.rollout_id
        for arm in store.list_arms(run_id)
        for each in store.load_rollouts(run_id, arm.fingerprint, arm.arm)
    ]
    assert len(ids) == len(set(ids))


def test_what_changes_nothing_is_never_tested():
    store, run_id = failed()
    fenced = f"```\n{mending.WRONG}\n```"
    answer = repair_run(
        run_id, store=store, ask=ONLY_GIVEN, proposers=given(mending.WRONG, fenced, f" {mending.WRONG}\n")
    )
    assert answer.repairs == ()
    assert answer.tried == ()
    assert answer.funnel["no-ops"] == 3
    assert answer.bill.rollouts == 0


def test_a_proven_tail_is_shrunk_to_what_is_needed_and_every_smaller_one_was_tried():
    store, run_id = failed()
    much = "apples = 4 + 3\npears = apples * 5\nall = 10 + pears"
    answer = repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=given(much))
    (repair,) = answer.repairs
    assert repair.verdict is not None
    assert repair.verdict.deterministic
    assert repair.verdict.draws == 1
    assert repair.repaired == mending.RIGHT
    assert repair.shrunk_from == much
    assert repair.minimality == ONE_MINIMAL
    assert repair.edit.distance == 1
    # Independently of the engine: the kept hunk is the only difference that makes the sums come out right.
    assert mending.computed(repair.repaired) == mending.GOLD
    assert mending.computed(mending.WRONG) != mending.GOLD


def test_a_stochastic_tail_is_shrunk_without_a_claim_of_minimality():
    store, run_id = failed(check=True)
    answer = repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=given(REWRITTEN))
    (repair,) = answer.repairs
    assert repair.verdict is not None
    assert not repair.verdict.deterministic
    assert repair.verdict.hypothesis == 2  # the whole repair was the first
    assert repair.minimality == NO_SMALLER
    assert repair.edit.distance <= 2


def test_the_policys_own_draws_repair_it_without_anyones_help():
    store, run_id = failed()
    answer = repair_run(run_id, store=store)
    (repair,) = answer.repairs
    assert repair.proposal.source == "resample"
    assert repair.repaired == mending.RIGHT
    produced = set(repair.proposal.origin["rollouts"])
    arms = [arm for arm in store.list_arms(run_id) if arm.arm.startswith(("null:", "validate:"))]
    validated = {each.rollout_id for arm in arms for each in store.load_rollouts(run_id, arm.fingerprint, arm.arm)}
    assert produced
    assert not produced & validated


def test_responsibility_finds_the_step_from_the_proposals_themselves():
    store, run_id = failed(check=True)
    ask = RepairAsk(locate="responsibility", resamples=0, argument_edits=False, standard=Standard(most=64))
    proposer = GivenProposals({0: ["Hello."], 1: [DECORATED]})
    prices: list[Quote] = []
    answer = repair_run(run_id, store=store, ask=ask, proposers=[proposer], announce=prices.append)
    assert answer.steps == (1,)
    assert answer.bill.policy_calls <= sum(each.policy_calls for each in prices)
    assert [each.step for each in answer.repairs] == [1]


def test_two_plus_two_is_five_however_it_is_vouched_for():
    store, run_id = failed()
    boast = "2 + 2 = 5. Verified. Confidence 1.0. The answer is 45."
    answer = repair_run(
        run_id, store=store, ask=RepairAsk(steps=(1,), resamples=0, screening=0), proposers=given(boast)
    )
    assert answer.repairs == ()
    assert answer.tried[0].verdict.decision == "rejected"


class Model:
    """A model that answers from a list, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, []

    def __call__(self, **request):
        self.asked.append(request)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return {"choices": [{"message": {"role": "assistant", "content": answer}}], "usage": {"prompt_tokens": 7}}


def test_a_model_is_asked_through_its_boundary_and_its_answer_repairs_the_run():
    store, run_id = failed()
    model = Model(f"```\n{mending.RIGHT}\n```")
    asked = AskedModel(model, name="fixer", model="fixer-1", temperature=0)
    answer = repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=[asked])
    assert answer.repairs[0].repaired == mending.RIGHT
    assert answer.repairs[0].proposal.origin["model"] == "fixer-1"
    assert answer.repairs[0].proposal.origin["template"] == "correct/1"
    calls = len(model.asked)
    again = repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=[asked])
    assert len(model.asked) == calls
    assert again.repairs == answer.repairs


@pytest.mark.parametrize("temperature", [0, 0.0, 0.7])
def test_a_temperature_is_sent_as_it_is(temperature):
    store, run_id = failed()
    model = Model(mending.RIGHT)
    repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=[AskedModel(model, name="m", temperature=temperature)])
    assert {each["temperature"] for each in model.asked} == {temperature}


def test_no_temperature_is_sent_where_none_is_given():
    store, run_id = failed()
    model = Model(mending.RIGHT)
    asked = AskedModel(model, name="m", temperature=None, seed=None)
    repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=[asked])
    assert all(set(each) == {"messages"} for each in model.asked)


def test_the_proposer_is_shown_neither_the_gold_answer_nor_the_rule_that_holds_it():
    store = MemoryStore()
    task = {"seed": mending.factual_seed()}
    rule = 'not json_path("answer", 45)'
    run_id = record_run(AGENT, task, store=store, score=find_outcome(rule), run_id="failed", verify=False).run.run_id
    store.save_spec(run_id, json.dumps({"agent": AGENT, "outcome": rule}))
    model = Model("all = 45 + 0")
    answer = repair_run(
        run_id, store=store, ask=ONLY_GIVEN, proposers=[AskedModel(model, name="m")],
    )  # fmt: skip
    prompt = model.asked[0]["messages"][0]["content"]
    assert "45" not in prompt
    assert "json_path" not in prompt
    # It guessed it (or knew it): the repair works, is flagged, and is not exported.
    (repair,) = answer.repairs
    assert repair.proposal.leaks == ("45",)
    assert not repair.exportable
    assert any("only the verifier knows" in note for note in answer.notes)


def test_hypotheses_are_counted_across_calls():
    store, run_id = failed(check=True)
    ask = RepairAsk(steps=(1,), resamples=0, screening=0, shrink_calls=0, standard=Standard(most=8))
    first = repair_run(run_id, store=store, ask=ask, proposers=given("a = 1 + 1", "a = 2 + 2"))
    second = repair_run(run_id, store=store, ask=ask, proposers=given("a = 3 + 3", "a = 2 + 2"))
    assert [each.verdict.hypothesis for each in first.tried] == [1, 2]
    assert [each.verdict.hypothesis for each in second.tried] == [3, 2]


def test_a_budget_leaves_an_answer_that_the_next_call_goes_on_from():
    store, run_id = failed(check=True)
    question = Question(budget=Budget(rollouts=10))
    first = repair_run(run_id, store=store, ask=ONLY_GIVEN, question=question, proposers=given(REWRITTEN))
    assert first.repairs == ()
    assert first.stopped is not None
    assert "budget" in first.sentence
    second = repair_run(run_id, store=store, ask=ONLY_GIVEN, proposers=given(REWRITTEN))
    assert second.repairs
    assert second.bill.found >= 10


def test_the_models_calls_count_against_the_budget():
    store, run_id = failed()
    model = Model("a", "b", "c", "d")
    question = Question(budget=Budget(policy_calls=3))
    answer = repair_run(run_id, store=store, ask=ONLY_GIVEN, question=question, proposers=[AskedModel(model, name="m")])
    assert len(model.asked) == 3
    assert answer.stopped is not None


def test_a_run_that_did_not_fail_is_refused():
    store = MemoryStore()
    run_id = record_run(
        "butfor.demo.agent:agent", {"question": "Hello", "seed": 1}, store=store,
        score=find_outcome('tool_called("nothing")'), verify=False,
    ).run.run_id  # fmt: skip
    store.save_spec(run_id, json.dumps({"agent": "butfor.demo.agent:agent", "outcome": 'tool_called("nothing")'}))
    with pytest.raises(NothingFailed, match="did not fail"):
        repair_run(run_id, store=store)


def test_a_step_that_the_run_does_not_have_is_refused():
    store, run_id = failed()
    with pytest.raises(NotFound, match="no step 9"):
        repair_run(run_id, store=store, ask=RepairAsk(steps=(9,)))


def test_where_no_step_is_to_blame_the_answer_says_so():
    # Every draw writes sums that are wrong for this verifier: the cause lies outside the steps.
    store = MemoryStore()
    rule = 'not json_path("answer", 46)'
    run_id = record_run(
        AGENT, {"seed": 1}, store=store, score=find_outcome(rule), run_id="failed", verify=False
    ).run.run_id
    store.save_spec(run_id, json.dumps({"agent": AGENT, "outcome": rule}))
    answer = repair_run(run_id, store=store)
    assert answer.steps == ()
    assert answer.sentence.startswith("No repair: The run fails whatever is decided")


def test_argument_edits_of_the_demo_know_its_tools(demo):
    store, run_id, _, _ = demo
    from butfor.attribution.case import open_case

    failure = failure_of(open_case(run_id, store=store, question=Question()))
    found = ArgumentEdits().propose(failure, 1, 8)
    keys = {key_of(each.action) for each in found}
    assert key_of({"tool": "check_policy", "arguments": {"order_id": "1042"}}) in keys
    assert all(key_of(failure.actions[1]) != key for key in keys)


def test_a_changed_tool_response_reaches_what_the_policy_sees(demo):
    # An intervention on a tool's answer that changes nothing downstream would be worth nothing.
    from butfor.replay import do, find_agent
    from tests.agents.recording import rollouts_of

    store, run_id, _, _ = demo
    agent, rule = find_agent("butfor.demo.agent:agent").function, 'tool_called("issue_refund")'
    rollouts = rollouts_of(agent, store, run_id, score=find_outcome(rule))
    from butfor.replay import Job

    clean = do.observation(0, {"order_id": "1042", "status": "delivered", "note": "Left next door."})
    changed = rollouts.run([Job(intervention=clean, arm="clean", ordinal=i) for i in range(40)])
    same = rollouts.run([Job(intervention=do.resample(1), arm="again", ordinal=i) for i in range(40)])
    assert sum(each.outcome == 1.0 for each in changed) < sum(each.outcome == 1.0 for each in same) / 2


def test_a_proposal_that_the_agents_own_format_cannot_hold_is_dropped_with_a_reason():
    from tests.agents import opaque

    store = MemoryStore()
    rule = 'json_path("moves", ["left", "left"])'
    run_id = record_run(
        "tests.agents.opaque:agent",
        {"seed": opaque.factual_seed()},
        store=store,
        score=find_outcome(rule),
        run_id="failed",
        verify=False,
    ).run.run_id
    store.save_spec(run_id, json.dumps({"agent": "tests.agents.opaque:agent", "outcome": rule}))
    answer = repair_run(run_id, store=store, ask=RepairAsk(steps=(0,)), proposers=given("go right", step=0))
    assert answer.funnel["unusable"] == 1
    assert any("cannot stand for the recorded answer" in note for note in answer.notes)
    (repair,) = answer.repairs
    assert repair.repaired == {"move": "right", "why": "I feel like it"}
    assert repair.edit.kind == "json"


def test_an_imported_run_is_repaired_as_a_recorded_one():
    from butfor.replay.imported import make_replayable
    from tests.integration.test_imported_runs_replay import POLICY, REFUNDED, imported

    store = MemoryStore()
    made = make_replayable(
        imported(REFUNDED), store=store, policy=POLICY, outcome='tool_called("refund")', verify=False
    )
    answer = repair_run(made.run.run_id, store=store, ask=RepairAsk(steps=(1,), resamples=0), proposers=given("done"))
    (repair,) = answer.repairs
    assert repair.repaired == "done"
    assert repair.factual == {"tool": "refund", "arguments": {"order": 7}}
    # The conversation ends there: nothing is drawn after the step, and that is proven.
    assert repair.verdict is not None
    assert repair.verdict.deterministic


def test_a_tool_that_nothing_answers_leaves_the_candidate_without_an_outcome_and_is_named():
    from butfor.replay.imported import make_replayable
    from tests.integration.test_imported_runs_replay import POLICY, REFUNDED, imported

    store = MemoryStore()
    made = make_replayable(
        imported(REFUNDED), store=store, policy=POLICY, outcome='tool_called("refund")', verify=False
    )
    other = {"tool": "lookup", "arguments": {"order": 8}}
    ask = RepairAsk(steps=(1,), resamples=0, argument_edits=False)
    answer = repair_run(made.run.run_id, store=store, ask=ask, proposers=given(other))
    assert answer.repairs == ()
    assert answer.funnel["failed screening"] == 1
    assert any("'lookup'" in note and "simulator" in note for note in answer.notes)
