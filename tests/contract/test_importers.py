"""What every importer owes: the same run every time, where each step came from, and why it is not exact."""

from pathlib import Path

import pytest

from butfor import importers
from butfor.runs import PartKind, Replayability, Run
from butfor.runs.requests import texts

INPUTS = sorted((Path(__file__).parents[1] / "golden" / "importers" / "inputs").iterdir())


def imported(path: Path) -> list[Run]:
    return list(importers.import_file(path).runs)


@pytest.fixture(params=INPUTS, ids=lambda path: path.name)
def runs_of(request):
    return request.param, imported(request.param)


def test_importing_twice_gives_equal_runs(runs_of):
    path, runs = runs_of
    assert imported(path) == runs


def test_every_run_names_its_file_and_every_step_its_place(runs_of):
    path, runs = runs_of
    for run in runs:
        if run.provenance.format == "butfor":
            continue  # kept as it was first imported or recorded
        assert run.provenance.digest == importers.from_path(path).digest
        assert run.provenance.file == str(path)
        assert all(step.source and step.source.file == str(path) and step.source.record for step in run.steps)


def test_a_step_that_is_not_exact_says_what_is_missing(runs_of):
    for run in runs_of[1]:
        for step in run.steps:
            assert (step.grade.level is Replayability.EXACT) == (not step.grade.missing)
            if step.grade.level is Replayability.EXACT and run.provenance.format != "butfor":
                assert step.request is not None
                assert step.sampling.model is not None


def test_requests_can_be_rebuilt_and_calls_are_answered_within_their_step(runs_of):
    for run in runs_of[1]:
        assert len(list(texts([step.request for step in run.steps]))) == len(run.steps)
        for step in run.steps:
            calls = [call.call_id for call in step.tool_calls]
            assert len(calls) == len(set(calls))
            assert {each.call_id for each in step.observations if each.call_id is not None} <= set(calls)


def test_the_final_answer_is_the_last_thing_said_and_dependencies_go_forward(runs_of):
    for run in runs_of[1]:
        final = [step.index for step in run.steps for part in step.parts if part.kind is PartKind.FINAL_ANSWER]
        lane = [step.index for step in run.steps if step.lane == "0"]
        assert set(final) <= {lane[-1] if lane else len(run.steps) - 1}
        assert all(edge.source.step < edge.target.step for edge in run.dependencies)


def test_redaction_leaves_a_trace_without_secrets_alone(runs_of):
    path, runs = runs_of
    opening = importers.Opening(cleaned=importers.redactor(b"key"))
    assert list(importers.import_file(path, opening=opening).runs) == runs
