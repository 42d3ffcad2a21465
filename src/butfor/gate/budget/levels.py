"""Which question a call asks of its family's error budget, and the level that it was granted."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.gate.budget.answerable import listed
from butfor.gate.budget.reservation import BudgetRules, Spend, Stored
from butfor.gate.certificate.envelope import unseal
from butfor.gate.signing.strict_json import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.gate.inputs import Inputs
    from butfor.gate.policy.entry import Ready
    from butfor.identification import Query


@dataclasses.dataclass(frozen=True, kw_only=True)
class Level:
    """The error level that a question was granted.

    Attributes:
        family: Digest of the family.
        epoch: The epoch that paid.
        place: Its number in its share.
        alpha: The level.
        key: Names the question on its evidence under its entry.
        share: Whose share paid.
        questions: How many questions have an equal part of the level; None where it follows the order of asking.
    """

    family: str
    epoch: int
    place: int
    alpha: float
    key: str
    share: str
    questions: int | None


def hypothesis(query: Query, within: Mapping[str, float | str], to: float | str, ready: Ready) -> str:
    """Name a question: the effect, the stratum, and the two treatment values."""
    entry = ready.entry
    return digest(
        {
            "schema": "butfor.hypothesis/1",
            "treatment": query.treatments[0],
            "outcome": query.outcomes[0],
            "stratum": {name: _plain(value) for name, value in within.items()},
            "to": _plain(to),
            "against": entry.treatment.against,
            "bound_on": entry.bound_on,
            "tau_u": entry.tau_u,
        }
    )


def budget_rules(ready: Ready, inputs: Inputs) -> BudgetRules:
    """Return what an entry says of its budget.

    Where it says nothing, every question that the evidence can answer has an equal part of the error level. Levels by
    order of asking are for entries that name shares, and where the questions cannot be listed.
    """
    budget = ready.entry.budget
    rest = max(0.0, 1.0 - sum(budget.shares.values()))
    questions = listed(ready.entry, inputs.sample, inputs.rules.to)
    return BudgetRules(
        alpha=ready.entry.alpha,
        shares=dict(budget.shares),
        others=rest if budget.other_agents is None else budget.other_agents,
        hypotheses=None
        if questions is None
        else tuple(hypothesis(inputs.query, stratum, to, ready) for to, stratum in questions),
    )


def _plain(value: float | str) -> float | str:
    """Write a truth value as the number that evidence has for it."""
    return value if isinstance(value, str) else float(value)


def level_of(grant: Spend | Stored, key: str, rules: BudgetRules) -> Level:
    """Return the level that a question has, whether granted now or with its first answer.

    Raises:
        InputError: The stored certificate names none.
    """
    if isinstance(grant, Spend):
        return Level(
            family=grant.family,
            epoch=grant.epoch,
            place=grant.place,
            alpha=grant.alpha,
            key=key,
            share=grant.share,
            questions=None if rules.hypotheses is None else len(rules.hypotheses),
        )
    budget = unseal(grant.certificate).body.get("budget")
    if not isinstance(budget, dict) or set(budget) != {field.name for field in dataclasses.fields(Level)}:
        raise InputError("the stored verdict names no error level", where=f"entry {grant.position} of the ledger")
    return Level(**budget)
