"""Traces that other packages wrote, and real runs: each imports, and ATIF gives back what it was given."""

import json
import os
from pathlib import Path

import atif
import pytest

from butfor import importers, runs
from butfor.runs.requests import texts

DATA = Path(os.environ.get("BUTFOR_DATA", Path(__file__).parents[3] / "shared" / "data"))
NEEDS = "needs the sample traces: set BUTFOR_DATA to a folder with traces/, tau_retail/ and who_and_when/"
pytestmark = pytest.mark.skipif(not (DATA / "traces").is_dir(), reason=NEEDS)

# File, format, runs, steps, worst grade of a step. Read by eye against the files once.
TRACES = [
    ("atif_v1_8_example.json", "atif", 1, 2, "approximate"),
    ("inspect_mockllm_gate.eval", "inspect", 1, 3, "approximate"),
    ("inspect_mockllm_gate.json", "inspect", 1, 3, "approximate"),
    ("langchain_genai.otlp.jsonl", "otlp", 1, 2, "view-only"),
    ("langchain_openinference.otlp.jsonl", "otlp", 1, 2, "approximate"),
    ("langgraph_checkpoints.sqlite", "langgraph", 1, 2, "approximate"),
    ("openai_agents_genai.otlp.jsonl", "otlp", 1, 1, "view-only"),
    ("openai_agents_openinference.otlp.jsonl", "otlp", 1, 1, "view-only"),
    ("openai_agents_sdk_spans.jsonl", "openai_agents", 1, 2, "view-only"),
    ("pydantic_ai_genai.otlp.jsonl", "otlp", 1, 2, "exact"),
    ("swe_agent_test_repo.traj", "swe_agent", 1, 5, "view-only"),
]


def read(path: Path) -> tuple[importers.Import, list[runs.Run]]:
    opened = importers.import_file(path)
    return opened, list(opened.runs)


def every_file() -> list[Path]:
    traces = [DATA / "traces" / name for name, *_ in TRACES]
    return [*traces, DATA / "tau_retail" / "runs.json", *sorted((DATA / "who_and_when").glob("*/*.json"))]


@pytest.mark.parametrize(("name", "format_name", "count", "steps", "worst"), TRACES, ids=[row[0] for row in TRACES])
def test_a_trace_of_another_package_is_read(name, format_name, count, steps, worst):
    opened, read_runs = read(DATA / "traces" / name)
    assert (opened.format, len(read_runs), len(read_runs[0].steps)) == (format_name, count, steps)
    assert read_runs[0].overall_grade.level.label == worst
    assert not opened.report().partial


def test_every_trace_in_the_folder_is_in_the_table():
    found = {path.name for path in (DATA / "traces").iterdir() if path.suffix not in (".sqlite-shm", ".sqlite-wal")}
    assert found - {"LICENSE"} == {name for name, *_ in TRACES}


def test_the_two_forms_of_an_inspect_log_are_the_same_run():
    (archive,), (document,) = (read(DATA / "traces" / f"inspect_mockllm_gate.{kind}")[1] for kind in ("eval", "json"))
    same = {"steps", "task", "outcome", "tools", "output"}
    bare = [step.model_copy(update={"source": None}) for step in archive.steps]
    assert bare == [step.model_copy(update={"source": None}) for step in document.steps]
    assert archive.model_dump(include=same - {"steps"}) == document.model_dump(include=same - {"steps"})


def test_tau_runs_carry_their_reward():
    opened, read_runs = read(DATA / "tau_retail" / "runs.json")
    rewards = [entry["reward"] for entry in json.loads((DATA / "tau_retail" / "runs.json").read_text())]
    assert [run.outcome and run.outcome.value for run in read_runs] == [1 - reward for reward in rewards]
    assert opened.report().ignored == {}


def test_the_labels_of_who_and_when_point_at_the_step_they_name():
    misplaced = []
    for path in sorted((DATA / "who_and_when").glob("*/*.json")):
        (run,) = read(path)[1]
        label = json.loads(path.read_text())
        labels = run.extra.get()["labels"]
        step = run.steps[labels["decisive_step"]]
        if step.agent != label["mistake_agent"]:
            misplaced.append(path.name)
        assert run.outcome is not None
        assert run.outcome.value == 1.0
    # In these three hand-crafted logs the label names an agent other than the one that speaks at that entry.
    assert sorted(misplaced) == ["20.json", "22.json", "49.json"]


@pytest.mark.parametrize("path", every_file()[:12], ids=lambda path: path.name)
def test_a_run_survives_our_own_format_and_is_valid_atif(path):
    for run in read(path)[1]:
        text = runs.to_text(run)
        (again,) = importers.import_input(importers.from_bytes(text.encode(), "runs.jsonl")).runs
        assert again == run
        atif.Trajectory.model_validate(importers.to_atif(run))


def test_every_labelled_log_is_valid_atif():
    for path in every_file()[12:]:
        for run in read(path)[1]:
            assert None not in list(texts([step.request for step in run.steps]))  # raises where a digest is wrong
            atif.Trajectory.model_validate(importers.to_atif(run))


def test_the_example_trajectory_is_written_as_it_was():
    path = DATA / "traces" / "atif_v1_8_example.json"
    assert importers.to_atif(read(path)[1][0]) == json.loads(path.read_text())
