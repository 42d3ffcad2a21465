"""The page on the beds of repair: its commands exist, and its programs are contained and reported as printed."""

import re
from pathlib import Path

import pytest

from butfor.benchmarks.harness import BENCHMARKS
from butfor.benchmarks.sandbox import Limits, Sandbox, why_refused

PAGE = (Path(__file__).parents[2] / "docs" / "benchmarks-repair.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)`[^|]*\|[^|]*\| ((?:limit of|tried:).*) \|$", PAGE, re.MULTILINE)
HOST_FILE = str(Path(__file__).resolve())


def test_every_command_of_the_page_is_a_benchmark():
    named = re.findall(r"butfor bench (\w+)(?: --room (\w+))?", PAGE)
    assert {f"{name}:{room}" if room else name for name, room in named} <= set(BENCHMARKS)
    assert len(set(named)) >= 4


def test_no_table_is_missing():
    assert "@" not in re.sub(r"`[^`]*`", "", PAGE)
    assert PAGE.count("| method | ") + PAGE.count("| method |") >= 4


@pytest.mark.skipif(why_refused() is not None, reason=str(why_refused()))
def test_programs_of_the_page_are_contained_and_reported_as_printed():
    assert len(ROWS) == 6
    with Sandbox(limits=Limits(seconds=1)) as sandbox:
        for program, reported in ROWS:
            source = program.replace("PATH", repr(HOST_FILE)).replace("(...)", "(('127.0.0.1', 9), 1)")
            finding = sandbox.run(f"import os, socket\n{source}", ["pass"])
            assert not finding.passed, program
            for limit in re.findall(r"limit of (\w+)", reported):
                assert limit in finding.limits, program
            for kind in re.findall(r"tried: (\w+)", reported):
                assert kind in finding.tried, program
    assert Path(HOST_FILE).exists()
