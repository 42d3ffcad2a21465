"""What a hypothesis may spend: the series, the list, shares, stored verdicts, crashes between."""

import math
from datetime import UTC, datetime

import pytest

from butfor.errors import CorruptRecord, InputError
from butfor.gate.budget.epochs import Epoch, Extent, Family, Overlap, begin_epoch, rows_of
from butfor.gate.budget.reservation import BudgetRules, Exhausted, Spend, Stored, reserve
from butfor.gate.ledger.chain import Ledger
from butfor.store import MemoryStore, Store

FAMILY = Family(tool="restart", outcome="recovered", lineage="incidents")
WEEK_1 = Extent(window=("2026-01-01", "2026-01-07"))


@pytest.fixture(params=["disk", "memory"])
def ledger(request, tmp_path):
    with Store.open(tmp_path) if request.param == "disk" else MemoryStore() as store:
        yield Ledger(store.ledger(), clock=lambda: datetime(2026, 1, 8, tzinfo=UTC))


def ask(ledger, hypothesis, *, agent="a", evidence="week-1", entry="entry-1", rules=None, extent=WEEK_1, family=FAMILY):
    return reserve(
        ledger,
        family=family,
        hypothesis=hypothesis,
        agent=agent,
        evidence=evidence,
        entry=entry,
        rules=rules or BudgetRules(alpha=0.05),
        extent=extent,
    )


def granted(*arguments, **options) -> Spend:
    found = ask(*arguments, **options)
    assert isinstance(found, Spend)
    return found


def decided(ledger, spend: Spend, certificate: bytes = b"{}", name: str = "d1") -> None:
    ledger.append("decision", {"id": name}, subject=name, scope=spend.key, attachment=certificate)


def test_the_jth_hypothesis_gets_what_the_series_says(ledger):
    for place in range(1, 12):
        spend = granted(ledger, f"h{place}")
        assert spend.place == place
        assert spend.alpha == pytest.approx(6 * 0.05 / (math.pi**2 * place**2), rel=1e-12)


def test_a_long_series_stays_within_alpha():
    ledger = Ledger(MemoryStore().ledger())
    levels = [granted(ledger, f"h{place}").alpha for place in range(200)]
    assert 0.0497 < sum(levels) < 0.05


def test_a_share_is_spent_by_its_agent_alone(ledger):
    rules = BudgetRules(alpha=0.05, shares={"a": 0.6, "b": 0.3}, others=0.1)
    for place in range(30):
        granted(ledger, f"a{place}", agent="a", rules=rules)
    first = granted(ledger, "b0", agent="b", rules=rules)
    assert (first.place, first.share) == (1, "b")
    assert first.alpha == pytest.approx(6 * 0.3 * 0.05 / math.pi**2)


def test_agents_without_a_share_share_one(ledger):
    rules = BudgetRules(alpha=0.05, shares={"a": 0.6}, others=0.4)
    assert [granted(ledger, f"h{n}", agent=f"stranger {n}", rules=rules).place for n in range(3)] == [1, 2, 3]


def test_a_share_of_nothing_may_ask_nothing_new(ledger):
    rules = BudgetRules(alpha=0.05, shares={"a": 1.0}, others=0.0)
    found = ask(ledger, "h1", agent="stranger", rules=rules)
    assert isinstance(found, Exhausted)
    assert "agents without a share of their own" in found.sentence


def test_a_declared_list_is_split_equally_in_any_order(ledger):
    rules = BudgetRules(alpha=0.05, hypotheses=tuple(f"h{n}" for n in range(10)))
    for n in (7, 0, 3, 1, 2, 9, 8, 4, 5, 6):
        assert granted(ledger, f"h{n}", agent=f"agent {n}", rules=rules).alpha == pytest.approx(0.005)
    found = ask(ledger, "another", rules=rules)
    assert isinstance(found, Exhausted)
    assert "not among the questions that may be asked" in found.sentence


