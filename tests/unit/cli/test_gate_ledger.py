"""`butfor gate log|verify-log|outcome|calibration|rows|budget|approve|bypass`."""

import json
import sqlite3
from pathlib import Path

import pytest

from butfor.cli.main import main
from butfor.estimation.evidence import open_evidence
from butfor.gate.approvals import Used, use
from butfor.gate.budget.epochs import Extent, Family
from butfor.gate.budget.reservation import BudgetRules, reserve
from butfor.gate.ledger.chain import Ledger
from butfor.gate.signing.trust import TrustFile
from tests.unit.gate.decisions import decided

FAMILY = Family(tool="restart", outcome="recovered", lineage="incidents")
RULES = BudgetRules(alpha=0.05, shares={"ada": 0.5}, others=0.5)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("BUTFOR_KEYS", str(tmp_path / "keys"))
    return tmp_path


@pytest.fixture
def filled(place: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    # The keys first: where there is a ledger, it notes a new key.
    for role in ("gate", "approver"):
        called(capsys, "gate", "keys", "new", "--role", role, "--name", role, "--trust", "trust.json")
    with Ledger.open(place / "store") as ledger:
        decided(ledger, "d1", context={"load": 1.0})
        decided(ledger, "d2", verdict="REJECT", reason="insufficient_evidence", agent="b", context={"load": 2.0})
        decided(ledger, "d3", tool="stop", agent="b")
    return place


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def read(capsys, *arguments):
    code, out, err = called(capsys, *arguments, "--json")
    assert code in (0, 1), err
    return json.loads(out)


def names(capsys, *arguments):
    return [entry["subject"] for entry in read(capsys, "gate", "log", *arguments)["entries"]]


def test_every_decision_is_listed_refusals_too(filled, capsys):
    code, out, _ = called(capsys, "gate", "log")
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert lines[1].endswith("decision    REJECT insufficient_evidence: restart, asked by b (d2)")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["d1", "d2", "d3"]),
        (("--verdict", "EXECUTE"), ["d1", "d3"]),
        (("--reason", "insufficient_evidence"), ["d2"]),
        (("--tool", "stop"), ["d3"]),
        (("--agent", "b"), ["d2", "d3"]),
        (("--agent", "b", "--tool", "restart"), ["d2"]),
        (("--kind", "outcome"), []),
        (("--last", "2"), ["d2", "d3"]),
        (("--since", "2099-01-01"), []),
        (("--until", "2099-01-01"), ["d1", "d2", "d3"]),
        (("--until", "2020-01-01T00:00Z"), []),
    ],
)
def test_the_log_is_filtered(filled, capsys, options, expected):
    assert names(capsys, *options) == expected


def test_a_time_that_is_none_is_refused(filled, capsys):
    code, _, err = called(capsys, "gate", "log", "--since", "yesterday")
    assert (code, "'yesterday' is no time (--since)" in err) == (2, True)


def test_one_entry_is_shown_with_what_is_attached(filled, capsys):
    code, out, _ = called(capsys, "gate", "log", "show", "d1", "--out", "certificate.json")
    assert (code, out.startswith("entry 1, decision, ")) == (0, True)
    assert json.loads(Path("certificate.json").read_bytes())["body"]["decision"]["id"] == "d1"
    assert read(capsys, "gate", "log", "show", "2")["subject"] == "d2"
    code, _, err = called(capsys, "gate", "log", "show", "9")
    assert (code, "no entry and no decision '9'" in err) == (2, True)


def test_no_store_is_made_to_be_read(place, capsys):
    for verb in (("log",), ("verify-log",), ("budget",), ("outcome", "d1", "1"), ("calibration",)):
        code, _, err = called(capsys, "gate", *verb)
        assert (code, "there is no store, and so no ledger yet" in err) == (2, True)
    assert not (place / "store").exists()


