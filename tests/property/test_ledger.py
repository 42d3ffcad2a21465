"""Whatever is asked in whatever order, a budget is kept; whatever is changed in a ledger, it shows."""

import dataclasses
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from butfor.gate.budget.epochs import Extent, Family, begin_epoch
from butfor.gate.budget.reservation import BudgetRules, Exhausted, Spend, Stored, reserve
from butfor.gate.budget.spending import spending
from butfor.gate.ledger.chain import Ledger
from butfor.gate.ledger.checkpoints import make_checkpoint
from butfor.gate.ledger.checks import verify_log
from butfor.gate.signing.signatures import Signer
from butfor.store import LedgerRecord, MemoryStore

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
FAMILY = Family(tool="restart", outcome="recovered", lineage="incidents")
SIGNER = Signer(bytes(range(32)))
HYPOTHESES = [f"h{n}" for n in range(6)]


def open_ledger() -> Ledger:
    return Ledger(MemoryStore().ledger(), clock=lambda: NOON)


@st.composite
def rules(draw: st.DrawFn) -> BudgetRules:
    """Rules that may change between any two questions, at the same α."""
    parts = draw(st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(lambda each: sum(each) > 0))
    whole = sum(parts)
    listed = draw(st.booleans())
    return BudgetRules(
        alpha=0.05,
        shares={"a": parts[0] / whole, "b": parts[1] / whole},
        others=parts[2] / whole,
        hypotheses=tuple(HYPOTHESES) if listed else None,
    )


questions = st.tuples(
    st.sampled_from(HYPOTHESES),
    st.sampled_from(["a", "b", "stranger", "another"]),
    st.sampled_from(["week 0", "week 1", "week 2", "week 0, corrected"]),
    st.booleans(),
    st.booleans(),
)


def extent(evidence: str) -> Extent:
    week = int(evidence[5])
    return Extent(window=(str(10 * week), str(10 * week + 9)))


@given(st.lists(st.tuples(questions, rules()), max_size=25))
def test_no_epoch_ever_grants_more_than_alpha(asked):
    ledger = open_ledger()
    granted: dict[tuple[str, str], Spend] = {}
    stored: dict[tuple[str, str], int] = {}
    for number, ((hypothesis, agent, evidence, decides, renews), said) in enumerate(asked):
        if renews:
            begin_epoch(ledger, family=FAMILY, evidence=evidence, extent=extent(evidence), reason="new rows", by="ada")
        found = reserve(
            ledger,
            family=FAMILY,
            hypothesis=hypothesis,
            agent=agent,
            evidence=evidence,
            entry="p",
            rules=said,
            extent=extent(evidence),
        )
        question = (hypothesis, evidence)
        if isinstance(found, Spend):
            assert question not in stored
            # Asked again before its decision: the same place. Otherwise a new one.
            assert granted.setdefault(question, found) == found
            if decides:
                ledger.append("decision", {}, subject=f"d{number}", scope=found.key, attachment=b"%d" % number)
                stored[question] = number
        elif isinstance(found, Stored):
            assert found.certificate == b"%d" % stored[question]
        else:
            assert isinstance(found, Exhausted)
            assert question not in stored
    for epoch in {each.epoch for each in granted.values()}:
        assert sum(each.alpha for each in granted.values() if each.epoch == epoch) <= 0.05 + 1e-12
    assert {each.epoch: pytest.approx(each.spent) for each in spending(ledger) if each.spent} == {
        epoch: sum(each.alpha for each in granted.values() if each.epoch == epoch)
        for epoch in {each.epoch for each in granted.values()}
    }
    # No evidence of two epochs shares a row.
    weeks = [{name[:6] for name in each.evidence} for each in spending(ledger)]
    assert sum(map(len, weeks)) == len(set().union(*weeks))
    assert verify_log(ledger).ok


CHANGES = {
    "at": "2026-11-30T12:00:00.000001+00:00",
    "kind": "key",
    "subject": "another",
    "scope": "another",
    "place": 77,
    "payload": b'{"n":77}',
    "attachment": f"sha256:{'1' * 64}",
    "previous": f"sha256:{'1' * 64}",
    "hash": f"sha256:{'1' * 64}",
}


class Edited:
    """A ledger's table in which somebody put other records."""

    def __init__(self, records: list[LedgerRecord]) -> None:
        self._store = MemoryStore()
        with self._store.ledger().durable() as transaction:
            for record in records:
                transaction.add(lambda _, record=record: record)  # type: ignore[misc]
        self.ledger = Ledger(self._store.ledger())


def numbered(records: list[LedgerRecord]) -> list[LedgerRecord]:
    """A table has every position once; who moves rows must renumber them."""
    return [dataclasses.replace(each, position=place) for place, each in enumerate(records, start=1)]


@given(st.integers(1, 12), st.data())
def test_one_change_anywhere_shows(length, data):
    ledger = open_ledger()
    for n in range(length):
        ledger.append("decision", {"n": n}, subject=f"d{n}")
    checkpoint = make_checkpoint(ledger, SIGNER)
    with ledger.rows.reading() as view:
        records = list(view.after(0, 100))
    assert verify_log(Edited(records).ledger, since=checkpoint).ok
    place = data.draw(st.integers(0, length - 1))
    what = data.draw(st.sampled_from([*CHANGES, "drop", "swap", "repeat", "cut"]))
    if what == "drop":
        del records[place]
    elif what == "swap":
        other = (place + data.draw(st.integers(1, length))) % (length + 1)  # any other one, the checkpoint included
        records[place], records[other] = records[other], records[place]
        records = numbered(records)
    elif what == "repeat":
        records.insert(place, records[place])
        records = numbered(records)
    elif what == "cut":
        del records[place:]
    else:
        records[place] = dataclasses.replace(records[place], **{what: CHANGES[what]})
    found = verify_log(Edited(records).ledger, since=checkpoint)
    assert not found.ok, what