def test_a_listed_hypothesis_is_tested_once_an_epoch(ledger):
    rules = BudgetRules(alpha=0.05, hypotheses=("h1", "h2"))
    granted(ledger, "h1", rules=rules)
    found = ask(ledger, "h1", rules=rules, evidence="week-1 and a day")
    assert isinstance(found, Exhausted)
    assert "spent its level in epoch 1" in found.sentence


@pytest.mark.parametrize("rules", [BudgetRules(alpha=0.05), BudgetRules(alpha=0.05, hypotheses=("h1", "h2"))])
def test_the_same_question_gets_the_stored_verdict_at_no_cost(ledger, rules):
    decided(ledger, granted(ledger, "h1", rules=rules), b"the certificate")
    before = sum(1 for _ in ledger.entries())
    found = ask(ledger, "h1", agent="another agent", rules=rules)
    assert found == Stored(decision="d1", certificate=b"the certificate", position=before)
    assert sum(1 for _ in ledger.entries()) == before


@pytest.mark.parametrize("rules", [BudgetRules(alpha=0.05), BudgetRules(alpha=0.05, hypotheses=("h1", "h2"))])
def test_a_decision_that_never_came_keeps_its_place_and_its_cost(ledger, rules):
    first = granted(ledger, "h1", rules=rules)
    assert ask(ledger, "h1", rules=rules) == first
    assert granted(ledger, "h2", rules=rules).place == 2


@pytest.mark.parametrize("changed", [{"evidence": "week-1, corrected"}, {"entry": "entry-2"}])
def test_other_evidence_or_another_entry_is_another_test(ledger, changed):
    decided(ledger, granted(ledger, "h1"))
    assert granted(ledger, "h1", **changed).place == 2


def test_another_tool_outcome_or_lineage_is_another_family(ledger):
    granted(ledger, "h1")
    for family in (
        Family(tool="stop", outcome="recovered", lineage="incidents"),
        Family(tool="restart", outcome="latency", lineage="incidents"),
        Family(tool="restart", outcome="recovered", lineage="drills"),
    ):
        assert granted(ledger, "h1", family=family).place == 1


def test_rules_that_change_in_an_epoch_never_grant_more_than_alpha(ledger):
    total = granted(ledger, "h0", rules=BudgetRules(alpha=0.05, shares={"a": 1.0}, others=0.0)).alpha
    generous = BudgetRules(alpha=0.05, shares={"b": 1.0}, others=0.0)
    for n in range(1, 40):
        found = ask(ledger, f"h{n}", agent="b", rules=generous)
        total += found.alpha if isinstance(found, Spend) else 0.0
    assert total <= 0.05
    lower = ask(ledger, "last", agent="a", rules=BudgetRules(alpha=0.01))
    assert isinstance(lower, Exhausted)
    assert "0 of 0.01 left" in lower.sentence


def test_a_new_epoch_needs_evidence_seen_later(ledger):
    granted(ledger, "h1")
    early = begin(ledger, "week-1b", Extent(window=("2026-01-07T12:00:00Z", "2026-01-13")))
    assert isinstance(early, Overlap)
    assert early.evidence == "week-1"
    assert begin(ledger, "week-2", Extent(window=("2026-01-08", "2026-01-14"))) == Epoch(family=FAMILY.digest, number=2)
    fresh = granted(ledger, "h1", evidence="week-2")
    assert (fresh.epoch, fresh.place) == (2, 1)


def begin(ledger, evidence, extent):
    return begin_epoch(ledger, family=FAMILY, evidence=evidence, extent=extent, reason="a new week", by="ada")


def test_a_new_epoch_needs_rows_of_other_names(ledger):
    granted(ledger, "h1", extent=Extent(rows=rows_of(f"unit {n}" for n in range(100))))
    assert isinstance(begin(ledger, "e2", Extent(rows=rows_of(f"unit {n}" for n in range(99, 200)))), Overlap)
    assert isinstance(begin(ledger, "e3", Extent(rows=rows_of(f"unit {n}" for n in range(100, 200)))), Epoch)


