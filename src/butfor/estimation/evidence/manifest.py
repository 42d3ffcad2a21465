"""Evidence on disk: the rows as a file, and beside it what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import CorruptRecord, InputError, NotFound, system_reason
from butfor.estimation.evidence.arrow import write_parquet
from butfor.estimation.evidence.description import Evidence
from butfor.estimation.evidence.json_lines import write_json_lines
from butfor.estimation.evidence.reading import Table, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = ".evidence.json"


def write_rows(table: Mapping[str, list[Any]], file: Path) -> None:
    """Write columns as Parquet or JSON Lines, as the file's suffix says.

    Raises:
        MissingExtra: Parquet, and pyarrow is not installed.
        InputError: Another suffix, or the file cannot be written.
    """
    if file.suffix == ".jsonl":
        write_json_lines(table, file)
    elif file.suffix in (".parquet", ".pq"):
        write_parquet(table, file)
    else:
        raise InputError(
            f"evidence is not written as {file.suffix!r}", where=str(file), fix="name a .parquet or .jsonl"
        )


def save_evidence(table: Table, file: Path) -> Path:
    """Write the description of evidence beside its file.

    Args:
        table: Evidence that was read from `file`.
        file: The file with the rows; the description is `file` with ``.evidence.json`` added.

    Raises:
        InputError: It cannot be written.
    """
    path = file.with_name(file.name + SUFFIX)
    document = {**table.evidence.to_json(), "source": file.name}
    try:
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"the description cannot be written ({error.strerror})", where=str(path)) from None
    return path


def open_evidence(path: Path) -> Table:
    """Read a description and its rows, and derive the digest again.

    Args:
        path: The description, or the file beside which it lies.

    Raises:
        NotFound: There is none.
        CorruptRecord: The rows are not those that the description names.
        InputError: The rows cannot be used.
    """
    place = path if path.name.endswith(SUFFIX) else path.with_name(path.name + SUFFIX)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not path.exists():
            raise NotFound("there is no such file", where=str(path), fix="check the path") from None
        raise NotFound(
            "there is no description of this evidence",
            where=str(place),
            fix="make one: butfor evidence show FILE --save",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the description cannot be read ({system_reason(error)})", where=str(place)) from None
    named = Evidence.from_json(canonical.decode(text))
    # A name, never a path: a description must not be able to point anywhere else.
    file = place.with_name(Path(named.source).name)
    table = read_file(file, named.roles, kind=named.kind, note=named.note)
    if table.evidence.digest != named.digest:
        raise CorruptRecord(
            "the rows are not those that the description names",
            where=str(file),
            fix=f"it says {named.digest[:19]}…, the rows give {table.evidence.digest[:19]}…",
        )
    return table
