"""The error level and the margins of an attribution."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from butfor.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Margins:
    """What counts as an effect, and how often an answer may be wrong.

    Attributes:
        alpha: α, error level.
        commit: δ, the effect that re-deciding must have for the run to count as still open.
        decisive: δ_d, the blame below which no step is called decisive.
        tie: δ_tie, steps whose blame is this close to the largest are as right an answer as the largest.
    """

    alpha: float = 0.05
    commit: float = 0.10
    decisive: float = 0.20
    tie: float = 0.05

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0.0 < value < 1.0:
                raise InputError(f"{name} = {value!r} is not between 0 and 1", fix="choose a share such as 0.05")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)
