"""From a decision of the gate to an auditor's answer: store, bundle, files, and the command line."""

import io
import json
import shutil
import zipfile

import numpy as np
import pytest

from butfor.canonical import digest_text
from butfor.cli.main import main
from butfor.errors import CorruptRecord, InputError
from butfor.estimation.evidence.row_digest import row_digest
from butfor.gate import Action
from butfor.gate.certificate.bundle import Bundle
from butfor.gate.certificate.envelope import seal
from butfor.gate.certificate.kept import kept
from butfor.gate.ledger.checkpoints import make_checkpoint
from butfor.gate.ledger.segment import Segment
from butfor.gate.signing.strict_json import parse_strict
from butfor.gate.verify import Given, verify
from butfor.gate.verify.gathering import bundle_of, from_store, read_rows, with_bundle, with_store
from butfor.graphs import Graph
from tests.unit.gate.places import GATE, NOW, POLICY, place, rows

TIERS = {"gold": "bound_met", "silver": "insufficient_reversible", "bronze": "shown_harmful"}


def call_of(tier):
    return Action(tool="restart_service", arguments={"tier": tier})


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A folder after one decision about each tier, with a checkpoint; and the certificates."""
    here = place(tmp_path_factory.mktemp("ops"))
    with here.open() as gate:
        made = {tier: gate.decide(call_of(tier)).certificate for tier in TIERS}
        make_checkpoint(gate.ledger, GATE)
        made["unknown"] = gate.decide(Action(tool="other", arguments={})).certificate
    for name, data in made.items():
        (here.path / f"{name}.json").write_bytes(data)
    (here.path / "call.json").write_text('{"tool": "restart_service", "arguments": {"tier": "gold"}}')
    return here


@pytest.fixture
def trust(decided):
    with decided.open() as gate:
        return gate.material.trust()


def failures(report):
    return {check.name for check in report.checks if check.status == "failed"}


def status(report, name):
    return next(check.status for check in report.checks if check.name == name)


@pytest.mark.parametrize("tier", TIERS)
def test_a_decision_of_the_gate_is_derived_again_from_the_store_alone(decided, trust, tier):
    data = (decided.path / f"{tier}.json").read_bytes()
    report = verify(data, with_store(Given(trust=trust), data, decided.path / "store"))
    assert failures(report) == set(), report.to_json()
    assert report.level == "rows"
    assert {status(report, name) for name in ("estimate", "verdict", "ledger", "commitment", "proof")} == {"ok"}


def test_rows_are_kept_under_the_digest_that_the_certificate_names(decided):
    body = parse_strict((decided.path / "gold.json").read_bytes())["body"]
    digest = body["provenance"]["evidence"]
    found = kept(decided.path / "store", digest)
    assert found is not None
    assert row_digest(found) == digest


def test_the_evidence_may_be_the_table_itself_and_another_table_is_refused(decided, trust, tmp_path):
    data = (decided.path / "gold.json").read_bytes()
    report = verify(data, Given(trust=trust, rows=read_rows(decided.path / "incidents.csv", data)))
    assert failures(report) == set()
    assert report.level == "rows"
    other = tmp_path / "incidents.csv"
    other.write_text(rows(seed=2))
    report = verify(data, Given(trust=trust, rows=read_rows(other, data)))
    assert "evidence" in failures(report)


@pytest.mark.parametrize("tier", [*TIERS, "unknown"])
def test_a_bundle_is_all_that_an_auditor_needs(decided, trust, tier):
    data = (decided.path / f"{tier}.json").read_bytes()
    bundle = Bundle.from_bytes(bundle_of(data, home=decided.path / "store", evidence=None).to_bytes())
    report = verify(bundle.certificate, with_bundle(Given(trust=trust), bundle))
    assert failures(report) == set(), report.to_json()
    assert report.level == ("nothing" if tier == "unknown" else "rows")
    assert status(report, "ledger") == "ok"
    missing = ("no checkpoint was signed since the decision",) if tier == "unknown" else ()
    assert bundle.missing == missing


def test_a_bundle_is_the_same_bytes_each_time(decided):
    data = (decided.path / "gold.json").read_bytes()
    made = [bundle_of(data, home=decided.path / "store", evidence=None).to_bytes() for _ in range(2)]
    assert made[0] == made[1]
    table = decided.path / "incidents.csv"
    assert bundle_of(data, home=decided.path / "store", evidence=table).to_bytes() == made[0]
    assert b"gate.yaml" not in made[0]
    assert GATE.public not in made[0]


def test_more_rows_than_the_limit_are_left_out_and_verify_says_why(decided, trust):
    data = (decided.path / "gold.json").read_bytes()
    found = from_store(data, decided.path / "store")
    bundle = Bundle.of(data, rows=found.rows, segment=None, most=100)
    assert bundle.rows is None
    report = verify(data, with_bundle(Given(trust=trust), Bundle.from_bytes(bundle.to_bytes())))
    assert report.level == "attested"
    assert failures(report) == set()
    (check,) = (check for check in report.checks if check.name == "evidence")
    assert "more than 100" in check.sentence


def test_rows_of_other_evidence_are_not_bundled(decided):
    data = (decided.path / "gold.json").read_bytes()
    (decided.path / "other.csv").write_text(rows(seed=2))
    with pytest.raises(InputError, match="not the evidence"):
        bundle_of(data, home=decided.path / "store", evidence=decided.path / "other.csv")


def test_a_changed_bundle_is_refused_or_its_certificate_fails(decided, trust):
    whole = bundle_of((decided.path / "gold.json").read_bytes(), home=decided.path / "store", evidence=None).to_bytes()
    for at in range(0, len(whole), 1009):
        changed = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]
        try:
            bundle = Bundle.from_bytes(changed)
        except CorruptRecord:
            continue
        # What ZIP keeps beside the parts, such as a date, carries nothing.
        assert content(bundle) == content(Bundle.from_bytes(whole))


def content(bundle):
    assert bundle.rows is not None
    return bundle.certificate, row_digest(bundle.rows), bundle.segment, bundle.versions, bundle.missing


def repacked(data, **changes):
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", changes.get("how", 0)) as new:
        for name in old.namelist():
            part = changes.get(name.partition(".")[0], old.read(name))
            if part is not None:
                new.writestr(name, part)
        if "more" in changes:
            new.writestr("more.txt", changes["more"])
    return file.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"more": "x"},
        {"ledger": None},
        {"certificate": None},
        {"manifest": b"{}"},
        {"manifest": None},
        {"graph": b"{}"},
        {"how": zipfile.ZIP_DEFLATED},
    ],
)
def test_a_bundle_put_together_otherwise_is_refused(decided, changes):
    whole = bundle_of((decided.path / "gold.json").read_bytes(), home=decided.path / "store", evidence=None).to_bytes()
    with pytest.raises(CorruptRecord):
        Bundle.from_bytes(repacked(whole, **changes))
    with pytest.raises(CorruptRecord):
        Bundle.from_bytes(b"PK\x03\x04nothing")


def test_a_changed_piece_of_the_ledger_is_caught(decided, trust):
    data = (decided.path / "gold.json").read_bytes()
    segment = from_store(data, decided.path / "store").segment
    assert segment is not None
    assert segment.checkpoint is not None
    whole = segment.to_json()
    for i, link in enumerate(whole["links"]):
        for name, value in link.items():
            links = [dict(each) for each in whole["links"]]
            links[i][name] = "x" if isinstance(value, str) or value is None else value + 1
            changed = Segment.from_json({**whole, "links": links})
            report = verify(data, Given(trust=trust, segment=changed))
            assert "ledger" in failures(report), (i, name)
    shorter = Segment.from_json({**whole, "links": whole["links"][1:]})
    assert "ledger" in failures(verify(data, Given(trust=trust, segment=shorter)))
    for name, value in {"position": 1, "hash": whole["links"][0]["hash"], "at": NOW.isoformat()}.items():
        altered = Segment.from_json({**whole, "checkpoint": {**whole["checkpoint"], name: value}})
        assert "ledger" in failures(verify(data, Given(trust=trust, segment=altered))), name


def test_the_certificate_of_another_decision_is_not_in_the_ledger_under_this_one(decided, trust):
    gold, bronze = ((decided.path / f"{tier}.json").read_bytes() for tier in ("gold", "bronze"))
    segment = from_store(bronze, decided.path / "store").segment
    assert "ledger" in failures(verify(gold, Given(trust=trust, segment=segment)))


def test_what_another_call_would_ask_is_not_what_was_decided(decided, trust):
    data = (decided.path / "gold.json").read_bytes()
    call = (decided.path / "call.json").read_bytes()
    assert status(verify(data, Given(trust=trust, call=call)), "call") == "ok"
    body = parse_strict(data)["body"]
    body["action"]["stratum"]["tier"] = body["action"]["context"]["tier"]["value"] = "bronze"
    report = verify(seal(body, GATE), Given(trust=trust, call=call))
    (check,) = (check for check in report.checks if check.name == "call")
    assert check.fields == ("$.action.stratum.tier",)


# ---- the command line ----


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(each) for each in arguments])
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


@pytest.fixture
def there(decided, monkeypatch):
    monkeypatch.chdir(decided.path)
    monkeypatch.setenv("BUTFOR_HOME", str(decided.path / "store"))
    monkeypatch.delenv("BUTFOR_TRUST", raising=False)
    return decided.path


def test_verify_prints_each_check_and_exits_with_0(there, capsys):
    more = ("--call", "call.json", "--policy", "gate.yaml")
    code, out, err = called(capsys, "verify", "gold.json", "--trust", "trust.json", *more)
    assert (code, err) == (0, "")
    assert out.count("\nok  ") == 16
    assert "FAILED" not in out
    assert "\n?" not in out
    assert "derived again from the rows" in out


def test_verify_without_a_trust_file_fails(there, capsys):
    code, out, _ = called(capsys, "verify", "gold.json")
    assert code == 1
    assert "FAILED  signature" in out


def test_a_changed_certificate_is_held_against_the_ledgers(there, capsys):
    data = (there / "gold.json").read_bytes()
    (there / "changed.json").write_bytes(data.replace(b'"verdict":"EXECUTE"', b'"verdict":"ABSTAIN"', 1))
    code, out, _ = called(capsys, "verify", "changed.json", "--trust", "trust.json", "--json")
    report = json.loads(out)
    assert code == 1
    found = {check["name"]: check for check in report["checks"] if check["status"] == "failed"}
    assert set(found) == {"fields", "verdict", "ledger"}
    assert found["fields"]["fields"] == ["$.decision.verdict"]
    assert "'EXECUTE' was expected" in found["fields"]["sentence"]


def test_an_auditor_without_the_store_has_the_bundle(there, capsys, tmp_path, monkeypatch):
    code, out, _ = called(capsys, "gate", "export", "gold.json", "--out", tmp_path / "gold.bundle", "--json")
    said = json.loads(out)
    assert (code, said["missing"], said["bytes"]) == (0, [], (tmp_path / "gold.bundle").stat().st_size)
    assert said["digest"] == digest_text((tmp_path / "gold.bundle").read_bytes())
    for name in ("gold.json", "trust.json"):
        shutil.copy(there / name, tmp_path / name)
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    code, out, _ = called(capsys, "verify", "gold.json", "--trust", "trust.json")
    assert (code, "attested by the signature only" in out) == (0, True)
    assert not (tmp_path / "nowhere").exists()
    for arguments in (("gold.json", "--bundle", "gold.bundle"), ("gold.bundle",)):
        code, out, _ = called(capsys, "verify", *arguments, "--trust", "trust.json")
        assert (code, "derived again from the rows" in out) == (0, True)
        assert "under the checkpoint of entry" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.json",), "none.json"),
        (("gold.json", "--trust", "none.json"), "trust file"),
        (("gold.json", "--trust", "gold.json"), "trust"),
        (("gold.json", "--evidence", "none.csv"), "none.csv"),
        (("gold.json", "--evidence", "none.rows"), "none.rows"),
        (("gold.json", "--evidence", "gate.yaml"), "yaml"),
        (("gold.json", "--bundle", "gold.json"), "no bundle"),
        (("gold.json", "--bundle", "none.bundle"), "none.bundle"),
        (("gold.json", "--call", "none.json"), "none.json"),
        (("gold.json", "--policy", "none.yaml"), "none.yaml"),
        (("unknown.json", "--evidence", "incidents.csv"), "does not say"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_2(there, capsys, arguments, words):
    code, out, err = called(capsys, "verify", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


# ---- other levels and sources of evidence ----

STATISTICS = POLICY.replace(", time: seen_at}", ", level: statistics}").replace("    max_evidence_age: 90d\n", "")
QUERY = "SELECT * FROM 'incidents.csv'"
SQL = POLICY.replace("{file: incidents.csv,", f'{{sql: "{QUERY}",')
GRADED = STATISTICS.replace(", two_valued: true", "")


def graded(text):
    """Turn the outcome into a share with many values, whose squares add up to more than a double keeps."""
    head, *lines = text.splitlines()
    cells = [line.split(",") for line in lines]
    changed = [
        [t, str(round(0.1 + 0.7 * int(y) + 0.0001 * i / len(cells), 9)), *rest] for i, (t, y, *rest) in enumerate(cells)
    ]
    return "\n".join([head, *(",".join(each) for each in changed)]) + "\n"


@pytest.mark.parametrize(
    ("policy", "evidence", "level"),
    [(STATISTICS, rows(), "statistics"), (SQL, rows(), "rows"), (GRADED, graded(rows()), "statistics")],
    ids=["statistics", "sql", "graded statistics"],
)
def test_each_source_of_evidence_is_derived_again(tmp_path, policy, evidence, level):
    pytest.importorskip("duckdb")
    here = place(tmp_path, policy=policy, evidence=evidence)
    with here.open() as gate:
        made = [gate.decide(call_of(tier)) for tier in TIERS]
        trust = gate.material.trust()
    assert made[0].verdict == "EXECUTE", made[0].in_words()
    for ruling in made:
        data = ruling.certificate
        report = verify(data, with_store(Given(trust=trust), data, tmp_path / "store"))
        assert failures(report) == set(), report.to_json()
        assert (report.level, status(report, "estimate"), status(report, "verdict")) == (level, "ok", "ok")
    if level == "statistics":
        data = made[0].certificate
        report = verify(data, Given(trust=trust, rows=read_rows(tmp_path / "incidents.csv", data)))
        assert (report.level, failures(report)) == ("rows", set())
        assert parse_strict(data)["body"]["provenance"]["rows_hash"].startswith("duckdb-")


def test_a_trial_that_was_resolved_is_derived_again(tmp_path):
    here = place(tmp_path)
    lines = [
        "restarted,recovered,tier",
        *(f"{i % 2},{int(i % 10 < 7 if i % 2 else i % 10 < 4)},silver" for i in range(2000)),
    ]
    (tmp_path / "trial.csv").write_text("\n".join(lines) + "\n")
    with here.open() as gate:
        asked = gate.decide(call_of("silver"))
        assert asked.request is not None
        ruling = gate.resolve(asked.request, tmp_path / "trial.csv")
        trust = gate.material.trust()
    assert ruling.verdict == "EXECUTE", ruling.in_words()
    data = ruling.certificate
    report = verify(data, with_store(Given(trust=trust), data, tmp_path / "store"))
    assert (report.level, failures(report), status(report, "estimate")) == ("rows", set(), "ok")


def test_more_than_a_million_rows_are_named_by_their_digest_and_said_to_be(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 1_000_002
    table = {"restarted": np.arange(n) % 2, "recovered": (np.arange(n) % 10 < 4 + 3 * (np.arange(n) % 2)).astype(int)}
    table["load"] = np.arange(n) // 2 % 3
    parquet.write_table(pyarrow.table(table), tmp_path / "incidents.parquet")
    policy = POLICY.replace("incidents.csv", "incidents.parquet").replace(", time: seen_at", "")
    policy = policy.replace("    max_evidence_age: 90d\n", "").replace("    strata: [tier]\n", "")
    policy = policy.replace("    context:\n      tier: {argument: tier}\n", "")
    edges = [("load", "restarted"), ("load", "recovered"), ("restarted", "recovered")]
    graph = Graph.of(nodes={"restarted": "treatment", "recovered": "outcome", "load": "state"}, directed=edges)
    here = place(tmp_path, policy=policy, graph=graph)
    with here.open() as gate:
        ruling = gate.decide(call_of("gold"))
        trust = gate.material.trust()
    assert ruling.verdict == "EXECUTE", ruling.in_words()
    assert not (tmp_path / "store" / "evidence").exists()
    data = ruling.certificate
    assert parse_strict(data)["body"]["provenance"]["level"] == "attested"
    report = verify(data, with_store(Given(trust=trust), data, tmp_path / "store"))
    assert (report.level, failures(report)) == ("attested", set())
    report = verify(data, Given(trust=trust, rows=read_rows(tmp_path / "incidents.parquet", data)))
    assert (report.level, failures(report), status(report, "estimate")) == ("rows", set(), "ok")
