"""Derive every hash of the ledger again, and hold the chain against a checkpoint."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.errors import CorruptRecord, InputError, NotRecordable
from butfor.gate.ledger.chain import GENESIS, KINDS, entry_hash, records
from butfor.gate.ledger.checkpoints import Checkpoint
from butfor.gate.signing.strict_json import parse_canonical
from butfor.gate.signing.trust import Distrust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Ledger
    from butfor.gate.signing.trust import TrustFile
    from butfor.store import LedgerRecord

Fault: TypeAlias = Literal["changed", "unlinked", "missing", "truncated", "another_history", "bad_checkpoint"]

NO_CHECKPOINT = (
    "no checkpoint was given: entries missing at the end, or a ledger made anew as a whole, cannot be seen without one"
)
NO_TRUST = "no trust file was given: the signatures of checkpoints were not checked"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """Something in the ledger that is not what it should be.

    Attributes:
        fault: `changed`: an entry is not what its hash says. `unlinked`: an entry does not continue the one before, as
            where one was inserted, dropped or moved. `missing`: a position is not there. `truncated`: the ledger ends
            before the checkpoint. `another_history`: at the checkpoint's position it has another entry than was signed,
            as where it was made anew, or where two histories went apart. `bad_checkpoint`: a checkpoint, in the ledger
            or given, is not what it says, or its signature does not count.
        position: Where.
        sentence: What is wrong, in words.
    """

    fault: Fault
    position: int
    sentence: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogReport:
    """What `verify_log` found.

    Attributes:
        entries: How many there are.
        head: Hash of the last one, which stands for all.
        since: Position of the checkpoint that was given; None without.
        findings: What is wrong; empty where nothing is.
        not_checked: What this verification could not see, in words.
    """

    entries: int
    head: str
    since: int | None
    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Say whether nothing was found."""
        return not self.findings

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "ok": self.ok,
            "entries": self.entries,
            "head": self.head,
            "since": self.since,
            "findings": [dataclasses.asdict(each) for each in self.findings],
            "not_checked": list(self.not_checked),
        }


def verify_log(ledger: Ledger, *, since: Checkpoint | None = None, trust: TrustFile | None = None) -> LogReport:
    """Derive every hash again, from the first entry to the last.

    Args:
        ledger: What to verify.
        since: A checkpoint that was kept elsewhere. Without one, missing entries at the end and a ledger that was made
            anew as a whole cannot be seen.
        trust: Whose signatures of checkpoints count; without, none is looked at.

    Raises:
        StoreError: The file cannot be read.
    """
    head, last = GENESIS, 0
    findings: list[Finding] = []
    signed: str | None = None
    entries = 0
    for record in records(ledger.rows):
        findings += _linked(record, last, head)
        findings += _intact(ledger, record)
        findings += _checkpoint(record, trust)
        head, last = record.hash, record.position
        entries += 1
        if since is not None and record.position == since.position:
            signed = record.hash
    if since is not None:
        findings += _since(since, signed, last, trust)
    not_checked = [*([NO_CHECKPOINT] if since is None else []), *([NO_TRUST] if trust is None else [])]
    return LogReport(
        entries=entries,
        head=head,
        since=None if since is None else since.position,
        findings=tuple(findings),
        not_checked=tuple(not_checked),
    )


def _linked(record: LedgerRecord, last: int, head: str) -> Iterator[Finding]:
    place = record.position
    if place != last + 1:
        gone = f"entry {last + 1} is" if place == last + 2 else f"entries {last + 1} to {place - 1} are"
        yield Finding(fault="missing", position=last + 1, sentence=f"{gone} not there")
    elif record.previous != head:
        yield Finding(
            fault="unlinked",
            position=place,
            sentence=f"entry {place} does not continue entry {last}: one was inserted, dropped, moved or written anew",
        )


def _intact(ledger: Ledger, record: LedgerRecord) -> Iterator[Finding]:
    place = record.position
    try:
        if entry_hash(record) != record.hash:
            yield Finding(fault="changed", position=place, sentence=f"entry {place} does not match its hash")
        elif record.kind not in KINDS or not isinstance(parse_canonical(record.payload), dict):
            yield Finding(fault="changed", position=place, sentence=f"entry {place} is none that a ledger holds")
    except (InputError, NotRecordable, TypeError, AttributeError):
        yield Finding(fault="changed", position=place, sentence=f"entry {place} has no canonical form")
    if record.attachment is not None:
        try:
            ledger.attachment(place)
        except (CorruptRecord, TypeError):
            sentence = f"what is attached to entry {place} does not match its digest"
            yield Finding(fault="changed", position=place, sentence=sentence)


def _checkpoint(record: LedgerRecord, trust: TrustFile | None) -> Iterator[Finding]:
    """Hold a checkpoint that is in the ledger against the entry before it."""
    if record.kind != "checkpoint":
        return
    place = record.position
    try:
        found = Checkpoint.from_json(parse_canonical(record.payload))
    except (InputError, AttributeError):
        yield Finding(fault="bad_checkpoint", position=place, sentence=f"entry {place} is a malformed checkpoint")
        return
    if (found.position, found.hash) != (place - 1, record.previous):
        sentence = f"the checkpoint in entry {place} is of another entry than the one before it"
        yield Finding(fault="bad_checkpoint", position=place, sentence=sentence)
    yield from _signed(found, trust, place)


def _signed(checkpoint: Checkpoint, trust: TrustFile | None, position: int) -> Iterator[Finding]:
    counts = None if trust is None else checkpoint.trusted(trust)
    if isinstance(counts, Distrust):
        sentence = f"the checkpoint of position {checkpoint.position} does not count: {counts.sentence}"
        yield Finding(fault="bad_checkpoint", position=position, sentence=sentence)


def _since(since: Checkpoint, signed: str | None, last: int, trust: TrustFile | None) -> Iterator[Finding]:
    yield from _signed(since, trust, since.position)
    if last < since.position:
        yield Finding(
            fault="truncated",
            position=last,
            sentence=f"the ledger ends at entry {last}, and {since.position} were signed on {since.at}",
        )
    elif signed != since.hash:
        yield Finding(
            fault="another_history",
            position=since.position,
            sentence=f"entry {since.position} is not the one that was signed on {since.at}: everything up to it may "
            "have been made anew, or this is the ledger of another history",
        )
