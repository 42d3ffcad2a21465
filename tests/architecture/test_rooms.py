"""The shape of the package: one contract a room, sizes, and the names that no module may have."""

import ast
import configparser
from pathlib import Path

import butfor

SOURCE = Path(butfor.__file__).parent
REPOSITORY = Path(__file__).parents[2]
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


def contracts() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(REPOSITORY / ".importlinter")
    return parser


def test_every_room_has_a_contract():
    # cli is the top: it may import everything, so it has no contract of its own.
    sources = {section.rsplit(":", 1)[-1] for section in contracts().sections()}
    assert set(ROOMS) - sources == {"cli"}


def test_no_module_is_named_for_nothing():
    nameless = {"util", "utils", "helpers", "common", "base", "core", "manager", "misc"}
    assert [path for path in SOURCE.rglob("*.py") if path.stem.strip("_") in nameless] == []


def test_no_public_function_shares_a_rooms_name():
    for path in SOURCE.glob("*/__init__.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not {alias.asname or alias.name for alias in node.names} & set(ROOMS), path


def test_a_rooms_init_only_re_exports():
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign, ast.FunctionDef)
    for path in SOURCE.glob("*/__init__.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                # What is re-exported lazily is still imported for the type checker.
                assert all(isinstance(inner, ast.ImportFrom) for inner in node.body)
                assert not node.orelse
                continue
            assert isinstance(node, allowed), f"{path}:{node.lineno}"
            if isinstance(node, ast.FunctionDef):
                assert node.name == "__getattr__", f"{path}:{node.lineno}: only a lazy re-export may be a function"
