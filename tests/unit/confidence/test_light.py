"""What a request path needs of this room imports NumPy and nothing heavier."""

import subprocess
import sys

from tests.patience import PATIENCE

LIGHT = "bounded_sequence, betting_interval, MarginTest, bets_against, difference, holm, closed_e_values, Estimate"


def test_sequences_and_tests_do_not_load_scipy():
    code = f"import sys; from butfor.confidence import {LIGHT}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 0


def test_every_name_is_there():
    from butfor import confidence

    for name in confidence.__all__:
        assert getattr(confidence, name) is not None
