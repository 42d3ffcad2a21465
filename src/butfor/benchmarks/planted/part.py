"""What one part of `butfor bench planted` is asked for, and results that are kept as they are finished."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Part:
    """How a part is asked to run.

    Attributes:
        seed: The first repetition's; each further one adds 1.
        repetitions: In every cell.
        quick: Fewer cells.
        keep: JSON lines, one a finished cell, so that a long run can be stopped and goes on where it was; None keeps
            nothing. A file belongs to one version of the code: begin a new one after a change.
    """

    seed: int
    repetitions: int
    quick: bool
    keep: Path | None = None

    @property
    def seeds(self) -> range:
        """The seeds, one a repetition."""
        return range(self.seed, self.seed + self.repetitions)

    def kept(self, name: str, compute: Callable[[range], dict[str, Any]]) -> dict[str, Any]:
        """Return a cell's result: what was kept of it with these seeds, else computed from them and kept."""
        key = {"cell": name, "seed": self.seed, "repetitions": self.repetitions}
        for line in self._lines():
            if {part: line[part] for part in key} == key:
                found: dict[str, Any] = line["result"]
                return found
        result = compute(self.seeds)
        if self.keep is not None:
            with self.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**key, "result": result}, ensure_ascii=False) + "\n")
        return result

    def _lines(self) -> list[dict[str, Any]]:
        if self.keep is None or not self.keep.exists():
            return []
        return [json.loads(line) for line in self.keep.read_text(encoding="utf-8").splitlines()]
