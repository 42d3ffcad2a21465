"""A run as one JSON document, and back, losing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from butfor import canonical
from butfor.errors import CorruptRecord
from butfor.runs.run import Run
from butfor.runs.values import Value

if TYPE_CHECKING:
    from butfor.canonical import Json


def to_text(run: Run) -> str:
    """Write a run as one line of JSON (fields at their defaults are left out)."""
    return canonical.encode(
        _open(run.model_dump(mode="python", exclude_defaults=True) | {"schema_version": run.schema_version})
    )


def from_text(text: str | bytes, *, where: str | None = None) -> Run:
    """Read a run that `to_text` wrote.

    Args:
        text: The document.
        where: File and line, for the message.

    Raises:
        CorruptRecord: The text is not JSON, or not a run; the message names the field.
    """
    document = canonical.decode(text)
    try:
        return Run.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "document"
        place = f"{where}, field {field}" if where else f"field {field}"
        raise CorruptRecord(f"this is not a butfor run: {first['msg']}", where=place) from None


def _open(node: object) -> Json:
    """Replace every Value by the JSON value that it holds, and what JSON lacks by what it has."""
    if isinstance(node, Value):
        return node.get()
    if isinstance(node, dict):
        return {key: _open(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_open(value) for value in node]
    if hasattr(node, "isoformat"):
        return node.isoformat()
    return node.value if hasattr(node, "value") else node
