"""The benches of the beds: on data where they are, and an honest "not run" where they are not."""

import os
from pathlib import Path

import pytest

from butfor.benchmarks.beds.arithmetic import bench as arithmetic
from butfor.benchmarks.beds.bigbench import bench as mistakes
from butfor.benchmarks.beds.code import bench as code
from butfor.benchmarks.beds.retrieval import bench as retrieval
from butfor.benchmarks.harness import BENCHMARKS, Report, Settings, find
from butfor.benchmarks.sandbox import why_refused

DATA = Path(os.environ.get("BUTFOR_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
ECHO = "tests.agents.echoing:answer"
needs_data = pytest.mark.skipif(
    not (DATA / "gsm8k").is_dir(), reason="set BUTFOR_DATA to a folder with gsm8k/, bigbench_mistake/ and mbpp/"
)


def settings(**options: str) -> Settings:
    return Settings(quick=True, seed=11, options={"data": str(DATA), **options})


def failed_checks(report: Report) -> list[str]:
    return [f"{check.name}: {check.value} against {check.bound}" for check in report.checks if not check.ok]


def test_every_bed_is_registered():
    for name in ("arithmetic", "arithmetic:mistakes", "code", "retrieval"):
        assert name in BENCHMARKS
        assert callable(find(name))


@pytest.mark.parametrize("bench", [arithmetic, mistakes, code])
def test_without_data_nothing_is_claimed(bench, tmp_path):
    report = bench.run(Settings(quick=True, seed=1, options={"data": str(tmp_path)}))
    assert report.checks == []
    assert "not run" in report.rows[0].values()
    assert any("BUTFOR_DATA" in note or "contained" in note for note in report.notes)


@needs_data
def test_arithmetic_repairs_more_than_chance_and_every_repair_is_confirmed():
    report = arithmetic.run(settings(problems="60"))
    assert failed_checks(report) == []
    assert [row["accuracy"] for row in report.rows if row["method"] in ("Self-Refine", "Self-Reflection")] == [
        "not run"
    ] * 2


@needs_data
def test_a_model_is_asked_where_one_is_given():
    report = arithmetic.run(settings(problems="6", model=ECHO, limit="3"))
    asked = [row for row in report.rows if ECHO in row["method"]]
    assert [row["extra model calls"] for row in asked][:1] == ["4.000"]
    assert all("%" in row["accuracy"] for row in asked)


@needs_data
def test_the_marked_step_is_named_more_often_than_by_any_baseline():
    report = mistakes.run(settings())
    assert failed_checks(report) == []
    assert len(report.checks) == 6


@needs_data
@pytest.mark.skipif(why_refused() is not None, reason=str(why_refused()))
def test_programs_are_repaired_behind_the_walls():
    report = code.run(settings(tasks="6"))
    counts = [check for check in report.checks if check.bound == 0 and "blind" not in check.name]
    assert len(counts) == 5
    assert all(check.ok for check in counts), failed_checks(report)


def test_search_runs_are_audited():
    report = retrieval.run(settings(companies="40"))
    assert failed_checks(report) == []


def test_questions_of_a_user_are_asked(tmp_path):
    path = tmp_path / "seal.jsonl"
    path.write_text('{"question": "How many?", "answer": "18"}\n')
    report = retrieval.run(settings(companies="4", sealqa=str(path), model=ECHO))
    (row,) = [row for row in report.rows if row["method"] == "direct on sealqa"]
    assert row["accuracy"].startswith("100.0%")
