"""The ledger among processes: two that append at once, killed ones, one budget, one permit, one disk."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from butfor.gate.approvals import NotPermitted, Permit, Terms, grant
from butfor.gate.budget.epochs import Family
from butfor.gate.budget.reservation import BudgetRules, Spend, Stored, reserve
from butfor.gate.ledger.chain import Ledger
from butfor.gate.ledger.checkpoints import make_checkpoint
from butfor.gate.ledger.checks import verify_log
from butfor.gate.signing.signatures import Signer
from butfor.gate.signing.trust import TrustedKey, TrustFile
from tests.patience import PATIENCE, started

FAMILY = Family(tool="restart", outcome="recovered", lineage="incidents")
RULES = BudgetRules(alpha=0.05)
KEY = bytes(range(32))
CALL = "sha256:call"

PROCESS = """
import sys
from pathlib import Path
from butfor.gate.approvals import Used, use
from butfor.gate.budget.reservation import Spend
from butfor.gate.ledger.chain import Ledger
from tests.integration.test_ledger_processes import CALL, ask, trust

what, name, limit = sys.argv[2], sys.argv[3], int(sys.argv[4])
with Ledger.open(Path(sys.argv[1]), patience=60.0) as ledger:
    for n in range(limit):
        if what == "append":
            said = ledger.append("decision", {"n": n}, subject=f"{name}{n}", attachment=b"certificate" * 200).position
        elif what == "reserve":
            said = ask(ledger, f"{name}{n}").place
        elif what == "decide":
            spend = ask(ledger, f"{name}{n}")
            assert isinstance(spend, Spend)
            ledger.append("decision", {"n": n}, subject=f"{name}{n}", scope=spend.key, attachment=b"certificate")
            said = spend.place
        else:
            said = int(isinstance(use(ledger, "bypass", CALL, agent=name, trust=trust()), Used))
        print(said, flush=True)
"""


def ask(ledger: Ledger, hypothesis: str) -> Spend:
    found = reserve(ledger, family=FAMILY, hypothesis=hypothesis, agent="a", evidence="e", entry="p", rules=RULES)
    assert isinstance(found, Spend)
    return found


def trust() -> TrustFile:
    signer, begins = Signer(KEY), datetime(2026, 1, 1, tzinfo=UTC)
    keys = TrustedKey(id=signer.key_id, name="ada", public=signer.public, role="approver", valid_from=begins)
    return TrustFile.of([keys])


@contextmanager
def running(directory: Path, what: str, name: str, limit: int = 10**9) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", PROCESS, str(directory), what, name, str(limit)]
    with started(command, stdout=subprocess.PIPE) as process:
        yield process


def said(process: "subprocess.Popen[str]") -> list[int]:
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    assert process.wait(timeout=PATIENCE) == 0
    return [int(line) for line in lines]


def killed(process: "subprocess.Popen[str]", least: int) -> list[int]:
    """Kill it once it has acknowledged so many; return what it acknowledged until it died."""
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(least)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines(keepends=True)
    assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    return [int(line) for line in [*first, *rest] if line.endswith("\n")]


def test_two_processes_append_to_one_chain(tmp_path):
    with running(tmp_path, "append", "one", 200) as one, running(tmp_path, "append", "two", 200) as two:
        positions = [said(process) for process in (one, two)]
    assert sorted([*positions[0], *positions[1]]) == list(range(1, 401))
    with Ledger.open(tmp_path) as ledger:
        report = verify_log(ledger)
        assert (report.ok, report.entries) == (True, 400)
        names = [str(each.subject) for each in ledger.entries()]
    for name in ("one", "two"):
        assert [each for each in names if each.startswith(name)] == [f"{name}{n}" for n in range(200)]


@pytest.mark.parametrize("least", [1, 83])
def test_a_killed_append_loses_nothing_that_was_acknowledged(tmp_path, least):
    with running(tmp_path, "append", "one") as process:
        positions = killed(process, least)
    with Ledger.open(tmp_path) as ledger:
        report = verify_log(ledger)
        # One more may have been committed than the process could tell.
        assert len(positions) <= report.entries <= len(positions) + 1
        assert report.ok
        ledger.append("decision", {})
        checkpoint = make_checkpoint(ledger, Signer(KEY))
        assert verify_log(ledger, since=checkpoint).ok


@pytest.mark.parametrize("least", [1, 40])
def test_a_death_between_reservation_and_decision_gives_no_alpha_back(tmp_path, least):
    with running(tmp_path, "reserve", "h") as process:
        places = killed(process, least)
    assert places == list(range(1, len(places) + 1))
    with Ledger.open(tmp_path) as ledger:
        # What was asked has its place and its cost; what is new comes behind all of it.
        assert [ask(ledger, f"h{n}").place for n in range(len(places))] == places
        new = ask(ledger, "new")
        assert new.place in (len(places) + 1, len(places) + 2)
        assert verify_log(ledger).ok


@pytest.mark.parametrize("least", [2, 30])
def test_a_death_while_deciding_leaves_each_question_spent_or_stored(tmp_path, least):
    with running(tmp_path, "decide", "h") as process:
        done = len(killed(process, least))
    with Ledger.open(tmp_path) as ledger:
        found = [
            reserve(ledger, family=FAMILY, hypothesis=f"h{n}", agent="a", evidence="e", entry="p", rules=RULES)
            for n in range(done + 1)
        ]
        assert all(isinstance(each, Stored) for each in found[:done])
        last = found[done]
        assert isinstance(last, Stored) or last == ask(ledger, f"h{done}")
        assert verify_log(ledger).ok


def test_two_processes_never_spend_the_same_place(tmp_path):
    with running(tmp_path, "reserve", "one", 25) as one, running(tmp_path, "reserve", "two", 25) as two:
        places = [*said(one), *said(two)]
    assert sorted(places) == list(range(1, 51))


def test_two_processes_that_ask_the_same_spend_once(tmp_path):
    with running(tmp_path, "reserve", "h", 20) as one, running(tmp_path, "reserve", "h", 20) as two:
        assert said(one) == said(two) == list(range(1, 21))


def test_two_processes_use_a_permit_as_often_as_it_says(tmp_path):
    now = datetime.now(UTC)
    terms = Terms(
        kind="bypass",
        call=CALL,
        tool="restart",
        reason="an outage",
        uses=15,
        valid_from=now - timedelta(minutes=1),
        valid_until=now + timedelta(hours=1),
    )
    with Ledger.open(tmp_path) as ledger:
        assert not isinstance(grant(ledger, Permit.sign(terms, Signer(KEY)), trust()), NotPermitted)
    with running(tmp_path, "use", "one", 12) as one, running(tmp_path, "use", "two", 12) as two:
        assert sum(said(one)) + sum(said(two)) == 15
    with Ledger.open(tmp_path) as ledger:
        assert verify_log(ledger).ok
