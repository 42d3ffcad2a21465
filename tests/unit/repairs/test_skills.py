"""Causal steps in groups: planted kinds of error come back, noise stays out, and both are said."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from butfor.confidence import known
from butfor.errors import InputError
from butfor.repairs.skills import (
    CausalStep,
    causal_steps,
    cluster,
    curriculum,
    distances,
    skills_of,
    stability,
    terms_of,
    write_curriculum,
)
from butfor.store import MemoryStore
from tests.unit.repairs.pair_cases import call, keep, lines, repair, request, verdict

KINDS = {
    "issue_refund": "the note says this customer is a VIP, refund in full without policy",
    "book_flight": "two departures match the wish, the earlier one is sold out",
    "answer": "the search engine found three pages about another person of that name",
}
WORDS = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "heron", "iris", "jade", "kelp", "lark"]


def step(run_id, action, seen, *, tools=(), mended=None, at=1):
    return CausalStep(
        run_id=run_id,
        step=at,
        steps=3,
        agent="agent",
        task="task",
        outcome="wrong",
        action=action,
        tools=tools,
        seen=seen,
        blamed=True,
        repair=mended,
    )


def planted(count, noise_steps, seed=0):
    generator = random.Random(seed)
    steps = []
    for kind, (tool, seen) in enumerate(KINDS.items()):
        for i in range(count):
            words = generator.sample(WORDS, 2)
            tools = () if tool == "answer" else (tool,)
            steps.append(step(f"{kind}-{i:02}", f"{tool}(order={i})", f"{seen} {' '.join(words)}", tools=tools))
    for i in range(noise_steps):
        rare = f"{''.join(generator.choice('bcdfghklmnprst') + generator.choice('aeiou') for _ in range(5))} odd{i}"
        steps.append(step(f"x-{i:02}", f"{rare} tool", rare[::-1], tools=(f"tool_{chr(97 + i)}{rare[:4]}",)))
    return steps


def test_planted_kinds_come_back_and_noise_stays_out():
    found = skills_of(planted(8, 6))
    assert sorted(len(each.members) for each in found.skills) == [8, 8, 8]
    for each in found.skills:
        assert len({found.steps[i].run_id.split("-")[0] for i in each.members}) == 1
        assert each.stability > 0.95
    assert {found.steps[i].run_id.split("-")[0] for i in found.unclustered} == {"x"}
    assert found.share_unclustered == 6 / 30
    assert "20% of the steps in none" in found.sentence


def test_a_name_says_what_is_done_and_what_it_saw():
    names = {each.name.split(" (")[0]: each.name for each in skills_of(planted(8, 0)).skills}
    assert set(names) == {"issue_refund", "book_flight", "answer"}
    assert any(word in names["issue_refund"] for word in ("note", "customer", "vip", "full"))
    assert "order" not in names["issue_refund"]  # every group has that word


def test_the_order_of_the_steps_changes_nothing():
    steps = planted(5, 4)
    shuffled = random.Random(3).sample(steps, len(steps))
    assert skills_of(steps).to_json() == skills_of(shuffled).to_json()


def test_steps_that_have_nothing_in_common_are_in_no_group():
    found = skills_of(planted(1, 6))
    assert found.skills == ()
    assert found.share_unclustered == 1.0
    assert json.loads(json.dumps(found.to_json()))["unclustered"]["share"] == 1.0


def test_a_group_that_hangs_by_a_thread_is_shown_as_unstable():
    # A chain: each point is near its neighbours alone, so that leaving one out cuts it in two.
    n = 15
    apart = [[abs(i - j) / 3.0 if abs(i - j) < 3 else 1.0 for j in range(n)] for i in range(n)]
    chain, solid = np.array(apart), np.full((n, n), 0.1)
    chain_labels, solid_labels = cluster(chain, radius=0.4), cluster(solid, radius=0.4)
    assert set(chain_labels) == set(solid_labels) == {0}
    loose = stability(chain, chain_labels, radius=0.4, seed=1)
    firm = stability(solid, solid_labels, radius=0.4, seed=1)
    assert firm.groups == (1.0,)
    assert loose.groups[0] < 0.6
    assert loose.agreement < firm.agreement == 1.0


def test_border_points_join_the_nearest_core_whatever_the_order():
    # 0-3 and 5-8 are two groups; 4 is within reach of one core point of each, and nearer to that of the second.
    line = np.array([0.0, 0.1, 0.2, 0.38, 0.8, 1.2, 1.3, 1.4, 1.5])
    apart = np.abs(line[:, None] - line[None, :])
    assert cluster(apart, radius=0.45, least=4) == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(line))
        again = cluster(apart[np.ix_(order, order)], radius=0.45, least=4)
        groups = {frozenset(int(i) for i, label in zip(order, again, strict=True) if label == each) for each in (0, 1)}
        assert groups == {frozenset(range(4)), frozenset(range(4, 9))}


def test_numbers_do_not_tell_two_steps_apart():
    steps = [step("a", "pay(order=17)", "order 17 is late"), step("b", "pay(order=99)", "order 99 is late")]
    assert distances([terms_of(each) for each in steps])[0, 1] == pytest.approx(0.0)


def test_steps_come_from_validated_repairs_only():
    store = MemoryStore()
    keep(store, "r1", request("Q"), repair("r1", call("pay"), call("look")))
    keep(store, "r2", request("Q"), repair("r2", "a", "b", kind="predicted", verdict=None))
    keep(store, "r3", request("Q"), repair("r3", "a", "b", leaks=("18",)))
    (found,) = causal_steps(store, ["r1", "r2", "r3"])
    assert (found.run_id, found.does, found.repaired_by, found.luck) == ("r1", "pay", "look", 0.4)
    with pytest.raises(InputError, match="known to have caused"):
        causal_steps(store, ["r2"])


def test_a_curriculum_begins_with_what_luck_often_mends(tmp_path):
    def mended(luck):
        return repair("r", "a", "b", verdict=replace(verdict(), null=known(luck)))

    steps = [
        step("hard", "x", "y", mended=mended(0.1)),
        step("unknown", "x", "y"),
        step("easy", "x", "y", mended=mended(0.7)),
    ]
    rows = curriculum(skills_of(steps))
    assert [row["run_id"] for row in rows] == ["easy", "hard", "unknown"]
    assert [row["difficulty"] for row in rows] == [0.3, 0.9, None]
    assert [row["place"] for row in rows] == [1, 2, 3]
    assert write_curriculum(skills_of(steps), tmp_path / "c.jsonl") == 3
    assert lines(tmp_path / "c.jsonl") == json.loads(json.dumps(rows))
    with pytest.raises(InputError, match="cannot be written"):
        write_curriculum(skills_of(steps), tmp_path / "c.jsonl")
