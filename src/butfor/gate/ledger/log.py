"""The ledger as an auditor reads it: what was decided, by whom it was asked, what came of it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from butfor.errors import InputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Entry, Ledger

_SHOWN = 19  # of a digest: the scheme and twelve digits


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Which entries to show; what is None does not matter. Verdict and reason leave decisions only.

    Attributes:
        kind: Kind of the entry.
        verdict: Of a decision.
        reason: Of a decision.
        tool: The tool that an entry is about.
        agent: Who asked.
        since: Not before this time.
        until: Before this time.
    """

    kind: str | None = None
    verdict: str | None = None
    reason: str | None = None
    tool: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def lets(self, entry: Entry) -> bool:
        """Say whether an entry is to be shown."""
        if self.kind not in (None, entry.kind):
            return False
        said = entry.payload
        if (self.verdict or self.reason) and entry.kind != "decision":
            return False
        wanted = {"verdict": self.verdict, "reason": self.reason, "agent": self.agent}
        if any(value is not None and said.get(name) != value for name, value in wanted.items()):
            return False
        if self.tool is not None and self.tool not in (said.get("tool"), (said.get("terms") or {}).get("tool")):
            return False
        at = datetime.fromisoformat(entry.at)
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


def selected(ledger: Ledger, wanted: Filter) -> Iterator[Entry]:
    """Return the entries that a filter lets through, the first one first."""
    return (entry for entry in ledger.entries() if wanted.lets(entry))


def find(ledger: Ledger, name: str) -> Entry:
    """Return an entry by its position, or the decision of this id.

    Raises:
        NotFound: There is none.
    """
    with ledger.reading() as view:
        found = view.about("decision", name)
        if found is None and name.isdecimal() and len(name) < 19:
            found = view.at(int(name))
    if found is None:
        raise NotFound(f"the ledger has no entry and no decision {name!r}", fix="`butfor gate log` lists them")
    return found


def time_of(text: str, option: str) -> datetime:
    """Read a time of the command line; without a zone it is UTC.

    Raises:
        InputError: It is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{text!r} is no time", where=option, fix="write it as 2026-01-31 or 2026-01-31T12:00Z"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def in_words(entry: Entry) -> str:
    """Say in one line what an entry says."""
    said = entry.payload
    if entry.kind == "decision":
        asked = f"{said.get('tool')}, asked by {said.get('agent')} ({entry.subject})"
        return f"{said.get('verdict')} {said.get('reason')}: {asked}"
    if entry.kind == "outcome":
        ran = "" if said.get("ran") else ", which did not run,"
        return f"{said.get('decision')}{ran} came to {said.get('value'):g}"
    if entry.kind in ("approval", "bypass"):
        return _permit(said)
    if entry.kind == "budget":
        return _budget(said)
    if entry.kind == "checkpoint":
        return f"entries 1 to {said.get('position')} signed: {str(said.get('hash'))[:_SHOWN]}…"
    return ", ".join(f"{name} {value}" for name, value in said.items() if isinstance(value, str | int | float))


def to_json(entry: Entry) -> dict[str, Json]:
    """Return an entry as plain JSON values."""
    return {**{field.name: getattr(entry, field.name) for field in dataclasses.fields(entry)}, "words": in_words(entry)}


def _permit(said: Json) -> str:
    if said.get("event") == "used":
        return f"used by {said.get('agent')}, time {said.get('use')}: {str(said.get('call'))[:_SHOWN]}…"
    terms = said.get("terms") or {}
    call = f"{terms.get('tool')} {str(terms.get('call'))[:_SHOWN]}…"
    if terms.get("uses") == 0:
        return f"withdrawn: {call}, because {terms.get('reason')}"
    times = "once" if terms.get("uses") == 1 else f"{terms.get('uses')} times"
    return f"granted: {call} {times} until {terms.get('valid_until')}, because {terms.get('reason')}"


def _budget(said: Json) -> str:
    family = f"{said.get('tool')} → {said.get('outcome')} ({said.get('lineage')}), epoch {said.get('epoch')}"
    if said.get("event") == "spend":
        return f"{said.get('agent')} spent {said.get('alpha'):.3g} of {said.get('of'):g}: {family}"
    if said.get("event") == "epoch":
        return f"a new epoch by {said.get('by')}, because {said.get('reason')}: {family}"
    return f"evidence {str(said.get('evidence'))[:_SHOWN]}…: {family}"
