"""What a statistical function answers: an estimate with bounds, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with bounds and where they come from.

    Attributes:
        point: The estimate. It need not be the middle of the bounds.
        lower: Lower bound, at most `upper`.
        upper: Upper bound.
        alpha: How often, at most, the bounds may miss what they bound.
        n: Draws behind it, missing ones included.
        method: The method in words; an approximate one says so.
        assumptions: What must hold for `alpha` to be true.
    """

    point: float
    lower: float
    upper: float
    alpha: float
    n: int
    method: str
    assumptions: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    def contains(self, value: float) -> bool:
        """Tell whether a value lies within the bounds."""
        return self.lower <= value <= self.upper

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "point": self.point,
            "lower": self.lower,
            "upper": self.upper,
            "alpha": self.alpha,
            "n": self.n,
            "method": self.method,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, kw_only=True)
class Undefined:
    """No estimate, and why. Never to be read as 0."""

    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"undefined": self.reason}


Interval: TypeAlias = Estimate | Undefined


def interval_from_json(value: dict[str, Any]) -> Interval:
    """Read what `Estimate.to_json` or `Undefined.to_json` wrote."""
    if "undefined" in value:
        return Undefined(reason=value["undefined"])
    return Estimate(**{**value, "assumptions": tuple(value["assumptions"])})


def known(value: float, *, why: str = "known") -> Estimate:
    """Return a number that carries no uncertainty, such as the recorded outcome."""
    return Estimate(point=value, lower=value, upper=value, alpha=0.0, n=1, method=why)
