"""Filters of `butfor repair --all`."""

import pytest

from butfor.errors import InputError
from butfor.repairs.many import Selection
from butfor.store import RunSummary

RUN = RunSummary(run_id="20261130-abc", agent="shop.agent:answer", format="butfor", steps=7, outcome=0.5)


@pytest.mark.parametrize(
    "text",
    ["all", "failed", "run=2026*", "agent=shop.*", "format=butfor", "y>=0.5", "y<=0.5", "y=0.5", "steps<8", "steps>6",
     "failed, agent=*:answer,steps = 7"],
)  # fmt: skip
def test_a_run_is_taken(text):
    assert Selection.parse(text).takes(RUN)


@pytest.mark.parametrize("text", ["run=abc", "agent=shop", "format=otlp", "y>0.5", "y<0.5", "steps<7", "all,steps>7"])
def test_a_run_is_left_out(text):
    assert not Selection.parse(text).takes(RUN)


@pytest.mark.parametrize("text", ["", "faild", "agent", "y", "y>high", "steps=", "all;failed", "outcome>0.5"])
def test_what_is_no_filter_is_refused_with_what_can_be_written(text):
    with pytest.raises(InputError, match="cannot read the filter") as refused:
        Selection.parse(text)
    assert "y>=0.5" in str(refused.value)


def test_a_run_without_an_outcome_is_neither_failed_nor_above_anything():
    run = RunSummary(run_id="r")
    assert Selection.parse("all").takes(run)
    assert not Selection.parse("failed").takes(run)
    assert not Selection.parse("y>=0").takes(run)


def test_an_unfinished_recording_is_never_taken():
    assert not Selection.parse("all").takes(RunSummary(run_id="r", complete=False))
