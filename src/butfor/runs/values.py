"""A JSON value as an immutable model field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import CoreSchema, core_schema

from butfor import canonical

if TYPE_CHECKING:
    from butfor.canonical import Json


class Value:
    """A JSON value kept as its text, so that NaN, lone surrogates, depth and big integers survive, and nothing aliases.

    Two values are equal where their texts are. Reading one with `get` builds a fresh object each time.
    """

    __slots__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "text", text)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Value is immutable; cannot set {name}")

    @classmethod
    def of(cls, value: Json) -> Value:
        """Keep a JSON value.

        Raises:
            NotRecordable: The value has no JSON form.
        """
        return value if isinstance(value, Value) else cls(canonical.encode_exact(value))

    def get(self) -> Json:
        """Return the value as a fresh Python object."""
        return canonical.decode(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Value({self.text if len(self.text) <= 80 else self.text[:77] + '...'})"

    def __reduce__(self) -> tuple[type[Value], tuple[str]]:
        return Value, (self.text,)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        # The serialiser hands the Value over untouched: `documents` writes it, without pydantic's depth limit.
        return core_schema.no_info_plain_validator_function(
            cls.of, serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value)
        )


NULL = Value("null")
EMPTY_OBJECT = Value("{}")
