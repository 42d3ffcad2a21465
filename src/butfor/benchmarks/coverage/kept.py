"""Finished cells as JSON lines, so that a sweep of hours goes on where it was cut off."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.coverage.draws import drawn
from butfor.benchmarks.coverage.tally import Tally
from butfor.errors import CorruptRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from butfor.benchmarks.coverage.worlds import World

_ROOMS = ("butfor.estimation.", "butfor.confidence")
# What answers a kind of proof; what it imports of the two rooms follows from the sources.
_ANSWERED_BY = {
    "randomised": ("randomised",),
    "adjustment": ("saturated", "aipw", "continuous"),
    "front_door": ("front_door",),
    "instrument": ("instrument",),
    "general_id": ("general",),
}


class Kept:
    """A file of finished cells. One that cannot be used again is left in the file and drawn again.

    Args:
        path: The file; None keeps nothing.

    Raises:
        CorruptRecord: A line is not one of ours.
    """

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self._cells: dict[str, dict[str, Any]] = {}
        text = self._path.read_text(encoding="utf-8") if self._path and self._path.exists() else ""
        whole, _, cut = text.rpartition("\n")
        if cut and self._path:
            # A kill cut the last line off; its cell is drawn again.
            self._path.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                cell = json.loads(line)
                self._cells[_key(cell["cell"])] = cell["tallies"]
            except (ValueError, KeyError, TypeError):
                raise CorruptRecord("not a finished cell", where=f"{path}:{number}", fix="remove it") from None

    def find(self, cell: Mapping[str, Any]) -> dict[str, Tally] | None:
        """Return what is known of a cell, by method."""
        found = self._cells.get(_key(cell))
        return {name: Tally.from_json(each) for name, each in found.items()} if found else None

    def keep(self, cell: Mapping[str, Any], tallies: Mapping[str, Tally]) -> None:
        """Append a finished cell."""
        if self._path is None:
            return
        line = {"cell": dict(cell), "tallies": {name: tally.to_json() for name, tally in tallies.items()}}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _key(cell: Mapping[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True)


def fingerprint(world: World, n: int, seed: int) -> dict[str, str]:
    """Return digests of what a cell depends on: its first table, and the sources that answer its proof.

    The baselines are no part of it.
    """
    table = hashlib.sha256()
    for name, values in sorted(drawn(world, n, 0, seed).items()):
        table.update(name.encode() + np.ascontiguousarray(values, dtype=np.float64).tobytes())
    kind = world.proof.kind
    homes = [f"butfor.estimation.{home}" for home in _ANSWERED_BY[kind]]
    if "boosted" in world.methods:
        homes = ["butfor.estimation.boosted"]
    elif "ols" in world.methods:
        homes.append("butfor.estimation.least_squares")
    return {"table": table.hexdigest()[:16], "code": _sources(homes)}


def _sources(modules: Iterable[str]) -> str:
    """Digest the choice of estimators and the modules named, with all that they import of the two rooms."""
    found: dict[str, bytes] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = _file(name)
        found[name] = path.read_bytes()
        waiting += _imports(found[name])
        if path.name == "__init__.py":
            waiting += [f"{name}.{each.stem}" for each in path.parent.glob("*.py") if each.stem != "__init__"]
    found["dispatch"] = _file("butfor.estimation.dispatch").read_bytes()
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + found[name])
    return digest.hexdigest()[:16]


def _imports(source: bytes) -> list[str]:
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return [node.module for node in nodes if node.module and node.module.startswith(_ROOMS)]


def _file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
