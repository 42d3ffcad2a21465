"""From a context variable to a value that is fresh enough, or the reason why there is none."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from butfor.errors import ButforError, InputError
from butfor.gate.signing.strict_json import parse_strict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from butfor.canonical import Json

# Clocks of different machines differ.
AHEAD = 60.0
MOST_TEXT = 10_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """Where a value comes from.

    Attributes:
        kind: argument, callable, command, http or sql.
        read: Takes the call's arguments; gives the raw value. It ends by itself after `timeout` seconds.
        timeout: How long a value may take, in seconds.
        max_age: Oldest usable value, in seconds; None for no limit.
        text: Whether the value is taken as text whatever it looks like.
    """

    kind: str
    read: Callable[[Mapping[str, Json]], Any]
    timeout: float
    max_age: float | None = None
    text: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """A value.

    Attributes:
        value: The value: a number, or text.
        source: What kind of source gave it.
        at: When it was true, ISO 8601 in UTC: the source's own time stamp, else when it was read.
    """

    value: float | str
    source: str
    at: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unread:
    """Why there is no value."""

    sentence: str


Read: TypeAlias = Reading | Unread


def read_context(
    sources: Mapping[str, Source], arguments: Mapping[str, Json], now: Callable[[], datetime]
) -> dict[str, Reading] | Unread:
    """Read every context variable; the first that cannot be read ends it.

    Args:
        sources: Source by variable.
        arguments: The call's arguments.
        now: The clock, with a time zone.
    """
    found: dict[str, Reading] = {}
    for name, source in sources.items():
        reading = read_one(name, source, arguments, now)
        if isinstance(reading, Unread):
            return reading
        found[name] = reading
    return found


def read_one(name: str, source: Source, arguments: Mapping[str, Json], now: Callable[[], datetime]) -> Read:
    """Read one context variable."""
    try:
        raw = source.read(arguments)
        value, stamp = _unwrapped(raw)
        plain = _plain(value, text=source.text)
        at = now() if stamp is None else _moment(stamp)
        age = (now() - at).total_seconds()
    except ButforError as error:
        return Unread(sentence=f"the context variable {name!r} has no value: {error}")
    except Exception as error:  # noqa: BLE001  a user's callable may raise anything: fail closed
        return Unread(sentence=f"the context variable {name!r} has no value: {type(error).__name__}: {error}")
    if age < -AHEAD:
        return Unread(sentence=f"the context variable {name!r} is from the future ({-age:.0f} s ahead)")
    if source.max_age is not None and age > source.max_age:
        return Unread(
            sentence=f"the context variable {name!r} is {age:.0f} s old, the policy allows {source.max_age:.0f} s"
        )
    return Reading(value=plain, source=source.kind, at=at.astimezone(UTC).isoformat().replace("+00:00", "Z"))


def parsed(data: bytes) -> Json:
    """Read what a command or a server answered: strict JSON where it is some, else its text without outer space.

    Raises:
        InputError: It is empty, too long, or no UTF-8 text.
    """
    if len(data) > MOST_TEXT:
        raise InputError(f"the answer has {len(data)} bytes", fix=f"print one value, at most {MOST_TEXT} bytes")
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        raise InputError("the answer is not UTF-8 text") from None
    if not text:
        raise InputError("the answer is empty", fix="print one value")
    try:
        return parse_strict(text.encode())
    except InputError:
        if text[0] in '{["':
            raise
        return text


def _unwrapped(raw: Any) -> tuple[Any, Any]:
    """Take the value and its time stamp out of ``{"value": …, "at": …}``."""
    if isinstance(raw, dict) and set(raw) <= {"value", "at"} and "value" in raw:
        return raw["value"], raw.get("at")
    return raw, None


def _plain(value: Any, *, text: bool) -> float | str:
    if text and isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        number = float(value)
        if math.isfinite(number) and (not isinstance(value, int) or int(number) == value):
            return number
        raise InputError(f"{value!r} is no number that a column can hold exactly")
    if isinstance(value, str) and value:
        return value
    raise InputError(f"{str(value)[:40]!r} is no number and no text", fix='give a value, or {"value": …, "at": …}')


def _moment(stamp: Any) -> datetime:
    try:
        found = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        raise InputError(f"{stamp!r} is no time", fix="write ISO 8601 with a zone, as 2026-03-01T12:00:00Z") from None
    if found.tzinfo is None:
        raise InputError(f"the time {stamp!r} has no zone", fix="add Z for UTC")
    return found
