"""Answers that give each step one number: Shapley values, and responsibility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.attribution.responsibility_result import Responsibility, StepResponsibility
from butfor.attribution.shapley_result import Shapley, StepShapley
from butfor.confidence import Estimate, Interval
from butfor.report.findings import NOT_DRAWN
from butfor.report.visible import compact
from butfor.report.wording import bounds, number, number_of
from butfor.runs import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.report.findings import Finding

ROLE_WORDS = {
    "carries a share": "its share is shown to be above 0: keeping what it did made the failure more likely",
    "lowers it": "its share is shown to be below 0: keeping what it did made the failure less likely",
    "not told from 0": "the interval of its share includes 0",
    "responsible": "its best proposal is shown to save more runs than deciding the step again",
    "may be luck": "a proposal was followed by success once, and is not shown to do better than deciding again",
    "not shown": "no proposal is shown to save more runs than deciding the step again",
    "not estimated": "too little was drawn",
}

_CRS = (
    "CRS is the published score: 1 where any proposal was followed by success in its one rollout. Deciding the step "
    "again succeeds by luck too, so a CRS of 1 with a lift that may be 0 shows nothing."
)


@dataclass(frozen=True, kw_only=True)
class StepScore:
    """One step.

    Attributes:
        step: k.
        value: φ(k), or the lift of the best proposal over deciding again.
        role: In a word or three.
        flagged: Whether the bounds exclude 0.
        effect: y − v(k) where a profile or a search of the same draws knows it.
        published: CRS as published; None for Shapley values, or where nothing was scored.
        best: The best proposal, in short; empty for Shapley values.
    """

    step: int
    value: Interval
    role: str
    flagged: bool
    effect: Interval = NOT_DRAWN
    published: float | None = None
    best: str = ""

    @property
    def explanation(self) -> str:
        """What the role means, in words."""
        return ROLE_WORDS.get(self.role, "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = {name: getattr(self, name) for name in ("step", "role", "flagged", "published", "best")}
        return plain | {"value": self.value.to_json(), "effect": self.effect.to_json()}


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The answer.

    Attributes:
        method: Which method gave it, such as `shapley`.
        sentence: The answer in words.
        symbol: What the number is called, such as φ.
        meaning: What the number says, in a sentence.
        lines: What else must be said: what the numbers add up to, what the published score means.
        steps: One entry a scored step.
        alpha: Error level of the intervals.
        simultaneous: Whether the intervals hold together; else each holds alone.
        published: Whether a published score stands beside each number.
        complete: Whether everything that was planned was drawn.
    """

    method: str
    sentence: str
    symbol: str
    meaning: str
    lines: tuple[str, ...]
    steps: tuple[StepScore, ...]
    alpha: float
    simultaneous: bool
    published: bool
    complete: bool

    @property
    def sure(self) -> str:
        """How sure the intervals are, as a sentence."""
        limit = any("approximate" in each.method for each in self.estimates())
        level = (
            f"about {1 - self.alpha:.0%} confidence (a normal limit)" if limit else f"{1 - self.alpha:.0%} confidence"
        )
        if self.simultaneous:
            return f"Intervals hold together with {level}."
        return f"Each interval holds alone with {level}; that one of {len(self.steps)} misses is likelier."

    def of(self, step: int) -> StepScore | None:
        """Return a step's entry, None where it was not scored."""
        return next((each for each in self.steps if each.step == step), None)

    def estimates(self) -> tuple[Estimate, ...]:
        """Return every estimate of the answer."""
        return tuple(each.value for each in self.steps if isinstance(each.value, Estimate))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("method", "sentence", "symbol", "meaning", "alpha", "simultaneous", "published", "complete")
        plain = {name: getattr(self, name) for name in names}
        return plain | {"lines": list(self.lines), "steps": [each.to_json() for each in self.steps]}


