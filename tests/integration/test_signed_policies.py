"""Signed policies and demanded approvals by the command line, from nothing to a verified EXECUTE."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from butfor.cli.main import main
from tests.unit.gate.places import GRAPH, POLICY, rows


@pytest.fixture
def butfor(tmp_path, monkeypatch, capsys):
    """A folder with keys, graph, evidence and policy: (words) -> (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUTFOR_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("BUTFOR_TRUST", raising=False)

    def call(*words):
        with pytest.raises(SystemExit) as stop:
            main([str(each) for each in words])
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    (tmp_path / "incidents.csv").write_text(rows(newest=datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)))
    (tmp_path / "graph.json").write_text(json.dumps(GRAPH.to_json()))
    (tmp_path / "gate.yaml").write_text(POLICY)
    (tmp_path / "call.json").write_text('{"tool": "restart_service", "arguments": {"tier": "gold"}}')
    for role in ("gate", "approver"):
        assert call("gate", "keys", "new", "--role", role, "--name", f"the {role}", "--trust", "trust.json")[0] == 0
    committed = ("graph", "commit", "graph.json", "--name", "restart", "--author", "ada", "--reason", "drawn")
    assert call(*committed)[0] == 0
    assert call("graph", "approve", "restart")[0] == 0
    (tmp_path / "operator").mkdir()
    (tmp_path / "operator" / "trust.json").write_bytes((tmp_path / "trust.json").read_bytes())
    return call


def decide(butfor, *words):
    code, out, _ = butfor("gate", "decide", "call.json", "--json", *words)
    return code, json.loads(out)


def check(butfor, *words, name):
    code, out, _ = butfor("verify", "made.cert", "--trust", "operator/trust.json", "--json", *words)
    report = json.loads(out)
    return code, next(each for each in report["checks"] if each["name"] == name)


OPERATOR = ("--trust", "operator/trust.json")


def test_a_policy_is_signed_decided_under_and_verified(butfor, tmp_path):
    code, ruling = decide(butfor, *OPERATOR)
    assert (code, ruling["reason"]) == (12, "policy_not_signed")
    code, out, _ = butfor("gate", "lint", *OPERATOR)
    assert (code, "butfor gate sign" in out) == (1, True)
    code, out, _ = butfor("gate", "sign", "gate.yaml", "--reason", "read in the review", *OPERATOR)
    assert (code, "signed by ed25519:" in out) == (0, True)
    code, out, _ = butfor("gate", "lint", *OPERATOR)
    assert (code, "this policy is signed by the approver" in out) == (0, True)
    code, ruling = decide(butfor, *OPERATOR, "--out", "made.cert")
    assert (code, ruling["verdict"]) == (0, "EXECUTE")
    code, found = check(butfor, "--policy", "gate.yaml", "--signed-policy", name="policy")
    assert (code, found["status"], "signed by the approver" in found["sentence"]) == (0, "ok", True)
    code, out, _ = butfor("gate", "log", "--kind", "policy")
    assert (code, "read in the review" in out) == (0, True)
    (tmp_path / "gate.yaml").write_text(POLICY.replace("tau_u: 0.05", "tau_u: -1"))
    assert decide(butfor, *OPERATOR)[1]["reason"] == "policy_not_signed"
    assert decide(butfor)[1]["verdict"] == "EXECUTE"


def test_the_environment_demands_it_of_every_command_that_opens_a_gate(butfor, tmp_path, monkeypatch):
    (tmp_path / "call.json").write_text('{"tool": "restart_service", "arguments": {"tier": "silver"}}')
    assert butfor("gate", "decide", "call.json", "--request", "ask.json")[0] == 11
    monkeypatch.setenv("BUTFOR_TRUST", "operator/trust.json")
    code, out, _ = butfor("gate", "resolve", "ask.json", "--data", "incidents.csv", "--json")
    assert (code, json.loads(out)["reason"]) == (12, "policy_not_signed")
    assert decide(butfor)[0] == 12
    monkeypatch.setenv("BUTFOR_TRUST", "operator/nothing.json")
    for words in (("decide", "call.json"), ("resolve", "ask.json", "--data", "incidents.csv")):
        code, out, err = butfor("gate", *words)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert "the trust file cannot be read" in err


@pytest.mark.parametrize("which", ["gate", "stranger"])
def test_a_key_that_would_not_count_signs_nothing(butfor, tmp_path, which):
    if which == "stranger":
        eve = ("--role", "approver", "--name", "eve", "--trust", "eve.json")
        assert butfor("gate", "keys", "new", *eve)[0] == 0
        key = json.loads((tmp_path / "eve.json").read_text())["keys"][0]["id"]
        words = "not in the trust file"
    else:
        keys = json.loads((tmp_path / "trust.json").read_text())["keys"]
        key = next(each["id"] for each in keys if each["role"] == "gate")
        words = ""
    code, _, err = butfor("gate", "sign", "gate.yaml", "--key", key, *OPERATOR)
    assert (code, words in err) == (2, True)
    assert list(tmp_path.glob("*.signed.*")) == []


def test_what_cannot_be_signed_is_one_sentence_and_2(butfor):
    for words in (("none.yaml",), ("call.json",), ("gate.yaml", "--trust", "none.json")):
        code, out, err = butfor("gate", "sign", *words)
        assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert butfor("gate", "sign")[0] == 0
    code, _, err = butfor("gate", "sign")
    assert (code, "it is there already" in err) == (2, True)


def test_an_approval_is_demanded_given_used_and_verified(butfor, tmp_path):
    (tmp_path / "gate.yaml").write_text(f"{POLICY}    approval: required\n")
    assert butfor("gate", "lint")[0] == 0
    code, ruling = decide(butfor, "--out", "made.cert")
    assert (code, ruling["reason"], ruling["lower"] > 0.05) == (12, "approval_missing", True)
    code, found = check(butfor, name="approval")
    assert (code, found["status"]) == (0, "ok")
    code, out, _ = butfor("gate", "approve", "call.json", "--reason", "asked the team")
    assert code == 0, out
    code, said = decide(butfor, "--out", "made.cert")
    assert (code, said["verdict"], said["lower"]) == (0, "EXECUTE", ruling["lower"])
    assert said["approval"] is not None
    code, found = check(butfor, "--call", "call.json", "--policy", "gate.yaml", name="approval")
    assert (code, found["status"]) == (0, "ok")
    assert "asked the team" in found["sentence"]
    code, ruling = decide(butfor)
    assert (code, ruling["missing"]) == (12, ["its 1 use are used up"])
    code, out, _ = butfor("gate", "verify-log")
    assert code == 0, out
