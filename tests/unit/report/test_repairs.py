"""Repairs on a page and on a terminal: diffs that say what changed, both arms, and nothing of a trace that acts."""

import dataclasses
import io

import pytest
from rich.console import Console

from butfor import report
from butfor.repairs import FUNNEL, Proposal, Repair, RepairAnswer, RepairTest, TableExecutor, Tried, measure
from butfor.report.repairs_terminal import AXIS, strip
from tests.unit.report.stories import HOSTILE, bill_of, data_of
from tests.unit.report.test_page import Page

FACTUAL = {"tool": "refund", "arguments": {"order": "1042"}}
REPAIRED = {"tool": "check", "arguments": {"order": "1042"}}


def answer_of(*, hostile="", repaired=None, null=0.2, success=1.0):
    action = repaired or {"tool": "check", "arguments": {"order": f"1042{hostile}"}}
    proposal = Proposal(step=1, action=action, source="model", origin={"model": f"m{hostile}", "template": "correct/1"})
    executor = TableExecutor(null=null, success={str(action): success})
    verdict = RepairTest().test(1, action, executor)
    repair = Repair(
        run_id="r",
        step=1,
        outcome=f"rule{hostile}",
        factual=FACTUAL,
        repaired=action,
        proposal=proposal,
        verdict=verdict,
        edit=measure(FACTUAL, action),
        shrunk_from=f"more{hostile}",
    )
    return RepairAnswer(
        result_id="a",
        run_id="r",
        steps=(1,),
        located=f"Step 1 is the decisive step{hostile}.",
        repairs=(repair,) if verdict.accepted else (),
        tried=(Tried(proposal=proposal, verdict=verdict, distance=1),),
        funnel=dict.fromkeys(FUNNEL, 1),
        bill=bill_of(3),
        notes=(f"a note{hostile}",),
    )


def page_of(answer):
    return report.render_html(dataclasses.replace(data_of(3), repairs=report.view_of(answer)))


def terminal_of(answer, width=80):
    out = io.StringIO()
    report.print_repairs(report.view_of(answer), Console(file=out, width=width))
    return out.getvalue()


def test_the_page_shows_what_changed_and_both_arms():
    page = page_of(answer_of())
    assert "<del>refund</del>" in page
    assert "<ins>check</ins>" in page
    assert "decided again" in page
    assert Page(page).wrong == []


def test_a_hostile_repair_runs_nothing_and_is_written_out():
    page = page_of(answer_of(hostile=HOSTILE))
    read = Page(page)
    assert read.wrong == []
    assert not [tag for tag, _ in read.elements if tag in ("script", "img", "iframe")]
    assert not [name for _, attributes in read.elements for name in attributes if name.startswith("on")]
    assert "\x1b" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_hostile_repair_reaches_no_terminal(width):
    text = terminal_of(answer_of(hostile=HOSTILE), width)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(len(line) <= width for line in text.splitlines())


def test_the_terminal_shows_a_diff_and_both_arms_on_one_axis():
    lines = terminal_of(answer_of()).splitlines()
    assert '- refund(order="1042")' in lines
    assert '+ check(order="1042")' in lines
    arms = [line for line in lines if line.startswith(("repaired ", "decided again "))]
    assert len(arms) == 2
    assert all(len(strip(arm)) == AXIS for arm in report.view_of(answer_of()).repairs[0].arms)
    assert any(line.startswith("Lift +") for line in lines)


def test_what_was_tested_and_rejected_is_told_with_its_verdict():
    text = terminal_of(answer_of(null=0.9, success=0.02))
    assert "No repair" in text
    assert "Rejected: success" in text
    page = page_of(answer_of(null=0.9, success=0.02))
    assert "Everything that was tested (1)" in page


def test_the_report_is_json_too():
    data = dataclasses.replace(data_of(3), repairs=report.view_of(answer_of()))
    document = data.to_json()["repairs"]
    assert document["repairs"][0]["title"].startswith("Step 1")
