"""What the ledger says of every family's budget: spent and left, by epoch and agent."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.errors import NotFound
from butfor.gate.budget.epochs import Family
from butfor.gate.budget.reservation import OTHERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Ledger


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShareSpent:
    """What one share has spent in an epoch.

    Attributes:
        agent: Whose it is; empty for all agents that the policy does not name.
        hypotheses: How many it paid for.
        spent: What they cost.
        of: What the share is of α, as the policy said when it last paid.
    """

    agent: str
    hypotheses: int
    spent: float
    of: float

    @property
    def left(self) -> float:
        """What is left of it."""
        return max(0.0, self.of - self.spent)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochSpent:
    """What a family has spent in an epoch.

    Attributes:
        family: Whose.
        epoch: Its number.
        alpha: α, as the policy said last.
        spent: What was granted, whether or not a decision came of it.
        shares: By agent; shares that never asked are whole, and are not here.
        evidence: Digests of the evidence that the epoch used.
    """

    family: Family
    epoch: int
    alpha: float
    spent: float
    shares: tuple[ShareSpent, ...]
    evidence: tuple[str, ...]

    @property
    def left(self) -> float:
        """What is left of α."""
        return max(0.0, self.alpha - self.spent)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        family = self.family
        return {
            "family": family.digest,
            "tool": family.tool,
            "outcome": family.outcome,
            "lineage": family.lineage,
            "epoch": self.epoch,
            "alpha": self.alpha,
            "spent": self.spent,
            "left": self.left,
            "shares": [{**dataclasses.asdict(each), "left": each.left} for each in self.shares],
            "evidence": list(self.evidence),
        }


@dataclasses.dataclass(kw_only=True)
class _Account:
    family: Family
    last: Mapping[str, Json] | None = None
    of: dict[str, float] = dataclasses.field(default_factory=dict)
    evidence: list[str] = dataclasses.field(default_factory=list)


def spending(ledger: Ledger) -> list[EpochSpent]:
    """Return every family's epochs, in the order in which they began."""
    accounts: dict[tuple[str, int], _Account] = {}
    for entry in ledger.entries():
        said = entry.payload
        if entry.kind != "budget":
            continue
        family = Family(tool=said["tool"], outcome=said["outcome"], lineage=said["lineage"])
        account = accounts.setdefault((said["family"], said["epoch"]), _Account(family=family))
        if said["event"] == "evidence":
            account.evidence.append(said["evidence"])
        elif said["event"] == "spend":
            account.last = said
            account.of[said["share"]] = said["fraction"] * said["of"]
    return [_spent(account, epoch) for (_, epoch), account in accounts.items()]


def family_of(ledger: Ledger, name: str) -> Family:
    """Return the family of this digest, or of a prefix of it that only one has; the scheme may be left out.

    Raises:
        NotFound: None or several match.
    """
    known = {each.family.digest: each.family for each in spending(ledger)}
    found = [family for digest, family in known.items() if name and digest.startswith((name, f"sha256:{name}"))]
    if len(found) != 1:
        what = f"no family {name!r} has spent anything" if not found else f"several families begin with {name!r}"
        raise NotFound(what, fix="`butfor gate budget` lists them")
    return found[0]


def share_in_words(agent: str) -> str:
    """Name a share for people."""
    return "everybody without a share" if agent == OTHERS else agent


def _spent(account: _Account, epoch: int) -> EpochSpent:
    said = account.last or {}
    shares = {str(name): each for name, each in said.get("shares", {}).items()}
    return EpochSpent(
        family=account.family,
        epoch=epoch,
        alpha=float(said.get("of", 0.0)),
        spent=float(said.get("spent", 0.0)),
        shares=tuple(
            ShareSpent(agent=name, hypotheses=int(n), spent=float(cost), of=account.of.get(name, 0.0))
            for name, (n, cost) in sorted(shares.items())
        ),
        evidence=tuple(account.evidence),
    )
