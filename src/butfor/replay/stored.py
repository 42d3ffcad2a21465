"""A stored rollout, as a run that can be read beside the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import NotFound
from butfor.replay.assemble import assemble
from butfor.replay.crossings import read_line
from butfor.replay.rollouts import load_journal
from butfor.runs import Outcome

if TYPE_CHECKING:
    from butfor.replay.crossings import Crossing
    from butfor.runs import Run
    from butfor.store import Storage, StoredRollout


def rollout_run(store: Storage, rollout: StoredRollout) -> Run:
    """Rebuild a rollout: the recorded crossings that it was served, and its own.

    Raises:
        CorruptRecord: Its journal is damaged.
    """
    journal = load_journal(store, rollout.run_id)
    facts = canonical.decode(rollout.counts)
    held = facts.get("held", 0)
    positions = range(held) if isinstance(held, int) else held
    lines = [line for line in store.rollout_journal(rollout.rollout_id).split("\n") if line]
    own = [read_line(line, where=f"rollout {rollout.rollout_id}, line {i}") for i, line in enumerate(lines, 1)]
    crossings: list[Crossing] = [*(journal.crossings[position] for position in positions), *own]
    return assemble(
        journal,
        crossings,
        run_id=rollout.rollout_id,
        output=facts.get("output"),
        outcome=None if rollout.outcome is None else Outcome(value=rollout.outcome, rule="rollout"),
    )


def find_rollout(store: Storage, run_id: str, rollout_id: str) -> StoredRollout:
    """Find a rollout of a run by its id or the beginning of it.

    Raises:
        NotFound: The run has no such rollout, or several begin so.
    """
    begun: dict[str, StoredRollout] = {}
    for arm in store.list_arms(run_id):
        for each in store.load_rollouts(run_id, arm.fingerprint, arm.arm):
            if each.rollout_id == rollout_id:
                return each
            if rollout_id and each.rollout_id.startswith(rollout_id):
                begun[each.rollout_id] = each
    if len(begun) == 1:
        return next(iter(begun.values()))
    if begun:
        raise NotFound(
            f"{len(begun)} rollouts of run {run_id} begin with {rollout_id!r}",
            fix="give more of the id, so that one is left",
        )
    raise NotFound(
        f"run {run_id} has no rollout {rollout_id!r}", fix=f"list them with `butfor runs {run_id} --rollouts`"
    )
