"""A piece of the ledger for who does not have it: from a decision to the next signed checkpoint.

Entries about others are there by their hashes only: enough to follow the chain, and nothing of what they say.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Self

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.ledger.chain import SCHEMA as ENTRY_SCHEMA
from butfor.gate.ledger.chain import records
from butfor.gate.ledger.checkpoints import Checkpoint
from butfor.gate.signing.strict_json import canonical_bytes, digest, parse_canonical

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Ledger
    from butfor.store import LedgerRecord

SCHEMA = "butfor.ledger-segment/1"
_LINK = ("position", "previous", "at", "kind", "subject", "scope", "place", "payload", "attachment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Segment:
    """Consecutive entries of a ledger.

    Attributes:
        links: Each entry's fields with the digest of its payload in the payload's place, and `hash`.
        checkpoint: The signed checkpoint that the last entry is; None where none has been made since.
    """

    links: tuple[dict[str, Json], ...]
    checkpoint: Checkpoint | None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        made = None if self.checkpoint is None else self.checkpoint.to_json()
        return {"schema": SCHEMA, "links": list(self.links), "checkpoint": made}

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read what `to_json` wrote; whether the chain holds, `broken` says.

        Raises:
            CorruptRecord: A part is missing, surplus or malformed.
        """
        fields = {"schema", "links", "checkpoint"}
        if not isinstance(document, dict) or set(document) != fields or document["schema"] != SCHEMA:
            raise CorruptRecord("this is no piece of a ledger", where="ledger")
        links = document["links"]
        whole = isinstance(links, list) and links
        if not whole or not all(isinstance(link, dict) and set(link) == {*_LINK, "hash"} for link in links):
            raise CorruptRecord("expected entries with their hashes", where="ledger, $.links")
        try:
            made = None if document["checkpoint"] is None else Checkpoint.from_json(document["checkpoint"])
        except InputError as error:
            raise CorruptRecord(error.what, where="ledger, $.checkpoint") from None
        return cls(links=tuple(links), checkpoint=made)

    def broken(self) -> str | None:
        """Say where the chain does not hold, or None where it does."""
        before: dict[str, Json] | None = None
        for link in self.links:
            place = link["position"]
            named = {name: link[name] for name in _LINK}
            if digest({"schema": ENTRY_SCHEMA, **named}) != link["hash"]:
                return f"entry {place} does not match its hash"
            if before is not None and (link["previous"], place) != (before["hash"], before["position"] + 1):
                return f"entry {place} does not continue the one before"
            before = link
        return None if self.checkpoint is None else self._unsigned(self.checkpoint)

    def _unsigned(self, checkpoint: Checkpoint) -> str | None:
        last = self.links[-1]
        held = (checkpoint.position, checkpoint.hash) == (last["position"] - 1, last["previous"])
        payload = digest_text(canonical_bytes(checkpoint.to_json()))
        if not held or last["kind"] != "checkpoint" or last["payload"] != payload:
            return "the checkpoint is not the one that the last entry is"
        return None


def segment_of(ledger: Ledger, decision: str) -> Segment:
    """Cut the ledger from a decision to the next checkpoint, or to its end.

    Raises:
        NotFound: The ledger has no such decision.
        CorruptRecord: The checkpoint is malformed.
    """
    found = ledger.about("decision", decision)
    if found is None:
        raise NotFound(f"the ledger has no decision {decision!r}", fix="see `butfor gate log`")
    links: list[dict[str, Json]] = []
    for record in records(ledger.rows, after=found.position - 1):
        links.append(_link(record))
        if record.kind == "checkpoint":
            try:
                return Segment(links=tuple(links), checkpoint=Checkpoint.from_json(parse_canonical(record.payload)))
            except InputError as error:
                raise CorruptRecord(error.what, where=f"entry {record.position} of the ledger") from None
    return Segment(links=tuple(links), checkpoint=None)


def _link(record: LedgerRecord) -> dict[str, Json]:
    fields = {name: getattr(record, name) for name in _LINK if name != "payload"}
    return {**fields, "payload": digest_text(record.payload), "hash": record.hash}
