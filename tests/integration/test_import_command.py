"""`butfor import` as a new user meets it."""

import io
import json
import sys
from pathlib import Path

import pytest

from butfor import importers, runs
from butfor.cli.main import main
from butfor.store import Store

INPUTS = Path(__file__).parents[1] / "golden" / "importers" / "inputs"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A store of its own for each test."""
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "home"))
    return tmp_path


def call(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["import", *map(str, arguments)])
    return stopped.value.code


def test_a_file_is_stored_and_the_next_step_is_named(capsys):
    assert call(INPUTS / "chat_exchanges.jsonl") == 0
    out, err = capsys.readouterr()
    ids = out.split()
    assert "messages, 2 runs, 3 steps (3 exact)" in err
    assert "next: to find the step that caused a failure, make the run replayable: butfor import" in err
    with Store.open() as store:
        assert [summary.run_id for summary in store.list_runs()] == ids[::-1]
        assert len(store.load_run(ids[0]).steps) == 2


def test_importing_again_under_another_name_stores_nothing_new(home):
    copy = home / "copy.jsonl"
    copy.write_bytes((INPUTS / "chat_exchanges.jsonl").read_bytes())
    for path in (INPUTS / "chat_exchanges.jsonl", INPUTS / "chat_exchanges.jsonl", copy):
        assert call(path) == 0
    with Store.open() as store:
        assert len(store.list_runs()) == 2


def test_two_threads_of_one_name_are_two_runs(home, capsys):
    document = json.loads((INPUTS / "atif_1_8.json").read_text())
    document["steps"][0]["message"] = "something else"
    (home / "other.json").write_text(json.dumps(document))
    call(INPUTS / "atif_1_8.json", home / "other.json", home / "other.json")
    first, second, third = capsys.readouterr().out.split()
    assert (first, second) == ("t", third)
    assert second.startswith("t-")


def test_a_directory_is_walked_and_what_is_no_trace_is_told(home, capsys):
    folder = home / "traces"
    (folder / "deep").mkdir(parents=True)
    (folder / "notes.txt").write_text("not a trace")
    (folder / "deep" / "a.json").write_bytes((INPUTS / "tau_bench.json").read_bytes())
    assert call(folder) == 0
    out, err = capsys.readouterr()
    assert len(out.split()) == 1
    assert "not imported: the document is not JSON" in err
    assert "notes.txt" in err


def test_standard_input_to_standard_output(monkeypatch, capsys):
    data = (INPUTS / "otlp_openinference.otlp.jsonl").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert call("-", "--out", "-") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert len(runs.from_text(line).steps) == 2


def test_a_run_is_written_as_atif(home):
    call(INPUTS / "atif_1_7.json", "--out", home / "out.jsonl", "--as", "atif")
    assert json.loads((home / "out.jsonl").read_text()) == json.loads((INPUTS / "atif_1_7.json").read_text())


def test_json_reports_everything(capsys):
    call(INPUTS / "claude_code.jsonl", "--json")
    document = json.loads(capsys.readouterr().out)
    (report,) = document["files"]
    assert report["format"] == "claude_code"
    assert report["grades"] == {"view-only": 3}
    assert report["ignored"]["line of type summary"] == 1
    assert document["run_ids"] == ["5e55-1"]


def test_what_cannot_be_replayed_says_why(capsys):
    call(INPUTS / "otlp_genai_no_content.otlp.jsonl")
    err = capsys.readouterr().err
    assert "can be read, not replayed" in err
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in err


def test_redaction_happens_before_anything_is_stored(home, capsys):
    path = home / "secret.json"
    path.write_text(
        json.dumps([{"role": "user", "content": "I am a@b.example"}, {"role": "assistant", "content": "ok"}])
    )
    names = []
    for key in ("k", "k", "other"):
        call(path, "--redaction-key", key, "--out", home / "out.jsonl")
        (run,) = importers.import_file(home / "out.jsonl").runs
        names.append(run.task.get())
    assert names[0] == names[1] != names[2]
    assert "a@b.example" not in "".join(names)
    call(path, "--redact", "--keep", "email", "--redact-rule", "who=I am", "--out", "-")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["task"].endswith(" a@b.example")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "the file cannot be read"),
        ([INPUTS / "tau_bench.json", "--format", "x"], "there is no format 'x'"),
        ([INPUTS / "tau_bench.json", "--redact-rule", "x"], "not NAME=REGEX"),
        ([INPUTS / "tau_bench.json", "--redact-rule", "x=("], "no regular expression"),
        ([INPUTS / "tau_bench.json", "--redact", "--keep", "x"], "no redaction rule 'x'"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(arguments, message, capsys):
    assert call(*arguments) == 2
    assert message in capsys.readouterr().err
