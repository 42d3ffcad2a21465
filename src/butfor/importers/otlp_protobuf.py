"""OTLP in protobuf: bare `TracesData`, or messages each behind a 4-byte length, as the collector writes files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from butfor.errors import InputError, MissingExtra
from butfor.importers.compression import MIB
from butfor.importers.records import raise_or_tell, unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.importers.compression import Readable
    from butfor.importers.inputs import Source
    from butfor.importers.records import Record

_DEEP = 100


class ProtobufRecords:
    """One record for each `ResourceSpans`, in the shape of OTLP/JSON.

    Args:
        source: The bytes and how they are opened.
    """

    def __init__(self, source: Source) -> None:
        self.digest: str | None = source.digest
        self._source = source

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start."""
        resource_spans, decode_error = _messages()
        with self._source.decompressed() as stream:
            framed = self._source.head(1) == b"\0"
            number = 0
            try:
                for body in _framed(stream, self) if framed else _fields(stream, self):
                    number += 1
                    self._source.progress(len(body))
                    yield self._record(resource_spans, body, number)
            except (_CutOff, decode_error) as error:
                raise_or_tell(
                    InputError(
                        f"the protobuf is cut off or damaged after {number} messages ({str(error)[:80]})",
                        where=self._source.name,
                        fix="what came before was read; export the file again for the rest",
                    ),
                    problem,
                    nothing_read=number == 0,
                )

    def _record(self, resource_spans: Any, body: bytes, number: int) -> Record:
        message = resource_spans()
        message.ParseFromString(body)
        return self._source.record({"resourceSpans": [_resource_spans(message)]}, part=f"ResourceSpans {number}")

    def check(self, length: int) -> int:
        """Return a length that is within the limits.

        Raises:
            InputError: It is not.
        """
        if length > self._source.limits.document:
            raise InputError(
                f"one protobuf message is larger than {self._source.limits.document // MIB} MiB",
                where=self._source.name,
                fix="export in smaller batches",
            )
        return length


class _CutOff(Exception):
    pass


class _Checks(Protocol):
    def check(self, length: int) -> int: ...


def _messages() -> tuple[Any, type[Exception]]:
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
    except ImportError:
        raise MissingExtra("opentelemetry-proto", extra="otlp", purpose="reading OTLP in protobuf") from None
    return ResourceSpans, DecodeError


def _framed(stream: Readable, limits: _Checks) -> Iterator[bytes]:
    """Yield the ResourceSpans of messages that stand behind a 4-byte length each."""
    while head := stream.read(4):
        body = _exactly(stream, limits.check(int.from_bytes(head, "big")))
        import io

        yield from _fields(io.BytesIO(body), limits)


def _fields(stream: Readable, limits: _Checks) -> Iterator[bytes]:
    """Yield the bodies of field 1; other fields are length-delimited extensions of later versions, passed over."""
    while True:
        tag = _varint(stream, may_end=True)
        if tag is None:
            return
        if tag & 7 != 2:
            raise _CutOff(f"unexpected wire type {tag & 7}")
        body = _exactly(stream, limits.check(_varint(stream) or 0))
        if tag >> 3 == 1:
            yield body


def _exactly(stream: Readable, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        chunk = stream.read(count)
        if not chunk:
            raise _CutOff("the end came too early")
        parts.append(chunk)
        count -= len(chunk)
    return b"".join(parts)


def _varint(stream: Readable, *, may_end: bool = False) -> int | None:
    value = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            if may_end and not shift:
                return None
            raise _CutOff("the end came too early")
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value
        shift += 7
        if shift > 63:
            raise _CutOff("a length of more than 64 bits")


def _resource_spans(message: Any) -> Json:
    return {
        "resource": {"attributes": _attributes(message.resource.attributes)},
        "scopeSpans": [
            {"scope": {"name": scope.scope.name}, "spans": [_span(span) for span in scope.spans]}
            for scope in message.scope_spans
        ],
    }


def _span(span: Any) -> Json:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _attributes(span.attributes),
        "events": [{"name": event.name, "attributes": _attributes(event.attributes)} for event in span.events],
        "status": {"code": span.status.code},
    }


def _attributes(attributes: Any) -> Json:
    return [{"key": each.key, "value": _value(each.value, 0)} for each in attributes]


def _value(value: Any, depth: int) -> Json:
    kind = value.WhichOneof("value")
    if kind is None or depth > _DEEP:
        return {}
    held = getattr(value, kind)
    if kind == "array_value":
        return {"arrayValue": {"values": [_value(each, depth + 1) for each in held.values]}}
    if kind == "kvlist_value":
        pairs = [{"key": each.key, "value": _value(each.value, depth + 1)} for each in held.values]
        return {"kvlistValue": {"values": pairs}}
    return {kind: held.hex() if isinstance(held, bytes) else held}
