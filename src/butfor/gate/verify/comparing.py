"""Where two JSON values differ, with the room that re-derived numbers have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from butfor.canonical import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json

AGREE = 1e-9
"""Re-derived numbers agree to this, relative to the larger of the two."""
_SMALL = 1e-12  # a difference of sums near 0 has no relative error to speak of


def differences(
    stated: Json, found: Json, path: str = "$", *, agree: float = AGREE
) -> Iterator[tuple[str, Json, Json]]:
    """Yield (JSON path, stated value, found value) of each leaf that differs.

    Args:
        stated: One value.
        found: The other.
        path: Where they are.
        agree: Relative difference of numbers that counts as none; 0 for exact.
    """
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in [*stated, *(name for name in found if name not in stated)]:
            yield from differences(stated.get(name, MISSING), found.get(name, MISSING), f"{path}.{name}", agree=agree)
    elif isinstance(stated, list) and isinstance(found, list):
        for i in range(max(len(stated), len(found))):
            one = stated[i] if i < len(stated) else MISSING
            other = found[i] if i < len(found) else MISSING
            yield from differences(one, other, f"{path}[{i}]", agree=agree)
    elif not same(stated, found, agree=agree):
        yield path, stated, found


def same(stated: Json, found: Json, *, agree: float = AGREE) -> bool:
    """Say whether two leaves are the same; numbers up to `agree`."""
    if _is_number(stated) and _is_number(found):
        if not agree:
            return bool(stated == found)
        return math.isclose(stated, found, rel_tol=agree, abs_tol=_SMALL)
    return type(stated) is type(found) and bool(stated == found)


def told(path: str, stated: Json, found: Json) -> str:
    """Say a difference in words."""
    return f"{path} is {shown(stated)}, and {shown(found)} was expected"


def shown(value: Json) -> str:
    """Show a value in a few words."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
