"""What came of one run of a program and its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What came of one run.

    A program in the sandbox shares its process with the tests: one that sets out to forge its results could. The walls
    hold against any program, the results against one that is merely wrong.

    Attributes:
        fault: Why the program itself did not come to its tests; None where it did.
        results: One a test: None where it passed, else what it raised, or ``not reached``.
        limits: Which limits stopped it: ``time``, ``memory``, ``processes``.
        tried: What it tried that a program under test has no business with: ``process``, ``network``, ``delete``,
            ``write``, ``signal``, each with its first example. All of it is contained, named here or not.
        seconds: Wall time.
    """

    fault: str | None
    results: tuple[str | None, ...]
    limits: tuple[str, ...]
    tried: Mapping[str, str]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the program came to its tests and passed every one of them."""
        return self.fault is None and all(result is None for result in self.results)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Finding:
        """Read what the inside of the sandbox wrote."""
        return cls(
            fault=value["fault"],
            results=tuple(value["results"]),
            limits=tuple(value["limits"]),
            tried=dict(value["tried"]),
            seconds=value["seconds"],
        )
