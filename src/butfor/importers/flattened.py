"""Attributes whose keys carry indices: ``llm.input_messages.0.message.role``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.fields import Fields

# Deeper paths than any convention has; a hostile key with a million dots must not become a million levels.
_LEVELS = 10


def unflatten(fields: Fields, prefix: str) -> list[Json]:
    """Take every attribute under a prefix and return the list that they spell, in the order of their indices.

    Objects inside keep indices as keys ("0", "1"): only the outermost level is known to be a list.
    """
    items: dict[int, dict[str, Json]] = {}
    for key in [key for key in fields.value if key.startswith(prefix + ".")]:
        index, _, path = key[len(prefix) + 1 :].partition(".")
        if index.isdecimal() and len(index) <= 9 and path:
            _put(items.setdefault(int(index), {}), path.split(".", _LEVELS), fields.take(key))
    return [items[index] for index in sorted(items)]


def numbered(value: Json) -> list[Json]:
    """Return the values of an object whose keys are indices, in their order."""
    if not isinstance(value, dict):
        return []
    keys = [key for key in value if isinstance(key, str) and key.isdecimal() and len(key) <= 9]
    return [value[key] for key in sorted(keys, key=int)]


def _put(target: dict[str, Json], path: list[str], value: Json) -> None:
    for name in path[:-1]:
        inner = target.get(name)
        if not isinstance(inner, dict):
            inner = {} if inner is None else {"": inner}
            target[name] = inner
        target = inner
    known = target.get(path[-1])
    target[path[-1]] = {**known, "": value} if isinstance(known, dict) else value
