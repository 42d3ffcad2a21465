"""What a proposer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.repairs.proposal import Failure, Proposal


class Proposer(Protocol):
    """Where proposals come from. It sees the failure as the policy saw it; the gold answer is not in it."""

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Return up to `count` replacements for the action of a step."""
        ...
