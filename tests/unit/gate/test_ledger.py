"""The chain: what an entry's hash covers, and that every change of a ledger shows."""

import dataclasses
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from butfor.canonical import digest_text
from butfor.errors import InputError, NotRecordable
from butfor.gate.ledger.chain import GENESIS, Ledger, entry_hash
from butfor.gate.ledger.checkpoints import Checkpoint, make_checkpoint
from butfor.gate.ledger.checks import NO_CHECKPOINT, NO_TRUST, verify_log
from butfor.gate.signing.signatures import Signer
from butfor.gate.signing.strict_json import canonical_bytes
from butfor.gate.signing.trust import TrustedKey, TrustFile
from butfor.store import LedgerRecord, MemoryStore

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SIGNER = Signer(bytes(range(32)))
TRUST = TrustFile.of(
    [TrustedKey(id=SIGNER.key_id, public=SIGNER.public, role="gate", name="ours", valid_from=NOON - timedelta(days=1))]
)


@pytest.fixture
def directory(tmp_path):
    """A ledger of nine decisions and a checkpoint of the eighth."""
    with Ledger.open(tmp_path, clock=lambda: NOON) as ledger:
        fill(ledger, 8)
        make_checkpoint(ledger, SIGNER)
        fill(ledger, 1, first=9)
    return tmp_path


def fill(ledger: Ledger, number: int, first: int = 1) -> None:
    for n in range(first, first + number):
        name = f"d{n}"
        ledger.append("decision", {"id": name, "verdict": "REJECT"}, subject=name, attachment=b"certificate %d" % n)


def signed(directory: Path) -> Checkpoint:
    with Ledger.open(directory, clock=lambda: NOON) as ledger:
        (found,) = (each for each in ledger.entries() if each.kind == "checkpoint")
    return Checkpoint.from_json(found.payload)


def faults(directory: Path, since: Checkpoint | None = None) -> list[tuple[str, int]]:
    with Ledger.open(directory) as ledger:
        report = verify_log(ledger, since=since, trust=TRUST)
    assert report.ok == (not report.findings)
    return [(each.fault, each.position) for each in report.findings]


