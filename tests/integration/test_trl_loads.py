"""Exported files go through TRL's own loaders, chat templates, tokenisation and one training step.

TRL lives in an environment of its own, which `make trl` makes: it needs PyTorch, and nothing else of ours does.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from butfor.repairs.pairs import Derived, export_pairs
from tests.unit.repairs.pair_cases import call, pair

PYTHON = Path(os.environ.get("BUTFOR_TRL") or Path(__file__).parents[2] / ".venv" / "trl") / "bin" / "python"
SCRIPT = Path(__file__).parent / "trl_load.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="TRL's own environment is not there: `make trl` makes it"),
]

# Text and calls, arguments with other names and types, other scripts, a prompt without a user's last word.
CASES = [
    pair("What is 3 + 4?", "3 + 4 = 8", "3 + 4 = 7", task="sum"),
    pair("Where is parcel 7?", call("pay", order="7", amount=3.5), call("look", order="7"), task="parcel"),
    pair("Rückgabe für 東京?", call("pay", orders=["1", "2"]), "Das muss ich erst prüfen: 規則.", task="other"),
    pair("Both?", [call("look", a={"deep": 1}), call("pay")], ["First:", call("look", a={"other": None})], task="both"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    for name in ("trl-dpo", "trl-kto", "trl-reward"):
        export_pairs(Derived(pairs=CASES, repairs=len(CASES)), name=name, out=folder / name, test=0.0)
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "TRL_EXPERIMENTAL_SILENCE": "1"}
    done = subprocess.run(
        [PYTHON, SCRIPT, folder], capture_output=True, text=True, timeout=600, env=offline, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_every_row_comes_back_as_it_was_written(told):
    for name in ("trl-dpo", "trl-kto", "trl-reward"):
        assert told[name]["same"], name


def test_dpo_tokens_are_the_exact_prompt_and_the_two_answers(told):
    assert told["trl-dpo"]["exact"] == told["trl-dpo"]["rows"] == len(CASES)
    assert told["trl-dpo"]["applied"] == ["chosen", "prompt", "rejected"]


def test_kto_keeps_every_answer(told):
    assert told["trl-kto"]["prepared"] == told["trl-kto"]["rows"] == 2 * len(CASES)


def test_reward_rows_share_the_prompt_that_trl_extracts(told):
    assert told["trl-reward"]["extracted"] == told["trl-reward"]["exact"] == len(CASES)


def test_a_training_step_has_a_loss(told):
    for name in ("trl-dpo", "trl-kto", "trl-reward"):
        assert told[name]["loss"] > 0.0
