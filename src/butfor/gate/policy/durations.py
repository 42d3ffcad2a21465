"""Lengths of time as people write them: ``90d``, ``12h``, ``30s``, or a number of seconds."""

from __future__ import annotations

import re

from butfor.errors import InputError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WRITTEN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|w)")


def seconds(value: object) -> float:
    """Read a length of time.

    Returns:
        Seconds, above 0.

    Raises:
        InputError: It is no length of time.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
        return float(value)
    match = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or float(match[1]) == 0.0:
        raise InputError(f"{value!r} is no length of time", fix="write it as 30s, 15m, 12h or 90d")
    return float(match[1]) * _UNITS[match[2]]