def read_shapley(document: dict[str, Any], *, method: str, beside: Finding | None) -> Scores:
    """Read Shapley values.

    Args:
        document: Their JSON form.
        method: `shapley` or `shapley-published`.
        beside: A profile or a search from the same draws, for the effects of single steps.
    """
    answer = Shapley.from_json(document)
    effects = {} if beside is None else {each.step: each.effect for each in beside.steps}
    return Scores(
        method=method,
        sentence=answer.sentence,
        symbol="φ",
        meaning="φ(k): the share of step k in what deciding every step again would have saved, averaged over the "
        f"orders in which the steps can be held. Estimator: {answer.estimator}",
        lines=(*_efficiency(answer, effects), *_over_count(answer, effects)),
        steps=tuple(_share(each, effects.get(each.step, NOT_DRAWN)) for each in answer.steps),
        alpha=answer.alpha,
        simultaneous=answer.simultaneous,
        published=False,
        complete=answer.complete,
    )


def _share(step: StepShapley, effect: Interval) -> StepScore:
    role = "not told from 0" if isinstance(step.value, Estimate) else "not estimated"
    if step.flagged and isinstance(step.value, Estimate):
        role = "carries a share" if step.value.point > 0 else "lowers it"
    return StepScore(step=step.step, value=step.value, role=role, flagged=step.flagged, effect=effect)


def _efficiency(answer: Shapley, effects: Mapping[int, Interval]) -> list[str]:
    """Say what the shares add up to."""
    whole = answer.efficiency
    said = f"The shares add up: Σφ = {number_of(answer.total)}"
    if isinstance(whole, Estimate):
        return [f"{said}, v(all) − v(∅) = {number(whole)} {bounds(whole)}."]
    start = effects.get(0, NOT_DRAWN)
    if isinstance(start, Estimate):
        return [
            f"{said}; the other answer about this run has v(all) − v(∅) = y − v(0) = {number(start)} {bounds(start)}."
        ]
    return [f"{said}, which is v(all) − v(∅) along every order; that is not estimated apart from it."]


def _over_count(answer: Shapley, effects: Mapping[int, Interval]) -> list[str]:
    """Set the sum of single effects beside what there is to share, where all of them are known."""
    known = [each for step in answer.steps if isinstance(each := effects.get(step.step, NOT_DRAWN), Estimate)]
    if len(known) < len(answer.steps):
        return []
    total = sum(each.point for each in known)
    said = f"The contrastive effects y − v(k) add up to {number_of(total)}"
    more = total - answer.total
    if more < 0.005:
        return [f"{said}."]
    why = "each counts all that follows its step, so their sum over-counts"
    return [f"{said}, {number_of(more)} more than there is to share: {why}."]


def read_responsibility(document: dict[str, Any], *, proposals: Mapping[str, Any]) -> Scores:
    """Read responsibility.

    Args:
        document: Its JSON form.
        proposals: Step to its proposed actions, as they were asked for.
    """
    answer = Responsibility.from_json(document)
    return Scores(
        method="responsibility",
        sentence=answer.sentence,
        symbol="lift",
        meaning="lift(k) = v(k) − E[y | best proposal at k]: how many more runs the best proposal saves than deciding "
        "step k again, on rollouts that did not choose it",
        lines=(_CRS,),
        steps=tuple(_lift(each, proposals) for each in answer.steps),
        alpha=answer.alpha,
        simultaneous=True,
        published=True,
        complete=all(isinstance(each.lift, Estimate) for each in answer.steps),
    )


def _lift(step: StepResponsibility, proposals: Mapping[str, Any]) -> StepScore:
    role = "responsible" if step.responsible else "may be luck" if step.published else "not shown"
    return StepScore(
        step=step.step,
        value=step.lift,
        role=role if isinstance(step.lift, Estimate) else "not estimated",
        flagged=step.responsible,
        published=step.published,
        best="" if step.best is None else _action(proposals, step.step, step.best),
    )


def _action(proposals: Mapping[str, Any], step: int, number_: int) -> str:
    listed = proposals.get(str(step))
    if not isinstance(listed, list) or number_ >= len(listed):
        return f"number {number_}"
    return f"number {number_}: {compact(Value.of(listed[number_]), 160)}"
