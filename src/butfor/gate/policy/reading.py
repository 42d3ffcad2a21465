"""From a file to a policy, or to its mistakes with line and column."""

from __future__ import annotations

import dataclasses
import difflib
import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from butfor.errors import InputError, NotFound
from butfor.gate.policy.marks import Marked, Mistake, as_error, read_marked
from butfor.gate.policy.model import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from butfor.gate.policy.marks import Path as Place

MOST_BYTES = 4_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Read:
    """What reading a policy file gave.

    Attributes:
        policy: The policy; None where there are mistakes.
        mistakes: The mistakes, in the order of the file.
        document: The plain document with its places.
    """

    policy: Policy | None
    mistakes: tuple[Mistake, ...]
    document: Marked


def read_text(text: str) -> Read:
    """Read a policy, and list every mistake."""
    document = read_marked(text)
    if document.mistakes or not isinstance(document.value, dict):
        mistakes = document.mistakes or (
            Mistake(line=1, column=1, sentence="a policy is a mapping with schema, tools"),
        )
        return Read(policy=None, mistakes=mistakes, document=document)
    try:
        # Through JSON, where a strict model takes a list for a tuple and still no truth value for a number.
        policy = Policy.model_validate_json(json.dumps(document.value))
    except ValidationError as error:
        return Read(policy=None, mistakes=_mistakes(error, document), document=document)
    return Read(policy=policy, mistakes=(), document=document)


def read_policy(path: Path) -> tuple[Policy, str]:
    """Read a policy file.

    Returns:
        The policy and its text.

    Raises:
        NotFound: There is no such file.
        InputError: It has mistakes; the first is named with line and column.
    """
    text = read_file(path)
    found = read_text(text)
    if found.policy is None:
        raise as_error(path.name, found.mistakes)
    return found.policy, text


def read_file(path: Path) -> str:
    """Return a policy file's text.

    Raises:
        NotFound: There is no such file.
        InputError: It is no UTF-8 text, or unreadable.
    """
    try:
        data = path.read_bytes()
        if len(data) > MOST_BYTES:
            raise InputError(f"the file has {len(data)} bytes, too many for a policy", where=str(path))
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"there is no policy {str(path)!r}", fix="`butfor gate init` writes one to start from") from None
    except UnicodeDecodeError as error:
        raise InputError(
            "the policy is not UTF-8 text", where=f"{path}, byte {error.start}", fix="save it so"
        ) from None
    except OSError as error:
        raise InputError(f"the policy cannot be read ({error.strerror})", where=str(path)) from None


def _mistakes(error: ValidationError, document: Marked) -> tuple[Mistake, ...]:
    found: dict[tuple[int, int], Mistake] = {}
    for each in error.errors(include_url=False):
        path = _place(each["loc"], document)
        mark = document.at(path)
        mistake = Mistake(line=mark.line, column=mark.column, sentence=_sentence(dict(each), path, document))
        # A union reports each of its members: the first is enough.
        found.setdefault((mark.line, mark.column), mistake)
    return tuple(sorted(found.values(), key=lambda m: (m.line, m.column)))


def _place(loc: tuple[int | str, ...], document: Marked) -> Place:
    """Return the part of pydantic's location that is in the document: it names union members too."""
    path: Place = ()
    for part in loc:
        if (*path, part) in document.marks:
            path = (*path, part)
    return path


_FIXED = {
    "string_type": "this must be text: put it in quotes",
    "float_type": "this must be a number",
    "int_type": "this must be a whole number",
    "bool_type": "this must be true or false",
    "tuple_type": "this must be a list: [a, b]",
    "dict_type": "this must be a mapping of names to values",
    "model_type": "this must be a mapping of names to values",
    "model_attributes_type": "this must be a mapping of names to values",
}


def _sentence(error: dict[str, Any], path: Place, document: Marked) -> str:
    kind, name = error["type"], str(error["loc"][-1]) if error["loc"] else ""
    if kind == "missing":
        return f"{_named(path)}{name!r} is missing: {_told(error['loc'])}"
    if kind == "extra_forbidden":
        return f"there is no {name!r} here{_meant(name, error['loc'])}"
    if kind == "literal_error":
        return f"{_value(path, document)!r} is not one of {error['ctx']['expected']}"
    if kind in ("value_error", "assertion_error"):
        return _plain(str(error["ctx"].get("error", error["msg"])))
    if kind in _FIXED:
        return f"{_named(path)}{_FIXED[kind]}"
    return f"{_named(path)}{error['msg'][0].lower()}{error['msg'][1:]}"


def _plain(text: str) -> str:
    return text.removeprefix("Value error, ").removesuffix(".")


def _named(path: Place) -> str:
    names = [str(part) for part in path]
    return f"{'.'.join(names)}: " if names else ""


def _value(path: Place, document: Marked) -> Any:
    value = document.value
    for part in path:
        value = value[part]
    return value


def _model_at(loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """Return the model whose fields stand at a location, following names through fields, mappings and unions."""
    model: type[BaseModel] | None = Policy
    for part in loc:
        if model is None:
            return None
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = _model_in(fields[str(part)].annotation)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for each in getattr(annotation, "__args__", ()):
        found = _model_in(each)
        if found is not None:
            return found
    return None


def _meant(name: str, loc: tuple[int | str, ...]) -> str:
    model = _model_at(loc[:-1])
    if model is None:
        return ": remove it"
    names = [field.alias or each for each, field in model.model_fields.items()]
    close = difflib.get_close_matches(name, names, n=1)
    return f": did you mean {close[0]!r}?" if close else f": choose among {', '.join(names)}"


def _told(loc: tuple[int | str, ...]) -> str:
    model = _model_at(loc[:-1])
    field = None if model is None else model.model_fields.get(str(loc[-1]))
    return field.description if field is not None and field.description else "add it"
