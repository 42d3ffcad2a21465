"""Where proposals come from: structured edits, a model's answer, what was written down."""

import json
from typing import Any

import pytest

from butfor.attribution.responsibility import ScriptedProposer
from butfor.repairs import ArgumentEdits, AskedModel, Failure, FromActions, GivenProposals
from butfor.repairs.proposers import TEMPLATES, action_of
from butfor.repairs.proposers.asked import LONGEST_HISTORY, history_of

TOOLS: dict[str, Any] = {
    "refund": {
        "properties": {
            "order": {"type": "string", "pattern": "^[0-9]{4}$"},
            "amount": {"type": "number"},
            "mode": {"type": "string", "enum": ["full", "part", "none"]},
            "force": {"type": "boolean"},
        },
        "required": ["order"],
    },
    "check": {"properties": {"order": {"type": "string", "pattern": "^[0-9]{4}$"}}, "required": ["order"]},
    "mail": {"properties": {"to": {"type": "string"}}, "required": ["to"]},
}


def call(tool="refund", **arguments):
    return {"tool": tool, "arguments": arguments}


def failure(action, *, task="Refund order 1042 of customer 77.", observations=(("order 1041 is older",),), **rest):
    return Failure(
        run_id="r", task=task, actions=("look", action), observations=(*observations, ()), tools=TOOLS, **rest
    )


def edits(action, count=50, **rest):
    return [each.action for each in ArgumentEdits().propose(failure(action, **rest), 1, count)]


def test_another_tool_takes_the_arguments_that_it_knows():
    found = edits(call(order="1042", amount=9.5))
    assert call("check", order="1042") in found
    assert all(each["tool"] != "mail" for each in found)  # it needs what is not there


def test_every_other_choice_of_an_enumeration_is_tried():
    found = edits(call(order="1042", mode="full"))
    assert call(order="1042", mode="part") in found
    assert call(order="1042", mode="none") in found


def test_a_boolean_is_turned_and_an_optional_argument_left_out():
    found = edits(call(order="1042", force=True))
    assert call(order="1042", force=False) in found
    assert call(order="1042") in found
    assert call(force=True) not in found  # the order is required


def test_values_come_from_the_task_and_what_tools_returned_and_obey_the_schema():
    found = edits(call(order="1042"))
    assert call(order="1041") in found
    assert call(order="77") not in found  # it does not match the pattern


def test_one_call_of_several_is_left_out():
    both = [call(order="1042"), call("mail", to="x")]
    found = edits(both)
    assert call(order="1042") in found
    assert call("mail", to="x") in found


def test_edits_are_unique_change_something_and_come_smallest_first():
    action = call(order="1042", mode="full", force=True)
    found = [json.dumps(each, sort_keys=True) for each in edits(action)]
    assert len(found) == len(set(found))
    assert json.dumps(action, sort_keys=True) not in found
    assert edits(action, count=3) == edits(action)[:3]


@pytest.mark.parametrize("action", ["just words", {"own": "format"}, {"tool": "refund", "arguments": "not an object"}])
def test_a_step_without_a_readable_call_has_no_edits(action):
    assert edits(action) == []


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("No.", "No."),
        ('{"tool": "check", "arguments": {"order": "1042"}}', call("check", order="1042")),
        ('```json\n{"tool": "check", "arguments": {}}\n```', {"tool": "check", "arguments": {}}),
        ('[{"tool": "a"}, {"tool": "b"}]', [{"tool": "a"}, {"tool": "b"}]),
        ('{"answer": 3}', '{"answer": 3}'),
        ('{"tool": ', '{"tool":'),
        ("```python\nx = 1\n```", "x = 1"),
    ],
)
def test_a_models_answer_is_read_as_an_action(answer, action):
    assert action_of({"choices": [{"message": {"role": "assistant", "content": answer}}]}) == action
    assert action_of(answer) == action


def test_a_prompt_shows_what_the_agent_saw_and_decided():
    state = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Refund me."}]}
    asked = AskedModel(lambda **request: "x", name="m")
    for template in TEMPLATES.values():
        prompt = AskedModel(lambda **request: "x", name="m", template=template).prompt(
            failure(call(order="1042"), states=(None, state), secrets=("SECRET-99",), outcome="SECRET-99"), 1
        )
        assert "system: Be kind.\nuser: Refund me." in prompt
        assert 'refund(order="1042")' in prompt
        assert "SECRET-99" not in prompt
        assert '{"tool": "name"' in prompt
    assert "step 0: look\n  returned order 1041 is older" in asked.prompt(failure(call(order="1")), 1)


def test_a_long_history_is_cut_at_its_beginning():
    state = {"messages": [{"role": "user", "content": "x" * 3 * LONGEST_HISTORY}, {"role": "user", "content": "last"}]}
    shown = history_of(failure("a", states=(None, state)), 1)
    assert len(shown) == LONGEST_HISTORY
    assert shown.endswith("user: last")


def test_each_question_to_a_model_has_a_seed_of_its_own_and_always_the_same():
    seen: list[Any] = []

    def chat(**request):
        seen.append(request)
        return "x"

    asked = AskedModel(chat, name="m", seed=3)
    asked.propose(failure("a"), 1, 3)
    asked.propose(failure("a"), 1, 3)
    seeds = [each["seed"] for each in seen]
    assert len(set(seeds[:3])) == 3
    assert seeds[:3] == seeds[3:]


def test_what_was_written_down_is_the_users():
    given = GivenProposals({1: ["a", "b", "c"]}, origin="mine.json")
    found = given.propose(failure("x"), 1, 2)
    assert [(each.action, each.source, dict(each.origin)) for each in found] == [
        ("a", "user", {"from": "mine.json"}),
        ("b", "user", {"from": "mine.json"}),
    ]
    assert given.propose(failure("x"), 0, 2) == []
    assert given.steps == (1,)


def test_a_scripted_proposer_of_attribution_proposes_here_too():
    (found,) = FromActions(ScriptedProposer({1: ["a"]})).propose(failure("x"), 1, 5)
    assert (found.action, found.source) == ("a", "user")
