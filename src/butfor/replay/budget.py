"""What an analysis may spend, and what it has spent."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from butfor.errors import BudgetStop, InputError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Money per million tokens.

    Attributes:
        prompt: For what is sent.
        completion: For what is answered.
    """

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not all(price >= 0 and math.isfinite(price) for price in (self.prompt, self.completion)):
            raise InputError(
                f"a price is not below 0, as in {self.prompt:g} and {self.completion:g}",
                fix="give the money per million tokens, sent and answered",
            )

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the money for these tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Upper limits; None is no limit.

    Attributes:
        rollouts: Rollouts that may be started.
        policy_calls: Live model calls.
        tokens: Prompt and completion tokens together.
        money: In the unit of `prices`.
        seconds: Wall time.
        prices: Needed for a limit on money.
    """

    rollouts: int | None = None
    policy_calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("rollouts", "policy_calls", "tokens", "money", "seconds"):
            limit = getattr(self, name)
            if limit is not None and not (limit > 0 and math.isfinite(limit)):
                raise InputError(
                    f"the budget {name}={limit} buys nothing", fix="give a positive number, or leave it out"
                )
        if self.money is not None and self.prices is None:
            raise InputError("a budget of money needs prices", fix="give the price per million tokens")


@dataclass(kw_only=True)
class Meter:
    """Counts against a budget; one for all rollouts of an analysis.

    Attributes:
        budget: The limits.
        clock: Monotonic seconds.
        unlimited: Whether nothing is limited, so that counting is all there is to do.
    """

    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.monotonic
    rollouts: int = 0
    policy_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    started: float = field(init=False)
    unlimited: bool = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.unlimited = self.budget == Budget(prices=self.budget.prices)

    @property
    def money(self) -> float | None:
        """Money spent, None without prices."""
        prices = self.budget.prices
        return None if prices is None else prices.cost(self.prompt_tokens, self.completion_tokens)

    @property
    def seconds(self) -> float:
        """Wall time since the meter was made."""
        return self.clock() - self.started

    def take_rollout(self) -> None:
        """Count a rollout.

        Raises:
            BudgetStop: It would exceed a limit.
        """
        self._refuse_beyond()
        self._refuse("rollouts", self.rollouts)
        self.rollouts += 1

    def take_call(self) -> None:
        """Count a live model call.

        Raises:
            BudgetStop: It would exceed a limit.
        """
        if not self.unlimited:
            self._refuse_beyond()
            self._refuse("policy_calls", self.policy_calls)
        self.policy_calls += 1

    def spend_tokens(self, prompt: int, completion: int) -> None:
        """Count tokens; a limit on them is held at the next call, since their number is known only afterwards."""
        self.prompt_tokens += prompt
        self.completion_tokens += completion

    def _refuse_beyond(self) -> None:
        self._refuse("tokens", self.prompt_tokens + self.completion_tokens)
        self._refuse("seconds", self.seconds)
        if self.money is not None:
            self._refuse("money", self.money)

    def _refuse(self, resource: str, used: float) -> None:
        limit = getattr(self.budget, resource)
        if limit is not None and used >= limit:
            raise BudgetStop(
                f"the budget of {limit:g} {resource.replace('_', ' ')} is used up",
                resource=resource,
                fix="raise it to go on; what is finished is kept",
            )
