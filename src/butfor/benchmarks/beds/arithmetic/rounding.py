"""How a model writes a value that it computed: as it is, rounded, or cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

_TOLERANCE = Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """From a value to what is written of it.

    Attributes:
        kind: ``as is``, ``rounded`` or ``cut off``.
        places: Decimal places that are kept, where any are lost.
    """

    kind: str = "as is"
    places: int = 0

    def of(self, value: Fraction) -> Fraction:
        """Return what is written of a value."""
        if self.kind == "as is":
            return value
        scaled = value * 10**self.places
        # Half away from zero, as people round; Python's own rounding goes to the even neighbour.
        kept = math.trunc(scaled) if self.kind == "cut off" else math.floor(abs(scaled) + Fraction(1, 2))
        return Fraction(kept if self.kind == "cut off" or scaled >= 0 else -kept, 10**self.places)


def places_of(text: str) -> int:
    """Count the decimal places of a number as it is written."""
    return len(text.partition(".")[2])


def rounding_between(value: Fraction, text: str, seen: Fraction) -> Rounding | None:
    """Find how `seen`, written as `text`, comes from a value; None where it does not."""
    if abs(value - seen) <= _TOLERANCE * max(Fraction(1), abs(value)):
        return Rounding()
    for kind in ("rounded", "cut off"):
        candidate = Rounding(kind=kind, places=places_of(text))
        if candidate.of(value) == seen:
            return candidate
    return None
