"""Runs, journals, rollouts and results, kept so that a killed process loses nothing finished."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from butfor.store.ledger_records import Head, LedgerRecord, LedgerRows, LedgerTransaction, LedgerView
from butfor.store.protocol import Recording, Storage
from butfor.store.records import (
    ArmSummary,
    Mismatch,
    ResultRecord,
    RolloutRecord,
    RunSummary,
    StoredRollout,
    Verification,
)

if TYPE_CHECKING:
    from butfor.store.location import home
    from butfor.store.memory import MemoryStore
    from butfor.store.store import Store

__all__ = [
    "Store",
    "MemoryStore",
    "Storage",
    "Recording",
    "home",
    "RunSummary",
    "RolloutRecord",
    "StoredRollout",
    "ArmSummary",
    "ResultRecord",
    "Mismatch",
    "Verification",
    "LedgerRows",
    "LedgerTransaction",
    "LedgerView",
    "LedgerRecord",
    "Head",
]

# SQLAlchemy alone takes longer to import than a gate decision may: whoever only names a record does not pay for it.
_LAZY = {"Store": "store", "MemoryStore": "memory", "home": "location"}


def __getattr__(name: str) -> Any:
    """Import what needs the database or the trace model when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