def test_a_ledger_is_verified_against_a_checkpoint_kept_elsewhere(filled, capsys):
    code, out, _ = called(capsys, "gate", "verify-log")
    assert (code, "not checked: no checkpoint was given: entries missing at the end" in out) == (0, True)
    code, out, _ = called(capsys, "gate", "log", "checkpoint", "--out", "checkpoint.json")
    assert (code, "entries 1 to 3 signed in checkpoint.json" in out) == (0, True)
    checked = ("gate", "verify-log", "--since", "checkpoint.json", "--trust", "trust.json")
    code, out, _ = called(capsys, *checked)
    assert (code, "entries 1 to 3 are those that were signed" in out, "not checked" in out) == (0, True, False)
    with sqlite3.connect(filled / "store" / "butfor.db") as connection:
        connection.execute("DROP TRIGGER ledger_refuses_DELETE")
        connection.execute("DELETE FROM ledger WHERE position > 2")
    connection.close()
    assert read(capsys, "gate", "verify-log")["ok"]
    code, out, _ = called(capsys, *checked)
    assert (code, "truncated" in out) == (1, True)
    assert [each["fault"] for each in read(capsys, *checked)["findings"]] == ["truncated"]


def test_a_checkpoint_is_printed_where_no_file_is_named(filled, capsys):
    code, out, _ = called(capsys, "gate", "log", "checkpoint")
    assert (code, json.loads(out)["position"]) == (0, 3)


def test_an_outcome_is_told_from_the_shell(filled, capsys):
    assert called(capsys, "gate", "outcome", "d1", "0.75")[1] == "d1 ran and came to 0.75: entry 4 of the ledger\n"
    assert called(capsys, "gate", "outcome", "d1", "0.75")[1].endswith("entry 4 of the ledger already\n")
    code, _, err = called(capsys, "gate", "outcome", "d1", "-0.5")
    assert (code, "value 0.75 of decision d1 is in the ledger, and this says -0.5" in err) == (2, True)
    assert read(capsys, "gate", "outcome", "d2", "1", "--ran")["ran"] is True
    assert names(capsys, "--kind", "outcome") == ["d1", "d2"]


def test_promises_and_rows_come_from_outcomes(filled, capsys):
    assert called(capsys, "gate", "calibration")[1].startswith("no executed decision has an outcome yet")
    called(capsys, "gate", "outcome", "d1", "0.75")
    called(capsys, "gate", "outcome", "d2", "0.25")
    code, out, _ = called(capsys, "gate", "calibration")
    assert (code, "restart → recovered: 1 executed decisions with outcomes" in out) == (0, True)
    assert read(capsys, "gate", "calibration")["calibration"][0]["level"]["promised"] == pytest.approx(0.6)
    code, out, err = called(capsys, "gate", "rows", "--tool", "restart", "--out", "rows.jsonl")
    assert code == 0, err
    assert "2 were selected by a gate's rule, and fail positivity for it" in out
    evidence = open_evidence(Path("rows.jsonl")).evidence
    assert (evidence.kind, evidence.rows, evidence.roles.covariates) == ("policy-confounded", 2, ("load",))


def test_a_broken_promise_is_exit_code_1(place, capsys):
    with Ledger.open(place / "store") as ledger:
        for n in range(40):
            decided(ledger, f"d{n}", level=0.9)
    for n in range(40):
        called(capsys, "gate", "outcome", f"d{n}", "0")
    code, out, _ = called(capsys, "gate", "calibration")
    assert (code, "broken" in out) == (1, True)


def spend(place, evidence="e", window=("2026-01-01", "2026-01-31")):
    with Ledger.open(place / "store") as ledger:
        for agent, hypothesis in (("ada", "h1"), ("ada", "h2"), ("bob", "h3")):
            reserve(
                ledger,
                family=FAMILY,
                hypothesis=hypothesis,
                agent=agent,
                evidence=evidence,
                entry="p",
                rules=RULES,
                extent=Extent(window=window),
            )


