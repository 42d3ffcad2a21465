"""The journal of a recorded run: what every boundary was asked and answered, indexed for replay."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import CorruptRecord
from butfor.replay.crossings import Crossing, read_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.canonical import Json

AnswerKey = tuple[str, str, str]
"""(tool, digest of its arguments, digest of the write calls before it)."""

NO_WRITES = ""


@dataclass(frozen=True)
class Journal:
    """A complete recording.

    Attributes:
        header: What was recorded: agent, input, code, entropy, butfor's version.
        crossings: In order of completion; `seq` is the position.
        footer: What the agent returned or raised; None where the recording was cut off.
    """

    header: dict[str, Json]
    crossings: tuple[Crossing, ...]
    footer: dict[str, Json] | None

    @classmethod
    def read(cls, header: dict[str, Json], lines: Iterable[str], *, where: str) -> Journal:
        """Read a journal's lines: crossings, and a footer where the recording was finished.

        Args:
            header: What was recorded.
            lines: The journal's lines.
            where: The run, for messages.

        Raises:
            CorruptRecord: A line is not what it should be; the message gives its number.
        """
        footer: dict[str, Json] | None = None
        crossings: list[Crossing] = []
        for number, line in enumerate(lines, 1):
            place = f"{where}, journal line {number}"
            if not line.startswith('{"head"'):
                footer = _footer(line, place)
                continue
            crossing = read_line(line, where=place)
            if crossing.seq != len(crossings) or footer is not None:
                raise CorruptRecord(
                    f"the journal is corrupt (crossing {crossing.seq} stands where {len(crossings)} should)",
                    where=place,
                )
            crossings.append(crossing)
        _mark_inner_steps(crossings)
        _follow_open_streams(crossings)
        return cls(header=header, crossings=tuple(crossings), footer=footer)

    @property
    def ambient(self) -> bool:
        """Whether module-level time and randomness were boundaries too."""
        return bool(self.header.get("ambient", False))

    @cached_property
    def by_address(self) -> dict[tuple[str, int], Crossing]:
        """Crossings by (lane, occurrence)."""
        return {(crossing.lane, crossing.occurrence): crossing for crossing in self.crossings}

    @cached_property
    def one_lane(self) -> bool:
        """Whether nothing ran at the same time as something else."""
        return all("." not in crossing.lane for crossing in self.crossings)

    @cached_property
    def inside(self) -> dict[tuple[str, int], list[Crossing]]:
        """What was crossed inside a tool call, at any depth, by the call's (lane, occurrence)."""
        return _inside(self.crossings)

    @cached_property
    def agent_tools(self) -> frozenset[str]:
        """Tools that are agents themselves: steps were made inside their calls."""
        return frozenset(each.name for each in self.crossings if each.kind == "tool" and each.last_inner >= 0)

    @cached_property
    def steps(self) -> tuple[Crossing, ...]:
        """The model calls, by step index."""
        return tuple(crossing for crossing in self.crossings if crossing.kind == "model")

    @cached_property
    def answers(self) -> dict[AnswerKey, list[Crossing]]:
        """Recorded tool answers by tool, arguments and the write calls before them, in order of beginning."""
        found: dict[AnswerKey, list[Crossing]] = defaultdict(list)
        for crossing in self._calls:
            found[self.key_of(crossing)].append(crossing)
        return dict(found)

    def key_of(self, crossing: Crossing) -> AnswerKey:
        """Return what a recorded tool call is found by: tool, arguments and the write calls before it."""
        return crossing.name, crossing.digest, self._writes_before[crossing.seq]

    @cached_property
    def _calls(self) -> list[Crossing]:
        return sorted((each for each in self.crossings if each.kind == "tool"), key=lambda each: each.began)

    @cached_property
    def _writes_before(self) -> dict[int, str]:
        writes, before = NO_WRITES, {}
        for crossing in self._calls:
            before[crossing.seq] = writes
            if is_write(crossing.effect):
                writes = after_write(writes, crossing.name, crossing.digest)
        return before

    def tools_of(self, step: int) -> list[Crossing]:
        """The tool calls that a step made, in order of beginning, without those inside another tool."""
        frame = frame_of(self.steps[step].lane)
        return sorted(
            (
                crossing
                for crossing in self.crossings
                if crossing.kind == "tool" and crossing.step == step and frame_of(crossing.lane) == frame
            ),
            key=lambda each: each.began,
        )

    def request_text(self, crossing: Crossing) -> str:
        """Rebuild the whole text of a crossing's request.

        Raises:
            CorruptRecord: A difference refers to what does not exist.
        """
        return rebuild(crossing, self.crossings)


