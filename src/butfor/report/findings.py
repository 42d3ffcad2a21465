"""An attribution's answer as a report shows it, whichever method gave it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from butfor.attribution.answers import ROLE_WORDS, Role
from butfor.attribution.search import help_sentence
from butfor.confidence import Estimate, Interval, Undefined, interval_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_DRAWN = Undefined(reason="not estimated by this method")

IN_THE_SET, RULED_OUT, NOT_LOOKED_AT, LEFT_OPEN = "in the set", "ruled out", "not looked at", "left open"
_SEARCH_WORDS = {
    IN_THE_SET: "it may be the decisive step",
    RULED_OUT: "it is not the decisive step, at the level of the answer",
    NOT_LOOKED_AT: "it may be the decisive step: it was never decided again, and nothing else rules it out",
    LEFT_OPEN: "the search ended before it said anything about this step",
}
# Step 0 has no earlier step whose decision it could execute.
_MECHANICAL_AT_START = "decided again it comes out the same: the task and the instructions settle it"


@dataclass(frozen=True, kw_only=True)
class StepFinding:
    """What is known of one step.

    Attributes:
        step: k.
        role: One of the words of `attribution.Role`, or a method's own.
        v: v(k).
        effect: y − v(k).
        blame: v(k+1) − v(k).
        match: Probability that the step, decided again, comes out the same.
        in_set: Whether it may still be the decisive step.
        n: Rollouts of v(k).
        missing: Of those, without an outcome.
        unsupported: Of those, missing for want of a tool answer.
        reused: Rollouts of earlier steps that count here too.
    """

    step: int
    role: str
    v: Interval
    effect: Interval
    blame: Interval
    match: Interval
    in_set: bool
    n: int
    missing: int
    unsupported: int
    reused: int

    @property
    def explanation(self) -> str:
        """What the role means, in words."""
        if self.is_mechanical and self.step == 0:
            return _MECHANICAL_AT_START
        known = {role.value: words for role, words in ROLE_WORDS.items()} | _SEARCH_WORDS
        return known.get(self.role, "")

    @property
    def is_mechanical(self) -> bool:
        """Whether the step comes out the same when it is decided again."""
        return self.role == Role.MECHANICAL.value

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = ("step", "role", "in_set", "n", "missing", "unsupported", "reused")
        intervals = {name: getattr(self, name).to_json() for name in ("v", "effect", "blame", "match")}
        return {name: getattr(self, name) for name in plain} | intervals


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer.

    Attributes:
        method: Which verb gave it, such as `profile`.
        kind: The kind of answer, such as `decisive`.
        sentence: The answer in words.
        factual: y.
        steps: One entry a step that the method looked at.
        candidates: Steps of which one is the decisive one, at level α.
        leading: The step with the largest estimated blame.
        commit_points: What the commit point can be; None in it: there may be none.
        margins: α and the margins, by name.
        rollouts: How many entered the estimates.
        policy_calls: Their policy calls.
        unsupported: Tool to the rollouts that it left without an outcome.
        complete: Whether everything that was planned was drawn.
        profile_calls: Policy calls that `profile` would make for the same run; None for other methods than `search`.
        caveat: Under which assumption the set of a search holds, and what speaks against it.
    """

    method: str
    kind: str
    sentence: str
    factual: Interval
    steps: tuple[StepFinding, ...]
    candidates: tuple[int, ...]
    leading: int | None
    commit_points: tuple[int | None, ...]
    margins: Mapping[str, float]
    rollouts: int
    policy_calls: int
    unsupported: Mapping[str, int]
    complete: bool
    profile_calls: int | None = None
    caveat: str = ""

    @property
    def decisive(self) -> int | None:
        """The decisive step, where the answer names one."""
        return self.candidates[0] if self.kind == "decisive" and len(self.candidates) == 1 else None

    @property
    def commit_point(self) -> int | None:
        """The commit point, where only one step can be it."""
        return self.commit_points[0] if len(self.commit_points) == 1 else None

    @property
    def alpha(self) -> float:
        """Error level of the answer: α, and what a judge's bounds on the recorded outcome add to it."""
        judged = self.factual.alpha if isinstance(self.factual, Estimate) else 0.0
        return float(self.margins.get("alpha", 0.05)) + judged

    def of(self, step: int) -> StepFinding | None:
        """Return a step's entry, None where the method did not look at it."""
        if step < len(self.steps) and self.steps[step].step == step:
            return self.steps[step]
        return next((each for each in self.steps if each.step == step), None)

    def estimates(self) -> tuple[Estimate, ...]:
        """Return every estimate that is behind the picture."""
        found = [x for each in self.steps for x in (each.v, each.effect, each.blame, each.match)]
        return tuple(x for x in (self.factual, *found) if isinstance(x, Estimate))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `read_finding` reads them."""
        plain = ("method", "kind", "sentence", "leading", "rollouts", "policy_calls", "complete")
        return {name: getattr(self, name) for name in plain} | {
            "decisive": self.decisive,
            "factual": self.factual.to_json(),
            "steps": [each.to_json() for each in self.steps],
            "candidates": list(self.candidates),
            "commit_points": list(self.commit_points),
            "margins": dict(self.margins),
            "unsupported": dict(self.unsupported),
            "profile_calls": self.profile_calls,
            "caveat": self.caveat,
        }


def read_finding(document: Mapping[str, Any], *, method: str = "profile") -> Finding:
    """Read the JSON form of a profile or a search; what a method does not give is shown as not estimated."""
    method, kind = str(document.get("method", method)), str(document["kind"])
    steps = sorted((_step(each) for each in document.get("steps", ())), key=lambda each: each.step)
    if method == "search":
        steps = [replace(each, role=_standing(each, kind)) for each in steps]
    return Finding(
        method=method,
        kind=kind,
        sentence=str(document["sentence"]),
        factual=_interval(document, "factual"),
        steps=tuple(steps),
        candidates=tuple(int(each) for each in document.get("candidates", ())),
        leading=document.get("leading"),
        commit_points=tuple(document.get("commit_points", ())),
        margins=dict(document.get("margins", {})),
        rollouts=int(document.get("rollouts", 0)),
        policy_calls=int(document.get("policy_calls", 0)),
        unsupported=dict(document.get("unsupported", {})),
        complete=bool(document.get("complete", True)),
        profile_calls=document.get("profile_calls"),
        caveat=str(document.get("caveat", _caveat(document))),
    )


def _standing(step: StepFinding, kind: str) -> str:
    """Say where a step stands after a search, which asks for membership of the set and for nothing else."""
    if step.role in (Role.DECISIVE.value, Role.NOT_REPLAYABLE.value):
        return step.role
    if not step.in_set:
        return RULED_OUT
    if step.n == 0:
        return NOT_LOOKED_AT
    return IN_THE_SET if kind in ("withheld", "decisive") else LEFT_OPEN


def _caveat(document: Mapping[str, Any]) -> str:
    refuted = document.get("help_refuted")
    return help_sentence(document.get("max_help"), None if refuted is None else (refuted[0], refuted[1])).strip()


def _step(document: Mapping[str, Any]) -> StepFinding:
    return StepFinding(
        step=int(document["step"]),
        role=str(document.get("role", Role.INCONCLUSIVE.value)),
        v=_interval(document, "v"),
        effect=_interval(document, "effect"),
        blame=_interval(document, "blame"),
        match=_interval(document, "match"),
        in_set=bool(document.get("in_set", False)),
        n=int(document.get("n", 0)),
        missing=int(document.get("missing", 0)),
        unsupported=int(document.get("unsupported", 0)),
        reused=int(document.get("reused", 0)),
    )


def _interval(document: Mapping[str, Any], name: str) -> Interval:
    value = document.get(name)
    return NOT_DRAWN if value is None else interval_from_json(value)
