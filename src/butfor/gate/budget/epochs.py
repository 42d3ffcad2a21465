"""Epochs: a family's budget begins anew only with evidence that shares nothing with what was used.

Every evidence belongs to one epoch of a family, and what is asked of it is paid by that epoch. Evidence joins the
present epoch where it shares no row with an earlier epoch's evidence, which row names or time windows must show: what
cannot be shown is refused, as overlap is.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.gate.signing.strict_json import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Entry, Ledger, Pending, View

# Eight bytes a row: a million new rows against a million used ones meet by chance once in 2·10⁷ comparisons, and then a
# new epoch is refused that could have begun; never the other way round.
_NAME_BYTES = 8
_A_DATE = len("2026-11-30")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
    """What spends from one error budget: all strata, values and argument variants of a tool's effect on an outcome.

    Attributes:
        tool: The policy entry's tool.
        outcome: The outcome variable.
        lineage: Name of the evidence's source, as the policy declares it. Evidence of one source is one lineage,
            however often it is refreshed: another name for the same rows would be another α for them.
    """

    tool: str
    outcome: str
    lineage: str

    @cached_property
    def digest(self) -> str:
        """The family's name in ledger and certificate."""
        fields = {"tool": self.tool, "outcome": self.outcome, "lineage": self.lineage}
        return digest_text(canonical_bytes({"schema": "butfor.family/1", **fields}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extent:
    """Which rows an evidence holds, as far as it is known.

    Attributes:
        window: When its first and its last row were seen: ISO 8601 (UTC where no zone is given; a date is a whole
            day), or numbers in text.
        rows: Eight bytes for each row, sorted, in one piece; see `rows_of`.
    """

    window: tuple[str, str] | None = None
    rows: bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Epoch:
    """An epoch that has begun.

    Attributes:
        family: Digest of the family.
        number: From 1.
    """

    family: str
    number: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Overlap:
    """No new epoch: the evidence shares rows with what was used, or it cannot be shown that it does not.

    Attributes:
        sentence: What overlaps, and what to do.
        evidence: Digest of the used evidence it overlaps; None where nothing was used yet.
    """

    sentence: str
    evidence: str | None


def rows_of(names: Iterable[str]) -> bytes:
    """Return what `Extent.rows` holds for rows of these names (unit ids, or digests of whole rows)."""
    named = (blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES).digest() for name in names)
    return b"".join(sorted(set(named)))


def begin_epoch(
    ledger: Ledger, *, family: Family, evidence: str, extent: Extent, reason: str, by: str
) -> Epoch | Overlap:
    """Begin the next epoch of a family with new evidence.

    Args:
        ledger: Where it is written down.
        family: Whose budget begins anew.
        evidence: Digest of the evidence.
        extent: Which rows it holds.
        reason: Why, for the record.
        by: Who says so.

    Returns:
        The epoch, or the overlap that forbids it.

    Raises:
        StoreError: It could not be written.
    """
    with ledger.appending() as pending:
        number = current_epoch(pending, family) + 1
        refusal = _nothing_used(pending, family) or shared(pending, family, extent, before=number)
        if refusal is None and _registered(pending, family, evidence) is not None:
            refusal = Overlap(sentence="this very evidence was used already: bring new rows", evidence=evidence)
        if refusal is not None:
            return refusal
        said: dict[str, Json] = {"event": "epoch", **named(family), "epoch": number, "evidence": evidence}
        pending.add("budget", {**said, "reason": reason, "by": by}, scope=_epochs(family), place=number)
        _register(pending, family, evidence, extent, number)
        return Epoch(family=family.digest, number=number)


def epoch_of(pending: Pending, family: Family, evidence: str, extent: Extent | None) -> int | Overlap:
    """Return the epoch that an evidence belongs to; where it is new, it joins the present one and is written down."""
    known = _registered(pending, family, evidence)
    if known is not None:
        return int(known.payload["epoch"])
    number = current_epoch(pending, family)
    refusal = shared(pending, family, extent or Extent(), before=number)
    if refusal is not None:
        return refusal
    _register(pending, family, evidence, extent or Extent(), number)
    return number


def current_epoch(view: View, family: Family) -> int:
    """Return the number of the present epoch."""
    last = view.last_of("budget", _epochs(family))
    return 1 if last is None else int(last.payload["epoch"])


def shared(view: View, family: Family, extent: Extent, *, before: int) -> Overlap | None:
    """Say what an evidence shares with an epoch before `before`; None where it is shown to share nothing."""
    for used in _evidence(view, family):
        if used.payload["epoch"] < before and not _disjoint(_extent(view, used), extent):
            digest = str(used.payload["evidence"])
            return Overlap(
                sentence=f"it is not shown that this evidence shares no row with {digest[:19]}…, which epoch "
                f"{used.payload['epoch']} used: give rows seen later (a time column), or name the rows of both",
                evidence=digest,
            )
    return None


def named(family: Family) -> dict[str, Json]:
    """Return the fields that name a family in an entry."""
    return {"family": family.digest, "tool": family.tool, "outcome": family.outcome, "lineage": family.lineage}


def _nothing_used(view: View, family: Family) -> Overlap | None:
    if view.last_of("budget", _evidences(family)) is not None:
        return None
    return Overlap(sentence="nothing of this family's first epoch was used yet: ask, and it is spent", evidence=None)


def _register(pending: Pending, family: Family, evidence: str, extent: Extent, epoch: int) -> None:
    last = pending.last_of("budget", _evidences(family))
    window = None if extent.window is None else list(extent.window)
    pending.add(
        "budget",
        {
            "event": "evidence",
            **named(family),
            "evidence": evidence,
            "epoch": epoch,
            "window": window,
            "before": None if last is None else last.position,
        },
        subject=_subject(family, evidence),
        scope=_evidences(family),
        place=1 if last is None or last.place is None else last.place + 1,
        attachment=extent.rows,
    )


def _registered(view: View, family: Family, evidence: str) -> Entry | None:
    return view.about("budget", _subject(family, evidence))


def _evidence(view: View, family: Family) -> Iterator[Entry]:
    """Return every evidence that a family used, the last one first."""
    last = view.last_of("budget", _evidences(family))
    while last is not None:
        yield last
        before = last.payload["before"]
        last = None if before is None else view.at(int(before))


def _extent(view: View, used: Entry) -> Extent:
    window = used.payload["window"]
    return Extent(window=None if window is None else (window[0], window[1]), rows=view.attachment(used.position))


def _disjoint(one: Extent, other: Extent) -> bool:
    if one.rows is not None and other.rows is not None:
        return not _names(one.rows) & _names(other.rows)
    if one.window is None or other.window is None:
        return False
    return _after(one.window, other.window) or _after(other.window, one.window)


def _after(late: tuple[str, str], early: tuple[str, str]) -> bool:
    first, last = _moment(late[0], end=False), _moment(early[1], end=True)
    if isinstance(first, datetime) and isinstance(last, datetime):
        return first > last
    return isinstance(first, float) and isinstance(last, float) and first > last


def _names(rows: bytes) -> set[bytes]:
    return {rows[place : place + _NAME_BYTES] for place in range(0, len(rows), _NAME_BYTES)}


def _moment(text: str, *, end: bool) -> datetime | float | None:
    """Read a time, or a number that stands for one; None is comparable with nothing."""
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment + timedelta(days=1, microseconds=-1) if end and len(text) == _A_DATE else moment
    return None


def _epochs(family: Family) -> str:
    return f"epochs of {family.digest}"


def _evidences(family: Family) -> str:
    return f"evidence of {family.digest}"


def _subject(family: Family, evidence: str) -> str:
    return f"{evidence} of {family.digest}"
