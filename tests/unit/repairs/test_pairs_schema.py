"""Each format's schema: what we write passes, and each fault is named by line and field."""

import json

import pytest

from butfor.cli.pairs import FORMATS as SPELLED
from butfor.errors import InputError, NotFound
from butfor.repairs.pairs import FORMATS, check_file, format_of, problems_of, rows_of
from tests.unit.repairs.pair_cases import call, pair

ARGUMENTS = ("tool_calls", 0, "function", "arguments")
PAIRS = [pair("Q", "wrong", "right"), pair("P", call("pay", n=1), call("look", n=2))]


def rows(name):
    return [row for _, row in rows_of(PAIRS, name)]


def test_the_command_line_knows_the_same_formats():
    assert SPELLED == FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_passes_its_own_check(name):
    for row in rows(name):
        assert problems_of(json.loads(json.dumps(row)), name) == []
        assert format_of(row) == name


def changed(row, path, value):
    row = json.loads(json.dumps(row))  # prompts of both sides are one object before they are written
    *before, last = path
    place = row
    for part in before:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return row


@pytest.mark.parametrize(
    ("name", "path", "value", "field"),
    [
        ("trl-dpo", ["prompt"], None, "prompt"),
        ("trl-dpo", ["prompt"], "text", "prompt"),
        ("trl-dpo", ["prompt", 0, "role"], "narrator", "prompt[0].role"),
        ("trl-dpo", ["prompt", 1, "content"], 7, "prompt[1].content"),
        ("trl-dpo", ["prompt", 1, "role"], "assistant", "prompt[1].role"),
        ("trl-dpo", ["chosen", 0, "role"], "user", "chosen[0].role"),
        ("trl-dpo", ["chosen", 0, *ARGUMENTS], "{}", "chosen[0].tool_calls[0].function.arguments"),
        ("trl-dpo", ["rejected"], [], "rejected"),
        ("trl-dpo", ["tools"], "no json", "tools"),
        ("trl-kto", ["label"], "true", "label"),
        ("trl-kto", ["label"], 1, "label"),
        ("trl-kto", ["completion"], None, "completion"),
        ("trl-reward", ["rejected", 0, "content"], "Be vague.", "rejected"),
        ("trl-reward", ["chosen"], [{"role": "assistant", "content": "x"}], "chosen"),
        ("openai", ["input"], None, "input"),
        ("openai", ["input", "messages"], [], "input.messages"),
        ("openai", ["input", "seed"], 3, "input.seed"),
        ("openai", ["input", "tools", 0, "function", "name"], "no spaces allowed", "input.tools[0].function.name"),
        ("openai", ["preferred_output", 0, *ARGUMENTS], {}, "preferred_output[0].tool_calls[0].function.arguments"),
        ("openai", ["preferred_output", 0, "tool_calls", 0, "id"], None, "preferred_output[0].tool_calls[0].id"),
        ("openai", ["metadata"], {}, "metadata"),
    ],
)  # fmt: skip
def test_each_fault_is_named_by_its_field(name, path, value, field):
    broken = changed(rows(name)[-1 if name != "trl-kto" else 2], path, value)
    assert field in [problem.field for problem in problems_of(broken, name, line=4)]
    assert all(problem.line == 4 for problem in problems_of(broken, name, line=4))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("trl-dpo", "chosen", "rejected"), ("openai", "preferred_output", "non_preferred_output")],
)
def test_a_no_op_is_a_problem(name, good, bad):
    row = rows(name)[0]
    assert [each.field for each in problems_of(row | {bad: row[good]}, name)] == [bad]


def test_a_result_must_answer_a_call():
    row = rows("openai")[0]
    row["input"]["messages"].append({"role": "tool", "tool_call_id": "nobody", "content": "x"})
    assert [each.field for each in problems_of(row, "openai")] == ["input.messages[2].tool_call_id"]


def written(tmp_path, *rows):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_checked_as_a_whole(tmp_path, name):
    path = written(tmp_path, *rows(name))
    checked = check_file(path)
    assert checked.ok
    assert (checked.format, checked.rows) == (name, len(rows(name)))
    doubled = check_file(written(tmp_path, *rows(name), rows(name)[0]))
    assert not doubled.ok
    assert doubled.duplicates == 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_contradiction_within_a_file_is_found(tmp_path, name):
    against = [row for _, row in rows_of([pair("Q", "wrong", "right"), pair("Q", "right", "wrong")], name)]
    checked = check_file(written(tmp_path, *against))
    assert checked.contradictions == 2
    assert not checked.ok


def test_a_pair_that_differs_by_a_fence_is_found(tmp_path):
    fenced = [row for _, row in rows_of([pair("Q", "see:\n```\nx\n```", "see:\nx")], "trl-dpo")]
    assert check_file(written(tmp_path, *fenced)).by_form == 1


def test_problems_carry_the_line_of_the_file(tmp_path):
    good = rows("trl-dpo")[0]
    checked = check_file(written(tmp_path, good, "", "{broken", good | {"chosen": 1}, '{"prompt": NaN}'))
    assert [each.line for each in checked.problems if each.field in ("$", "chosen")][:3] == [3, 4, 5]
    assert str(checked.problems[0]).startswith("line 3, $: it is not JSON")


def test_a_file_of_nothing_and_no_file_are_errors(tmp_path):
    with pytest.raises(InputError, match="no row"):
        check_file(written(tmp_path))
    with pytest.raises(NotFound):
        check_file(tmp_path / "none")
    with pytest.raises(InputError, match="known format"):
        check_file(written(tmp_path, {"text": "x"}))
