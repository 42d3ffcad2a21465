"""From an accepted repair to the smallest part of it that is accepted too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from butfor.confidence import Estimate
from butfor.repairs.edits import Change, measure
from butfor.repairs.executor import Executor, Trial, outcomes_of
from butfor.repairs.result import NO_SMALLER, NOT_SHRUNK, ONE_MINIMAL, ONE_PIECE, Repair
from butfor.repairs.shrink import Shrunk, shrink

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.repairs.verdict import Verdict

# Draws by which a smaller candidate is judged while looking for it; its validation has draws of its own.
LOOKS = 6
# Smaller candidates that are validated, the smallest first.
VALIDATED = 2


@dataclass(kw_only=True)
class Shrinker:
    """Shrinks accepted repairs.

    Attributes:
        executor: Its draws look for smaller candidates; none of them validates one.
        validate: Tests a candidate on fresh draws, as its own hypothesis.
        calls: Candidates to look at.
    """

    executor: Executor
    validate: Callable[[int, Json], Verdict]
    calls: int
    _all_proven: bool = True

    def shrink(self, repair: Repair) -> Repair:
        """Return the smallest accepted part of a repair, or the repair with what is claimed about smaller ones."""
        change = Change(repair.factual, repair.repaired)
        if len(change.hunks) < 2:
            return replace(repair, minimality=ONE_PIECE)
        if self.calls == 0:
            return replace(repair, minimality=NOT_SHRUNK)
        assert repair.verdict is not None  # only validated repairs are shrunk
        self._all_proven = repair.verdict.deterministic
        bar = _bar(repair.verdict)
        found = shrink(change, lambda action: self._works(repair.step, action, bar), calls=self.calls)
        for kept in found.trail[:0:-1][:VALIDATED]:
            action = change.apply(kept)
            verdict = self.validate(repair.step, action)
            if verdict.accepted:
                return replace(
                    repair,
                    repaired=action,
                    verdict=verdict,
                    edit=measure(repair.factual, action),
                    shrunk_from=repair.repaired,
                    minimality=self._claim(found, kept),
                )
        return replace(repair, minimality=self._claim(found, found.trail[0]))

    def _works(self, step: int, action: Json, bar: float) -> bool | None:
        proven = self.executor.deterministic_tail(step, action)
        self._all_proven = self._all_proven and proven
        draws = 1 if proven else LOOKS
        outcomes = outcomes_of(self.executor, [Trial(step=step, action=action, draw=draw) for draw in range(draws)])
        if len(outcomes) < draws:
            return None
        return sum(0.0 if y is None else 1.0 - y for y in outcomes) / draws >= bar

    def _claim(self, found: Shrunk, kept: tuple[int, ...]) -> str:
        return ONE_MINIMAL if found.one_minimal and self._all_proven and kept == found.kept else NO_SMALLER


def _bar(verdict: Verdict) -> float:
    """Ask a smaller candidate for at least the target, and for the better half of the way up from the null arm."""
    if not (isinstance(verdict.success, Estimate) and isinstance(verdict.null, Estimate)):
        return verdict.target
    return max(verdict.target, 0.5 * (verdict.success.point + verdict.null.point))
