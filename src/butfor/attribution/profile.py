"""profile: v(k), effect and blame of every step, from the same number of rollouts for each."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.answers import AnswerKind, Role, sentence
from butfor.attribution.bands import Bands, bands_of, commit_points, role_of
from butfor.attribution.batches import Table
from butfor.attribution.elimination import OTHER_SHARE, Elimination, leader_of
from butfor.attribution.margins import Margins
from butfor.attribution.plateaus import guess_by_plateaus
from butfor.attribution.profile_result import Profile, StepProfile
from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom, check_results
from butfor.attribution.tally import Tally
from butfor.confidence import Estimate, Interval, known
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

DRAWS = 64
# Draws of each arm between two looks at who leads.
ROUND = 4
ONE_RUN = np.zeros(1, dtype=np.int64)
NONE: Mapping[int, str] = MappingProxyType({})


class ProfileSampler:
    """A fixed number of rollouts of every v(k), planned at once.

    Args:
        steps: n ≥ 1.
        factual: The recorded outcome y, or a judge's mean on the factual run with its interval.
        draws: Rollouts of each step.
        margins: α and the margins.
        refused: Steps that cannot be decided again, with the reason.

    Raises:
        InputError: No steps, no draws, or y outside [0, 1].
    """

    def __init__(
        self,
        *,
        steps: int,
        factual: float | Estimate,
        draws: int = DRAWS,
        margins: Margins | None = None,
        refused: Mapping[int, str] = NONE,
    ) -> None:
        if steps < 1 or draws < 1:
            raise InputError(
                f"a profile of {steps} steps with {draws} draws each is empty", fix="record a run and allow draws"
            )
        self._factual = factual_outcome(factual)
        self._margins = margins or Margins()
        self._refused = dict(refused)
        self._tally = Tally(steps)
        arms = [ResampleFrom(step=k) for k in range(steps) if k not in refused]
        self._plan = tuple(Draw(arm=arm, ordinal=i) for i in range(draws) for arm in arms)
        self._entered: int | None = None

    def propose(self) -> tuple[Draw, ...]:
        """Name all rollouts, one round of all steps after the other; empty once results were entered."""
        return self._plan if self._entered is None else ()

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results, or the prefix of them that the budget allowed."""
        proposed = self.propose()
        check_results(proposed, results)
        self._tally.enter(proposed[: len(results)], results)
        self._entered = (self._entered or 0) + len(results)

    def answer(self) -> Profile:
        """Answer from what was entered."""
        margins, tally = self._margins, self._tally
        complete = self._entered == len(self._plan)
        bands = bands_of(tally, factual=self._factual, alpha=margins.alpha, complete=complete, refused=self._refused)
        *_, (_, elimination) = eliminate(tally, factual=self._factual, margins=margins, refused=self._refused)
        always = tally.mean_interval(0, alpha=2 * OTHER_SHARE * margins.alpha) if complete else None
        kind, candidates = verdict(elimination, bands, tally, margins, start=always)
        leading, tied = leading_steps(bands, margins.tie)
        return Profile(
            kind=kind,
            sentence=sentence(
                kind,
                candidates=candidates,
                leading=leading,
                alpha=margins.alpha + self._factual.alpha,
                unsupported=tally.unsupported,
                rollouts=tally.rollouts,
            ),
            factual=self._factual,
            steps=step_profiles(bands, tally, candidates, kind, margins, self._refused),
            candidates=tuple(candidates),
            leading=leading,
            tied=tied,
            commit_points=tuple(commit_points(bands.effect, margin=margins.commit)),
            margins=margins,
            rollouts=tally.rollouts,
            policy_calls=tally.policy_calls,
            unsupported=dict(tally.unsupported),
            complete=complete,
        )


def eliminate(
    tally: Tally, *, factual: Estimate, margins: Margins, refused: Mapping[int, str] = NONE
) -> Iterator[tuple[int, Elimination]]:
    """Bet with the own draws of all arms, round by round, each time with what the earlier rounds showed.

    Yields:
        (draws of each arm so far, the evidence); the first pair is (0, no evidence). It is one object that grows.
    """
    elimination = Elimination(
        steps=tally.steps,
        factual=[factual],
        margin=margins.commit,
        decisive_margin=margins.decisive,
        max_help=None,
    )
    yield 0, elimination
    usable = np.array([k not in refused for k in range(tally.steps)])
    arms, every = np.flatnonzero(usable).tolist(), np.ones(tally.steps, dtype=bool)
    rounds = min((len(tally.arms[k].own) for k in arms), default=0)
    for start in range(0, rounds - ROUND + 1, ROUND):
        guesses = guesses_before(tally, start, factual)
        leader = leader_of(guesses, usable, every) if start else None
        table = Table(batch=tally.own(arms, start, start + ROUND), guesses=guesses[None, :])
        elimination.enter(table, ONE_RUN, np.array([-1 if leader is None else leader]))
        yield start + ROUND, elimination


