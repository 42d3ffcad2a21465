"""The ledger for a verb that only uses what is in it: none is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.cli.options import is_there
from butfor.errors import NotFound

if TYPE_CHECKING:
    from butfor.gate.ledger.chain import Ledger


def ledger_of() -> Ledger:
    """Open the ledger of the store.

    Raises:
        NotFound: There is no store yet.
    """
    from butfor.gate.ledger.chain import Ledger
    from butfor.store import home

    if not is_there():
        raise NotFound(
            f"there is no store, and so no ledger yet ({home().resolve()})",
            fix="let the gate decide, or set BUTFOR_HOME",
        )
    return Ledger.open()
