"""What cannot be used is refused in one sentence, with the right exit code, whatever verb it is given to."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from butfor.attribution import Ask, attribute_run
from butfor.cli.main import main
from butfor.outcomes import find_outcome
from butfor.replay import record_run
from butfor.store import Store
from tests.patience import PATIENCE

AGENT = "tests.agents.refunding:agent"
RULE = 'tool_called("refund")'

SHOP = """
import butfor

@butfor.model
def decide(*, messages, seed=1):
    return {"role": "assistant", "content": GREETING}

GREETING = "hello"

def agent(task):
    return decide(messages=[{"role": "user", "content": str(task)}], seed=1)["content"]

def raising(task):
    agent(task)
    raise RuntimeError("no such order")

def two(first, second):
    return first

number = 3
above = lambda run: 2.0
nan = lambda run: float("nan")
nothing = lambda run: None
breaking = lambda run: {}["score"]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's, under a name that no other test has imported."""
    name = "shop_" + re.sub(r"\W", "_", tmp_path.name)
    (tmp_path / f"{name}.py").write_text(SHOP)
    (tmp_path / "in.json").write_text('"hi"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    return name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of four steps, `known`, and a few rollouts of each step."""
    folder = tmp_path_factory.mktemp("store")
    with Store.open(folder) as store:
        record_run(AGENT, {"seed": 1}, store=store, score=find_outcome(RULE), run_id="known", verify=False)
        store.save_spec("known", json.dumps({"agent": AGENT, "outcome": RULE}))
        attribute_run("known", store=store, method="profile", ask=Ask(draws=4))
    return folder


@pytest.fixture
def known(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    return "known"


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """Return the sentence: one line on standard error, nothing on standard output, no traceback."""
    ended, out, err = called(capsys, *arguments)
    assert (ended, out) == (code, ""), err
    *before, last = err.splitlines()
    assert all(line.startswith(("price: ", "recording; ")) for line in before), err
    assert last.startswith("butfor: ")
    assert "Traceback" not in err
    return last.removeprefix("butfor: ")


def test_a_missing_run(known, capsys):
    for verb in ("attribute", "replay", "report", "runs"):
        assert refused(capsys, verb, "nobody") == "there is no run 'nobody': the nearest are known"
        assert "there is no run ''" in refused(capsys, verb, "")


def test_without_a_store_none_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BUTFOR_HOME", raising=False)
    for verb in ("attribute", "replay", "report", "runs"):
        assert "there is no store yet" in refused(capsys, verb, "nobody")
    code, out, _ = called(capsys, "runs")
    assert (code, " ".join(out.split())) == (
        0,
        "no store yet; record a run first (butfor record --agent module:function --input FILE), or set BUTFOR_HOME",
    )
    assert called(capsys, "runs", "--json")[1] == "[]\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["attribute", "replay", "report"])
def test_a_corrupt_store_is_never_read_over(home, tmp_path, monkeypatch, capsys, verb):
    """One byte of every stored text is changed, the journal's among them."""
    with sqlite3.connect(home / "butfor.db") as source, sqlite3.connect(tmp_path / "butfor.db") as copy:
        source.backup(copy)
        tables = [name for (name,) in copy.execute("select name from sqlite_master where type = 'table'")]
        (table,) = [name for name in tables if "blob" in name]
        column = next(row[1] for row in copy.execute(f"pragma table_info({table})") if row[2].upper() == "BLOB")
        for rowid, data in copy.execute(f"select rowid, {column} from {table}").fetchall():
            spoilt = data[:-1] + bytes([data[-1] ^ 1])
            copy.execute(f"update {table} set {column} = ? where rowid = ?", (spoilt, rowid))
    source.close()
    copy.close()
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path))
    assert re.search("digest|damaged|does not|cannot be", refused(capsys, verb, "known"))


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("nothing_there:f", "cannot import the agent 'nothing_there:f'"),
        ("nocolon", "cannot import the agent 'nocolon'"),
        ("{shop}:missing", "has no attribute 'missing'"),
        ("{shop}:number", "is a int, which cannot be called"),
        ("{shop}:two", "does not take one input"),
        ("raising_module:f", "importing 'raising_module' raised ZeroDivisionError"),
        ("wrong_syntax:f", "importing 'wrong_syntax' raised SyntaxError"),
        ("lacking:f", "importing 'lacking' raised ModuleNotFoundError: No module named 'not_installed'"),
        ("no_effect:f", "and has to be given: write @butfor.tool(effect="),
        ("no_effect_called:f", "and has to be given: write @butfor.tool(effect="),
        ("odd_effect:f", "a tool's effect is one of none, read, write, not 'delete'"),
    ],
)
def test_an_agent_that_cannot_be_used(shop, tmp_path, capsys, agent, said):
    (tmp_path / "raising_module.py").write_text("1 / 0\n")
    (tmp_path / "wrong_syntax.py").write_text("def f(:\n")
    (tmp_path / "lacking.py").write_text("import not_installed\n")
    for name, how in (("no_effect", ""), ("no_effect_called", "()"), ("odd_effect", "(effect='delete')")):
        (tmp_path / f"{name}.py").write_text(f"import butfor\n@butfor.tool{how}\ndef f(x): return x\n")
    assert said in refused(capsys, "record", "--agent", agent.format(shop=shop), "--input", "in.json")
    assert not (tmp_path / "store").exists() or called(capsys, "runs", "--json")[1] == "[]\n"


