"""Pairs: splits never share a task, both answers follow one exact prompt, and what is written passes its own check."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from butfor.errors import InputError
from butfor.repairs.pairs import (
    FORMATS,
    Derived,
    Problem,
    answer_message,
    check_file,
    export_pairs,
    problems_of,
    prompt_of,
    rows_of,
    sieve,
    split_of,
    tasks_of,
)
from butfor.repairs.pairs.messages import NotWritable
from tests.property.strategies import names
from tests.unit.repairs.pair_cases import pair
from tests.unit.repairs.test_pair_messages import ANTHROPIC, CHAT, RESPONSES

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(str.strip)
plain = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | words
arguments = st.dictionaries(names, plain | st.lists(plain, max_size=2), max_size=3)
calls = st.builds(lambda args: {"tool": "look", "arguments": args}, arguments)
actions = words | calls | st.lists(words | calls, min_size=1, max_size=3)
pairs = st.lists(
    st.builds(
        lambda question, bad, good, task: pair(question, bad, good, task=task),
        st.sampled_from(["Q1", "Q2", "Q3"]) | words,
        actions,
        actions,
        st.sampled_from("abcdef"),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=50)
@given(pairs, st.floats(0.05, 0.95), st.integers(0, 5))
def test_no_task_is_on_both_sides(found, share, seed):
    tasks = tasks_of(found)
    splits = split_of(tasks, test=share, seed=seed)
    sides = {side: {i for i, each in enumerate(splits) if each == side} for side in ("train", "test")}
    for i in sides["train"]:
        for j in sides["test"]:
            assert found[i].task != found[j].task
            assert found[i].prompt.opening != found[j].prompt.opening
    assert sides["train"]


@settings(max_examples=50)
@given(pairs)
def test_both_answers_follow_the_same_bytes(found):
    for name in FORMATS:
        for one, row in rows_of(found, name):
            prompt = row["input"]["messages"] if name == "openai" else row.get("prompt", [])
            if name == "trl-reward":
                good, bad = json.dumps(row["chosen"][:-1]), json.dumps(row["rejected"][:-1])
                assert good == bad
                prompt = row["chosen"][:-1]
            assert [each["content"] for each in prompt] == [each["content"] for each in one.prompt.messages]
            assert json.loads(json.dumps(row)) == row


@settings(max_examples=50)
@given(pairs)
def test_what_the_sieve_keeps_passes_every_check(found):
    kept = sieve(found).kept
    for name in FORMATS:
        for _, row in rows_of(kept, name):
            assert problems_of(row, name) == []
    again = sieve(kept)
    assert again.kept == kept
    assert not again.dropped


@settings(max_examples=25)
@given(pairs, st.sampled_from(FORMATS))
def test_a_written_file_is_read_back_and_passes(found, name):
    kept = sieve(found).kept
    if not kept:
        return
    with tempfile.TemporaryDirectory() as folder:
        exported = export_pairs(Derived(pairs=kept, repairs=len(found)), name=name, out=Path(folder), test=0.3)
        rows = 0
        for split in exported.splits:
            checked = check_file(Path(folder) / f"{split}.jsonl", name=name)
            assert checked.ok, checked
            rows += checked.rows
        assert rows == sum(each["rows"] for each in exported.splits.values())


@st.composite
def damaged_rows(draw):
    """A good row with any JSON value in the place of one of its parts."""
    name = draw(st.sampled_from(FORMATS))
    found = [pair("Q", "wrong", "right"), pair("P", {"tool": "pay"}, ["So:", {"tool": "look", "arguments": {"n": 1}}])]
    row = json.loads(json.dumps(draw(st.sampled_from([row for _, row in rows_of(found, name)]))))
    return name, damaged(draw, row)


def damaged(draw, document):
    junk = draw(any_json)
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = junk
            return document
        place = place[key]


any_json = st.recursive(plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2))


@given(damaged_rows())
def test_no_damage_to_a_row_breaks_the_check(case):
    name, row = case
    assert all(isinstance(each, Problem) for each in problems_of(row, name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(row) + "\n")
        try:
            check_file(path, name=name)
        except InputError:
            pytest.fail("a damaged row is a problem of its line, not an error")


@given(st.data())
def test_no_request_or_action_breaks_the_derivation(data):
    asked = data.draw(st.sampled_from([CHAT, ANTHROPIC, RESPONSES]))
    broken = damaged(data.draw, json.loads(json.dumps(asked)))
    try:
        prompt = prompt_of(broken)
    except NotWritable:
        prompt = None
    if prompt is not None:
        json.dumps([prompt.messages, prompt.tools])
    with contextlib.suppress(NotWritable):
        json.dumps(answer_message(data.draw(any_json), step=0))
