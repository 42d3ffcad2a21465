"""The error tree: as drawn, one sentence each, and whole when it comes from another process."""

import copy
import pickle
import re
from typing import Any

import pytest

from butfor import errors
from butfor.errors import ButforError

FIELDS: dict[str, dict[str, Any]] = {
    "ActionRefused": {"verdict": "REJECT", "reason": "stale", "decision": "d1", "certificate": b"{}"},
    "ReplayDivergence": {"path": "$.messages[2]", "recorded": [1], "asked": None, "where": "lane 0"},
    "UnsupportedCall": {"tool": "refund", "where": "step 3", "fix": "register a simulator"},
    "BudgetStop": {"resource": "tokens", "fix": "raise it"},
    "MissingExtra": {"extra": "openai", "purpose": "recording an OpenAI client"},
}
"""What the errors with fields of their own are made of."""


def every_error() -> list[type[ButforError]]:
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ButforError)]
    return sorted(found, key=lambda each: each.__name__)


def made(kind: type[ButforError], what: str = "what is wrong") -> ButforError:
    return kind(what, **FIELDS.get(kind.__name__, {"where": "file.json:3", "fix": "do this"}))


def drawn() -> dict[str, tuple[str | None, str | None]]:
    """Read the tree of the docstring: name to (parent, built-in base)."""
    tree: dict[str, tuple[str | None, str | None]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?", line)
        if match:
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            tree[match[2]] = (path[depth - 1] if depth else None, match[3])
    return tree


def test_the_tree_is_the_one_that_is_drawn():
    actual = {}
    for kind in every_error():
        ours = [each.__name__ for each in kind.__bases__ if issubclass(each, ButforError)]
        builtin = [each.__name__ for each in kind.__bases__ if each.__module__ == "builtins"]
        actual[kind.__name__] = (ours[0] if ours else None, builtin[0] if builtin and ours else None)
    assert drawn() == actual


@pytest.mark.parametrize("kind", every_error())
def test_an_error_is_one_sentence(kind):
    text = str(made(kind))
    assert text
    assert "\n" not in text
    assert not text.endswith((".", ":", " "))
    assert "None" not in text


@pytest.mark.parametrize(
    ("where", "fix", "text"),
    [
        (None, None, "it broke"),
        ("a.json", None, "it broke (a.json)"),
        (None, "mend it", "it broke: mend it"),
        ("a.json", "mend it", "it broke (a.json): mend it"),
    ],
)
def test_a_sentence_has_what_it_was_given(where, fix, text):
    assert str(ButforError("it broke", where=where, fix=fix)) == text


@pytest.mark.parametrize("kind", every_error())
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_an_error_survives_the_way_from_a_worker_process(kind, again):
    error = made(kind)
    error.add_note("seen by worker 3")
    other = again(error)
    assert type(other) is kind
    assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("line\nbreak", r"line\nbreak"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u2028\x00\x7f\u202e", r"\u2028\x00\x7f\u202e"),
        ("half \ud800", r"half \ud800"),
        ("größer ≥ 0.5 – 日本", "größer ≥ 0.5 – 日本"),
        ("no\N{NO-BREAK SPACE}break\n", "no\N{NO-BREAK SPACE}break\\n"),
    ],
)
def test_a_message_shows_control_characters_and_does_not_send_them(raw, shown):
    assert str(ButforError(raw)) == shown


def test_a_missing_extra_says_what_to_install():
    error = errors.MissingExtra("openai", extra="openai", purpose="recording an OpenAI client")
    assert str(error) == "recording an OpenAI client needs the package 'openai': pip install 'butfor[openai]'"
