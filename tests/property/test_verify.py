"""Whatever was changed in a certificate, `verify` answers, and never says that nothing is wrong."""

import functools
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from butfor.errors import ButforError
from butfor.gate.certificate.envelope import seal
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict
from butfor.gate.verify import Given, Report, verify
from tests.property.strategies import json_values
from tests.unit.gate.certificates import CASES, Made, make
from tests.unit.gate.keys import GATE, TRUST

# What follows from nothing that a verifier has: it stands under the signature, and under the ledger's digest.
SAID_ONLY = (
    "$.decision.id",
    "$.decision.at",
    "$.decision.mode",
    "$.action.agent",
    "$.action.context",
    "$.action.call",
    "$.action.tool",
    "$.policy",
    "$.budget",
    "$.provenance",
    "$.graph.commitment",
)


@functools.cache
def made(verdict: str, level: str) -> Made:
    return make(place=Path(tempfile.gettempdir()), level=level, **CASES[verdict])


def paths(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield from paths(item, (*path, name))


class Change:
    """A certificate's document with one value changed; shown by the change alone (a data class would show it all)."""

    def __init__(self, certificate: Made, document: Any, path: tuple[str | int, ...], words: str) -> None:
        self.certificate, self.document, self.path, self.words = certificate, document, path, words

    def __repr__(self) -> str:
        return self.words


@st.composite
def changed(draw: st.DrawFn) -> Change:
    """A certificate's document with one value, at any depth, put in the place of another."""
    certificate = made(draw(st.sampled_from(sorted(CASES))), draw(st.sampled_from(["rows", "statistics"])))
    document = parse_strict(certificate.data)
    places = [path for path in paths(document) if path]
    path = draw(st.sampled_from(places))
    node = document
    for name in path[:-1]:
        node = node[name]
    other = draw(json_values | st.sampled_from([None, 0, 1, -1, 1e300, "", "x", [], {}, True, "REJECT", "EXECUTE"]))
    before, node[path[-1]] = node[path[-1]], other
    words = f"{certificate.body['decision']['verdict']} {path}: {before!r:.80} -> {other!r:.80}"
    return Change(certificate, document, path, words)


def ask(data: bytes, certificate: Made) -> Report:
    return verify(data, Given(trust=TRUST, rows=certificate.rows, call=certificate.call))


@settings(max_examples=150, deadline=None)
@given(changed())
def test_a_change_by_anybody_is_caught_and_never_raises(case):
    try:
        data = canonical_bytes(case.document)
    except ButforError:
        return
    report = verify(data, Given(trust=TRUST))
    assert report.ok == (data == case.certificate.data)
    assert report.to_json()["checks"]


@settings(max_examples=60, deadline=None)
@given(changed())
def test_a_change_that_the_gates_own_key_signs_is_caught_where_anything_follows(case):
    if case.path[0] != "body" or not isinstance(case.document["body"], dict):
        return
    try:
        data = seal(case.document["body"], GATE)
    except ButforError:
        return
    report = ask(data, case.certificate)
    said = "$." + ".".join(str(name) for name in case.path[1:])
    assert data == case.certificate.data or said.startswith(SAID_ONLY) or not report.ok


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | json_values.map(lambda value: repr(value).encode("utf-8", "replace")))
def test_any_bytes_get_an_answer(data):
    assert not verify(data, Given(trust=TRUST)).ok
