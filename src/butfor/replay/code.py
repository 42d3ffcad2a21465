"""An agent's own code: its module and whatever that imports from under the same root, found by reading, not by running.

What a process happens to have loaded would not do: the same agent asked about from a script, from a test or after its
first run would have another digest, and its stored draws would be made again. Imports inside functions are followed
too; those of a computed name are not.
"""

from __future__ import annotations

import ast
import functools
import os
import site
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from butfor import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def code_of(module: ModuleType) -> dict[str, str]:
    """Hash a module's source file and those that it imports from under its root, directly or not.

    Returns:
        File, relative to the root, to digest.
    """
    file = getattr(module, "__file__", None)
    if not file or not Path(file).is_file():
        return {}
    root = _root_of(module.__name__, Path(file))
    files = _reachable({file, *_files_of(module.__name__, root)}, root)
    return {os.path.relpath(path, root): _read(path, _modified(path))[0] for path in sorted(files)}


def is_installed(path: str) -> bool:
    """Whether a source file belongs to the standard library or an installed package."""
    return path.startswith(_installed())


@functools.cache
def _installed() -> tuple[str, ...]:
    return tuple(f"{place}{os.sep}" for place in (*site.getsitepackages(), sysconfig.get_paths()["stdlib"]))


def _root_of(module_name: str, file: Path) -> str:
    levels = module_name.count(".") + (file.name == "__init__.py")
    return str(file.parents[levels])


def _reachable(start: set[str], root: str) -> set[str]:
    # Beside an installed agent lie packages of others, which are no more its code than those of a user's environment.
    first = min(start)
    mine = Path(first).relative_to(root).parts[0] if is_installed(first) else None
    found, waiting = set(start), list(start)
    while waiting:
        path = waiting.pop()
        for name in _read(path, _modified(path))[1]:
            absolute = _absolute(name, os.path.relpath(path, root))
            if _is_ours(absolute) or (mine is not None and absolute.partition(".")[0] != mine):
                continue
            new = set(_files_of(absolute, root)) - found
            found |= new
            waiting += new
    return found


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "butfor" and not name.startswith("butfor.demo")


@functools.lru_cache(maxsize=4096)
def _read(path: str, modified: int) -> tuple[str, tuple[str, ...]]:
    """Return a file's digest and the names that it imports; cached until it is modified."""
    del modified
    source = Path(path).read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return canonical.digest_text(source), ()
    return canonical.digest_text(source), tuple(dict.fromkeys(_imports(tree)))


def _modified(path: str) -> int:
    return Path(path).stat().st_mtime_ns


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield imported names; a relative one begins with its dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            yield from (f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in node.names)


def _absolute(name: str, importer: str) -> str:
    """Resolve a name against the file (relative to the root) that imports it."""
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    if not level:
        return name
    package = Path(importer).parts[:-level]
    return ".".join([*package, rest] if rest else package)


def _files_of(name: str, root: str) -> Iterator[str]:
    """Yield the files that importing a name runs: the packages on the way, and the module."""
    place = root
    for part in name.split("."):
        place = os.path.join(place, part)  # noqa: PTH118  called for every import; a path would cost ten times as much
        for candidate in (f"{place}.py", f"{place}{os.sep}__init__.py"):
            if os.path.isfile(candidate):  # noqa: PTH113
                yield candidate
