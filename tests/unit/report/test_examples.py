"""Where a rollout and the original part."""

from datetime import UTC, datetime

from butfor.report.examples import FOLLOWING, compare, first_divergence
from butfor.runs import Observation, Run, Step, Text, ToolCall, Value
from butfor.store import StoredRollout


def step(index: int, name: str, answer: str = "ok", *, lane: str = "0", call_id: str = "c") -> Step:
    parts = (
        ToolCall(call_id=call_id, name=name),
        Observation(call_id=call_id, content=Value.of(answer)),
    )
    return Step(index=index, lane=lane, parts=parts)


def run(*steps: Step) -> Run:
    return Run(run_id="r", steps=steps)


def where(ours: Run, theirs: Run) -> tuple[int | None, int | None, str]:
    a, b, differs = first_divergence(ours, theirs)
    return (None if a is None else a.index, None if b is None else b.index, differs)


def test_another_action():
    assert where(run(step(0, "a"), step(1, "b")), run(step(0, "a"), step(1, "c"))) == (1, 1, "action")


def test_another_observation():
    assert where(run(step(0, "a", "1")), run(step(0, "a", "2"))) == (0, 0, "observation")


def test_ids_do_not_count():
    assert where(run(step(0, "a", call_id="x")), run(step(0, "a", call_id="y"))) == (None, None, "")


def test_thinking_does_not_count_and_saying_does():
    def said(kind: str, text: str) -> Run:
        return run(Step(index=0, parts=(Text(kind=kind, content=Value.of(text)),)))  # type: ignore[arg-type]

    assert where(said("reasoning", "1"), said("reasoning", "2"))[2] == ""
    assert where(said("llm_response", "1"), said("llm_response", "2"))[2] == "action"


def test_a_shorter_and_a_longer_rollout():
    assert where(run(step(0, "a"), step(1, "b")), run(step(0, "a"))) == (1, None, "length")
    assert where(run(step(0, "a")), run(step(0, "a"), step(1, "b"))) == (None, 1, "length")


def test_concurrent_parts_that_finish_in_another_order_are_the_same():
    one = run(step(0, "a", lane="0.1"), step(1, "b", lane="0.2"), step(2, "c", lane="0.1"))
    other = run(step(0, "b", lane="0.2"), step(1, "a", lane="0.1"), step(2, "c", lane="0.1"))
    assert where(one, other) == (None, None, "")


def test_what_follows_is_short_however_long_the_run():
    long = run(*(step(k, f"t{k}") for k in range(50)))
    other = run(step(0, "x"), *(step(k, f"t{k}") for k in range(1, 50)))
    rollout = StoredRollout(
        rollout_id="q", run_id="r", fingerprint="f", arm="resample:0", draw=0, status="completed", outcome=0.0,
        counts='{"do": [{"op": "resample", "step": 0}]}', created_at=datetime.now(UTC),
    )  # fmt: skip
    example = compare(long, other, rollout)
    assert (example.step, example.intervention, example.diverged_at) == (0, "resample(0)", 0)
    assert len(example.original_next) == FOLLOWING + 1
    assert example.original_next[-1] == f"… and {49 - FOLLOWING} more"
