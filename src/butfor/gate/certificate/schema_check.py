"""Holds a document against a JSON Schema: the part of the 2020-12 draft that our schemas use, and nothing else.

A keyword that is not known here is refused, so that a schema never promises what nobody checks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from butfor.canonical import Json

_NOTES = frozenset({"$schema", "$id", "$defs", "title", "description"})
_CHECKS = frozenset(
    {
        "$ref",
        "type",
        "const",
        "enum",
        "pattern",
        "minimum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
    }
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


def mismatches(document: Json, schema: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return where a document is not as the schema says: (JSON path, what is wrong) pairs, in the schema's order.

    Raises:
        InputError: The schema uses a keyword that is not known here.
    """
    return list(_Reader(schema).check(document, schema, "$"))


class _Reader:
    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root

    def check(self, value: Json, schema: Mapping[str, Json], path: str) -> Iterator[tuple[str, str]]:
        if unknown := set(schema) - _NOTES - _CHECKS:
            raise InputError(f"the schema uses {sorted(unknown)}", where=path, fix="use what is checked here")
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            yield from self.check(value, self.root["$defs"][name], path)
        if "anyOf" in schema and all(any(self.check(value, each, path)) for each in schema["anyOf"]):
            yield path, "it is none of the forms that it may have"
        if wrong := _leaf_problem(value, schema):
            yield path, wrong
            return
        if isinstance(value, dict):
            yield from self._object(value, schema, path)
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                yield from self.check(item, schema["items"], f"{path}[{i}]")

    def _object(self, value: dict[str, Json], schema: Mapping[str, Json], path: str) -> Iterator[tuple[str, str]]:
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{name}", "it is missing"
        more = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in known:
                yield from self.check(item, known[name], f"{path}.{name}")
            elif more is False:
                yield f"{path}.{name}", "it is not a field of this object"
            elif more is not True:
                yield from self.check(item, more, f"{path}.{name}")


def _leaf_problem(value: Json, schema: Mapping[str, Json]) -> str | None:
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        fits = any(isinstance(value, _TYPES[name]) and (name == "boolean" or type(value) is not bool) for name in names)
        if not fits:
            return f"it is not {' or '.join(names)}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"it is not {schema['const']!r}"
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        return f"it is none of {', '.join(map(str, schema['enum']))}"
    if "pattern" in schema and isinstance(value, str) and re.search(schema["pattern"], value) is None:
        return "it does not have the form that it should"
    if "minimum" in schema and isinstance(value, int | float) and value < schema["minimum"]:
        return f"it is below {schema['minimum']}"
    return None


def _same(one: Json, other: Json) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
