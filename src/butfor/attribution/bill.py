"""What an attribution will cost, and what it did cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.attribution.sampling import Coalition, Draw, ResampleFrom
from butfor.replay import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.replay import Journal, Prices, Rollout


@dataclass(frozen=True, kw_only=True)
class Quote:
    """The most that something will cost, from the recorded run, before anything is spent.

    Attributes:
        rollouts: At most this many; None for a method that buys until its answer stands, whose limit is policy calls.
        policy_calls: If every rollout is as long as the recording.
        tokens: Likewise; None where the recording does not show token counts.
        money: Likewise; None without prices.
    """

    rollouts: int | None
    policy_calls: int
    tokens: int | None
    money: float | None

    def __str__(self) -> str:
        calls = f"about {self.policy_calls} policy calls"
        parts = [f"at most {calls}" if self.rollouts is None else f"at most {self.rollouts} rollouts, {calls}"]
        if self.tokens is not None:
            parts.append(f"{self.tokens} tokens")
        if self.money is not None:
            parts.append(f"{self.money:.2f} in money")
        return ", ".join(parts) + ("; it stops as soon as its answer stands" if self.rollouts is None else "")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What was spent.

    Attributes:
        rollouts: Rollouts that the answer uses.
        found: Of those, rollouts that were in the store already and cost nothing now.
        policy_calls: Live model calls of all of them.
        prompt_tokens: Of those calls, where the answers show it.
        completion_tokens: Likewise.
        money: With the given prices; None without.
        seconds: Wall time of this call.
        tool_calls: Tool calls by who answered them: simulated, recorded, live, unsupported.
        statuses: Rollouts by how they ended.
    """

    rollouts: int
    found: int
    policy_calls: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None
    seconds: float
    tool_calls: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Bill:
        """Read what `to_json` gave."""
        return cls(**document)

    def __str__(self) -> str:
        tokens = self.prompt_tokens + self.completion_tokens
        words = [f"{self.rollouts} rollouts", f"{self.policy_calls} policy calls"]
        if tokens:
            words.append(f"{tokens} tokens")
        if self.money is not None:
            words.append(f"{self.money:.4f} in money")
        words.append(f"{self.seconds:.1f} s")
        return ", ".join(words) + (f" ({self.found} rollouts were bought before)" if self.found else "")


def quote(draws: Sequence[Draw], journal: Journal, prices: Prices | None) -> Quote:
    """Price a plan: each rollout decides as many steps as the recording has from its arm on."""
    usage = [reading.read(canonical.decode(step.response or "null")).usage for step in journal.steps]
    calls, prompt, completion = 0, 0, 0
    for draw in draws:
        for step in _decided(draw, len(usage)):
            calls += 1
            prompt += usage[step][0] or 0
            completion += usage[step][1] or 0
    known = any(each[0] is not None for each in usage)
    return Quote(
        rollouts=len(draws),
        policy_calls=calls,
        tokens=prompt + completion if known else None,
        money=prices.cost(prompt, completion) if prices and known else None,
    )


def bill(rollouts: Iterable[Rollout], *, found: int, seconds: float, prices: Prices | None) -> Bill:
    """Add up what rollouts cost."""
    counts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    prompt = completion = 0
    for rollout in rollouts:
        counts.update(rollout.counts)
        statuses[rollout.status] += 1
        prompt += rollout.tokens[0]
        completion += rollout.tokens[1]
    return Bill(
        rollouts=statuses.total(),
        found=found,
        policy_calls=counts["policy"],
        prompt_tokens=prompt,
        completion_tokens=completion,
        money=prices.cost(prompt, completion) if prices else None,
        seconds=seconds,
        tool_calls={name: counts[name] for name in ("simulated", "recorded", "live", "unsupported")},
        statuses=dict(statuses),
    )


def _decided(draw: Draw, steps: int) -> Iterable[int]:
    match draw.arm:
        case ResampleFrom(step=step):
            return range(step, steps)
        case Coalition(held=held):
            return (step for step in range(steps) if step not in held)
        case _:
            return range(draw.arm.step + 1, steps)
