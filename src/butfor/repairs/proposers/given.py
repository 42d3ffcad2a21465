"""Proposals that the user wrote down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.repairs.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.attribution.responsibility import Proposer as ActionProposer
    from butfor.canonical import Json
    from butfor.repairs.proposal import Failure


class GivenProposals:
    """The user's proposals.

    Args:
        actions: Step to the actions to try there.
        origin: Where they were written down.
    """

    def __init__(self, actions: Mapping[int, Sequence[Json]], *, origin: str = "given") -> None:
        self._actions, self._origin = actions, origin

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps that something was written down for."""
        return tuple(sorted(self._actions))

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Return the first `count` of a step."""
        del failure
        return [_user(step, action, self._origin) for action in self._actions.get(step, [])[:count]]


class FromActions:
    """Proposals of an object that returns plain actions, such as attribution's `ScriptedProposer`.

    Args:
        proposer: It takes a step and a count.
    """

    def __init__(self, proposer: ActionProposer) -> None:
        self._proposer = proposer

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Ask it."""
        del failure
        return [_user(step, action, type(self._proposer).__name__) for action in self._proposer.propose(step, count)]


def _user(step: int, action: Json, origin: str) -> Proposal:
    return Proposal(step=step, action=action, source="user", origin={"from": origin})