def test_the_budget_is_shown_by_family_epoch_and_agent(filled, capsys):
    assert called(capsys, "gate", "budget")[1] == "nothing was spent yet\n"
    spend(filled)
    out = called(capsys, "gate", "budget")[1]
    assert "restart → recovered (incidents), epoch 1" in out
    assert "    ada: 2 hypotheses, spent 0.019 of 0.025, left 0.006" in out
    assert "    everybody without a share: 1 hypothesis, spent 0.0152 of 0.025" in out
    (found,) = read(capsys, "gate", "budget")["budget"]
    assert found["spent"] + found["left"] == pytest.approx(0.05)
    assert found["evidence"] == ["e"]


def evidence_file(name: str, month: str) -> None:
    rows = [f"{n % 2},{n % 3},2026-{month}-{n + 1:02d}" for n in range(12)]
    Path(name).write_text("\n".join(["restart,recovered,at", *rows]) + "\n")


def test_an_epoch_begins_only_with_rows_seen_later(filled, capsys):
    spend(filled)
    for name, month in (("again.csv", "01"), ("later.csv", "02")):
        evidence_file(name, month)
        called(capsys, "evidence", "show", name, "-t", "restart", "-y", "recovered", "--time", "at", "--save")
    family = FAMILY.digest[:16]
    code, out, _ = called(capsys, "gate", "budget", "renew", family, "again.csv", "--reason", "impatience")
    assert (code, "no new epoch (overlap)" in out) == (1, True)
    code, out, err = called(capsys, "gate", "budget", "renew", family, "later.csv", "--reason", "a new month")
    assert (code, "epoch 2 of restart → recovered began" in out) == (0, True), err
    assert [each["epoch"] for each in read(capsys, "gate", "budget")["budget"]] == [1, 2]
    code, _, err = called(capsys, "gate", "budget", "renew", "sha256:ff", "later.csv", "--reason", "none")
    assert (code, "no family 'sha256:ff' has spent anything" in err) == (2, True)


@pytest.mark.parametrize(("verb", "kind"), [("approve", "approval"), ("bypass", "bypass")])
def test_one_exact_call_is_allowed(filled, capsys, verb, kind):
    Path("call.json").write_text('{"tool": "restart", "arguments": {"node": 7}}')
    options = ("call.json", "--reason", "the disk is full", "--for", "2h", "--uses", "2")
    code, out, err = called(capsys, "gate", verb, *options)
    assert code == 0, err
    assert out.startswith('restart {"node": 7}\nsha256:')
    assert f"{kind} for 2 uses until " in out
    call = out.splitlines()[1]
    with Ledger.open(filled / "store") as ledger:
        assert isinstance(use(ledger, kind, call, agent="a", trust=TrustFile.read("trust.json")), Used)
    entries = read(capsys, "gate", "log", "--tool", "restart", "--kind", kind)["entries"]
    assert [each["words"].split(" ")[0] for each in entries] == ["granted:", "used"]
    assert entries[0]["words"].endswith("because the disk is full")
    code, out, _ = called(capsys, "gate", verb, "call.json", "--reason", "repaired", "--withdraw")
    assert (code, f"every {kind} of this call is withdrawn" in out) == (0, True)


def test_a_call_that_cannot_be_written_exactly_is_not_approved(filled, capsys):
    Path("call.json").write_text('{"tool": "pay", "arguments": {"id": 9223372036854775809}}')
    code, _, err = called(capsys, "gate", "approve", "call.json", "--reason", "x")
    assert (code, "shares its double with others (call.json, line 1, column 37, $.arguments.id)" in err) == (2, True)
    assert names(capsys, "--kind", "approval") == []


def test_a_key_that_the_trust_file_does_not_know_grants_nothing(filled, capsys):
    Path("call.json").write_text('{"tool": "restart", "arguments": {}}')
    Path("trust.json").write_text(TrustFile.of([]).to_text())
    code, _, err = called(capsys, "gate", "approve", "call.json", "--reason", "x")
    assert (code, "nothing was granted" in err) == (2, True)
    assert names(capsys, "--kind", "approval") == []


def test_a_graph_that_nobody_committed_has_no_log(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = called(capsys, "graph", "log", "nope")
    assert (code, "no version of the graph 'nope' is committed" in err) == (2, True)
