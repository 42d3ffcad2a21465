"""What the ledger's table must do in every store."""

import dataclasses
import threading

import pytest

from butfor import canonical
from butfor.errors import InputError
from butfor.store import Head, LedgerRecord, LedgerRows, MemoryStore, Store
from tests.patience import joined


@pytest.fixture(params=["disk", "memory"])
def rows(request, tmp_path):
    with Store.open(tmp_path) if request.param == "disk" else MemoryStore() as opened:
        yield opened.ledger()


def entry(head: Head, **changes: object) -> LedgerRecord:
    plain = LedgerRecord(
        position=head.position + 1,
        at="2026-11-30T12:00:00.000000+00:00",
        kind="decision",
        subject=None,
        scope=None,
        place=None,
        payload=b"{}",
        attachment=None,
        previous=head.hash,
        hash=f"hash of {head.position + 1}",
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def add(rows: LedgerRows, body: bytes | None = None, **changes: object) -> LedgerRecord:
    with rows.durable() as transaction:
        return transaction.add(lambda head: entry(head, **changes), body)


def test_an_empty_ledger_has_no_entry(rows: LedgerRows):
    with rows.reading() as view:
        assert view.head() == Head(position=0, hash="")
        assert (view.at(1), view.about("decision", "x"), view.last_of("decision", "x")) == (None, None, None)
        assert view.attachment(1) is None
        assert list(view.after(0, 10)) == []


def test_what_was_added_comes_back_in_order(rows: LedgerRows):
    added = [add(rows, payload=f'{{"n":{n}}}'.encode()) for n in range(5)]
    with rows.reading() as view:
        assert view.head() == Head(position=5, hash="hash of 5")
        assert list(view.after(0, 10)) == added
        assert list(view.after(2, 2)) == added[2:4]
        assert view.at(4) == added[3]
        assert view.at(6) is None


def test_both_kinds_of_transaction_write_one_chain(rows: LedgerRows):
    for transaction in (rows.durable, rows.staged, rows.durable, rows.staged):
        with transaction() as open_:
            open_.add(entry)
    with rows.reading() as view:
        assert [each.previous for each in view.after(0, 9)] == ["", "hash of 1", "hash of 2", "hash of 3"]


def test_the_last_entry_about_a_subject_is_found(rows: LedgerRows):
    add(rows, kind="decision", subject="d1")
    last = add(rows, kind="decision", subject="d1")
    add(rows, kind="outcome", subject="d1")
    add(rows, kind="decision", subject="d2")
    with rows.reading() as view:
        assert view.about("decision", "d1") == last
        assert view.about("approval", "d1") is None


def test_the_last_place_of_a_scope_is_found(rows: LedgerRows):
    add(rows, kind="budget", scope="s", place=2)
    add(rows, kind="budget", scope="s", place=10)
    add(rows, kind="budget", scope="s", place=3)
    add(rows, kind="decision", scope="s")
    newest = add(rows, kind="decision", scope="s")
    with rows.reading() as view:
        found = view.last_of("budget", "s")
        assert found is not None
        assert found.place == 10
        assert view.last_of("decision", "s") == newest


def test_a_place_is_taken_once(rows: LedgerRows):
    add(rows, kind="budget", scope="s", place=1)
    with pytest.raises(InputError, match="place 1 of this budget is in the ledger already"):
        add(rows, kind="budget", scope="s", place=1)
    add(rows, kind="budget", scope="other", place=1)
    add(rows, kind="approval", scope="s", place=1)
    with rows.reading() as view:
        assert view.head().position == 3


def test_an_attachment_comes_back(rows: LedgerRows):
    content = bytes(range(256)) * 40
    add(rows, content, attachment=canonical.digest_text(content))
    add(rows, b"", attachment=canonical.digest_text(b""))
    add(rows)
    with rows.reading() as view:
        assert [view.attachment(position) for position in (1, 2, 3)] == [content, b"", None]


@pytest.mark.parametrize("kind", ["durable", "staged"])
def test_a_transaction_that_raises_leaves_nothing(rows: LedgerRows, kind: str):
    add(rows)

    def fail() -> None:
        with getattr(rows, kind)() as transaction:
            transaction.add(entry)
            assert transaction.head().position == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with rows.reading() as view:
        assert view.head().position == 1


def test_threads_take_turns(rows: LedgerRows):
    def append(kind: str) -> None:
        for _ in range(20):
            with getattr(rows, kind)() as transaction:
                transaction.add(entry)

    threads = [threading.Thread(target=append, args=(kind,)) for kind in ("durable", "staged", "durable")]
    for thread in threads:
        thread.start()
    joined(*threads)
    with rows.reading() as view:
        entries = view.after(0, 100)
    assert [each.position for each in entries] == list(range(1, 61))
    assert [each.previous for each in entries[1:]] == [each.hash for each in entries[:-1]]
