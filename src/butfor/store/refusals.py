"""The sentences that every store says when it cannot do what it is asked."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from butfor.errors import DrawTaken, InputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 3
# Comparing with every id of a large store would take seconds for a message.
_COMPARED = 2000


def match_id(wanted: str, known: Sequence[str]) -> str:
    """Find the one id that is `wanted` or begins with it.

    Args:
        wanted: What the user gave.
        known: Every id, the last stored first.

    Raises:
        NotFound: None or several match.
    """
    if wanted in known:
        return wanted
    begun = [each for each in known if wanted and each.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise NotFound(
            f"{len(begun)} runs begin with {wanted!r}: {_some(begun)}", fix="give more of the id, so that one is left"
        )
    if not known:
        raise NotFound(f"there is no run {wanted!r}, and no other in this store", fix="record or import one first")
    near = difflib.get_close_matches(wanted, known[:_COMPARED], n=_SHOWN, cutoff=0.0)
    raise NotFound(f"there is no run {wanted!r}", fix=f"the nearest are {_some(near)}")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")


def no_such_run(run_id: str) -> NotFound:
    """Say that something was to be saved for a run that is not stored."""
    return NotFound(f"there is no run {run_id!r} to save this for", fix="save the run first, or give its whole id")


def no_document(run_id: str) -> NotFound:
    """Say that a recording has no run yet."""
    return NotFound(
        f"the recording of {run_id!r} is unfinished: it has a journal and no run",
        fix="wait for it, or record again if its process was killed",
    )


def no_journal(run_id: str) -> NotFound:
    """Say that a run has no journal."""
    return NotFound(f"run {run_id!r} has no journal: it was not recorded here", fix="record it with butfor")


def no_spec(run_id: str) -> NotFound:
    """Say that nothing is known about how to re-execute a run."""
    return NotFound(
        f"nothing is stored about how to run {run_id!r} again", fix="give --agent, --input and --outcome once"
    )


def no_such(kind: str, name: str) -> NotFound:
    """Say that a rollout or a result does not exist."""
    return NotFound(
        f"there is no {kind} {name!r} in this store", fix="`butfor runs RUN --rollouts` lists what there is"
    )


def already(kind: str, name: str) -> InputError:
    """Say that an id is taken by something else."""
    return InputError(f"another {kind} {name!r} is stored, and nothing stored is overwritten", fix="give a new id")


def draw_taken(draw: int, arm: str, run_id: str) -> DrawTaken:
    """Say that a draw of an arm is stored already."""
    return DrawTaken(
        f"draw {draw} of this arm is stored already, and a draw enters an arm once",
        where=f"run {run_id}, arm {arm if len(arm) <= 80 else arm[:77] + '...'}",
        fix="continue with the next draw",
    )


def place_taken(kind: str, place: int | None) -> InputError:
    """Say that a numbered place of the ledger is taken already."""
    return InputError(f"place {place} of this {kind} is in the ledger already, and a place is taken once")


def finished(run_id: str) -> InputError:
    """Say that a recording takes no more lines."""
    return InputError(f"the recording of {run_id!r} is finished", fix="open a new recording")


def one_line(line: str, run_id: str) -> None:
    """Refuse a crossing that would not come back as one line.

    Raises:
        InputError: The text has a line break.
    """
    if "\n" in line:
        raise InputError("a crossing has a line break", where=f"run {run_id}", fix="write it as JSON on one line")


def writable(*names: str) -> None:
    """Refuse the names that no file can hold, before anything is looked up or written.

    Raises:
        InputError: A name has half of a surrogate pair.
    """
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise _half_a_pair(error) from None


def _half_a_pair(error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"the name {error.object[:40]!a} has half of a surrogate pair, which no file can hold", fix="give another name"
    )
