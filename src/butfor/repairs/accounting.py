"""What a repair will cost at most, and what it did cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from butfor.attribution import Bill, Quote
from butfor.attribution.bill import quote
from butfor.attribution.sampling import Draw, Proposal, ResampleFrom
from butfor.repairs.smaller import LOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.case import Case
    from butfor.repairs.ask import RepairAsk


def price(case: Case, ask: RepairAsk, steps: Sequence[int], *, proposers: int) -> Quote:
    """Price everything that may be bought; most of it is not, as soon as a repair stands."""
    most, candidates = ask.standard.most, ask.proposals * proposers
    draws: list[Draw] = []
    for step in steps:
        repaired, null = Proposal(step=step, number=0), ResampleFrom(step=step)
        draws += [Draw(arm=null, ordinal=i) for i in range(ask.resamples + most)]
        draws += [Draw(arm=repaired, ordinal=i) for i in range(candidates * (ask.screening + most))]
    smaller = [Draw(arm=Proposal(step=steps[0], number=0), ordinal=i) for i in range(ask.shrink_calls * LOOKS)]
    whole = quote([*draws, *smaller], case.journal, case.rollouts.meter.budget.prices)
    return Quote(rollouts=None, policy_calls=whole.policy_calls, tokens=whole.tokens, money=whole.money)


def price_of_responsibility(case: Case, ask: RepairAsk, *, proposers: int) -> Quote:
    """Price the proposals of every step but the last, and what they are held against."""
    each, best = ask.proposals * proposers, ask.standard.most // 2
    draws: list[Draw] = []
    for step in range(case.steps - 1):
        draws += [Draw(arm=ResampleFrom(step=step), ordinal=i) for i in range(ask.resamples + best)]
        draws += [Draw(arm=Proposal(step=step, number=0), ordinal=i) for i in range(each * ask.screening + best)]
    whole = quote(draws, case.journal, case.rollouts.meter.budget.prices)
    return Quote(rollouts=None, policy_calls=whole.policy_calls, tokens=whole.tokens, money=whole.money)


def together(bills: Sequence[Bill], *, bought: int) -> Bill:
    """Add up bills of one call, of whose rollouts `bought` were made now and the others were there.

    Args:
        bills: That of repairing first; its seconds are those of the whole call.
        bought: Rollouts made in this call.
    """
    rollouts = sum(each.rollouts for each in bills)
    calls: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for each in bills:
        calls.update(each.tool_calls)
        statuses.update(each.statuses)
    return replace(
        bills[0],
        rollouts=rollouts,
        found=max(0, rollouts - bought),
        policy_calls=sum(each.policy_calls for each in bills),
        prompt_tokens=sum(each.prompt_tokens for each in bills),
        completion_tokens=sum(each.completion_tokens for each in bills),
        money=None if bills[0].money is None else sum(each.money or 0.0 for each in bills),
        tool_calls=dict(calls),
        statuses=dict(statuses),
    )
