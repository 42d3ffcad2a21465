r"""The error budget: how much of a family's α a hypothesis may spend, decided before its data are looked at.

*Estimand*: the chance that any harmful action of a family is executed in an epoch.
*Guarantee* (finite-sample, given bounds that each hold at their own level): at most α. The levels granted in an epoch
add up to at most α, and a union bound needs no independence. A policy that declares its m hypotheses gives each α/m,
which holds for every proposer, also one that has read the evidence and asks only for the best of them. Without a list,
the j-th new hypothesis of an agent's share gets 6·share·α/(π²j²), since Σ 1/j² = π²/6.
*Assumptions*: every bound is right at the level granted. Of the series besides: what the proposer knows says nothing
about the rows of what it asks next. Verdicts and certificates of other strata say nothing about them, since strata have
rows of their own; the evidence itself does (who asks only for the best of ten null strata gets 27% past α = 5%, and
5% past the list: tests/statistical/test_error_budget_truth.py).
*Reference*: alpha spending, Lan and DeMets (1983); Foster and Stine (2008) for hypotheses that arrive one by one.

All state is in the ledger. A reservation finds it by a few look-ups in indices, however long the ledger is.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, TypeAlias

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError
from butfor.gate.budget.epochs import Overlap, epoch_of, named
from butfor.gate.signing.strict_json import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.gate.budget.epochs import Extent, Family
    from butfor.gate.ledger.chain import Entry, Ledger, Pending, View

OTHERS = ""
"""The share of all agents that the rules do not name; no agent has an empty name."""
_SERIES = 6 / math.pi**2
_ROUNDING = 1e-12


@dataclasses.dataclass(frozen=True, kw_only=True)
class BudgetRules:
    """What a policy entry says about its family's budget.

    Attributes:
        alpha: The family's α an epoch.
        shares: Agent to its share of α. An agent that asks without end spends its own share and nobody else's.
        others: The share of all other agents together.
        hypotheses: The only ones that may be asked, α/m each; None: any, by the series. With a list, shares do not
            matter: what one agent asked is stored for all, and takes nothing from the rest of the list.

    Raises:
        InputError: α is not in (0, 1), a share is negative, the shares exceed 1, or the list is empty or has one twice.
    """

    alpha: float
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)
    others: float = 1.0
    hypotheses: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"the budget's alpha {self.alpha!r} is not between 0 and 1", fix="such as 0.05")
        fractions = [*self.shares.values(), self.others]
        if not all(each >= 0 for each in fractions) or not sum(fractions) <= 1 + _ROUNDING or OTHERS in self.shares:
            raise InputError(
                f"the agents' shares are not parts of one whole (sum {sum(fractions):g})",
                fix="give named agents shares of 0 or more, which with `others` add up to at most 1",
            )
        if self.hypotheses is not None and not 0 < len(set(self.hypotheses)) == len(self.hypotheses):
            raise InputError("the list of hypotheses is empty, or has one twice", fix="name each once")

    def share_of(self, agent: str) -> str:
        """Name the share that an agent spends from."""
        return agent if agent in self.shares else OTHERS

    def fraction(self, share: str) -> float:
        """Return how much of α a share is."""
        return self.others if share == OTHERS else self.shares[share]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spend:
    """A level that was granted, and is spent whatever comes of it.

    Attributes:
        alpha: The level at which the hypothesis may be tested.
        place: Its number j in its share, from 1 (with a declared list: in the family).
        share: Whose share paid; empty for the agents that the rules do not name.
        family: Digest of the family.
        epoch: The epoch that paid.
        key: Names this hypothesis on this evidence under this policy entry. The decision's ledger entry has it as its
            scope; a decision that failed before the bound was computed must not, so that asking again computes it.
    """

    alpha: float
    place: int
    share: str
    family: str
    epoch: int
    key: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stored:
    """The same was asked before, of the same evidence: this is the verdict, at no cost.

    It stands for the statistics only. Whether evidence is still fresh and the context holds is to be checked each time.

    Attributes:
        decision: The earlier decision's id.
        certificate: Its certificate.
        position: Its place in the ledger.
    """

    decision: str
    certificate: bytes
    position: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exhausted:
    """Nothing may be spent on this hypothesis.

    Attributes:
        sentence: Why, and what would help.
    """

    sentence: str


Grant: TypeAlias = Spend | Stored | Exhausted


def reserve(
    ledger: Ledger,
    *,
    family: Family,
    hypothesis: str,
    agent: str,
    evidence: str,
    entry: str,
    rules: BudgetRules,
    extent: Extent | None = None,
) -> Grant:
    """Grant a level for a hypothesis before its data are looked at.

    What is granted survives the death of the process when this returns, and the machine's when the next `append`
    returns: no verdict leaves the gate whose level could be spent again. A hypothesis whose decision never came gets
    the place it had.

    Args:
        ledger: Where all spending is written down.
        family: Whose budget pays.
        hypothesis: Digest of what is asked: query, stratum, value, arguments that matter.
        agent: Who asks.
        evidence: Digest of the evidence.
        entry: Digest of the policy entry.
        rules: What the policy says about the budget.
        extent: Which rows the evidence holds, for the day when an epoch is to end; asked for once an evidence.

    Raises:
        CorruptRecord: The ledger has the decision and not its certificate.
        StoreError: It could not be written: nothing is granted.
    """
    key = spend_key(family, hypothesis, evidence, entry)
    with ledger.reading() as view:
        stored = _stored(view, key)
    if stored is not None:
        return stored
    with ledger.staging() as pending:
        stored = _stored(pending, key)
        if stored is not None:
            return stored
        epoch = epoch_of(pending, family, evidence, extent)
        if isinstance(epoch, Overlap):
            return Exhausted(sentence=epoch.sentence)
        asked = {"key": key, "hypothesis": hypothesis, "evidence": evidence, "entry": entry, "agent": agent}
        return _granted(pending, family, epoch, asked, rules)


def spend_key(family: Family, hypothesis: str, evidence: str, entry: str) -> str:
    """Name a hypothesis on an evidence under a policy entry."""
    parts = {"family": family.digest, "hypothesis": hypothesis, "evidence": evidence, "entry": entry}
    return digest_text(canonical_bytes({"schema": "butfor.spend/1", **parts}))


def _stored(view: View, key: str) -> Stored | None:
    found = view.last_of("decision", key)
    if found is None:
        return None
    certificate = view.attachment(found.position)
    if certificate is None or found.subject is None:
        raise CorruptRecord("a stored verdict has no certificate", where=f"entry {found.position} of the ledger")
    return Stored(decision=found.subject, certificate=certificate, position=found.position)


def _granted(
    pending: Pending, family: Family, epoch: int, asked: dict[str, str], rules: BudgetRules
) -> Spend | Exhausted:
    key = asked["key"]
    listed = f"{asked['hypothesis']} in epoch {epoch} of {family.digest}"
    # By either name: a policy may come to declare its list, or drop it, in the middle of an epoch.
    for spent in (pending.about("budget", key), pending.about("budget", listed)):
        if spent is not None and (spent.payload["key"] == key or rules.hypotheses is not None):
            return _again(spent, key)
    subject = key if rules.hypotheses is None else listed
    if rules.hypotheses is not None and asked["hypothesis"] not in rules.hypotheses:
        return Exhausted(
            sentence="this is not among the questions that may be asked: those that the policy lists, or else those "
            "whose stratum and treatment value occur in the evidence"
        )
    scope = f"spending of epoch {epoch} of {family.digest}"
    account = _Account.of(pending.last_of("budget", scope))
    share = OTHERS if rules.hypotheses is not None else rules.share_of(asked["agent"])
    place, before = account.shares.get(share, (0, 0.0))
    alpha = _level(rules, share, place + 1)
    limit = rules.alpha * (rules.fraction(share) if rules.hypotheses is None else 1.0)
    # The series alone keeps within the share; this holds also when the rules changed in the middle of an epoch.
    if alpha <= 0 or before + alpha > limit + _ROUNDING or account.spent + alpha > rules.alpha + _ROUNDING:
        return Exhausted(
            sentence=f"epoch {epoch} has {max(0.0, min(limit - before, rules.alpha - account.spent)):.3g} of "
            f"{limit:.3g} left for {share or 'agents without a share of their own'}, and the next hypothesis needs "
            f"{alpha:.3g}: begin an epoch with new evidence"
        )
    said: dict[str, Json] = {
        "event": "spend",
        **named(family),
        **asked,
        "epoch": epoch,
        "share": share,
        "place": place + 1,
        "alpha": alpha,
        "of": rules.alpha,
        "fraction": limit / rules.alpha,
        "spent": account.spent + alpha,
        "shares": {name: list(each) for name, each in {**account.shares, share: (place + 1, before + alpha)}.items()},
    }
    pending.add("budget", said, subject=subject, scope=scope, place=account.place + 1)
    return _spend(said)


def _level(rules: BudgetRules, share: str, place: int) -> float:
    if rules.hypotheses is not None:
        return rules.alpha / len(rules.hypotheses)
    return _SERIES * rules.fraction(share) * rules.alpha / place**2


def _again(spent: Entry, key: str) -> Spend | Exhausted:
    if spent.payload["key"] == key:
        return _spend(spent.payload)
    return Exhausted(
        sentence=f"this hypothesis spent its level in epoch {spent.payload['epoch']}, on other evidence or under "
        "another policy entry: begin an epoch with new evidence"
    )


def _spend(said: Mapping[str, Json]) -> Spend:
    return Spend(
        alpha=said["alpha"],
        place=said["place"],
        share=said["share"],
        family=said["family"],
        epoch=said["epoch"],
        key=said["key"],
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Account:
    """What an epoch has spent, as its last spending says.

    Attributes:
        place: Number of its last spending.
        spent: Sum of all levels granted.
        shares: Share to how many hypotheses it paid and what they cost.
    """

    place: int
    spent: float
    shares: Mapping[str, tuple[int, float]]

    @classmethod
    def of(cls, last: Entry | None) -> _Account:
        if last is None or last.place is None:
            return cls(place=0, spent=0.0, shares={})
        shares = {name: (int(each[0]), float(each[1])) for name, each in last.payload["shares"].items()}
        return cls(place=last.place, spent=float(last.payload["spent"]), shares=shares)
