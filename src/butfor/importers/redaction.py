"""Takes secrets out of a trace before anything else sees it; equal secrets keep equal names."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING, Final

from butfor.errors import InputError
from butfor.importers.parsing import unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.canonical import Json

RULES: Final[Mapping[str, str]] = {
    "private-key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "api-key": r"\b(?:(?:sk|pk|rk)-|(?:hf|npm|pypi|glpat)[_-])[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{35}",
    "github-token": r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "aws-key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "slack-token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "jwt": r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",
    "bearer": r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}",
    "url-password": r"(?<=://)[^/\s:@\"\\]{1,64}:[^/\s@\"\\]{1,128}(?=@)",
    "email": r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
}
"""Name of a rule to its regular expression; repeats are bounded or exclusive, so that none takes quadratic time."""

FIELDS: Final = (
    r"(?:proxy-)?authorization|x-api-key|api[_-]?key|(?:access|refresh|id|auth|session)[_-]?token|"
    r"client[_-]?secret|secret(?:[_-]?key)?|passw(?:or)?d|passphrase|private[_-]?key|cookie|set-cookie"
)
"""Names of fields whose whole value is a secret."""

# The same fields inside JSON text that is itself a string, where its quotes may be escaped more than once.
_INNER_FIELD = re.compile(rf'(?P<lead>\\*"(?:{FIELDS})\\*"\s*:\s*\\*")(?P<secret>[^"\\]+)', re.IGNORECASE)
_FIELD = re.compile(rf"(?:{FIELDS})\Z", re.IGNORECASE)
_DONE = re.compile(r"\[[a-z0-9-]{1,40}:[0-9a-f]{10}\]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Redactor:
    """Replaces secrets by ``[rule:1f3a…]``, the start of a keyed hash.

    The same secret has the same name throughout a run, so that a replayed tool call still matches; without the key
    nobody can tell whether a guess is right.

    Attributes:
        key: Of the hash. A fresh random one for each import makes imports unlinkable.
        rules: Name to pattern.
    """

    key: bytes
    rules: Mapping[str, re.Pattern[str]]

    def __call__(self, value: Json) -> Json:
        """Return a copy of a JSON value without secrets, keys of objects included."""
        holder: list[Json] = [value]
        stack: list[tuple[Json, Json, bool]] = [(holder, 0, False)]
        while stack:
            container, at, is_secret = stack.pop()
            node = container[at]
            if isinstance(node, dict):
                named = [(self._name(key), key) for key in node]
                copy = {name: node[key] for name, key in named}
                container[at] = copy
                stack.extend((copy, name, is_secret or _is_secret(key)) for name, key in named)
            elif isinstance(node, list):
                copied = list(node)
                container[at] = copied
                stack.extend((copied, i, is_secret) for i in range(len(copied)))
            elif is_secret and node is not None and not isinstance(node, bool):
                text = node if isinstance(node, str) else repr(node)
                container[at] = text if _DONE.fullmatch(text) else self._placeholder("field", text)
            elif isinstance(node, str):
                container[at] = self.text(node)
        return holder[0]

    def text(self, text: str) -> str:
        """Return text without secrets; JSON text that held some is written anew."""
        value = unpacked(text)
        if not isinstance(value, str):
            cleaned = self(value)
            if cleaned != value:
                return json.dumps(cleaned, ensure_ascii=False)
        text = _INNER_FIELD.sub(lambda found: found["lead"] + self._placeholder("field", found["secret"]), text)
        for name, pattern in self.rules.items():
            text = pattern.sub(lambda found, name=name: self._placeholder(name, found.group()), text)  # type: ignore[misc]
        return text

    def _name(self, key: Json) -> Json:
        return self.text(key) if isinstance(key, str) else key

    def _placeholder(self, rule: str, secret: str) -> str:
        if _DONE.fullmatch(secret):
            return secret
        digest = hmac.new(self.key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[{rule}:{digest[:10]}]"


def _is_secret(key: Json) -> bool:
    return isinstance(key, str) and _FIELD.match(key) is not None


def redactor(key: bytes, *, extra: Sequence[str] = (), without: Sequence[str] = ()) -> Redactor:
    """Return a redactor with the standard rules.

    Args:
        key: Of the hash; an argument, since randomness is the caller's.
        extra: Further rules, each ``name=regular expression``.
        without: Names of standard rules to leave out.

    Raises:
        InputError: A rule is malformed, or a name unknown.
    """
    unknown = [name for name in without if name not in RULES]
    if unknown:
        raise InputError(f"there is no redaction rule {unknown[0]!r}", fix=f"choose among {', '.join(RULES)}")
    rules = {name: pattern for name, pattern in RULES.items() if name not in without}
    for rule in extra:
        name, separator, pattern = rule.partition("=")
        if not separator or not re.fullmatch(r"[a-z0-9-]{1,40}", name):
            raise InputError(f"the redaction rule {rule[:80]!r} is not NAME=REGEX", fix="use a lower-case name")
        rules[name] = pattern
    try:
        return Redactor(key=key, rules={name: re.compile(pattern) for name, pattern in rules.items()})
    except re.error as error:
        raise InputError(
            f"a redaction rule is no regular expression ({error})", fix="test it with Python's re"
        ) from None