@pytest.mark.parametrize(
    ("used", "new"),
    [
        (Extent(), Extent(window=("2027-01-01", "2027-01-02"))),
        (WEEK_1, Extent()),
        (WEEK_1, Extent(rows=rows_of(["a"]))),
        (WEEK_1, Extent(window=("5", "9"))),
        (WEEK_1, Extent(window=("soon", "later"))),
        (Extent(window=("1", "5")), Extent(window=("5", "9"))),
    ],
)
def test_what_cannot_be_shown_to_be_disjoint_is_refused(ledger, used, new):
    granted(ledger, "h1", extent=used)
    found = begin(ledger, "e2", new)
    assert isinstance(found, Overlap)
    assert "shares no row" in found.sentence


def test_times_may_be_numbers(ledger):
    granted(ledger, "h1", extent=Extent(window=("1", "5")))
    assert isinstance(begin(ledger, "e2", Extent(window=("5.5", "40"))), Epoch)


def test_an_epoch_that_used_nothing_does_not_end(ledger):
    found = begin(ledger, "week-2", Extent(window=("2026-01-08", "2026-01-14")))
    assert isinstance(found, Overlap)
    assert found.evidence is None


def test_the_same_evidence_begins_no_epoch(ledger):
    granted(ledger, "h1")
    assert isinstance(begin(ledger, "week-1", Extent(window=("2027-01-08", "2027-01-14"))), Overlap)


def test_old_evidence_is_paid_by_its_own_epoch(ledger):
    decided(ledger, granted(ledger, "h1"))
    begin(ledger, "week-2", Extent(window=("2026-01-08", "2026-01-14")))
    assert isinstance(ask(ledger, "h1"), Stored)
    late = granted(ledger, "h2")
    assert (late.epoch, late.place) == (1, 2)


def test_evidence_that_overlaps_an_earlier_epoch_joins_none(ledger):
    granted(ledger, "h1")
    begin(ledger, "week-2", Extent(window=("2026-01-08", "2026-01-14")))
    found = ask(ledger, "h1", evidence="both weeks", extent=Extent(window=("2026-01-01", "2026-01-14")))
    assert isinstance(found, Exhausted)
    assert "which epoch 1 used" in found.sentence
    joined = granted(ledger, "h1", evidence="week-2b", extent=Extent(window=("2026-01-09", "2026-01-15")))
    assert joined.epoch == 2


def test_every_earlier_epoch_is_compared(ledger):
    granted(ledger, "h1")
    begin(ledger, "week-3", Extent(window=("2026-01-15", "2026-01-21")))
    found = begin(ledger, "week-1 again", Extent(window=("2026-01-07", "2026-01-07")))
    assert isinstance(found, Overlap)
    assert found.evidence == "week-1"


def test_a_stored_verdict_without_a_certificate_is_named(ledger):
    spend = granted(ledger, "h1")
    ledger.append("decision", {"id": "d1"}, subject="d1", scope=spend.key)
    with pytest.raises(CorruptRecord, match="a stored verdict has no certificate"):
        ask(ledger, "h1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"alpha": math.nan},
        {"alpha": 0.05, "shares": {"a": 0.6}},
        {"alpha": 0.05, "shares": {"a": -0.1}, "others": 0.5},
        {"alpha": 0.05, "shares": {"": 0.5}, "others": 0.5},
        {"alpha": 0.05, "others": math.nan},
        {"alpha": 0.05, "hypotheses": ()},
        {"alpha": 0.05, "hypotheses": ("h", "h")},
    ],
)
def test_rules_that_make_no_budget_are_refused(wrong):
    with pytest.raises(InputError):
        BudgetRules(**wrong)
