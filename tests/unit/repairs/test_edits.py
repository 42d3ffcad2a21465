"""Edits: distances, hunks, and the published score beside them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from butfor import canonical
from butfor.confidence import Undefined
from butfor.repairs.edits import (
    Change,
    Edit,
    decided,
    key_of,
    measure,
    path_distance,
    positional_score,
    readable,
    same_action,
    short_form,
    token_distance,
    tokens,
    tree_distance,
    tree_of,
)

CALL = {"tool": "refund", "arguments": {"order": "1042", "amount": 940}}


def chat(text=None, calls=()):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"id{i}", "function": {"name": c["tool"], "arguments": json.dumps(c["arguments"])}}
            for i, c in enumerate(calls)
        ]
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": 3}, "id": "x"}


def test_an_answer_is_reduced_to_what_it_decided():
    assert short_form(chat("yes")) == "yes"
    assert short_form(chat(None, [CALL])) == CALL
    assert short_form(chat("so", [CALL])) == ["so", CALL]
    assert short_form({"own": 1}) == {"own": 1}


def test_actions_that_decide_the_same_are_the_same():
    assert same_action(chat("yes"), "yes\n")
    assert same_action(chat(None, [CALL]), [CALL])
    assert key_of(chat(None, [CALL])) == key_of(CALL)
    assert not same_action("yes", "no")


@pytest.mark.parametrize("dressed", ["```python\nx = 1\n```", "```\nx = 1\n```\n", "  x = 1  "])
def test_a_code_fence_decides_nothing(dressed):
    assert same_action("x = 1", dressed)


def test_two_fences_are_not_one():
    assert not same_action("x = 1", "```\nx = 1\n```\nand\n```\ny = 2\n```")


def test_the_published_score_is_as_published_and_is_no_edit_size():
    assert positional_score("a b c", "A b c") == 1.0
    assert positional_score("a b c d", "a b x d") == 0.75
    # Half of the places agree, and the lengths differ by a fifth: 4/5 · (1 − 0.5/5).
    assert positional_score("a b c d", "a b c d e") == pytest.approx(4 / 5 * (1 - 0.5 / 5))
    assert positional_score("a b c", "well a b c") == 0.0
    assert token_distance("a b c", "well a b c") == 1


def test_a_step_without_text_has_no_score_rather_than_a_perfect_one():
    assert isinstance(positional_score("", ""), Undefined)
    assert isinstance(positional_score(" ", "\n"), Undefined)


@pytest.mark.parametrize(
    ("factual", "repaired"),
    [
        (CALL, {"tool": "check", "arguments": {"order": "1042"}}),
        (chat(None, [CALL]), "The order is not eligible."),
        ([CALL, CALL], [CALL]),
    ],
)
def test_every_kind_of_step_has_text_to_compare_so_none_scores_1_for_want_of_it(factual, repaired):
    score = measure(factual, repaired).positional
    assert score is not None
    assert score < 1.0


def test_arguments_are_counted_by_path():
    other = {"tool": "refund", "arguments": {"order": "1041", "amount": 940}}
    assert measure(CALL, other).kind == "json"
    assert measure(CALL, other).distance == 1
    assert path_distance(CALL, {"tool": "check", "arguments": {"order": "1042"}}) == 2
    assert path_distance(CALL, [CALL]) == 0
    assert path_distance([CALL], [CALL, CALL]) == 3


def test_code_is_counted_by_node():
    edit = measure("def f(x):\n    return x + 1\n", "def f(x):\n    return x - 1\n")
    assert (edit.kind, edit.distance) == ("ast", 1)
    assert measure("def f(x):\n    return x", "```python\ndef f(x):\n    return x\n```").distance == 0


@pytest.mark.parametrize("text", ["Paris", "18", "3 + 4", "not code at all", ""])
def test_plain_text_is_not_taken_for_code(text):
    assert tree_of(text) is None


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("f(x)", "f(x, y)", 1),
        ("f(x)", "g(x)", 1),
        ("x = 1", "x = 1\ny = 2", 3),
        ("if a:\n    b()", "b()", 2),
    ],
)
def test_tree_distance_against_counting_by_hand(a, b, expected):
    left, right = tree_of(a), tree_of(b)
    assert left is not None
    assert right is not None
    assert tree_distance(left, right) == expected


WORDS = st.lists(st.sampled_from(["a", "b", "c", "1", "+", " ", "\n"]), max_size=12).map("".join)
ACTIONS = st.recursive(
    WORDS | st.integers(-3, 3) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(WORDS, WORDS)
def test_token_distance_is_a_distance(a, b):
    assert token_distance(a, b) == token_distance(b, a)
    assert token_distance(a, a) == 0
    assert "".join(tokens(a)) == a


@given(WORDS, WORDS, WORDS)
def test_token_distance_obeys_the_triangle(a, b, c):
    assert token_distance(a, c) <= token_distance(a, b) + token_distance(b, c)


@given(ACTIONS, ACTIONS)
def test_all_hunks_give_the_repair_and_none_the_factual_action(a, b):
    change = Change(a, b)
    assert change.apply(range(len(change.hunks))) == change.repaired
    assert change.apply([]) == change.factual


@given(ACTIONS, ACTIONS)
def test_every_hunk_changes_something_by_itself(a, b):
    change = Change(a, b)
    for position in range(len(change.hunks)):
        assert canonical.canonical(change.apply([position])) != canonical.canonical(change.factual)


def test_hunks_of_arguments_and_of_the_text_inside_them():
    a = {"tool": "write", "arguments": {"path": "a.py", "text": "one two three four"}}
    b = {"tool": "write", "arguments": {"path": "b.py", "text": "one 2 three 4"}}
    change = Change(a, b)
    assert [(each.path, each.before, each.after) for each in change.hunks] == [
        ("$.arguments.path", "a", "b"),
        ("$.arguments.text", "two", "2"),
        ("$.arguments.text", "four", "4"),
    ]
    assert change.apply([1])["arguments"] == {"path": "a.py", "text": "one 2 three four"}


def test_another_tool_changes_a_call_as_a_whole():
    change = Change(CALL, {"tool": "check", "arguments": {"order": "1042"}})
    assert len(change.hunks) == 1


def test_an_edit_survives_json():
    edit = measure(CALL, {"tool": "refund", "arguments": {"order": "1", "new": None}})
    assert Edit.from_json(json.loads(json.dumps(edit.to_json()))) == edit


def test_actions_are_readable():
    assert readable(["so", CALL]) == 'so\nrefund(order="1042", amount=940)'


def test_a_streamed_answer_is_what_its_chunks_say_together():
    assert decided(["he", "llo"]) == "hello"
    chunks = [{"choices": [{"delta": {"content": part}}]} for part in ("he", "llo")]
    assert decided(chunks) == "hello"
    assert decided({"role": "assistant", "content": [{"type": "text", "text": "hello"}]}) == "hello"
