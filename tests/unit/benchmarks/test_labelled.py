"""The scorers of labelled failure logs: exact means exact, and a method that knows the answer gets 1."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from butfor.benchmarks import Settings, find, labelled
from butfor.benchmarks.labelled import Answer, Case

DATA = Path(os.environ.get("BUTFOR_DATA", Path(__file__).parents[4] / "shared" / "data"))


def case(step: int, *speakers: str, agent: str | None = None, first: int = 0) -> Case:
    entries = tuple((speaker, f"text {i}") for i, speaker in enumerate(speakers))
    return Case(
        name=f"c{step}", task="t", entries=entries, first=first, step=step, agent=agent or speakers[step - first]
    )


CASES = [case(1, "A", "B"), case(0, "A", "B", "C"), case(3, "A", "B", "A", "C"), case(2, "A", "B", first=1)]


def test_exact_within_one_and_agent_are_counted_apart():
    answers = [Answer(step=1), Answer(step=1), Answer(step=None), Answer(step=12, agent="B")]
    row = labelled.scored("m", "k", CASES, answers)
    assert (row["exact"], row["within_1"], row["agent"]) == (0.25, 0.5, 0.5)
    assert row["exact_95"] == "0.006–0.806"  # Clopper–Pearson for 1 of 4


def test_a_number_that_only_contains_the_label_is_wrong():
    ten = labelled.scored("ten", "k", CASES, [Answer(step=10) for _ in CASES])
    assert ten["exact"] == 0
    assert labelled.by_substring("10", CASES) == 0.5


def test_the_expected_score_of_a_random_entry_is_the_mean_over_all_entries():
    row = labelled.uniform(CASES)
    drawn = [
        (step == each.step, abs(step - each.step) <= 1, each.speaker(step) == each.agent, len(each.entries))
        for each in CASES
        for step in range(each.first, each.first + len(each.entries))
    ]
    for name, hits in zip(("exact", "within_1", "agent"), zip(*[d[:3] for d in drawn], strict=True), strict=True):
        expected = sum(hit / d[3] for hit, d in zip(hits, drawn, strict=True)) / len(CASES)
        assert row[name] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "step", "agent"),
    [
        ('{"agent": "B", "step": 7}', 7, "B"),
        ('```json\n{"agent": "B", "step": "12"}\n```', 12, "B"),
        ("The decisive step is 3.", 3, None),
        ("I cannot say.", None, None),
        (None, None, None),
    ],
)
def test_a_judges_answer_is_read_or_counts_as_none(text, step, agent):
    assert labelled.parsed(text) == Answer(step=step, agent=agent)


def oracle(request: dict[str, Any]) -> dict[str, Any]:
    """Know that every log's answer is entry 1, and see the log."""
    assert "[1] B: text 1" in request["messages"][1]["content"]
    return {"role": "assistant", "content": '{"agent": "B", "step": 1}'}


def test_a_judge_passes_the_model_boundary():
    cases = [case(1, "A", "B"), case(1, "A", "B", "C")]
    row, note = labelled.judged(f"{__name__}:oracle", cases)
    assert (row["exact"], row["agent"], note) == (1.0, 1.0, None)
    row, note = labelled.judged(None, cases)
    assert row["exact"] == "not run"
    assert note is not None


@pytest.mark.parametrize("name", ["whoandwhen", "tau"])
def test_without_the_logs_a_benchmark_says_how_to_get_them(name, tmp_path):
    report = find(name)(Settings(quick=True, seed=1, options={"data": str(tmp_path)}))
    assert report.checks == []
    assert "set BUTFOR_DATA" in report.notes[0]


@pytest.mark.skipif(not (DATA / "tau_retail").is_dir(), reason="needs tau_retail/ and who_and_when/: set BUTFOR_DATA")
@pytest.mark.parametrize(("name", "logs"), [("whoandwhen", 74 + 43), ("tau", 14)])
def test_the_constants_on_the_real_logs(name, logs):
    report = find(name)(Settings(quick=True, seed=1, options={"data": str(DATA)}))
    assert all(check.ok for check in report.checks)
    first = [row for row in report.rows if row["method"] == "first entry"]
    assert sum(row["n"] for row in first) == logs
    if name == "whoandwhen":
        labels = [json.loads(p.read_text())["mistake_step"] for p in (DATA / "who_and_when" / "algorithm").iterdir()]
        assert first[0]["exact"] == labels.count("0") / 74
