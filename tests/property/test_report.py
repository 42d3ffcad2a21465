"""Any run, whatever JSON is in it, has a report."""

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from butfor import report, runs
from butfor.report.examples import first_divergence
from butfor.report.states import compare, read_request
from butfor.report.visible import cut, one_line, visible
from tests.property.strategies import json_values, names, recorded_runs, text
from tests.unit.report.test_page import page_of

ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]")


@settings(max_examples=40, deadline=None)
@given(recorded_runs())
def test_every_run_has_a_page_and_a_terminal_report(run: runs.Run):
    data = report.ReportData(run=run)
    page = page_of(data)
    assert (page.open, page.wrong) == ([], [])
    assert not ACTING.search(report.render_html(data))
    file = io.StringIO()
    report.print_terminal(data, Console(file=file, width=80))
    assert not ACTING.search(file.getvalue())


@given(text)
def test_what_is_visible_stays_visible(value: str):
    assert visible(visible(value)) == visible(value)
    assert not ACTING.search(visible(value))
    assert len(one_line(value, 12)) <= 12
    assert cut(value, 1000) == value


@given(json_values, json_values)
def test_every_request_is_a_state(now, before):
    state = compare(read_request(now), read_request(before), seen_at=0)
    assert state.known
    assert state.total == len(read_request(now).messages)


@given(st.lists(names, min_size=1, max_size=6, unique_by=visible), st.data())
def test_a_history_that_grows_marks_what_was_added_and_nothing_else(contents, data):
    kept = data.draw(st.integers(1, len(contents)))
    history = [{"role": "user", "content": content} for content in contents]
    state = compare(read_request({"messages": history}), read_request({"messages": history[:kept]}), seen_at=0)
    marked = ["".join(text for text, _ in each.pieces) for each in state.messages if each.is_new]
    assert marked == [visible(content) for content in contents[kept:]]
    assert state.unchanged + len(state.messages) == len(history)


@settings(max_examples=40, deadline=None)
@given(recorded_runs())
def test_a_run_does_not_differ_from_itself(run: runs.Run):
    assert first_divergence(run, run) == (None, None, "")
