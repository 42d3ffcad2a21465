"""One boundary crossing, and its line in a journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from butfor import canonical
from butfor.errors import CorruptRecord
from butfor.runs.requests import common_prefix

Kind: TypeAlias = Literal["model", "tool", "now", "rng", "uuid", "ambient"]

# Quotes one string in C; kinds, lanes, effects and digests are ours and never need it.
_quote = json.encoder.encode_basestring_ascii


@dataclass(slots=True)
class Crossing:
    """What passed a boundary, once it is complete.

    Attributes:
        seq: Position by completion; those of a rollout go on counting after the recording's.
        kind: Which boundary.
        name: The model's or tool's name.
        lane: Spawn path of the part that crossed.
        occurrence: How many crossings of that lane began before it.
        step: A model call's own step index; for others, the step that they follow in their lane (-1 before any).
        before: Steps complete anywhere when it began: what it may depend on.
        began: Position by beginning, which orders tool calls for the write sequence.
        digest: Tagged SHA-256 of the request's text.
        base: Sequence number of the request that the text is a difference from; None where it is whole.
        head: Characters from the start of the base's text.
        middle: The text in between.
        tail: Characters from the end of the base's text.
        response: JSON text of the answer; None where it raised, except in a stream, whose first chunks it is.
        error: `(module:qualname, message)` of what it raised.
        codec: How the response becomes the object that the agent sees: "" plain JSON, "stream", or "module:qualname".
        effect: A tool's declared effect.
        answered: Who answered: held, policy, forced, simulated, recorded, live, ambient.
        seed: The draw's seed, where one was given to the policy.
        seconds: How long the answer took.
        last_inner: The largest step index inside it (a tool that is itself an agent); -1 where there is none.
    """

    seq: int
    kind: str
    name: str
    lane: str
    occurrence: int
    step: int
    before: int
    began: int
    digest: str
    base: int | None
    head: int
    middle: str
    tail: int
    response: str | None = None
    error: tuple[str, str] | None = None
    codec: str = ""
    effect: str = ""
    answered: str = "live"
    seed: int | None = None
    seconds: float = 0.0
    last_inner: int = -1

    def line(self) -> str:
        """Write the crossing as one line of JSON; the response is already text, so it is not quoted again."""
        error = "null" if self.error is None else f"[{_quote(self.error[0])},{_quote(self.error[1])}]"
        return (
            f'{{"head":[{self.seq},"{self.kind}",{_quote(self.name)},"{self.lane}",{self.occurrence},{self.step},'
            f'{self.before},{self.began}],"request":["{self.digest}",{"null" if self.base is None else self.base},'
            f'{self.head},{_quote(self.middle)},{self.tail}],"response":{self.response or "null"},"rest":[{error},'
            f'{_quote(self.codec)},"{self.effect}","{self.answered}",{"null" if self.seed is None else self.seed},'
            f"{self.seconds:.6f}]}}"
        )


def read_line(text: str, *, where: str) -> Crossing:
    """Read a journal line.

    Raises:
        CorruptRecord: The line is not a crossing.
    """
    try:
        document = json.loads(text)
        head, request, rest = document["head"], document["request"], document["rest"]
        error = None if rest[0] is None else (str(rest[0][0]), str(rest[0][1]))
        crossing = Crossing(*head, *request, None, error, *rest[1:])  # type: ignore[call-arg]
    except RecursionError:
        return _read_deep_line(text, where=where)
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        raise CorruptRecord(f"the journal is corrupt ({type(problem).__name__}: {problem})", where=where) from None
    # The response is cut out of the line, not printed again: the agent must be served the very text.
    # Only a stream has both an answer, which came first, and an error.
    crossing.response = None if error and not crossing.codec.startswith("stream") else _response_of(text, where)
    return crossing


def _response_of(text: str, where: str) -> str:
    start, end = text.find('],"response":'), text.rfind(',"rest":')
    if start < 0 or end < start:
        raise CorruptRecord("the journal is corrupt (a crossing without a response)", where=where)
    return text[start + len('],"response":') : end]


def _read_deep_line(text: str, *, where: str) -> Crossing:
    """Read a line whose response nests too deeply for the standard parser, with the response cut out first."""
    response = _response_of(text, where)
    shallow = text.replace(response, "null", 1) if response != "null" else text
    if shallow == text:
        raise CorruptRecord("the journal is corrupt (a crossing nests too deeply)", where=where)
    crossing = read_line(shallow, where=where)
    crossing.response = response
    return crossing


def difference(base: tuple[int, str] | None, text: str) -> tuple[int | None, int, str, int]:
    """Express a request's text as (base, head, middle, tail) against the last of its lane.

    Plain tuples: this runs once a crossing, and a model object would cost more than the comparison.
    """
    if base is None:
        return None, 0, text, 0
    seq, base_text = base
    if base_text == text:
        return seq, len(text), "", 0
    head = common_prefix(base_text, text)
    tail = _common_suffix(base_text, text, min(len(base_text), len(text)) - head)
    return seq, head, text[head : len(text) - tail], tail


def _common_suffix(a: str, b: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def describe_difference(recorded: str, asked: str) -> tuple[str, Any, Any] | None:
    """Find the first field in which two request texts differ; None where only the order of keys does."""
    return canonical.first_difference(canonical.decode(recorded), canonical.decode(asked))
