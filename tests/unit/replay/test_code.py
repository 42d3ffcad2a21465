"""Which files are an agent's own code."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from butfor.replay.code import code_of

FILES = {
    "shop/__init__.py": "",
    "shop/agent.py": "import json\nfrom . import prices\nfrom .deep.tools import look\ndef f(x): import settings\n",
    "shop/prices.py": "from shop.rates import RATE\n",
    "shop/rates.py": "RATE = 1\n",
    "shop/deep/__init__.py": "",
    "shop/deep/tools.py": "from ..prices import *\nfrom .. import shared\nlook = 1\n",
    "shop/shared.py": "",
    "shop/unrelated.py": "import numpy\n",
    "settings.py": "LIMIT = 3\n",
    "other.py": "",
}


@pytest.fixture
def agent(tmp_path: Path) -> ModuleType:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    spec = importlib.util.spec_from_file_location("shop.agent", tmp_path / "shop/agent.py")
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def test_what_the_agent_imports_is_its_code_and_nothing_else(agent):
    assert set(code_of(agent)) == {*FILES} - {"shop/unrelated.py", "other.py"}


def test_what_else_is_loaded_does_not_matter(agent, tmp_path):
    before = code_of(agent)
    unrelated = ModuleType("shop.unrelated")
    unrelated.__file__ = str(tmp_path / "shop/unrelated.py")
    sys.modules["shop.unrelated"] = unrelated
    try:
        assert code_of(agent) == before
    finally:
        del sys.modules["shop.unrelated"]


def test_a_changed_constant_is_noticed(agent, tmp_path):
    before = code_of(agent)
    (tmp_path / "shop/rates.py").write_text("RATE = 200\n")
    after = code_of(agent)
    assert {name for name in before if before[name] != after[name]} == {"shop/rates.py"}


def test_code_that_cannot_be_read_is_still_hashed(agent, tmp_path):
    (tmp_path / "settings.py").write_text("def (:\n")
    assert "settings.py" in code_of(agent)
    assert code_of(ModuleType("nowhere")) == {}
