"""Transport faults: the only failures that are tried again, because no answer content had arrived."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from butfor.errors import TransportFault

if TYPE_CHECKING:
    import random

MOST_ATTEMPTS = 5
"""Attempts at one draw before the analysis stops and waits to be resumed."""

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 20.0

# Of the official clients, by name, so that neither has to be installed. APITimeoutError is left out: it is a result.
_FAULTS = {
    "openai": ("APIConnectionError", "RateLimitError", "InternalServerError"),
    "anthropic": ("APIConnectionError", "RateLimitError", "InternalServerError"),
}


def is_transport_fault(error: BaseException) -> bool:
    """Say whether an error means that no answer content arrived (429, 5xx, a broken connection)."""
    if isinstance(error, TimeoutError):
        return False
    if isinstance(error, TransportFault | ConnectionError):
        return True
    for package, names in _FAULTS.items():
        module = sys.modules.get(package)
        if module is None or isinstance(error, getattr(module, "APITimeoutError", ())):
            continue
        if any(isinstance(error, getattr(module, name, ())) for name in names):
            return True
    return False


def pause_before(attempt: int, jitter: random.Random) -> float:
    """Return the pause in seconds before the next attempt: exponential, with full jitter."""
    return jitter.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt))
