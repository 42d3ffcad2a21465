"""The seam between a method and whatever executes its rollouts.

A method is a `Sampler`: it names the draws it wants, takes their results in the order in which it asked for them, and
can answer at any time. It never executes anything, so the engine (real rollouts) and a simulator (planted truth)
drive the same object and must agree draw for draw.

Two rules make the statistics hold, and both are the driver's to keep:

* results are entered in allocation order, never in order of completion (slow failures would bias the decision);
* a result is entered once; a timeout is a result, not a reason to draw again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from butfor.errors import InputError
from butfor.noise import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class ResampleFrom:
    """The arm of v(k): hold the factual steps before `step`, decide everything from it on again.

    Attributes:
        step: k in 0 … n. At n nothing is decided again: a draw judges the factual run once more, at no policy call.
    """

    step: int

    @property
    def key(self) -> str:
        """Name the arm: equal arms have equal keys."""
        return f"resample:{self.step}"


@dataclass(frozen=True, kw_only=True)
class Coalition:
    """The arm of v(S): the steps in `held` keep their factual action, all others are decided again."""

    held: frozenset[int]

    @property
    def key(self) -> str:
        """Name the arm: equal arms have equal keys."""
        return "coalition:" + ",".join(str(step) for step in sorted(self.held))


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The arm of one proposed replacement for one step: step `step` is set to proposal number `number`."""

    step: int
    number: int

    @property
    def key(self) -> str:
        """Name the arm: equal arms have equal keys."""
        return f"proposal:{self.step}:{self.number}"


Arm: TypeAlias = ResampleFrom | Coalition | Proposal


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One rollout to buy.

    Attributes:
        arm: The intervention.
        ordinal: The how-manieth draw of this arm this is, from 0. Methods that need the same arm of the same run ask
            for the same ordinals, so a rollout that was paid for once serves them all.
    """

    arm: Arm
    ordinal: int

    @property
    def index(self) -> int:
        """The draw id in [0, 2⁶³): the same draw always has the same id, two arms never share one."""
        return int.from_bytes(digest_of("draw", self.arm.key, self.ordinal)[:8], "big") >> 1


@dataclass(frozen=True, kw_only=True)
class DrawResult:
    """What one rollout gave.

    Attributes:
        outcome: y in [0, 1]; None where it is missing (timeout without a score, unsupported call, agent exception).
            A missing outcome counts with its bounds 0 and 1, it is never left out.
        matched: Whether the action drawn first (at step k of a `ResampleFrom(k)`) equals the factual one; None where
            that step never occurred or the question has no meaning for the arm.
        held_until: Nested reuse: all actions, observations and next requests of steps k … held_until − 1 came out
            byte-equal to the factual ones, with no live or unsupported call between. The rollout is then also a draw
            of v(j) for k < j ≤ held_until. Decided before the outcome is read; None (or k) where there is none.
        unsupported: Name of the tool that could not be answered, where that is why the outcome is missing.
        policy_calls: What the rollout cost in policy calls (served ones cost nothing).
    """

    outcome: float | None
    matched: bool | None = None
    held_until: int | None = None
    unsupported: str | None = None
    policy_calls: int = 0

    def __post_init__(self) -> None:
        if self.outcome is not None and not 0.0 <= self.outcome <= 1.0:
            raise InputError(
                f"an outcome is a number in [0, 1], not {self.outcome!r}",
                fix="scale the outcome function, or return None where there is no score",
            )


Answer_co = TypeVar("Answer_co", covariant=True)


class Sampler(Protocol[Answer_co]):
    """A method as the driver sees it.

    `propose` and `enter` alternate. `propose` may be called again without an `enter` and gives the same batch.
    """

    def propose(self) -> tuple[Draw, ...]:
        """Name the next batch in allocation order; empty when finished. Depends on nothing but entered results."""
        ...

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take one result for each proposed draw, in allocation order.

        A shorter sequence is the prefix that a stopped budget left; the sampler is then finished.
        """
        ...

    def answer(self) -> Answer_co:
        """Answer from what has been entered so far; valid at any time."""
        ...


def check_results(proposed: Sequence[Draw], results: Sequence[DrawResult]) -> None:
    """Refuse results that cannot belong to the proposed batch.

    Raises:
        InputError: There are more results than proposed draws.
    """
    if len(results) > len(proposed):
        raise InputError(
            f"{len(results)} results were entered for {len(proposed)} proposed draws",
            fix="enter one result for each draw of the last propose(), in its order",
        )


def arm_to_json(arm: Arm) -> dict[str, Any]:
    """Write an arm as plain JSON values."""
    match arm:
        case ResampleFrom(step=step):
            return {"arm": "resample", "step": step}
        case Coalition(held=held):
            return {"arm": "coalition", "held": sorted(held)}
        case Proposal(step=step, number=number):
            return {"arm": "proposal", "step": step, "number": number}


def arm_from_json(value: dict[str, Any]) -> Arm:
    """Read what `arm_to_json` wrote."""
    if value["arm"] == "resample":
        return ResampleFrom(step=value["step"])
    if value["arm"] == "coalition":
        return Coalition(held=frozenset(value["held"]))
    return Proposal(step=value["step"], number=value["number"])
