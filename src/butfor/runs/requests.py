"""The exact request of every step, stored as what it adds to the one before.

A history that grows by one message a step makes n requests of O(n) bytes each. Kept as differences (so many characters
of the earlier text at the head, new text, so many at the tail) a run of n steps is O(n) in size, whatever the shape of
the request: messages, Responses items, Anthropic blocks or a plain dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from butfor import canonical
from butfor.errors import CorruptRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.canonical import Json


class Request(BaseModel):
    """A request as a difference.

    Attributes:
        digest: Tagged SHA-256 of the whole text.
        base: Index of the request that this one is a difference from; None where it is stored whole.
        head: Characters taken from the start of the base's text.
        middle: The text in between.
        tail: Characters taken from the end of the base's text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    base: int | None = None
    head: int = 0
    middle: str = ""
    tail: int = 0

    def apply(self, base_text: str) -> str:
        """Build this request's text from its base's text ("" where it is stored whole)."""
        end = base_text[len(base_text) - self.tail :] if self.tail else ""
        return base_text[: self.head] + self.middle + end


def difference(base: int | None, base_text: str, text: str) -> Request:
    """Express a text as a difference from another.

    Args:
        base: Index under which the base is known; None stores the text whole.
        base_text: The base's text.
        text: The text to store; ASCII, as `canonical.encode` writes it.
    """
    if base is None:
        return Request(digest=canonical.digest_text(text), middle=text)
    head = common_prefix(base_text, text)
    tail = common_prefix(base_text[head:][::-1], text[head:][::-1])
    return Request(
        digest=canonical.digest_text(text), base=base, head=head, middle=text[head : len(text) - tail], tail=tail
    )


def common_prefix(a: str, b: str) -> int:
    """Count the leading characters that two texts share, by bisection over slices (a loop in C, not in Python)."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class RequestChain:
    """Builds the differences while requests come in; it keeps one text per line of history."""

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[str, tuple[int, str]] = {}

    def add(self, request: Json, *, line: str = "") -> Request:
        """Add a request.

        Args:
            request: The request, any JSON value.
            line: Which history it belongs to (an agent or lane): a request is compared with the last of its line.
        """
        return self.add_text(canonical.encode_exact(request), line=line)

    def add_text(self, text: str, *, line: str = "") -> Request:
        """Add a request by its text."""
        base, base_text = self._last.get(line, (None, ""))
        stored = difference(base, base_text, text)
        self._last[line] = (self._count, text)
        self._count += 1
        return stored

    def skip(self) -> None:
        """Count a step that has no request, so that indices stay those of the steps."""
        self._count += 1


def texts(requests: Sequence[Request | None]) -> Iterator[str | None]:
    """Yield each request's whole text in order, in time and memory linear in what is alive.

    Raises:
        CorruptRecord: A base does not exist, or a text does not match its digest.
    """
    last_use = {request.base: i for i, request in enumerate(requests) if request and request.base is not None}
    alive: dict[int, str] = {}
    for i, request in enumerate(requests):
        if request is None:
            yield None
            continue
        text = _rebuild(request, alive, i)
        if request.base is not None and last_use[request.base] == i:
            del alive[request.base]
        if i in last_use:
            alive[i] = text
        yield text


def text_at(requests: Sequence[Request | None], index: int) -> str | None:
    """Return one request's whole text, or None where the step has none.

    Raises:
        CorruptRecord: A base does not exist, or a text does not match its digest.
    """
    chain: list[int] = []
    step: int | None = index
    while step is not None:
        if chain and step >= chain[-1]:
            raise CorruptRecord("a request refers to a later one", where=f"step {chain[-1]}")
        chain.append(step)
        request = requests[step]
        if request is None:
            break
        step = request.base
    alive: dict[int, str] = {}
    for i in reversed(chain):
        request = requests[i]
        if request is None:
            if i == index:
                return None
            raise CorruptRecord("a request refers to a step that has none", where=f"step {i}")
        alive = {i: _rebuild(request, alive, i)}
    return alive[index]


def _rebuild(request: Request, alive: dict[int, str], index: int) -> str:
    if request.base is not None and request.base not in alive:
        raise CorruptRecord("a request refers to one that does not exist", where=f"step {index}")
    text = request.apply("" if request.base is None else alive[request.base])
    if canonical.digest_text(text) != request.digest:
        raise CorruptRecord("a stored request does not match its digest", where=f"step {index}")
    return text
