"""No test waits without a limit: one that hangs stops a whole delivery and says nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HOME = TESTS / "patience.py"
RUNS = {"run", "call", "check_call", "check_output"}


def endless(tree: ast.Module) -> Iterator[str]:
    """Name the calls that may wait for ever: of threads, processes and events, as far as their names tell."""
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)) or id(node) in awaited:
            continue
        name, given = node.func.attr, {each.arg for each in node.keywords}
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        if name in ("join", "wait", "communicate") and not node.args and not given & {"timeout", None}:
            yield f"line {node.lineno}: {name} without a timeout"
        if owner == "subprocess" and name in RUNS and not given & {"timeout", None}:
            yield f"line {node.lineno}: subprocess.{name} without a timeout"
        if owner == "subprocess" and name == "Popen":
            yield f"line {node.lineno}: subprocess.Popen, not tests.patience.started"


@pytest.mark.parametrize(
    "line",
    [
        "thread.join()",
        "process.wait()",
        "process.communicate()",
        "subprocess.run(['x'], check=True)",
        "subprocess.Popen(['x'])",
    ],
)
def test_the_kinds_are_seen(line):
    assert len(list(endless(ast.parse(line)))) == 1


@pytest.mark.parametrize("line", ["' '.join(x)", "x.join(timeout=1)", "subprocess.run(['x'], timeout=1)"])
def test_what_ends_is_let_be(line):
    assert list(endless(ast.parse(line))) == []


def test_no_test_waits_for_ever():
    files = [path for path in TESTS.rglob("*.py") if path != HOME]
    found = {str(path.relative_to(TESTS)): list(endless(ast.parse(path.read_text()))) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}
