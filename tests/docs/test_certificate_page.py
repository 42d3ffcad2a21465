"""The page of certificates says what the code says, and the README's walk runs as printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from butfor.cli.main import main
from butfor.gate.certificate.body import SAYS
from butfor.gate.certificate.schemas import CERTIFICATE
from butfor.gate.signing.signatures import ROLE_OF
from butfor.gate.verify import WORDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_has_every_check_in_its_order_and_every_sentence_of_a_certificate():
    table = PAGE.split("## The checks")[1].split("\n\nFor ")[0]
    assert re.findall(r"^\| ([a-z]+) \| (.*) \|$", table, re.MULTILINE)[1:] == [*WORDS.items()]
    for sentence in SAYS:
        assert f"* {sentence}\n" in PAGE


def test_the_page_has_every_field_of_a_certificate():
    table = PAGE.split("## What it does not say")[0]
    named = {
        name for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }
    assert named == set(CERTIFICATE["properties"]) - {"schema"}


def test_the_page_has_what_each_role_signs():
    assert "| gate | certificates, ledger checkpoints |" in PAGE
    assert {kind for kind, role in ROLE_OF.items() if role == "gate"} == {"certificate", "checkpoint"}


def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUTFOR_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    graph = "nodes: {T: treatment, Y: outcome, load: state}\nedges: [load -> T, load -> Y, T -> Y]\n"
    for name in ("restart.yaml", "g.yaml"):
        (tmp_path / name).write_text(graph)
    commands = re.findall(r"^butfor (?:gate keys|graph) .*(?:\n  .*)?", PAGE, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        words = [part.strip('"') for part in re.findall(r'"[^"]*"|[^\s\\]+', command)][1:]
        if "KEY" in words:
            code, out = called(capsys, "gate", "keys", "list")
            # The gate's: with the approver's key withdrawn nothing could be approved further down the page.
            mine = [line.split()[:2] for line in out.splitlines() if "until" not in line]
            words[words.index("KEY")] = next(key for key, role in mine if role == "gate")
        code, _ = called(capsys, *words)
        assert code == 0, command


def called(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main(words)
    return int(stop.value.code or 0), capsys.readouterr().out


def test_the_auditors_walk_of_the_readme_runs_as_printed(tmp_path):
    section = README.split("## An auditor's walk")[1].split("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    commands = [block for block in blocks if block.startswith((". ", "butfor", "sed"))]
    printed = [block for block in blocks if block not in commands]
    assert (len(commands), len(printed)) == (2, 2)
    shutil.copytree(ROOT / "examples" / "restart_gate", tmp_path / "restart_gate")
    answer = run_in(tmp_path / "restart_gate", "\n".join(commands))
    for block in printed:
        for line in block.splitlines():
            assert pattern_of(line).search(answer), (line, answer)
    assert answer.count("no check failed") == 1
    assert answer.rstrip().endswith("FAILED: fields, estimate, ledger")


def run_in(folder, script):
    tools = folder / "tools_of_the_test"
    tools.mkdir()
    (tools / "butfor").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m butfor.cli "$@"\n')
    (tools / "butfor").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stderr == "", done.stderr
    return done.stdout


def pattern_of(line):
    """What differs between two runs: digests, keys, times. An ellipsis stands for anything."""
    text = re.escape(line)
    text = re.sub(r"(sha256|ed25519):[0-9a-f]*…", r"\1:[0-9a-f]+", text)
    text = re.sub(r"20\d\d\\-\d\d\\-\d\dT[\d:]+Z", r"20\\S+Z", text)
    return re.compile(f"^{text.replace('…', '.*')}$", re.MULTILINE)
