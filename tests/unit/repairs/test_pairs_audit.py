"""The shortcut audit sees length and formatting, and does not see what is not there."""

import random

import pytest

from butfor.confidence import Estimate, Undefined
from butfor.repairs.pairs import audit

WORDS = ["order", "policy", "money", "shop", "looked", "before", "any", "read", "left", "then"]


def said(generator, words):
    return {"role": "assistant", "content": " ".join(generator.choice(WORDS) for _ in range(words))}


def answers(count, *, chosen, rejected, seed=0):
    generator = random.Random(seed)
    return [
        (f"task {i}", said(generator, generator.randint(*chosen)), said(generator, generator.randint(*rejected)))
        for i in range(count)
    ]


def test_a_longer_chosen_answer_is_seen():
    found = audit(answers(60, chosen=(30, 60), rejected=(5, 20)))
    assert found.warns
    assert found.longer == 60
    assert found.sentence.startswith("WARNING")
    assert isinstance(found.accuracy, Estimate)
    assert found.accuracy.lower > 0.9


@pytest.mark.parametrize("mark", ["```\n{}\n```", "- {}", "**{}**", "{}!"])
def test_formatting_of_the_same_length_is_seen(mark):
    pairs = answers(60, chosen=(20, 40), rejected=(20, 40))
    marked = [(task, good | {"content": mark.format(good["content"])}, bad) for task, good, bad in pairs]
    assert audit(marked).warns


def test_spaces_in_the_json_of_one_side_are_seen():
    def calling(arguments):
        calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    pairs = [(f"task {i}", calling(f'{{"a": {i}}}'), calling(f'{{"a":{i}}}')) for i in range(30)]
    assert audit(pairs).warns


def test_a_shortcut_within_one_task_does_not_count_as_many_tasks():
    pairs = answers(60, chosen=(30, 60), rejected=(5, 20))
    found = audit([("one task", good, bad) for _, good, bad in pairs])
    assert isinstance(found.accuracy, Undefined)
    assert not found.warns
    two = audit([(f"task {i % 2}", good, bad) for i, (_, good, bad) in enumerate(pairs)])
    assert isinstance(two.accuracy, Estimate)
    assert two.accuracy.n == 2
    assert not two.warns  # two tasks show nothing, however many pairs they have


def test_the_order_of_the_pairs_changes_nothing():
    pairs = answers(24, chosen=(10, 40), rejected=(5, 30))
    assert audit(pairs).accuracy == audit(pairs[::-1]).accuracy


def test_answers_without_a_difference_in_form_are_a_coin():
    same = {"role": "assistant", "content": "yes it is"}
    found = audit([(f"task {i}", same, {"role": "assistant", "content": "now as is"[:9]}) for i in range(9)])
    assert isinstance(found.accuracy, Estimate)
    assert found.accuracy.point == 0.5
