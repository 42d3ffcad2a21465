"""Pairs: splits never share a task, both answers follow one exact prompt, and what is written passes its own check."""

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from butfor.repairs.pairs import FORMATS, Derived, check_file, problems_of, rows_of, sieve, split_of, tasks_of
from butfor.repairs.pairs.export import export_pairs
from tests.property.strategies import names
from tests.unit.repairs.pair_cases import pair

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
