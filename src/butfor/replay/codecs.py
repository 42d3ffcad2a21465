"""How an answer becomes text in the journal, and the same object again in a replay."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from butfor import canonical
from butfor.errors import ButforError, CorruptRecord, NotRecordable

CANCELLED = "asyncio.exceptions:CancelledError"

if TYPE_CHECKING:
    from butfor.canonical import Json

PLAIN = ""
STREAM = "stream"
STREAM_OF = "stream="
"""Begins the codec of a stream with typed chunks: the types, and which chunk is of which."""


class RecordedError(ButforError):
    """Stands for a recorded exception whose type cannot be built again; it carries the type's name and message."""


def dump(value: Any) -> tuple[str, str]:
    """Write an answer; see `dump_and_copy`."""
    text, codec, _ = dump_and_copy(value)
    return text, codec


def dump_and_copy(value: Any) -> tuple[str, str, Any]:
    """Write an answer, and read it back as a replay will serve it.

    Returns:
        (JSON text, codec, the object that the agent sees): plain values have the codec "", pydantic models and
        dataclasses their type's name.

    Raises:
        NotRecordable: The value is neither JSON, nor a pydantic model, nor a dataclass.
    """
    if type(value) not in _PLAIN_TYPES:
        if isinstance(value, BaseModel):
            return _typed(value, value.model_dump(mode="json", warnings=False))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _typed(value, TypeAdapter(type(value)).dump_python(value, mode="json"))
    text, copy = canonical.encode_and_copy(value)
    return text, PLAIN, copy


_PLAIN_TYPES = frozenset({str, dict, list, int, float, bool, type(None)})


def _typed(value: Any, document: Any) -> tuple[str, str, Any]:
    text, codec = canonical.encode_exact(document), _name(type(value))
    return text, codec, load(codec, text)


def load(codec: str, text: str) -> Any:
    """Build the object that the agent saw.

    Only types of modules that the agent has already imported are built: a journal cannot make us import code.

    Raises:
        CorruptRecord: The type does not exist any more, or does not accept the recorded value.
    """
    value = canonical.decode(text)
    if codec in (PLAIN, STREAM):
        return value
    if codec.startswith(STREAM_OF):
        kinds = canonical.decode(codec[len(STREAM_OF) :])
        return [_build(kinds[0][i], chunk) for i, chunk in zip(kinds[1], value, strict=False)]
    return _build(codec, value)


def stream_codec(codecs: list[str]) -> str:
    """Return the codec of a stream whose chunks have these; "stream" where all are plain."""
    kinds = list(dict.fromkeys(codecs))
    if kinds in ([], [PLAIN]):
        return STREAM
    place = {kind: i for i, kind in enumerate(kinds)}
    return STREAM_OF + canonical.encode([kinds, [place[each] for each in codecs]])


def stream_like(codec: str, count: int) -> str:
    """Return the codec of another stream of `count` chunks; plain where its chunks are of several types."""
    kinds = canonical.decode(codec[len(STREAM_OF) :])[0] if codec.startswith(STREAM_OF) else []
    return stream_codec(kinds * count) if len(kinds) == 1 else STREAM


def is_stream(codec: str) -> bool:
    """Whether an answer came in chunks."""
    return codec == STREAM or codec.startswith(STREAM_OF)


def _build(codec: str, value: Json) -> Any:
    if codec == PLAIN:
        return value
    kind = _find(codec)
    if kind is None:
        raise CorruptRecord(
            f"the recorded answer is a {codec}, which the agent has not imported", fix="record the run again"
        )
    try:
        return kind.model_validate(value) if issubclass(kind, BaseModel) else TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise CorruptRecord(f"{codec} no longer accepts the recorded answer ({error.error_count()} fields)") from None


def describe_error(error: BaseException) -> tuple[str, str]:
    """Name an exception's type and message."""
    return _name(type(error)), str(error)


def rebuild_error(name: str, message: str) -> BaseException:
    """Build a recorded exception again: the same type where it takes one message, else a `RecordedError`."""
    kind = _find(name)
    if kind is not None and issubclass(kind, BaseException):
        try:
            error: BaseException = kind(message)
        except Exception:  # noqa: BLE001  a foreign constructor may want anything
            return RecordedError(f"{name}: {message}")
        if str(error) == message:
            return error
    return RecordedError(f"{name}: {message}")


def _name(kind: type) -> str:
    if "<locals>" in kind.__qualname__ and not issubclass(kind, BaseException):
        raise NotRecordable(
            f"an answer of the local type {kind.__qualname__} cannot be built again in a replay",
            fix="define the type at module level, or return plain JSON values",
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
