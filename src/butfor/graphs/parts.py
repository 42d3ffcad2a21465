"""What a graph is made of: roles, names, adjacency by node number, and bitsets."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Role: TypeAlias = Literal["state", "treatment", "outcome", "adjusted", "latent"]
"""What a node is: an ordinary measured variable, the treatment, the outcome, a variable that must be adjusted for, or
one that nobody measured."""

ROLES: tuple[Role, ...] = get_args(Role)
_LONGEST_NAME = 200


class Edges(NamedTuple):
    """Adjacency by node number; each entry is a bitset. Functions that cut edges return a new one."""

    parents: Sequence[int]
    children: Sequence[int]
    spouses: Sequence[int]


def bits(mask: int) -> Iterator[int]:
    """Yield the node numbers in a bitset, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def usable_name(name: object, where: str | None = None) -> str:
    """Return the name if every format can carry it and no two names look the same.

    Raises:
        InputError: Empty, too long, unprintable, quoted or not in Unicode's composed form (NFC).
    """
    if not isinstance(name, str):
        raise InputError(f"a node's name must be text, not {type(name).__name__}", where=where, fix="put it in quotes")
    if not name or len(name) > _LONGEST_NAME or name != name.strip():
        raise InputError(
            f"{name[:40]!r} cannot name a node",
            where=where,
            fix=f"use 1 to {_LONGEST_NAME} characters, no outer spaces",
        )
    if not name.isprintable() or '"' in name or "\\" in name:
        raise InputError(f"{name[:40]!r} cannot name a node", where=where, fix='leave out control characters, " and \\')
    if not unicodedata.is_normalized("NFC", name):
        raise InputError(f"{name[:40]!r} is not in composed Unicode form", where=where, fix="write it in NFC")
    return name
