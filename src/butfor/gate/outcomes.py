"""What became of a decision: told late, told twice, never told otherwise."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

from butfor.errors import CorruptRecord, InputError, NotFound, OutcomeTaken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Entry, Ledger, View


@dataclasses.dataclass(frozen=True, kw_only=True)
class Told:
    """An outcome that is in the ledger.

    Attributes:
        entry: The entry that holds it.
        new: False where it was told before.
    """

    entry: Entry
    new: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Followed:
    """A decision whose outcome is known.

    Attributes:
        decision: The decision's entry.
        body: The body of its certificate.
        value: The outcome, in the unit of the evidence.
        ran: Whether the call was made.
        told_at: When the outcome was told.
    """

    decision: Entry
    body: Mapping[str, Any]
    value: float
    ran: bool
    told_at: str


def tell(ledger: Ledger, decision: str, value: float, *, ran: bool | None = None) -> Told:
    """Record the outcome of a decision. Telling the same again changes nothing.

    Args:
        ledger: Where the decision is.
        decision: Its id.
        value: The outcome, in the unit of the evidence's outcome column.
        ran: Whether the call was made. By default it was where the gate let it: EXECUTE, or any verdict of a gate that
            only observes. A call that ran by a bypass is told so.

    Raises:
        NotFound: There is no such decision.
        OutcomeTaken: Another outcome of it was told.
        InputError: The value is no finite number.
        StoreError: It could not be written.
    """
    if isinstance(value, bool) or not math.isfinite(value):
        raise InputError(f"the outcome {value!r} is no finite number", fix="give it in the unit of the outcome column")
    with ledger.appending() as pending:
        known = pending.about("decision", decision)
        if known is None:
            raise NotFound(f"there is no decision {decision!r}", fix="`butfor gate log` lists them")
        said: dict[str, Json] = {
            "decision": decision,
            "value": float(value),
            "ran": _allowed(known) if ran is None else ran,
            "tool": known.payload.get("tool"),
        }
        before = pending.about("outcome", decision)
        if before is not None:
            _require_same(before, said, guessed=ran is None)
            return Told(entry=before, new=False)
        return Told(entry=pending.add("outcome", said, subject=decision, scope=decision, place=1), new=True)


def followed(ledger: Ledger) -> Iterator[Followed]:
    """Return every decision whose outcome is known, in the order of telling.

    Raises:
        CorruptRecord: A decision is missing, or has no readable certificate.
    """
    for entry in ledger.entries():
        if entry.kind == "outcome":
            with ledger.reading() as view:
                yield _followed(view, entry)


def _followed(view: View, told: Entry) -> Followed:
    decision = view.about("decision", str(told.payload["decision"]))
    where = f"entry {told.position} of the ledger"
    if decision is None:
        raise CorruptRecord("an outcome's decision is not there", where=where, fix="run butfor gate verify-log")
    try:
        body = json.loads(view.attachment(decision.position) or b"")["body"]
    except (ValueError, KeyError, TypeError):
        where = f"entry {decision.position} of the ledger"
        raise CorruptRecord("a decision has no readable certificate", where=where) from None
    return Followed(
        decision=decision,
        body=body,
        value=float(told.payload["value"]),
        ran=bool(told.payload["ran"]),
        told_at=told.at,
    )


def _allowed(decision: Entry) -> bool:
    return decision.payload.get("verdict") == "EXECUTE" or decision.payload.get("mode") == "observe"


def _require_same(before: Entry, said: Mapping[str, Json], *, guessed: bool) -> None:
    names = ("value",) if guessed else ("value", "ran")
    for name in names:
        if before.payload[name] != said[name]:
            raise OutcomeTaken(
                f"{name} {before.payload[name]} of decision {said['decision']} is in the ledger, and this says "
                f"{said[name]}",
                where=f"entry {before.position}, {before.at}",
                fix="nothing is overwritten; find out which of the two is right, and correct the evidence itself",
            )
