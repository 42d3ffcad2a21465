"""The rows that decisions were made from, kept beside the ledger under the digest that certificates name.

A log grows and a table is overwritten; a certificate must still be derivable from what it was made from.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.gate.certificate.extract import MOST_ROWS, extract_blocks, read_extract

if TYPE_CHECKING:
    from pathlib import Path

    from butfor.estimation.columns import Columns


def keep(home: Path, digest: str, rows: Columns, *, most: int = MOST_ROWS) -> bool:
    """Keep rows, unless they are kept already.

    Args:
        home: The store's directory.
        digest: Their digest.
        rows: The rows.
        most: More than these are not kept.

    Returns:
        Whether they are kept.

    Raises:
        InputError: They cannot be written.
    """
    if rows.n > most:
        return False
    path = _path(home, digest)
    if path.exists():
        return True
    # Threads that meet new evidence at the same time all write it, each a draft of its own.
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.writelines(extract_blocks(rows))
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the rows of the evidence cannot be kept ({reason})", where=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)
    return True


def kept(home: Path, digest: str) -> Columns | None:
    """Return the rows of a digest; None where they are not kept. `verify` derives their digest again.

    Raises:
        CorruptRecord: The file is damaged.
    """
    path = _path(home, digest)
    return read_extract(path.read_bytes(), where=str(path)) if path.exists() else None


def _path(home: Path, digest: str) -> Path:
    name = digest.partition(":")[2]
    if not name.isalnum():
        raise InputError(f"{digest!r} names no rows", fix="give the digest of a certificate")
    return home / "evidence" / f"{name}.rows"
