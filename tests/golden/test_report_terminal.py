"""The terminal report, character for character at 80 columns; `--json` has the same in numbers."""

import dataclasses
import io
import re
from pathlib import Path

from rich.console import Console

from butfor import report
from butfor.report.terminal import STRIP, strip
from butfor.runs import Grade, Replayability
from tests.unit.report.stories import HOSTILE, between, crs_data, data_of, run_of, shapley_data, withheld

GOLDEN = Path(__file__).parent


def printed(data: report.ReportData, *, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system="standard" if terminal else None)
    report.print_terminal(data, console)
    return file.getvalue()


def same_as(name: str, text: str) -> bool:
    """Compare with a kept file; to accept a change, write the text there and read the difference."""
    return (GOLDEN / name).read_text(encoding="utf-8") == "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_a_decisive_step():
    grade = Grade(level=Replayability.APPROXIMATE, missing=("seed: not sent",))
    assert same_as("report_decisive.txt", printed(data_of(4, decisive=1, grade=grade)))


def test_a_withheld_answer():
    data = data_of(6, decisive=2)
    assert data.finding
    finding = withheld(data.finding, candidates=(1, 2, 4), points=(1, 2, None))
    assert same_as("report_withheld.txt", printed(dataclasses.replace(data, finding=finding)))


def test_shapley_values():
    assert same_as("report_shapley.txt", printed(shapley_data()))


def test_responsibility():
    assert same_as("report_responsibility.txt", printed(crs_data()))


def test_a_run_alone():
    assert same_as("report_run_alone.txt", printed(report.ReportData(run=run_of(3))))


def test_no_line_is_wider_than_the_terminal():
    """But for the commands: broken into lines they could not be pasted."""
    for data in (data_of(100, decisive=37), data_of(4, hostile=HOSTILE), data_of(4), shapley_data(), crs_data()):
        lines = [line for line in printed(data).splitlines() if not line.startswith("$ ")]
        assert max(map(len, lines)) <= 80


def test_a_hostile_trace_moves_no_cursor_and_styles_nothing():
    """Every escape sequence on a terminal is one of rich's own styles, and markup in a trace is printed as it is."""
    text = printed(data_of(4, hostile=HOSTILE), terminal=True)
    assert set(re.findall("\x1b[^m]*m", text)) <= {"\x1b[1m", "\x1b[0m", "\x1b[2m"}
    assert "\x1b" not in re.sub("\x1b\\[[012]m", "", text)
    assert not re.search("[\x07\x00\u202e\u200b\ud800]", text)
    assert "[bold red]markup[/]" in text
    assert ":smile:" in text


def test_the_strip_shows_where_an_interval_is():
    assert strip(between(0.0, -1.0, 1.0)) == "├──────●──────┤"
    assert strip(between(1.0, 1.0, 1.0)) == "·······┊······●"
    assert strip(between(0.57, 0.29, 0.86), point="◆") == "·······┊·├─◆─┤·"
    assert len(strip(between(-0.9, -1.0, -0.8))) == STRIP
