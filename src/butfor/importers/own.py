"""JSON Lines of our own: one run a line, as `butfor import --out` and the store write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from butfor.errors import CorruptRecord, InputError
from butfor.runs import SCHEMA, Run, from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.importers.tally import Tally

_FAMILY = SCHEMA.partition("/")[0]


def matches(value: Json) -> bool:
    """Say whether a record is a run of ours, of any version."""
    version = value.get("schema_version") if isinstance(value, dict) else None
    return isinstance(version, str) and version.partition("/")[0] == _FAMILY


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read runs as they were written; their provenance stays that of their first import."""
    for record in records.each(tally.problem):
        if not matches(record.value):
            tally.ignored.add("record of another kind")
            continue
        try:
            # The text was parsed as plain JSON: writing it plainly gives back the reserved forms that it held.
            yield from_text(json.dumps(record.value), where=record.where)
        except CorruptRecord as error:
            tally.problem(InputError(error.what, where=error.where, fix="export the run again with this version"))
