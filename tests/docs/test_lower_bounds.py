"""The page on lower bounds runs as it is printed, and its limits are the code's."""

import re
from pathlib import Path

from butfor.estimation import limits

PAGE = Path(__file__).parents[2] / "docs" / "what-a-lower-bound-promises.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_block_runs():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_every_file_it_names_exists():
    for path in re.findall(r"`(tests/[\w/]+\.py)`", TEXT):
        assert (PAGE.parents[1] / path).exists(), path
    for path in re.findall(r"`(estimation/\w+\.py)`", TEXT):
        assert (PAGE.parents[1] / "src" / "butfor" / path).exists(), path


def test_the_limits_it_prints_are_the_limits_of_the_code():
    assert f"below {limits.SMALLEST_ARM} units ({limits.SMALLEST_COUNTED_ARM} for" in TEXT
    assert f"over {limits.MOST_CLIPPED:.0%} of the units with a chance below {limits.CLIP:g}".replace("0.", ".") in TEXT
    assert f"under {limits.SMALLEST_ESS:.0f} units, or a quarter" in TEXT
    assert limits.SMALLEST_ESS_SHARE == 0.25
    assert f"fewer than {limits.FEWEST_DF:.0f} degrees of freedom" in TEXT
    assert limits.MOST_SKEW == 0.6
