"""From proposals to candidates: what changes nothing or came before is dropped, the rest is ranked by a few draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from butfor.repairs.edits import key_of, measure, same_action
from butfor.repairs.executor import Executor, Trial, outcomes_of
from butfor.repairs.proposal import Failure, Proposal, checked_for_leaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.repairs.edits import Edit

SCREENING = 4
"""Draws that rank a candidate, none of which validates it."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proposal that is worth testing.

    Attributes:
        proposal: The proposal.
        edit: Its size.
        screened: Its mean success in the screening draws; None where it was not screened.
    """

    proposal: Proposal
    edit: Edit
    screened: float | None = None


@dataclass(kw_only=True)
class Sifter:
    """Drops what cannot be a repair, and counts why.

    Attributes:
        failure: The failed run.
        funnel: Counts by name.
    """

    failure: Failure
    funnel: Counter[str] = field(default_factory=Counter)
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def sift(self, proposals: Iterable[Proposal]) -> list[Candidate]:
        """Keep what changes something and was not proposed before."""
        kept = []
        for each in checked_for_leaks(proposals, self.failure):
            self.funnel["proposed"] += 1
            place = each.step, key_of(each.action)
            if same_action(each.action, self.failure.actions[each.step]):
                self.funnel["no-ops"] += 1
            elif place in self._seen:
                self.funnel["duplicates"] += 1
            else:
                self._seen.add(place)
                self.funnel["leaking"] += bool(each.leaks)
                kept.append(Candidate(proposal=each, edit=measure(self.failure.actions[each.step], each.action)))
        return kept

    def screen(self, candidates: Sequence[Candidate], executor: Executor, *, draws: int) -> list[Candidate]:
        """Rank candidates by a few draws, the smaller edit first among equals; what failed all of them is dropped.

        A candidate that a stopped budget left without a draw is dropped too, without being counted as failed.
        """
        if draws == 0:
            return sorted(candidates, key=lambda each: each.edit.distance)
        trials = [
            Trial(step=each.proposal.step, action=each.proposal.action, draw=draw)
            for draw in range(draws)
            for each in candidates
        ]
        outcomes = outcomes_of(executor, trials)
        ranked = []
        for position, each in enumerate(candidates):
            own = outcomes[position :: len(candidates)]
            if not own:
                continue
            success = sum(0.0 if y is None else 1.0 - y for y in own) / len(own)
            if success > 0.0:
                ranked.append(Candidate(proposal=each.proposal, edit=each.edit, screened=success))
            else:
                self.funnel["failed screening"] += 1
        return sorted(ranked, key=lambda each: (-(each.screened or 0.0), each.edit.distance))
