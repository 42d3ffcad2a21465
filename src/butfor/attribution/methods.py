"""The methods by name: what `butfor attribute --method` chooses from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor.attribution.case import Case, Question, open_case
from butfor.attribution.drive import Attribution, drive_method
from butfor.attribution.margins import Margins
from butfor.attribution.profile import DRAWS, ProfileSampler
from butfor.attribution.quotes import quote_method
from butfor.attribution.responsibility import ResponsibilitySampler
from butfor.attribution.search import SearchSampler
from butfor.attribution.shapley import MOST_POOLED_STEPS, PooledShapley
from butfor.attribution.shapley_orders import PublishedShapley, StratifiedShapley
from butfor.errors import InputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from butfor.attribution.bill import Quote
    from butfor.attribution.sampling import Sampler
    from butfor.canonical import Json
    from butfor.store import Storage


@dataclass(frozen=True, kw_only=True)
class Ask:
    """How a method is to look.

    Attributes:
        draws: Rollouts of each arm (`profile`, `responsibility`).
        margins: Error level and margins.
        max_help: η of `search`: every blame is at least −η; None makes no assumption.
        rollouts: Budget of the Shapley estimators.
        proposals: Step to proposed actions (`responsibility`).
        seed: Of the orders that the Shapley estimators draw.
    """

    draws: int = DRAWS
    margins: Margins = field(default_factory=Margins)
    max_help: float | None = None
    rollouts: int = 2048
    proposals: Mapping[int, Sequence[Json]] = field(default_factory=dict)
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "draws": self.draws,
            **self.margins.to_json(),
            "max_help": self.max_help,
            "rollouts": self.rollouts,
            "proposals": {str(step): list(actions) for step, actions in self.proposals.items()},
            "seed": self.seed,
        }


def _profile(case: Case, ask: Ask) -> Sampler[Any]:
    return ProfileSampler(steps=case.steps, factual=case.factual, draws=ask.draws, margins=ask.margins)


def _search(case: Case, ask: Ask) -> Sampler[Any]:
    calls = case.rollouts.meter.budget.policy_calls
    return SearchSampler(
        steps=case.steps, factual=case.factual, margins=ask.margins, max_help=ask.max_help, policy_calls=calls
    )


def _shapley(case: Case, ask: Ask) -> Sampler[Any]:
    if case.steps <= MOST_POOLED_STEPS and ask.rollouts >= 8 * 2**case.steps:
        return PooledShapley(steps=case.steps, rollouts=ask.rollouts, alpha=ask.margins.alpha)
    blocks = max(2, ask.rollouts // (case.steps * (case.steps + 1)))
    return StratifiedShapley(steps=case.steps, blocks=blocks, alpha=ask.margins.alpha, seed=ask.seed)


def _published_shapley(case: Case, ask: Ask) -> Sampler[Any]:
    orders = max(2, ask.rollouts // (2 * (case.steps + 1)))  # each order is walked forwards and backwards
    return PublishedShapley(steps=case.steps, orders=orders, alpha=ask.margins.alpha, seed=ask.seed)


def _responsibility(case: Case, ask: Ask) -> Sampler[Any]:
    if not ask.proposals:
        raise InputError("responsibility needs proposed actions", fix='give --proposals FILE with {"step": [actions]}')
    counts = {step: len(actions) for step, actions in ask.proposals.items()}
    return ResponsibilitySampler(steps=case.steps, proposals=counts, draws=ask.draws, alpha=ask.margins.alpha)


METHODS: dict[str, Callable[[Case, Ask], Sampler[Any]]] = {
    "search": _search,
    "profile": _profile,
    "shapley": _shapley,
    "shapley-published": _published_shapley,
    "responsibility": _responsibility,
}
"""Name to maker; the first is the default."""


def attribute_run(
    run_id: str,
    *,
    store: Storage,
    method: str = "search",
    ask: Ask | None = None,
    question: Question | None = None,
    announce: Callable[[Quote], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Attribution:
    """Say which step of a recorded run caused its outcome.

    Args:
        run_id: The run, or the beginning of its id.
        store: Where the run is; rollouts and the answer are stored there.
        method: One of `METHODS`.
        ask: How the method is to look.
        question: Agent, outcome, tools and budget, where they differ from what was recorded.
        announce: Told the price before anything is spent.
        progress: Called after each rollout with (finished, asked for).

    Raises:
        NotFound: No such run or method.
        InputError: The run does not hold what the method needs; the message names it.
        AgentError: The agent cannot be imported.
        ReplayDivergence: An untouched replay differs from the recording.
        OutcomeError: The outcome function failed.
    """
    if method not in METHODS:
        raise NotFound(f"there is no method {method!r}", fix=f"choose one of {', '.join(METHODS)}")
    asked, chosen = question or Question(), ask or Ask()
    case = open_case(run_id, store=store, question=asked, margins=chosen.margins, progress=progress)
    sampler = METHODS[method](case, chosen)
    if announce is not None:
        announce(quote_method(sampler, case, chosen))
    settings = chosen.to_json() | {"question": asked.to_json()}
    return drive_method(case, sampler, method=method, settings=settings, proposals=chosen.proposals)