def rewrite(directory: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Do what somebody who may write the file can do: drop the guards first."""
    with sqlite3.connect(directory / "butfor.db") as connection:
        for verb in ("UPDATE", "DELETE"):
            connection.execute(f"DROP TRIGGER IF EXISTS ledger_refuses_{verb}")
        for statement in statements:
            connection.execute(statement, values)
    connection.close()


def rechain(directory: Path, first: int) -> None:
    """Make every hash from an entry on anew, as a forger would."""
    names = [field.name for field in dataclasses.fields(LedgerRecord)]
    with sqlite3.connect(directory / "butfor.db") as connection:
        rows = connection.execute(f"SELECT {', '.join(names)} FROM ledger ORDER BY position").fetchall()
        records = [LedgerRecord(**dict(zip(names, row, strict=True))) for row in rows]
        previous = GENESIS
        for record in records:
            if record.position >= first:
                made = dataclasses.replace(record, previous=previous)
                made = dataclasses.replace(made, hash=entry_hash(made))
                connection.execute(
                    "UPDATE ledger SET previous = ?, hash = ? WHERE position = ?",
                    (made.previous, made.hash, made.position),
                )
                record = made
            previous = record.hash
    connection.close()


def test_an_entry_hash_is_over_canonical_bytes_of_everything(tmp_path):
    with Ledger.open(tmp_path, clock=lambda: NOON) as ledger:
        first = ledger.append("key", {"b": 1, "a": 2.0}, subject="k", scope="s", place=3, attachment=b"x")
        second = ledger.append("decision", {})
    document = {
        "schema": "butfor.ledger/1",
        "position": 1,
        "previous": f"sha256:{'0' * 64}",
        "at": "2026-11-30T12:00:00.000000+00:00",
        "kind": "key",
        "subject": "k",
        "scope": "s",
        "place": 3,
        "payload": digest_text(b'{"a":2,"b":1}'),
        "attachment": digest_text(b"x"),
    }
    assert first.hash == digest_text(canonical_bytes(document))
    assert (second.position, second.previous) == (2, first.hash)


def test_a_whole_ledger_has_no_fault(directory):
    assert faults(directory) == []
    assert faults(directory, signed(directory)) == []


def test_what_cannot_be_seen_is_said(directory):
    with Ledger.open(directory) as ledger:
        assert verify_log(ledger).not_checked == (NO_CHECKPOINT, NO_TRUST)
        assert verify_log(ledger, since=signed(directory), trust=TRUST).not_checked == ()


def test_a_memory_ledger_is_verified_alike():
    ledger = Ledger(MemoryStore().ledger(), clock=lambda: NOON)
    fill(ledger, 300)
    checkpoint = make_checkpoint(ledger, SIGNER)
    report = verify_log(ledger, since=checkpoint, trust=TRUST)
    assert (report.ok, report.entries, report.since) == (True, 301, 300)


def test_an_empty_ledger_is_whole_and_has_no_checkpoint(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        assert verify_log(ledger).ok
        with pytest.raises(InputError, match="the ledger is empty"):
            make_checkpoint(ledger, SIGNER)


@pytest.mark.parametrize(
    "column",
    [
        "at = '2026'",
        "kind = 'outcome'",
        "subject = 'x'",
        "scope = 'x'",
        "place = 7",
        "payload = x'7b7d'",
        "attachment = NULL",
        "previous = 'x'",
        "hash = 'x'",
        "attachment = 'x'",
        "body = x'00'",
        "size = 1",
        "payload = 'text'",
        "payload = CAST(payload AS TEXT)",
        "subject = x'00'",
        "place = 'many'",
        "body = NULL",
        "body = 5",
    ],
)
def test_a_changed_field_of_an_entry_is_named(directory, column):
    rewrite(directory, f"UPDATE ledger SET {column} WHERE position = 4")
    found = faults(directory)
    assert ("changed", 4) in found
    assert {position for _, position in found} <= {4, 5}


def test_a_dropped_entry_is_missing(directory):
    rewrite(directory, "DELETE FROM ledger WHERE position = 4")
    assert faults(directory) == [("missing", 4)]
    rewrite(directory, "UPDATE ledger SET position = position - 1 WHERE position > 4")
    assert ("changed", 4) in faults(directory)


def test_a_dropped_beginning_is_missing(directory):
    rewrite(directory, "DELETE FROM ledger WHERE position <= 3")
    assert ("missing", 1) in faults(directory)


@pytest.mark.parametrize("left", [0, 1, 7])
def test_a_truncated_ledger_shows_only_against_a_checkpoint(directory, left):
    checkpoint = signed(directory)
    rewrite(directory, f"DELETE FROM ledger WHERE position > {left}")
    assert faults(directory) == []
    assert faults(directory, checkpoint) == [("truncated", left)]


def test_entries_behind_the_checkpoint_are_not_covered_by_it(directory):
    checkpoint = signed(directory)
    rewrite(directory, "DELETE FROM ledger WHERE position > 9")
    assert faults(directory, checkpoint) == []


def test_a_rewritten_entry_with_new_hashes_shows_against_a_checkpoint(directory):
    checkpoint = signed(directory)
    rewrite(directory, "UPDATE ledger SET payload = ? WHERE position = 4", values=(b'{"id":"d4","verdict":"EXECUTE"}',))
    rechain(directory, 4)
    # The checkpoint inside gives the forger away as well, since only the gate's key could sign it anew.
    assert faults(directory) == [("bad_checkpoint", 9)]
    assert faults(directory, checkpoint) == [("bad_checkpoint", 9), ("another_history", 8)]
    rewrite(directory, "DELETE FROM ledger WHERE position > 8")
    assert faults(directory) == []
    assert faults(directory, checkpoint) == [("another_history", 8)]


def copy_of(position: int, *, to: int) -> str:
    names = "at, kind, subject, scope, place, payload, attachment, previous, hash, size, body"
    return f"INSERT INTO ledger (position, {names}) SELECT {to}, {names} FROM ledger WHERE position = {position}"


MOVE_UP = (
    "UPDATE ledger SET position = -position WHERE position > 4",
    "UPDATE ledger SET position = 1 - position WHERE position < 0",
)


def test_an_inserted_entry_shows(directory):
    checkpoint = signed(directory)
    rewrite(directory, *MOVE_UP, copy_of(2, to=5))
    assert ("unlinked", 5) in faults(directory)
    assert ("another_history", 8) in faults(directory, checkpoint)


def test_an_inserted_entry_with_new_hashes_shows_against_a_checkpoint(directory):
    checkpoint = signed(directory)
    rewrite(directory, "DELETE FROM ledger WHERE position > 8", *MOVE_UP, copy_of(2, to=5))
    rechain(directory, 5)
    assert faults(directory) == []
    assert faults(directory, checkpoint) == [("another_history", 8)]


SWAP = (
    "UPDATE ledger SET position = -4 WHERE position = 4",
    "UPDATE ledger SET position = 4 WHERE position = 5",
    "UPDATE ledger SET position = 5 WHERE position = -4",
)


def test_reordered_entries_show(directory):
    checkpoint = signed(directory)
    rewrite(directory, *SWAP)
    assert {("unlinked", 4), ("changed", 4), ("unlinked", 5), ("changed", 5)} <= set(faults(directory))
    rewrite(directory, "DELETE FROM ledger WHERE position > 8")
    rechain(directory, 4)
    assert faults(directory) == []
    assert faults(directory, checkpoint) == [("another_history", 8)]


def test_two_histories_that_went_apart_show(directory, tmp_path_factory):
    other = tmp_path_factory.mktemp("restored from an old copy")
    with Ledger.open(other, clock=lambda: NOON) as ledger:
        fill(ledger, 6)
        fill(ledger, 2, first=70)
        forked = make_checkpoint(ledger, SIGNER)
    assert faults(other) == []
    assert faults(other, signed(directory)) == [("another_history", 8)]
    assert faults(directory, forked) == [("another_history", 8)]


def test_a_checkpoint_of_an_untrusted_key_does_not_count(directory):
    with Ledger.open(directory, clock=lambda: NOON) as ledger:
        checkpoint = make_checkpoint(ledger, Signer(bytes(32)))
    assert faults(directory, checkpoint) == [("bad_checkpoint", 11), ("bad_checkpoint", 10)]


@pytest.mark.parametrize("field", ["position", "hash", "at"])
def test_a_changed_checkpoint_does_not_count(directory, field):
    checkpoint = signed(directory)
    changed = {"position": 7, "hash": GENESIS, "at": "2026-11-30T12:00:01.000000+00:00"}[field]
    assert ("bad_checkpoint", 7 if field == "position" else 8) in faults(
        directory,
        dataclasses.replace(checkpoint, **{field: changed}),  # type: ignore[arg-type]
    )


def test_a_checkpoint_file_is_its_canonical_bytes(directory, tmp_path):
    checkpoint, file = signed(directory), tmp_path / "checkpoint.json"
    file.write_bytes(checkpoint.to_bytes())
    assert Checkpoint.read(file) == checkpoint
    file.write_text(json.dumps(checkpoint.to_json(), indent=1))
    with pytest.raises(InputError, match=r"checkpoint\.json"):
        Checkpoint.read(file)


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "butfor.checkpoint/9"},
        {"position": 0},
        {"position": True},
        {"hash": None},
        {"at": "yesterday"},
        {"at": "2026-01-01"},
        {"signature": {}},
        {"more": 1},
    ],
)
def test_what_is_no_checkpoint_is_refused(directory, wrong):
    with pytest.raises(InputError):
        Checkpoint.from_json({**signed(directory).to_json(), **wrong})


def test_a_kind_that_is_none_is_refused(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        with pytest.raises(InputError, match="'verdict' is no kind of ledger entry: one of approval, budget"):
            ledger.append("verdict", {})
        assert list(ledger.entries()) == []


@pytest.mark.parametrize("payload", [{"id": 2**53}, {"id": float("nan")}, {"id": "\ud800"}, {"id": {1}}])
def test_what_has_no_canonical_form_is_refused(tmp_path, payload):
    with Ledger.open(tmp_path) as ledger:
        with pytest.raises(NotRecordable):
            ledger.append("decision", payload)
        with pytest.raises(NotRecordable):
            ledger.append("decision", {}, subject="\ud800")
        assert list(ledger.entries()) == []
