"""The price of a whole method before its first rollout: what it can cost at most, not what its first batch costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from butfor.attribution.bill import Quote, quote
from butfor.attribution.profile import DRAWS
from butfor.attribution.responsibility import ResponsibilitySampler
from butfor.attribution.sampling import Draw, Proposal, ResampleFrom
from butfor.attribution.search import SearchSampler
from butfor.attribution.shapley import PooledShapley

if TYPE_CHECKING:
    from butfor.attribution.case import Case
    from butfor.attribution.methods import Ask
    from butfor.attribution.sampling import Sampler


def quote_method(sampler: Sampler[Any], case: Case, ask: Ask) -> Quote:
    """Price everything that a method may buy, as far as the user's budget lets it.

    A fixed plan is priced rollout by rollout. `search` buys until its answer stands, for policy calls up to those of a
    profile unless the user's budget says otherwise. `shapley` from pooled coalitions spreads its rollouts as it learns;
    they are priced like the pilot, which draws every coalition equally often. `responsibility` chooses the best
    proposals on the way; all cost the same.
    """
    batch, prices = sampler.propose(), case.rollouts.meter.budget.prices
    whole = quote(batch, case.journal, prices)
    match sampler:
        case SearchSampler():
            profile = [Draw(arm=ResampleFrom(step=step), ordinal=i) for step in range(case.steps) for i in range(DRAWS)]
            whole = _up_to_the_calls(quote(profile, case.journal, prices), case.rollouts.meter.budget.policy_calls)
        case PooledShapley():
            whole = _times(whole, ask.rollouts / max(len(batch), 1))
        case ResponsibilitySampler():
            later = [
                Draw(arm=arm, ordinal=i)
                for step in ask.proposals
                for arm in (Proposal(step=step, number=0), ResampleFrom(step=step))
                for i in range(ask.draws)
            ]
            whole = quote([*batch, *later], case.journal, prices)
    return _within(whole, case)


def _up_to_the_calls(profile: Quote, calls: int | None) -> Quote:
    share = 1.0 if calls is None else calls / max(profile.policy_calls, 1)
    return replace(_times(profile, share), rollouts=None)


def _within(whole: Quote, case: Case) -> Quote:
    """Lower a price to the budget: whichever limit is met first ends everything."""
    budget = case.rollouts.meter.budget
    limits = [(budget.rollouts, whole.rollouts), (budget.policy_calls, whole.policy_calls),
              (budget.tokens, whole.tokens), (budget.money, whole.money)]  # fmt: skip
    share = min((limit / price for limit, price in limits if limit is not None and price), default=1.0)
    return whole if share >= 1.0 else _times(whole, share)


def _times(whole: Quote, share: float) -> Quote:
    return Quote(
        rollouts=None if whole.rollouts is None else round(whole.rollouts * share),
        policy_calls=round(whole.policy_calls * share),
        tokens=None if whole.tokens is None else round(whole.tokens * share),
        money=None if whole.money is None else whole.money * share,
    )
