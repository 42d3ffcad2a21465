"""What happened over the repetitions of one cell of the table."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.estimation import EffectEstimate

if TYPE_CHECKING:
    from butfor.estimation import Effect


@dataclasses.dataclass(kw_only=True)
class Tally:
    """What happened over repetitions of one cell of the table.

    Attributes:
        repetitions: How many.
        answers: Of these, answered.
        misses: Answers whose lower bound is above the truth.
        reasons: Refusals by reason.
        widths: Distance from lower bound to truth, of answers; of a kept tally their median alone.
    """

    repetitions: int = 0
    answers: int = 0
    misses: int = 0
    reasons: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    widths: list[float] = dataclasses.field(default_factory=list)

    def enter(self, answer: Effect, truth: float) -> None:
        """Count one repetition."""
        self.repetitions += 1
        if not isinstance(answer, EffectEstimate):
            self.reasons[answer.reason_code] += 1
            return
        self.answers += 1
        self.misses += answer.lower > truth
        self.widths.append(truth - answer.lower)

    @property
    def refused(self) -> float:
        """Share of refusals."""
        return 1.0 - self.answers / self.repetitions

    def row(self, world: str, n: int, mirror: str, method: str) -> dict[str, Any]:
        """Return the row of the table."""
        return {
            "world": world,
            "n": n,
            "mirror": mirror,
            "method": method,
            "repetitions": self.repetitions,
            "refused": round(self.refused, 3),
            "why": ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common(2)) or "–",
            "missed among answers": round(self.misses / self.answers, 4) if self.answers else "–",
            "missed of all": round(self.misses / self.repetitions, 4),
            "truth − bound, median": round(float(np.median(self.widths)), 4) if self.widths else "–",
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, from which the same row comes again."""
        return {
            "repetitions": self.repetitions,
            "answers": self.answers,
            "misses": int(self.misses),
            "reasons": dict(self.reasons),
            "widths": [float(np.median(self.widths))] if self.widths else [],
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Tally:
        """Read what `to_json` wrote."""
        return cls(**{**kept, "reasons": collections.Counter(kept["reasons"])})
