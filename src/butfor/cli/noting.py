"""Write down in the ledger who made, ended or approved what, where there is a store to write it down in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from butfor.cli.options import is_there

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json


def note(kind: Literal["graph", "policy", "key"], subject: str, payload: Mapping[str, Json]) -> None:
    """Append an entry to the ledger of the store, if there is a store: an approver's machine may have none.

    Raises:
        StoreError: The store cannot be used.
    """
    if not is_there():
        return
    from butfor.gate.ledger.chain import Ledger

    with Ledger.open() as ledger:
        ledger.append(kind, payload, subject=subject)
