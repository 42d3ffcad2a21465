"""`butfor gate keys` and `butfor graph commit|approve|log`."""

import json
import stat
from pathlib import Path

import pytest

from butfor.cli.graph_commitments import KINDS
from butfor.cli.main import main
from butfor.estimation.evidence import description
from butfor.gate.ledger.chain import Ledger
from butfor.gate.signing.keys import load_all
from butfor.gate.signing.trust import TrustFile

GRAPH = "dag { T [exposure] Y [outcome] T -> Y Z -> T Z -> Y }"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("BUTFOR_KEYS", str(tmp_path / "keys"))
    (tmp_path / "g.txt").write_text(GRAPH)
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def new(capsys, role, *more):
    code, out, err = called(capsys, "gate", "keys", "new", "--role", role, "--name", f"my {role}", "--json", *more)
    assert code == 0, err
    return json.loads(out)[0]


def test_a_key_is_made_listed_and_written_into_a_trust_file(place, capsys):
    made = new(capsys, "gate", "--trust", "trust.json")
    assert TrustFile.read("trust.json").keys[made["id"]].role == "gate"
    assert stat.S_IMODE(next((place / "keys").iterdir()).stat().st_mode) == 0o600
    code, out, _ = called(capsys, "gate", "keys", "list")
    assert (code, made["id"] in out) == (0, True)
    secret = load_all(place / "keys")[0].secret
    assert secret.hex() not in out
    assert not any(each.read_bytes().find(secret) >= 0 for each in [place / "trust.json"])


def test_rotating_keeps_what_the_old_key_signed_and_signs_with_the_new_one(place, capsys):
    made = new(capsys, "gate", "--trust", "trust.json")
    code, out, err = called(capsys, "gate", "keys", "rotate", made["id"], "--trust", "trust.json", "--json")
    assert code == 0, err
    old, fresh = json.loads(out)
    assert old["id"] == made["id"]
    assert old["valid_until"] == fresh["valid_from"]
    trust = TrustFile.read("trust.json")
    assert trust.keys[old["id"]].revoked_at is None
    assert trust.keys[old["id"]].valid_until == trust.keys[fresh["id"]].valid_from
    code, _, err = called(capsys, "gate", "keys", "rotate", made["id"])
    assert (code, "already" in err) == (2, True)


def test_a_key_can_be_revoked_where_its_private_part_is_not(place, capsys):
    made = new(capsys, "approver", "--trust", "trust.json")
    assert called(capsys, "gate", "keys", "revoke", made["id"], "--in", "elsewhere", "--trust", "trust.json")[0] == 0
    assert TrustFile.read("trust.json").keys[made["id"]].revoked_at is not None
    assert load_all(place / "keys")[0].revoked_at is None
    assert called(capsys, "gate", "keys", "revoke", made["id"])[0] == 0
    assert load_all(place / "keys")[0].revoked_at is not None
    assert called(capsys, "gate", "keys", "revoke", "ed25519:00")[0] == 2


def test_a_graph_is_committed_approved_and_logged(place, capsys):
    commit = ["graph", "commit", "g.txt", "--name", "restart", "--author", "ada", "--reason", "reviewed"]
    code, out, err = called(capsys, *commit)
    assert (code, "butfor graph approve restart" in out) == (0, True), err
    new(capsys, "approver", "--trust", "trust.json")
    assert called(capsys, "graph", "log", "restart", "--trust", "trust.json")[0] == 1
    code, _, err = called(capsys, "graph", "approve", "restart")
    assert code == 0, err
    code, out, _ = called(capsys, "graph", "log", "restart", "--trust", "trust.json")
    assert (code, "a gate uses version 1" in out) == (0, True), out
    code, out, _ = called(capsys, "graph", "log", "restart", "--trust", "trust.json", "--json")
    (version,) = json.loads(out)
    assert (code, version["approved"], version["commitment"]["author"]) == (0, True, "ada")


def test_evidence_from_agents_own_runs_takes_a_statement(place, capsys):
    commit = ["graph", "commit", "g.txt", "--name", "restart", "--author", "ada", "--reason", "reviewed"]
    code, _, err = called(capsys, *commit, "--evidence-kind", "policy-confounded")
    assert (code, "T <-> Y" in err) == (2, True)
    said = ["--unconfounded", "T", "Y", "the agent sees only Z"]
    assert called(capsys, *commit, "--evidence-kind", "policy-confounded", *said)[0] == 0
    code, out, _ = called(capsys, "graph", "log", "restart")
    assert "no T <-> Y: the agent sees only Z" in out


def test_the_kinds_of_evidence_are_those_of_evidence():
    assert KINDS == description.KINDS


def test_the_ledger_says_who_committed_and_approved_what_and_which_keys_came_and_went(place, capsys):
    new(capsys, "gate")
    assert not (place / "store").exists()  # an approver's machine may have no store, and gets none
    Ledger.open().close()
    made = new(capsys, "approver")
    commit = ["graph", "commit", "g.txt", "--name", "restart", "--author", "ada", "--reason", "reviewed"]
    for command in (commit, ["graph", "approve", "restart"], ["gate", "keys", "revoke", made["id"]]):
        assert called(capsys, *command)[0] == 0
    with Ledger.open() as ledger:
        entries = [(entry.kind, entry.subject, entry.payload["event"]) for entry in ledger.entries()]
        approved = list(ledger.entries())[2].payload
    key = made["id"]
    assert entries == [
        ("key", key, "new"), ("graph", "restart", "commit"), ("graph", "restart", "approve"), ("key", key, "revoke"),
    ]  # fmt: skip
    assert (approved["key"], approved["version"]) == (key, 1)