def test_an_agent_that_raises_is_recorded(shop, capsys):
    code, out, err = called(capsys, "record", "--agent", f"{shop}:raising", "--input", "in.json", "--no-verify")
    run = out.strip()
    assert code == 0
    assert "1 step, raised, graded" in err
    assert "the agent raised RuntimeError: no such order" in err
    assert f"next: butfor attribute {run} --outcome 'failed()'" in err
    assert "has no outcome saved with it: give --outcome" in refused(capsys, "attribute", run)
    said = refused(capsys, "attribute", run, "--outcome", "tool_called('x')")
    assert "the recorded run failed (RuntimeError: no such order)" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [("above", "gave 2.0"), ("nan", "gave nan"), ("nothing", "gave None"), ("breaking", "raised KeyError")],
)
def test_an_outcome_that_is_none_keeps_the_run(shop, capsys, name, said):
    """What the agent did is done: the recording is not lost to a mistake in its outcome."""
    line = ["record", "--agent", f"{shop}:agent", "--input", "in.json", "--outcome", f"{shop}:{name}"]
    sentence = refused(capsys, *line)
    assert said in sentence
    (run,) = re.findall("the run is kept as ([^)]+)", sentence)
    assert json.loads(called(capsys, "runs", run, "--json")[1])["outcome"] is None
    assert called(capsys, "attribute", run, "--outcome", "text_matches('hello')", "--method", "profile")[0] == 0
    assert said in refused(capsys, "attribute", run, "--outcome", f"{shop}:{name}")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("nope('x')", "there is no outcome rule 'nope'"),
        ("nope", "there is no outcome rule 'nope'"),
        ("", "cannot read the outcome ''"),
        ("tool_called(", "cannot read the outcome"),
        ("tool_called()", "missing 1 required positional argument"),
        ("tool_called(refund)", "(refund is not a text, number, list or object)"),
        ("-tool_called('refund')", "there is no outcome rule"),
        ("1 + 1", "there is no outcome rule '1 + 1'"),
        ("nowhere:y", "cannot import the outcome 'nowhere:y'"),
    ],
)
def test_an_unknown_rule(shop, known, capsys, rule, said):
    assert said in refused(capsys, "record", "--agent", f"{shop}:agent", "--input", "in.json", "--outcome", rule)
    if rule:
        assert said in refused(capsys, "attribute", known, "--outcome", rule)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--max-rollouts 0", "the budget rollouts=0 buys nothing"),
        ("--max-calls 0", "the budget policy_calls=0 buys nothing"),
        ("--max-tokens -1", "the budget tokens=-1 buys nothing"),
        ("--max-seconds nan", "the budget seconds=nan buys nothing"),
        ("--max-money 1", "a budget of money needs prices"),
        ("--max-money 1 --prices -1 2", "a price is not below 0"),
        ("--time-limit 0", "--time-limit 0 leaves no time"),
        ("--time-limit nan", "--time-limit nan leaves no time"),
        ("--alpha 0", "--alpha 0 is not between 0 and 1"),
        ("--alpha nan", "--alpha nan is not between 0 and 1"),
        ("--margin 1", "--margin 1 is not between 0 and 1"),
        ("--max-help 1", "max_help = 1.0 is not in [0, 1)"),
        ("--method best", "there is no method 'best': choose one of search, profile"),
        ("--method responsibility", "responsibility needs proposed actions"),
    ],
)
def test_a_question_that_cannot_be_asked(known, capsys, option, said):
    assert said in refused(capsys, "attribute", known, *option.split())


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ("resample(99)", "the run has no step 99: its 4 steps are 0 to 3"),
        ("resample(-1)", "a step is a number from 0, not -1"),
        ("resample(0.5)", "a step is a number from 0, not 0.5"),
        ("resample(", "cannot read the operation"),
        ("", "cannot read the operation ''"),
        ("resample(1) | resample(2)", "cannot read the operation"),
        ("rewind(1)", "there is no operation 'rewind'"),
        ("observation(0)", "missing 1 required positional argument: 'value'"),
        ("observation(0, @none.json)", "cannot read none.json"),
        ("observation(0, @text.json)", "text.json is not JSON"),
        ("observation(3, 1)", "step 3 did not make exactly one tool call"),
        ("policy(1, 'nowhere:decide')", "cannot import the policy 'nowhere:decide'"),
    ],
)
def test_an_operation_that_cannot_be_done(known, tmp_path, monkeypatch, capsys, operations, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.json").write_text("nothing")
    assert said in refused(capsys, "replay", known, "--do", operations)


def test_an_interval_needs_a_level(known, capsys):
    assert "--alpha 2 is not between 0 and 1" in refused(capsys, "replay", known, "--do", "resample(1)", "--alpha", "2")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read the input"),
        (b"hi", "the input is not JSON"),
        (b"\xff", "cannot read the input"),
        (b"", "not JSON"),
    ],
)
def test_an_input_that_cannot_be_read(shop, tmp_path, capsys, content, said):
    if content is not None:
        (tmp_path / "task.json").write_bytes(content)
    assert said in refused(capsys, "record", "--agent", f"{shop}:agent", "--input", "task.json")
    assert "cannot read the input" in refused(capsys, "record", "--agent", f"{shop}:agent", "--input", str(tmp_path))


