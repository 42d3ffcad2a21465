"""Shapley values and responsibility, as a report shows them."""

import dataclasses
import re

import pytest

from butfor import report
from butfor.report.findings import read_finding
from butfor.report.scores import Scores
from tests.unit.report.stories import HOSTILE, between, crs_data, profile_of, shapley_data
from tests.unit.report.test_page import page_of


def scores_of(data: report.ReportData) -> Scores:
    assert data.scores is not None
    return data.scores


def test_the_headline_is_the_methods_own_answer():
    for data, said in ((shapley_data(), "The failure is shared by"), (crs_data(), "Another action at step 1")):
        assert said in report.render_html(data)
        assert data.to_json()["scores"]["sentence"].startswith(said)


def test_shares_add_up_to_what_there_is_to_share():
    assert "Σφ = 0.91, v(all) − v(∅) = 0.91 [0.85, 0.97]." in report.render_html(shapley_data())
    published = shapley_data(simultaneous=False)
    assert published.scores
    assert any("not estimated apart" in line for line in published.scores.lines)
    assert "holds alone" in published.scores.sure


@pytest.mark.parametrize("effects", [(0.91, 0.91, 0.0), (0.45, 0.46, 0.0)])
def test_the_sum_of_single_effects_is_said_to_over_count_where_it_does(effects):
    document = profile_of(3, decisive=1).to_json()
    for step, effect in zip(document["steps"], effects, strict=True):
        step["effect"] = between(effect, effect - 0.05, effect + 0.05).to_json()
    lines = scores_of(shapley_data(beside=read_finding(document))).lines
    more = sum(effects) - 0.91
    assert any(f"add up to {sum(effects):.2f}" in line for line in lines)
    assert any(f"{more:.2f} more than there is to share" in line for line in lines) == (more > 0.005)


def test_without_all_single_effects_nothing_is_said_of_their_sum():
    partial = read_finding(profile_of(3, decisive=1, reason="not drawn").to_json())
    assert not any("contrastive" in line for line in scores_of(shapley_data(beside=partial)).lines)


def test_the_published_score_stands_beside_the_lift():
    page = page_of(crs_data())
    roles = [step.role for step in scores_of(crs_data()).steps]
    assert roles == ["may be luck", "responsible", "not estimated"]
    for shown in ("CRS (published)", "number 1: ask", "+0.60", "[+0.30, +0.80]"):
        assert shown in page.text


def test_all_bars_share_one_axis():
    page = report.render_html(shapley_data())
    assert len(set(re.findall(r'class="head" x="(\d+)"[^>]*>φ\(k\)', page))) == 1
    assert page.count('class="range"') == 3


@pytest.mark.parametrize("make", [shapley_data, crs_data])
def test_a_hostile_trace_does_nothing(make):
    page = page_of(make(hostile=HOSTILE))
    assert (page.open, page.wrong) == ([], [])


def test_an_unfinished_answer_says_so():
    from butfor.report.notes import notes_of

    data = shapley_data()
    assert any("Not everything" in note for note in notes_of(data.run, None, data.bill, complete=False))
    assert dataclasses.replace(data, scores=None).to_json()["scores"] is None
