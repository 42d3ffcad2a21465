"""What would change the verdict: tests of the graph, single-edge changes, and hidden causes by strength."""

import importlib
from typing import TYPE_CHECKING, Any

from butfor.gate.robustness.report import Mutant, Robustness, Strength

if TYPE_CHECKING:
    from butfor.gate.robustness.examination import examine

__all__ = ["Robustness", "Mutant", "Strength", "examine"]

_HOMES = {"examine": "examination"}


def __getattr__(name: str) -> Any:
    """Load the tests when they are asked for: a decision from cells needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.gate.robustness' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.gate.robustness.{_HOMES[name]}"), name)
