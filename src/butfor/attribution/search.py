"""search: the decisive step from as few policy calls as the evidence needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.answers import AnswerKind, sentence
from butfor.attribution.bands import Bands, bands_of
from butfor.attribution.batches import Entered
from butfor.attribution.commitment import Commitment
from butfor.attribution.elimination import Elimination
from butfor.attribution.margins import Margins
from butfor.attribution.plans import Allocation, EveryStep, Halving, Plan, Standing, look_at_the_start
from butfor.attribution.profile import DRAWS, NONE, factual_outcome, leading_steps, step_profiles
from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom, check_results
from butfor.attribution.search_result import Search
from butfor.attribution.tally import Tally
from butfor.confidence import Estimate
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Rollouts without a single outcome after which a search gives up.
HOPELESS = 32


class SearchSampler:
    """Adaptive batches until one step is left, nothing is decisive, or the budget is used up.

    Args:
        steps: n ≥ 1.
        factual: The recorded outcome y, or a judge's mean on the factual run with its interval.
        margins: α and the margins.
        max_help: η: every blame is at least −η. None: no assumption.
        refused: Steps that cannot be decided again, with the reason.
        policy_calls: Budget; by default what `profile` would cost for the same run.

    Raises:
        InputError: No steps, η outside [0, 1), a budget below 1, or y outside [0, 1].
    """

    def __init__(
        self,
        *,
        steps: int,
        factual: float | Estimate,
        margins: Margins | None = None,
        max_help: float | None = None,
        refused: Mapping[int, str] = NONE,
        policy_calls: int | None = None,
    ) -> None:
        if steps < 1:
            raise InputError("a run without steps has no decisive step", fix="record a run that decides something")
        if max_help is not None and not 0.0 <= max_help < 1.0:
            raise InputError(f"max_help = {max_help!r} is not in [0, 1)", fix="say how much a step may help, e.g. 0.05")
        if policy_calls is not None and policy_calls < 1:
            raise InputError(f"a budget of {policy_calls} policy calls buys nothing", fix="allow at least one")
        self._factual, self._margins = factual_outcome(factual), margins or Margins()
        self._max_help, self._refused = max_help, dict(refused)
        self._profile_calls = DRAWS * steps * (steps + 1) // 2
        self._budget = policy_calls or self._profile_calls
        self._tally = Tally(steps)
        margin = self._margins.commit
        self._elimination = Elimination(
            steps=steps,
            factual=self._factual,
            margin=margin,
            decisive_margin=self._margins.decisive,
            max_help=max_help,
        )
        self._commitment = Commitment(steps=steps, factual=self._factual, margin=margin, max_help=max_help)
        self._plan: Plan = EveryStep() if max_help is None else Halving(max_help)
        self._proposed: tuple[Draw, ...] | None = None
        self._allocation = Allocation(counts={}, leader=None)
        self._stopped = False

    def propose(self) -> tuple[Draw, ...]:
        """Name the next batch; empty when the answer stands or the budget is used up."""
        if self._proposed is None:
            self._proposed = () if self._finished() else self._next_batch()
        return self._proposed

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results of the batch. Only a complete batch is bet with; a prefix still counts in the bounds."""
        proposed = self.propose()
        check_results(proposed, results)
        guesses = self._guesses()
        self._tally.enter(proposed[: len(results)], results)
        if len(results) < len(proposed):
            self._stopped = True
        elif proposed:
            self._bet(proposed, results, guesses)
        self._proposed = None

    def answer(self) -> Search:
        """Answer from what was entered."""
        tally, alpha = self._tally, self._margins.alpha
        undrawn = {k: "not drawn" for k in range(tally.steps) if not tally.arms[k].every}
        bands = bands_of(
            tally, factual=self._factual, alpha=alpha, complete=False, refused={**undrawn, **self._refused}
        )
        kind, candidates = self._verdict(bands), self._elimination.candidates(alpha)
        leading, _ = leading_steps(bands, self._margins.tie)
        leading = candidates[0] if len(candidates) == 1 else leading
        said = sentence(
            kind,
            candidates=candidates,
            leading=leading,
            alpha=alpha + self._factual.alpha,
            unsupported=tally.unsupported,
            rollouts=tally.rollouts,
        )
        refuted = help_refuted(bands, self._max_help)
        return Search(
            kind=kind,
            sentence=said + help_sentence(self._max_help, refuted),
            factual=self._factual,
            max_help=self._max_help,
            help_refuted=refuted,
            candidates=tuple(candidates),
            commit_points=tuple(self._commitment.candidates(alpha)),
            leading=leading,
            steps=step_profiles(bands, tally, candidates, kind, self._margins, self._refused),
            margins=self._margins,
            rollouts=tally.rollouts,
            policy_calls=tally.policy_calls,
            profile_calls=self._profile_calls,
            unsupported=dict(tally.unsupported),
            complete=not self._stopped,
        )

    def _finished(self) -> bool:
        hopeless = self._tally.rollouts >= HOPELESS and not self._tally.drawn().any()
        spent = self._tally.policy_calls >= self._budget
        settled = self._settled()
        # While v(0) alone is being drawn, *always fails* is the better answer and a few draws of one arm away.
        waiting = settled is AnswerKind.NO_STEP_DECISIVE and look_at_the_start(self._standing()) is not None
        return self._stopped or hopeless or spent or (settled is not None and not waiting)

    def _settled(self) -> AnswerKind | None:
        """Return the answer that the evidence allows without a look at the bounds; NO_STEP_DECISIVE includes FLAKY."""
        alpha = self._margins.alpha
        if self._elimination.always_fails(alpha):
            return AnswerKind.ALWAYS_FAILS
        if self._elimination.none_decisive(alpha):
            return AnswerKind.NO_STEP_DECISIVE
        one = len(self._elimination.candidates(alpha)) == 1
        # A single candidate is named only once some step is shown to have had an effect at all.
        return AnswerKind.DECISIVE if one and None not in self._commitment.candidates(alpha) else None

    def _verdict(self, bands: Bands) -> AnswerKind:
        if self._tally.rollouts and not self._tally.drawn().any():
            return AnswerKind.NOT_REPLAYABLE
        settled = self._settled()
        if settled is AnswerKind.NO_STEP_DECISIVE:
            saved = bands.effect[0]
            if isinstance(saved, Estimate) and saved.lower > self._margins.commit:
                return AnswerKind.FLAKY
        return settled or AnswerKind.WITHHELD

    def _guesses(self) -> NDArray[np.float64]:
        guesses = self._tally.guesses()
        guesses[-1] = self._factual.point
        return guesses

    def _standing(self) -> Standing:
        means = self._tally.means()
        means[-1] = self._factual.point
        return Standing(
            guesses=self._guesses(),
            means=means,
            tried=np.array([len(arm.own) for arm in self._tally.arms]),
            candidates=self._elimination.candidates(self._margins.alpha),
            usable=[k for k in range(self._tally.steps) if k not in self._refused],
        )

    def _next_batch(self) -> tuple[Draw, ...]:
        """Lay out the plan's next batch round by round, so that a prefix holds all arms alike."""
        tally = self._tally
        self._allocation = self._plan.allocate(self._standing())
        counts = self._affordable(self._allocation.counts)
        rounds = range(max(counts.values(), default=0))
        return tuple(
            Draw(arm=ResampleFrom(step=arm), ordinal=len(tally.arms[arm].own) + i)
            for i in rounds
            for arm, count in counts.items()
            if i < count
        )

    def _affordable(self, counts: dict[int, int]) -> dict[int, int]:
        """Shrink a batch to what is left of the budget, at least one draw of each arm."""
        expected = sum(count * (self._tally.steps - arm) for arm, count in counts.items())
        left = self._budget - self._tally.policy_calls
        share = min(1.0, left / max(expected, 1))
        return {arm: max(1, int(share * count)) for arm, count in counts.items()}

    def _bet(
        self,
        draws: Sequence[Draw],
        results: Sequence[DrawResult],
        guesses: NDArray[np.float64],
    ) -> None:
        batch = []
        for draw, result in zip(draws, results, strict=True):
            assert isinstance(draw.arm, ResampleFrom)
            step = draw.arm.step
            held = step if result.held_until is None else result.held_until
            batch.append(Entered(arm=step, outcome=result.outcome, held_until=held))
        self._elimination.enter(batch, guesses, self._allocation.leader)
        self._commitment.enter(batch, guesses)


def help_refuted(bands: Bands, max_help: float | None) -> tuple[int, int] | None:
    """Return arms i < j whose bounds show v(j) < v(i) − (j − i)·η, or None; it errs with probability ≤ α."""
    if max_help is None:
        return None
    drawn = [(k, v) for k, v in enumerate(bands.v) if isinstance(v, Estimate)]
    for a, (i, early) in enumerate(drawn):
        for j, late in drawn[a + 1 :]:
            if late.upper < early.lower - (j - i) * max_help:
                return i, j
    return None


def help_sentence(max_help: float | None, refuted: tuple[int, int] | None) -> str:
    """Say under which assumption the set holds, and what speaks against it."""
    if max_help is None:
        return ""
    said = f" This holds if no step lowered the chance of failure by more than {max_help:g}."
    if refuted is None:
        return said + " Nothing that was drawn speaks against it."
    return said + f" But the steps from {refuted[0]} to {refuted[1]} did: search again without the assumption."
