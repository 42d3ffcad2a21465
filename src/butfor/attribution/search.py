"""search: the decisive step from as few policy calls as the evidence needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.answers import AnswerKind, sentence
from butfor.attribution.bands import Bands, bands_of
from butfor.attribution.batches import Batch
from butfor.attribution.margins import Margins
from butfor.attribution.profile import DRAWS, NONE, factual_outcome, leading_steps, step_profiles
from butfor.attribution.pursuit import Pursuit
from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom, check_results
from butfor.attribution.search_result import Search
from butfor.attribution.tally import Tally
from butfor.confidence import Estimate
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


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
        self._tally = Tally(steps)
        self._pursuit = Pursuit(
            steps=steps,
            factual=[self._factual],
            margins=self._margins,
            max_help=max_help,
            budget=policy_calls or self._profile_calls,
            refused=self._refused,
        )
        self._proposed: tuple[Draw, ...] | None = None

    def propose(self) -> tuple[Draw, ...]:
        """Name the next batch; empty when the answer stands or the budget is used up."""
        if self._proposed is None:
            order = self._pursuit.order()
            named = zip(order.arm.tolist(), order.ordinal.tolist(), strict=True)
            self._proposed = tuple(Draw(arm=ResampleFrom(step=arm), ordinal=ordinal) for arm, ordinal in named)
        return self._proposed

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results of the batch. Only a complete batch is bet with; a prefix still counts in the bounds."""
        proposed = self.propose()
        check_results(proposed, results)
        entered = proposed[: len(results)]
        self._tally.enter(entered, results)
        batch, calls = _columns(entered, results)
        if len(results) < len(proposed):
            self._pursuit.count(batch, calls)
            self._pursuit.stopped[:] = True
        else:
            self._pursuit.enter(batch, calls)
        self._proposed = None

    def answer(self) -> Search:
        """Answer from what was entered."""
        tally, alpha = self._tally, self._margins.alpha
        undrawn = {k: "not drawn" for k in range(tally.steps) if not tally.arms[k].every}
        bands = bands_of(
            tally, factual=self._factual, alpha=alpha, complete=False, refused={**undrawn, **self._refused}
        )
        kind, candidates = self._verdict(bands), self._pursuit.evidence.candidates(alpha)
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
            commit_points=tuple(self._pursuit.commitment.candidates(alpha)),
            leading=leading,
            steps=step_profiles(bands, tally, candidates, kind, self._margins, self._refused),
            margins=self._margins,
            rollouts=tally.rollouts,
            policy_calls=tally.policy_calls,
            profile_calls=self._profile_calls,
            unsupported=dict(tally.unsupported),
            complete=not self._pursuit.stopped[0],
        )

    def _verdict(self, bands: Bands) -> AnswerKind:
        if self._pursuit.outcomeless[0]:
            return AnswerKind.NOT_REPLAYABLE
        settled = self._pursuit.settled()
        if settled.always_fails[0]:
            return AnswerKind.ALWAYS_FAILS
        if settled.none_decisive[0]:
            saved = bands.effect[0]
            flaky = isinstance(saved, Estimate) and saved.lower > self._margins.commit
            return AnswerKind.FLAKY if flaky else AnswerKind.NO_STEP_DECISIVE
        return AnswerKind.DECISIVE if settled.one_left[0] else AnswerKind.WITHHELD


def _columns(draws: Sequence[Draw], results: Sequence[DrawResult]) -> tuple[Batch, NDArray[np.int64]]:
    """Lay out results, with the policy calls of each."""
    arms = [draw.arm.step for draw in draws if isinstance(draw.arm, ResampleFrom)]
    batch = Batch.of(arms, [result.outcome for result in results], [result.held_until for result in results])
    return batch, np.array([result.policy_calls for result in results], dtype=np.int64)


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