@pytest.mark.parametrize(
    "text", ["[]", '{"x": ["a"]}', '{"1": 3}', '{"1": []}', '{"²": ["a"]}', '{"-1": ["a"]}', '"a"']
)
def test_proposals_that_are_none(known, tmp_path, capsys, text):
    (tmp_path / "p.json").write_text(text, encoding="utf-8")
    line = ["attribute", known, "--method", "responsibility", "--proposals", str(tmp_path / "p.json")]
    assert "the proposals are not an object of one or more actions by step" in refused(capsys, *line)


def test_proposals_for_a_step_that_is_not_there(known, tmp_path, capsys):
    line = ["attribute", known, "--method", "responsibility", "--proposals"]
    (tmp_path / "p.json").write_text('{"9": ["a"]}')
    assert "step 9 of 4 cannot be scored" in refused(capsys, *line, str(tmp_path / "p.json"))
    assert "cannot read the input" in refused(capsys, *line, str(tmp_path / "none.json"))


def test_a_rollout_is_named_by_enough_of_its_id(known, capsys):
    listed = json.loads(called(capsys, "runs", known, "--rollouts", "--json")[1])["rollouts"]
    ids = [each["rollout_id"] for each in listed]
    shared = next(each[:1] for each in ids if sum(other.startswith(each[0]) for other in ids) > 1)
    assert "has no rollout ''" in refused(capsys, "report", known, "--rollout", "")
    assert f"begin with {shared!r}: give more of the id" in refused(capsys, "report", known, "--rollout", shared)
    assert called(capsys, "report", known, "--rollout", ids[0][:20], "--json")[0] == 0
    assert "there is no result 'x'" in refused(capsys, "report", known, "--result", "x")


def test_code_that_changed_is_named_with_the_first_differing_field(shop, tmp_path, capsys):
    line = ["record", "--agent", f"{shop}:agent", "--input", "in.json", "--outcome", "text_matches('hello')"]
    run = called(capsys, *line, "--no-verify")[1].strip()
    file = tmp_path / f"{shop}.py"
    file.write_text(file.read_text().replace('"content": str(task)', '"content": "now " + str(task)'))
    # A module is imported once in a process; the next command is another one.
    path = os.pathsep.join([*filter(None, sys.path), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", "from butfor.cli.main import main; main()", "attribute", run],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path,
        timeout=PATIENCE)  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert f"the agent's code changed since the recording ({shop}.py); first difference, " in done.stderr
    assert "$.messages[0].content" in done.stderr


def test_an_interrupt_is_130_and_keeps_what_is_finished(shop, tmp_path, capsys):
    source = textwrap.dedent(
        """
        import os, signal, butfor

        @butfor.model
        def decide(*, messages, seed=1):
            if os.environ.get("INTERRUPT"):
                os.kill(os.getpid(), signal.SIGINT)
            return {"role": "assistant", "content": "hello"}

        def agent(task):
            return decide(messages=[{"role": "user", "content": str(task)}], seed=1)["content"]
        """
    )
    (tmp_path / "slow.py").write_text(source)
    line = ["record", "--agent", "slow:agent", "--input", "in.json", "--outcome", "text_matches('hello')"]
    run = called(capsys, *line, "--no-verify")[1].strip()
    path = os.pathsep.join([*filter(None, sys.path), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", "from butfor.cli.main import main; main()", "attribute", run],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "INTERRUPT": "1"}, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_verb_is_answered_with_the_nearest(capsys):
    code, _, err = called(capsys, "atribute", "run")
    assert code == 2
    assert "Did you mean 'attribute'?" in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("evidence", "show", "none.csv"), "there is no such file (none.csv)"),
        (("evidence", "build", "--out", "e.csv"), "there is no store yet"),
        (("gate", "init", "--from-run", "r"), "there is no store yet"),
        (("import", "none.json"), "(No such file or directory) (none.json)"),
        (("record", "--agent", "shop:agent", "--input", "none.json"), "'none.json' (No such file or directory)"),
    ],
)
def test_what_is_not_there_is_named_once_and_no_store_is_made(tmp_path, monkeypatch, capsys, line, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    code, _, err = called(capsys, *line)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err
    assert not (tmp_path / "store").exists()
