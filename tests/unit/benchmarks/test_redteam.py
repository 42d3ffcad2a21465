"""The red-team's worlds, and what a wrong graph does."""

import dataclasses

import numpy as np
import pytest

from butfor.benchmarks.harness import Settings, find
from butfor.benchmarks.redteam.attacks import SETTINGS, actions, attacked, rule
from butfor.benchmarks.redteam.strength import GATES, WRONG
from butfor.benchmarks.redteam.worlds import ROWS, WORLDS, hidden_cause, strengths
from butfor.benchmarks.toolbench.surrogate import NOISE
from butfor.errors import InputError
from butfor.identification import Hedge, Proof, Query, identify
from butfor.noise import numpy_generator


def slope(y, *regressors):
    return float(np.linalg.lstsq(np.column_stack([np.ones(y.size), *regressors]), y, rcond=None)[0][1])


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("tau", [2.5, -2.5])
def test_a_trial_in_each_world_shows_the_effect(world, tau):
    noise = numpy_generator("redteam trial", world.name)
    tables = [world.rows(tau, noise, True) for _ in range(300)]
    found = slope(np.concatenate([t["Y"] for t in tables]), np.concatenate([t["T"] for t in tables]))
    assert abs(found - tau) < 0.2


@pytest.mark.parametrize("world", WORLDS[1:], ids=lambda world: world.name)
def test_both_graphs_identify_and_only_the_right_one_gives_the_effect(world):
    query = Query.effect("T", "Y")
    assert isinstance(identify(world.right, query), Proof)
    assert isinstance(identify(world.wrong, query), Proof)
    noise = numpy_generator("redteam log", world.name)
    tables = [world.rows(2.5, noise, False) for _ in range(300)]
    y, t = (np.concatenate([each[name] for each in tables]) for name in ("Y", "T"))
    other = np.concatenate([each["M" if "M" in each else "C"] for each in tables])
    assert abs(slope(y, t) - 2.5) < 0.2
    assert abs(slope(y, t, other) - 2.5) > 0.6


def test_only_the_forgotten_edge_makes_the_first_world_look_identified():
    query = Query.effect("T", "Y")
    assert isinstance(identify(WORLDS[0].right, query), Hedge)
    assert isinstance(identify(WORLDS[0].wrong, query), Proof)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_a_hidden_cause_explains_the_share_that_it_is_named_by(share):
    choice, push = strengths(share)
    noise = numpy_generator("redteam share", str(share))
    u = noise.standard_normal(400_000)
    t = (choice * u + noise.standard_normal(u.size) > 0).astype(float)
    y = push * u + NOISE * noise.standard_normal(u.size)
    of_t = np.corrcoef(u, t)[0, 1] ** 2
    left_u, left_y = (each - t * slope(each, t) for each in (u, y))
    of_y = np.corrcoef(left_u, left_y)[0, 1] ** 2
    assert of_t == pytest.approx(share, rel=0.1)
    assert of_y == pytest.approx(share, rel=0.1)


def test_the_forgotten_edge_fools_paper_settings_and_not_a_policy_that_declares_its_strength():
    choice, push = strengths(0.2)
    executed = dict.fromkeys(("paper settings", "ours, declared 0.2"), 0)
    for i in range(40):
        rows = hidden_cause(-0.1, numpy_generator("redteam fooled", i), False, choice=choice, push=push)
        for name in executed:
            found = rule(GATES[name], WRONG, rows, reversible=False, trial=False)
            executed[name] += found.verdict == "EXECUTE"
    assert executed["paper settings"] > 30
    assert executed["ours, declared 0.2"] <= 8  # 40 draws at 5%: once in a million


def test_demanding_mutations_stops_the_reversed_arrow():
    world, drawn = WORLDS[1], actions(40, 5)
    assert attacked(world, world.wrong, SETTINGS["paper settings"], drawn).false > 5
    assert attacked(world, world.wrong, SETTINGS["ours, strength and mutations demanded"], drawn).false <= 6


def test_actions_are_as_the_surrogate_has_them():
    drawn = actions(4000, 1)
    assert np.abs(drawn.effect).min() >= 1.8
    assert np.abs(drawn.effect).max() <= 3.7
    assert abs((drawn.effect < 0).mean() - 0.486) < 0.04
    assert dataclasses.replace(drawn, root=2).root == 2
    assert ROWS == 500


def test_unknown_parts_are_refused():
    with pytest.raises(InputError):
        find("redteam")(Settings(quick=True, seed=1, options={"part": "all of it"}))
