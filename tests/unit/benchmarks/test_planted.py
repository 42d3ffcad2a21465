"""The planted runs are what they say, and the benchmark reports in its schema."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from butfor.attribution.sampling import Coalition, Draw, ResampleFrom
from butfor.benchmarks import Settings, find
from butfor.benchmarks.planted import TableWorld, World, late_rescue, pivotal, simulate, undone, uniforms
from butfor.benchmarks.planted.plot import price_plot
from butfor.benchmarks.planted.published import PublishedContrastive
from butfor.errors import InputError


def draws(arm, count):
    return [Draw(arm=arm, ordinal=i) for i in range(count)]


@pytest.mark.parametrize("world", [pivotal(6, at=3, match=0.8), undone(6, helped=1, at=4), late_rescue(6, at=2)])
def test_simulated_means_are_the_planted_ones(world):
    for k in range(world.steps + 1):
        outcomes = [result.outcome == 1.0 for result in world.results(draws(ResampleFrom(step=k), 4000), 1)]
        assert np.mean(outcomes) == pytest.approx(world.v[k], abs=5 * 0.5 / np.sqrt(4000))


def test_reused_rollouts_have_the_later_steps_mean():
    world = pivotal(6, at=3, match=0.8)
    results = world.results(draws(ResampleFrom(step=0), 6000), 2)
    for j in range(1, 4):
        reused = [result.outcome == 1.0 for result in results if (result.held_until or 0) >= j]
        assert np.mean(reused) == pytest.approx(world.v[j], abs=5 * 0.5 / np.sqrt(len(reused)))
    assert all(result.matched == ((result.held_until or 0) > 0) for result in results)


def test_a_result_depends_on_seed_and_draw_alone():
    world = pivotal(8, at=3, match=0.5)
    batch = draws(ResampleFrom(step=1), 50)
    forward, backward = world.results(batch, 7), world.results(batch[::-1], 7)
    assert forward == backward[::-1]
    assert forward != world.results(batch, 8)


def test_uniforms_are_uniform():
    ids = np.array([draw.index for draw in draws(ResampleFrom(step=0), 20000)], dtype=np.uint64)
    first, second = uniforms(1, ids, 0), uniforms(1, ids, 1)
    for sample in (first, second):
        assert np.histogram(sample, bins=10, range=(0, 1))[0] == pytest.approx(np.full(10, 2000), abs=5 * 45)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(20000)


def test_a_table_world_simulates_its_values():
    world = TableWorld(steps=4, bad={1: 0.4, 2: 0.6})
    for held in (frozenset(), frozenset({1}), frozenset({1, 2}), frozenset({0, 3})):
        outcomes = [result.outcome == 1.0 for result in world.results(draws(Coalition(held=held), 4000), 1)]
        assert np.mean(outcomes) == pytest.approx(world.value(held), abs=5 * 0.5 / np.sqrt(4000))


def test_impossible_worlds_are_refused():
    with pytest.raises(InputError, match="no policy"):
        World(name="x", v=np.array([0.1, 0.9, 1.0]), match=np.array([0.9, 0.0]))
    with pytest.raises(InputError):
        pivotal(3, at=1).results(draws(Coalition(held=frozenset()), 1), 0)


def test_truth_of_a_world():
    world = late_rescue(10, at=5, rescue=0.02)
    assert world.right(0.05) == {5}
    assert world.commit_point(0.1) == 5
    assert pivotal(4, at=1).commit_point(0.1) == 1


def test_the_published_rule_collapses_where_it_is_said_to():
    world = late_rescue(10, at=5, rescue=0.02)
    few = [simulate(PublishedContrastive(steps=10, draws=16), world, s)[0].locus for s in range(40)]
    many = [simulate(PublishedContrastive(steps=10, draws=80), world, s)[0].locus for s in range(40)]
    assert few.count(5) >= 30
    assert many.count(5) <= 5


def test_the_benchmark_reports_in_its_schema(tmp_path):
    options = {"part": "price", "repetitions": "4", "svg": str(tmp_path / "price.svg")}
    report = find("planted")(Settings(quick=True, seed=1, options=options))
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert set(document) == {"name", "settings", "rows", "checks", "notes"}
    # Four repetitions prove nothing; that the claims hold is what the benchmark itself is for.
    assert all(check["ok"] == (check["value"] >= check["bound"]) for check in document["checks"])
    saved = {check["name"]: check["value"] for check in document["checks"] if "saved" in check["name"]}
    assert len(saved) == 4
    assert min(saved.values()) > 1.0
    assert {row["n"] for row in document["rows"]} == {10, 20}
    svg = ET.fromstring((tmp_path / "price.svg").read_text(encoding="utf-8"))
    assert len(svg.findall("{http://www.w3.org/2000/svg}polyline")) == 3


def test_a_plot_of_nothing_is_a_plot():
    ET.fromstring(price_plot([]))


@pytest.mark.parametrize("options", [{"part": "x"}, {"repetitions": "0"}, {"repetitions": "many"}])
def test_unusable_options_are_refused(options):
    with pytest.raises(InputError):
        find("planted")(Settings(quick=True, seed=1, options=options))
