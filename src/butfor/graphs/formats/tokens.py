"""Words, strings and marks of the two brace languages, each with its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | "(?P<text>[^"\\\n]*)"
      | (?P<arrow><->|<-|->|--|@-@|@->|<-@|@--|--@)
      | (?P<mark>[{}\[\];,=:])
      | (?P<word>(?:[^\s"{}\[\];,=:<>@\#/\\-]|-(?![->@])|/(?![/*]))+)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One piece of text: its kind (word, text, arrow, mark, end), itself, and its line counted from 1."""

    kind: str
    text: str
    line: int


class Tokens:
    """A cursor over the tokens of a text.

    Raises:
        InputError: A character that begins no token.
    """

    def __init__(self, text: str, *, source: str) -> None:
        self.source = source
        self._tokens = list(_split(text, source))
        self._at = 0

    @property
    def next(self) -> Token:
        """The token under the cursor."""
        return self._tokens[self._at]

    def where(self, token: Token) -> str:
        """Name a token's place."""
        return f"{self.source}, line {token.line}"

    def take(self) -> Token:
        """Return the token under the cursor and move on; the last one stays."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def stands(self, *marks: str) -> bool:
        """Say whether one of these marks is next; a quoted name that looks like one is not."""
        return self.next.kind == "mark" and self.next.text in marks

    def take_mark(self, *marks: str) -> Token | None:
        """Take one of these marks, or nothing."""
        return self.take() if self.stands(*marks) else None

    def expect(self, mark: str) -> Token:
        """Take this mark.

        Raises:
            InputError: Something else stands there.
        """
        token = self.take_mark(mark)
        if token is None:
            raise self.wrong(f"{mark!r}")
        return token

    def name(self) -> Token:
        """Take a word or a quoted text.

        Raises:
            InputError: Something else stands there.
        """
        if self.next.kind not in {"word", "text"}:
            raise self.wrong("a name")
        return self.take()

    def wrong(self, expected: str) -> InputError:
        """Return the error that says what stands here instead of what was expected."""
        token = self.next
        found = "the end of the text" if token.kind == "end" else repr(token.text)
        return InputError(f"expected {expected}, found {found}", where=self.where(token))


def attributes(tokens: Tokens) -> dict[str, Token]:
    """Read ``[key=value, key]`` if it stands here; a key without a value has an empty one.

    Raises:
        InputError: The list is malformed.
    """
    found: dict[str, Token] = {}
    while tokens.take_mark("["):
        while not tokens.take_mark("]"):
            key = tokens.name()
            found[key.text.lower()] = tokens.name() if tokens.take_mark("=") else Token("word", "", key.line)
            tokens.take_mark(",", ";")
    return found


def quoted(name: str, plain: re.Pattern[str], keywords: Sequence[str] = ()) -> str:
    """Write a name, in quotes unless it is a plain word of the language."""
    return name if plain.fullmatch(name) and name.lower() not in keywords else f'"{name}"'


def _split(text: str, source: str) -> list[Token]:
    tokens = []
    at, line = 0, 1
    while at < len(text):
        match = _PARTS.match(text, at)
        if match is None:
            raise InputError(
                f"unexpected character {text[at]!r}", where=f"{source}, line {line}", fix="quote names that have it"
            )
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, match.group(kind), line))
        line += text.count("\n", at, match.end())
        at = match.end()
    tokens.append(Token("end", "", line))
    return tokens
