"""The page of the gate has the tables that the gate decides by."""

import ast
from pathlib import Path

import pytest

from butfor.gate.policy.model import Entry
from butfor.gate.rules import DEFAULT, DIFFERENCES, PAPER, differences_table
from butfor.gate.verdict import reasons_table

PAGE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "table"), [("reasons", reasons_table()), ("differences", differences_table())])
def test_a_table_of_the_page_is_the_one_in_force(name, table):
    assert PAGE.split(f"<!-- {name} -->\n")[1].split(f"\n<!-- end {name} -->")[0] == table


def test_each_setting_in_which_the_presets_differ_is_listed():
    settings = {name for name in vars(DEFAULT) if getattr(DEFAULT, name) != getattr(PAPER, name)} - {"name"}
    # One row may tell of two settings, none of none: the estimator's row also tells of its bound.
    assert len(DIFFERENCES) >= len(settings)


def test_each_key_of_an_entry_is_explained():
    keys = PAGE.split("The keys of an entry:")[1].split("## ")[0]
    for name in Entry.model_fields:
        assert f"`{name}`" in keys or name == "tool", name


def test_the_python_of_the_page_is_python():
    blocks = [block.split("```")[0] for block in PAGE.split("```python\n")[1:]]
    assert blocks
    for block in blocks:
        ast.parse(block)
