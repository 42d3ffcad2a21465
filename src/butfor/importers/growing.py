"""The requests of a conversation that grows by messages, in time and space linear in its final size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.runs import Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.canonical import Json


class GrowingRequest:
    """A request body whose list of messages grows.

    `RequestChain` compares and hashes whole texts: quadratic in the number of steps, as the provider's own traffic was.
    A transcript holds each message once, so here the hash of the common beginning is carried along instead.

    Args:
        body: The request; what stands under `key` is replaced by the messages appended so far.
        key: `messages` or `input`.
    """

    def __init__(self, body: dict[str, Json], key: str = "messages") -> None:
        pairs = [(name, value) for name, value in body.items() if name != key]
        at = list(body).index(key) if key in body else 0
        before = "".join(f"{_pair(*pair)}," for pair in pairs[:at])
        self._tail = "]" + "".join(f",{_pair(*pair)}" for pair in pairs[at:]) + "}"
        self._pending = [f"{{{before}{canonical.encode(key)}:["]
        self._hash = hashlib.sha256()
        self._length = 0
        self._empty = True
        self._base: int | None = None

    def extend(self, messages: Iterable[Json]) -> None:
        """Append messages."""
        for message in messages:
            self._pending.append(("" if self._empty else ",") + canonical.encode(message))
            self._empty = False

    def at(self, step: int) -> Request:
        """Return the request so far, as the one of a step; steps must come in order."""
        middle = "".join(self._pending)
        self._pending.clear()
        self._hash.update(middle.encode("ascii"))
        whole = self._hash.copy()
        whole.update(self._tail.encode("ascii"))
        digest = f"{canonical.SCHEME}:{whole.hexdigest()}"
        if self._base is None:
            request = Request(digest=digest, middle=middle + self._tail)
        else:
            tail = len(self._tail)
            request = Request(digest=digest, base=self._base, head=self._length, middle=middle, tail=tail)
        self._length += len(middle)
        self._base = step
        return request


def _pair(name: str, value: Json) -> str:
    return f"{canonical.encode(name)}:{canonical.encode(value)}"