def factual_outcome(factual: float | Estimate) -> Estimate:
    """Return y with its bounds.

    Raises:
        InputError: y is not in [0, 1].
    """
    estimate = factual if isinstance(factual, Estimate) else known(float(factual), why="recorded")
    if not 0.0 <= estimate.lower <= estimate.upper <= 1.0:
        raise InputError(f"the factual outcome {factual!r} is not in [0, 1]", fix="scale the outcome to [0, 1]")
    return estimate


def guesses_before(tally: Tally, count: int, factual: Estimate) -> NDArray[np.float64]:
    """Guess every v(k) from the first `count` own draws of each arm, and v(n) = y; shape (steps + 1,)."""
    seen = [[y for y in arm.own[:count] if y is not None] for arm in tally.arms[:-1]]
    steps = guess_by_plateaus(np.array([[sum(ys) for ys in seen]]), np.array([[float(len(ys)) for ys in seen]]))
    return np.append(steps[0], factual.point)


def verdict(
    elimination: Elimination, bands: Bands, tally: Tally, margins: Margins, *, start: Interval | None
) -> tuple[AnswerKind, list[int]]:
    """Read the answer and the set of steps from the evidence.

    Args:
        elimination: Evidence against each step.
        bands: Bounds on all steps.
        tally: What was drawn.
        margins: α and the margins.
        start: v(0) with a lower bound at *always fails*' share of α, where the number of draws was fixed; it is
            sharper than the capital that `elimination` has gathered.
    """
    candidates = elimination.candidates(margins.alpha)
    if tally.rollouts and not tally.drawn().any():
        return AnswerKind.NOT_REPLAYABLE, candidates
    fixed = isinstance(start, Estimate) and start.lower >= elimination.upper[0] - margins.commit
    if fixed or (start is None and elimination.always_fails(margins.alpha)[0]):
        return AnswerKind.ALWAYS_FAILS, candidates
    if elimination.none_decisive(margins.alpha)[0]:
        saved = bands.effect[0]
        flaky = isinstance(saved, Estimate) and saved.lower > margins.commit
        return (AnswerKind.FLAKY if flaky else AnswerKind.NO_STEP_DECISIVE), candidates
    # A single candidate is named only once some step is shown to have had an effect at all.
    one = len(candidates) == 1 and None not in commit_points(bands.effect, margin=margins.commit)
    return (AnswerKind.DECISIVE if one else AnswerKind.WITHHELD), candidates


def leading_steps(bands: Bands, tie: float) -> tuple[int | None, tuple[int, ...]]:
    """Return the step with the largest estimated blame and all steps within `tie` of it."""
    blames = {k: blame.point for k, blame in enumerate(bands.blame) if isinstance(blame, Estimate)}
    if not blames:
        return None, ()
    leading = max(blames, key=lambda k: (blames[k], -k))
    return leading, tuple(k for k, blame in blames.items() if blame >= blames[leading] - tie)


def step_profiles(
    bands: Bands,
    tally: Tally,
    candidates: Sequence[int],
    kind: AnswerKind,
    margins: Margins,
    refused: Collection[int],
) -> tuple[StepProfile, ...]:
    """Gather the entries of the result."""
    named = candidates[0] if kind is AnswerKind.DECISIVE else None
    return tuple(
        StepProfile(
            step=k,
            role=Role.NOT_REPLAYABLE
            if k in refused or not arm.replayable
            else role_of(bands.blame[k], bands.match[k], decisive=k == named, in_set=k in candidates, margins=margins),
            v=bands.v[k],
            effect=bands.effect[k],
            blame=bands.blame[k],
            match=bands.match[k],
            in_set=k in candidates,
            n=len(arm.own),
            missing=arm.missing,
            unsupported=arm.unsupported,
            reused=arm.reused,
        )
        for k, arm in enumerate(tally.arms[: tally.steps])
    )