def footer_line(footer: dict[str, Json]) -> str:
    """Write the last line of a journal."""
    return canonical.encode({"footer": footer})


def _footer(line: str, place: str) -> dict[str, Json]:
    try:
        footer = canonical.decode(line)["footer"]
    except (CorruptRecord, KeyError, TypeError) as problem:
        raise CorruptRecord(f"the journal is corrupt ({problem})", where=place) from None
    if not isinstance(footer, dict):
        raise CorruptRecord("the journal is corrupt (its last line)", where=place)
    return footer


def rebuild(crossing: Crossing, known: tuple[Crossing, ...] | list[Crossing]) -> str:
    """Rebuild a request's text from its chain of differences.

    Raises:
        CorruptRecord: A difference refers to what does not exist, or the text does not match its digest.
    """
    chain = [crossing]
    while chain[-1].base is not None:
        base = chain[-1].base
        if not 0 <= base < len(known) or (len(chain) > 1 and base >= chain[-1].seq):
            raise CorruptRecord("a request refers to a crossing that does not exist", where=f"crossing {crossing.seq}")
        chain.append(known[base])
    text = ""
    for each in reversed(chain):
        text = text[: each.head] + each.middle + (text[len(text) - each.tail :] if each.tail else "")
    if digest_of(text) != crossing.digest:
        raise CorruptRecord("a recorded request does not match its digest", where=f"crossing {crossing.seq}")
    return text


def digest_of(text: str) -> str:
    """Tagged SHA-256 of ASCII text."""
    return "sha256:" + sha256(text.encode("ascii")).hexdigest()


def is_write(effect: str) -> bool:
    """Whether a declared effect counts as a write; an undeclared one does."""
    return effect not in ("none", "read")


def after_write(writes: str, tool: str, digest: str) -> str:
    """Extend the digest of a write sequence by one call."""
    return sha256(f"{writes}|{len(tool)}:{tool}|{digest}".encode("utf-8", "surrogatepass")).hexdigest()


def frame_of(lane: str) -> str:
    """Return the crossing that a lane runs inside, as "0/5"; "0" for the agent's own and all that it spawned.

    A step and the calls that it made are in one frame, though not always in one lane: either may have been given a
    task or thread of its own.
    """
    end = lane.find(".", lane.rfind("/") + 1)
    return lane if end < 0 else lane[:end]


def _inside(crossings: Iterable[Crossing]) -> dict[tuple[str, int], list[Crossing]]:
    found: dict[tuple[str, int], list[Crossing]] = defaultdict(list)
    for crossing in crossings:
        for frame in _FRAME.finditer(crossing.lane):
            found[crossing.lane[: frame.start()], int(frame[1])].append(crossing)
    return found


_FRAME = re.compile(r"/(\d+)")


def _mark_inner_steps(crossings: list[Crossing]) -> None:
    inside = _inside(each for each in crossings if each.kind == "model")
    for crossing in crossings:
        if crossing.kind == "tool":
            models = inside.get((crossing.lane, crossing.occurrence), ())
            crossing.last_inner = max((each.step for each in models), default=-1)


def _follow_open_streams(crossings: list[Crossing]) -> None:
    """Let what an agent did while a stream was still open follow that stream's step, which had no number yet."""
    last: dict[str, int] = {}
    for crossing in sorted(crossings, key=lambda each: each.occurrence):
        if crossing.kind == "model":
            last[crossing.lane] = max(crossing.step, last.get(crossing.lane, -1))
        else:
            crossing.step = max(crossing.step, last.get(crossing.lane, -1))
