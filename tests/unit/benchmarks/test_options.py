"""The options of the benchmarks' own."""

import re
from pathlib import Path

import pytest

import butfor.benchmarks
from butfor.benchmarks import BENCHMARKS, Settings, check_options
from butfor.benchmarks.harness import OPTIONS
from butfor.errors import InputError


def test_a_misspelt_option_is_refused_before_anything_runs():
    check_options(["planted"], {"repetitions": "2000"})
    with pytest.raises(InputError, match="planted has no option 'repetition'"):
        check_options(["planted"], {"repetition": "2000"})
    with pytest.raises(InputError, match="luck has no option"):
        check_options(["luck"], {"failures": "3"})


@pytest.mark.parametrize("text", ["NaN", "0", "-1", "x", "1.5", ""])
def test_a_count_is_a_positive_whole_number(text):
    with pytest.raises(InputError, match="not a positive number"):
        Settings(quick=True, seed=0, options={"n": text}).count("n", 5)
    assert Settings(quick=True, seed=0, options={}).count("n", 5) == 5


def test_every_option_that_a_benchmark_reads_is_listed():
    assert set(OPTIONS) <= set(BENCHMARKS)
    listed = {option for options in OPTIONS.values() for option in options}
    read = set()
    for file in Path(butfor.benchmarks.__path__[0]).rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        read |= set(re.findall(r'settings\.(?:options\.get|count)\(\s*"(\w+)"', text))
        read |= set(re.findall(r'"(\w+)" (?:not )?in settings\.options', text))
    assert {"keep", "peers", "seeds", "problems"} <= read <= listed
