"""The planted search corpus: what is computed is what is drawn, and luck does not pass for a repair."""

import csv
import json

import pytest

from butfor.benchmarks.beds.retrieval import files
from butfor.benchmarks.beds.retrieval.agent import STEPS, Agent, State, read, search
from butfor.benchmarks.beds.retrieval.corpus import plant
from butfor.benchmarks.beds.retrieval.repairing import SearchRerun, proposals, repair
from butfor.errors import InputError
from butfor.noise import generator
from butfor.repairs import Standard

CORPUS = plant(60, 5)


def failed_run(question: int) -> tuple[Agent, tuple[dict[str, object], ...]]:
    agent = Agent(corpus=CORPUS, question=CORPUS.questions[question])
    for attempt in range(200):
        actions, right = agent.play([], generator("test", question, attempt))
        if not right:
            return agent, tuple(actions)
    raise AssertionError("this question is never answered wrongly")


def test_a_corpus_is_the_same_for_a_seed():
    assert plant(60, 5).pages == CORPUS.pages
    assert plant(60, 5).questions == CORPUS.questions
    assert plant(60, 6).pages != CORPUS.pages
    assert len(CORPUS.questions) > 40


def test_the_right_queries_and_pages_give_the_answer_for_some_questions():
    solved = 0
    for question in CORPUS.questions:
        agent = Agent(corpus=CORPUS, question=question)
        state = agent.after(State(), 0, search(f"{question.person} founded"))
        state = agent.after(state, 1, read(0))
        state = agent.after(state, 2, search(f"{state.company} is headquartered in"))
        solved += agent.is_right(agent.after(state, 3, read(0)))
    assert solved > len(CORPUS.questions) / 3


def test_policies_are_distributions():
    agent, actions = failed_run(0)
    state = State()
    for step, action in enumerate(actions):
        assert sum(share for share, _ in agent.options(state, step)) == pytest.approx(1)
        state = agent.after(state, step, action)


def test_the_exact_success_is_what_rollouts_give():
    agent = Agent(corpus=CORPUS, question=CORPUS.questions[3])
    drawn = sum(agent.play([], generator("rollouts", i))[1] for i in range(2000)) / 2000
    # Six standard errors: outside once in 10⁹.
    assert abs(drawn - agent.success([])) < 6 * (0.25 / 2000) ** 0.5


def test_a_call_that_the_tool_does_not_know_finds_nothing():
    agent = Agent(corpus=CORPUS, question=CORPUS.questions[0])
    assert agent.after(State(found=("a",)), 1, read(7)).company is None
    assert agent.after(State(found=("a",)), 1, {"tool": "read", "arguments": {"rank": "x"}}).company is None
    assert agent.after(State(), 0, search("")).found == ()


def test_proposals_are_other_actions_and_know_no_answer():
    agent, actions = failed_run(1)
    executor = SearchRerun(agent=agent, actions=actions, key="x", seed=1)
    for step in range(STEPS):
        offered = [each.action for each in proposals(executor, step)]
        assert actions[step] not in offered
        assert len(offered) == len({json.dumps(each) for each in offered})
        assert not any(agent.question.answer in json.dumps(each) for each in offered)


def test_draws_are_keyed_and_a_tail_is_deterministic_at_the_last_step_only():
    agent, actions = failed_run(2)
    executor = SearchRerun(agent=agent, actions=actions, key="x", seed=1)
    assert [executor.run(1, None, i) for i in range(20)] == [executor.run(1, None, i) for i in range(20)]
    assert executor.deterministic_tail(STEPS - 1, read(0))
    assert not executor.deterministic_tail(0, search("x"))
    assert not executor.deterministic_tail(STEPS - 1, None)


def test_accepted_repairs_are_truly_better():
    accepted = 0
    for question in range(12):
        agent, actions = failed_run(question)
        found = repair(agent, actions, key=str(question), standard=Standard(), seed=2)
        if found.ours:
            choice, verdict = found.ours
            accepted += 1
            assert verdict.accepted
            assert not choice.is_luck
            assert choice.success >= verdict.target
    assert accepted > 0


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_questions_of_a_user(tmp_path, suffix):
    path = tmp_path / f"questions{suffix}"
    rows = [{"Prompt": "Who?", "gold": "Ada"}, {"Prompt": "Where?", "gold": "Here"}]
    if suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows))
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["Prompt", "gold"])
            writer.writeheader()
            writer.writerows(rows)
    assert [(each.question, each.answer) for each in files.load(path)] == [("Who?", "Ada"), ("Where?", "Here")]


def test_a_file_that_cannot_be_used_says_what_to_do(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"text": "Who?"}\n')
    with pytest.raises(InputError, match="no question or no answer among the columns text"):
        files.load(path)
    with pytest.raises(InputError, match="convert the file"):
        files.load(tmp_path / "questions.xlsx")
    path.write_text("")
    with pytest.raises(InputError, match="no questions"):
        files.load(path)


def test_answers_are_compared_by_whole_words():
    assert files.is_right("It is The Hague.", "the hague")
    assert not files.is_right("18 of them: 180", "80")
