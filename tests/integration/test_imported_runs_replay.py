"""From a foreign trace to rollouts: what is served, what is decided again, and what says that it cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

from butfor import importers
from butfor.cli.main import main
from butfor.errors import InputError
from butfor.outcomes import find_outcome
from butfor.replay import Job, RecordedSeeds, Rollouts, ToolPolicy, do, find_agent, load_journal
from butfor.replay.imported import AGENT, make_replayable
from butfor.store import MemoryStore, Store
from tests.agents import refund_policy

INPUTS = Path(__file__).parents[1] / "golden" / "importers" / "inputs"
POLICY = "tests.agents.refund_policy:decide"
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("lookup", "refund")]


def call(name: str) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps({"order": 7})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


def result(name: str, content: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": name, "content": content}


REFUNDED: dict[str, Any] = {
    "model": "m",
    "temperature": 1.0,
    "tools": TOOLS,
    "messages": [
        {"role": "user", "content": "look at order 7"},
        call("lookup"),
        result("lookup", "an old order"),
        call("refund"),
        result("refund", "refunded"),
        {"role": "assistant", "content": "done"},
    ],
}


def imported(document):
    (run,) = importers.import_input(importers.from_bytes(json.dumps(document).encode(), "t.json")).runs
    return run


def rollouts(store, run, intervention, count=40, *, tools=None):
    made = Rollouts(
        run.run_id,
        store,
        agent=find_agent(AGENT),
        score=find_outcome('tool_called("refund")'),
        tools=tools or ToolPolicy(),
    )
    return made.run([Job(intervention=intervention, arm="arm", ordinal=i) for i in range(count)])


def test_the_prefix_is_served_and_the_policy_decides_the_rest():
    store = MemoryStore()
    made = make_replayable(imported(REFUNDED), store=store, policy=POLICY)
    assert (made.steps, made.answers, made.unanswered, made.differences) == (3, 2, ("lookup", "refund"), ())
    assert made.run.overall_grade.level.label == "approximate"
    refund_policy.CALLS.clear()
    results = rollouts(store, made.run, do.resample(1))
    assert {each.status for each in results} == {"completed"}
    outcomes = [each.outcome for each in results]
    assert 5 <= sum(outcomes) <= 35  # half of 40 draws refund: outside of this once in 5·10⁶
    # Every decision from step 1 on was asked with the recorded beginning, and the refund's recorded result was served.
    assert min(len(request["messages"]) for request in refund_policy.CALLS) == 3
    assert all(request["messages"][:3] == REFUNDED["messages"][:3] for request in refund_policy.CALLS)
    refunds = [request for request in refund_policy.CALLS if len(request["messages"]) == 5]
    assert {request["messages"][4]["content"] for request in refunds} == {"refunded"}


def test_a_call_that_the_trace_does_not_hold_is_unsupported_until_a_function_may_answer():
    store = MemoryStore()
    curious = make_replayable(imported(REFUNDED), store=store, policy="tests.agents.refund_policy:curious")
    (stopped,) = rollouts(store, curious.run, do.resample(1), 1)
    assert stopped.status == "unsupported"
    assert "audit" in stopped.error
    other = MemoryStore()
    given = make_replayable(
        imported(REFUNDED),
        store=other,
        policy="tests.agents.refund_policy:curious",
        tools={"audit": "tests.agents.refund_policy:audit"},
    )
    assert rollouts(other, given.run, do.resample(1), 1)[0].status == "unsupported"  # a write, and not allowed
    allowed = ToolPolicy(allow_write=frozenset({"audit"}))
    (finished,) = rollouts(other, given.run, do.resample(1), 1, tools=allowed)
    assert (finished.status, finished.outcome) == ("completed", 0.0)


def test_a_user_who_is_told_something_else_is_not_invented():
    document = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "which order?"},
            {"role": "user", "content": "7"},
            {"role": "assistant", "content": "done"},
        ],
    }
    store = MemoryStore()
    made = make_replayable(imported(document), store=store, policy=POLICY)
    assert made.unanswered == ("user",)
    say = do.action(0, "which one?")
    (stopped,) = rollouts(store, made.run, say, 1)
    assert (stopped.status, "user" in stopped.error) == ("unsupported", True)


@pytest.mark.parametrize(
    "name",
    [
        "chat_exchanges.jsonl",
        "anthropic_exchanges.jsonl",
        "responses_items.json",
        "inspect.json",
        "otlp_genai.otlp.jsonl",
        "otlp_openinference.otlp.jsonl",
        "tau_bench.json",
        "langfuse_export.jsonl",
        "langgraph_history.json",
        "atif_1_5.json",
    ],
)
def test_a_replay_of_any_format_asks_exactly_what_was_recorded(name):
    for run in importers.import_input(importers.from_bytes((INPUTS / name).read_bytes(), name)).runs:
        store = MemoryStore()
        made = make_replayable(run, store=store, verify=False)
        assert made.differences == ()
        asked = [crossing.digest for crossing in load_journal(store, run.run_id).steps]
        assert asked == [step.request and step.request.digest for step in run.steps]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("otlp_sub_agents.otlp.jsonl", "several agents"),
        ("claude_code.jsonl", "request.system"),
        ("otlp_genai_no_content.otlp.jsonl", "content was not captured"),
    ],
)
def test_what_cannot_be_carried_on_says_why(name, message):
    (run,) = importers.import_input(importers.from_bytes((INPUTS / name).read_bytes(), name)).runs
    with pytest.raises(InputError, match=message):
        make_replayable(run, store=MemoryStore())


def test_a_recorded_seed_is_replayed():
    document = [{"request": {"model": "m", "seed": 3, "messages": [{"role": "user", "content": "x"}]},
                 "response": {"choices": [{"message": {"role": "assistant", "content": "y"}}]}}]  # fmt: skip
    store = MemoryStore()
    made = make_replayable(imported(document), store=store, policy=POLICY)
    maker = Rollouts(made.run.run_id, store, agent=find_agent(AGENT), score=find_outcome("failed()"))
    (again,) = maker.run([Job(intervention=do.resample(0), arm="a", ordinal=0, seeds=RecordedSeeds())])
    assert again.status in ("completed", "unsupported")
    assert refund_policy.CALLS[-1]["seed"] == 3


def test_the_command_makes_a_trace_attributable(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "home"))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(REFUNDED))
    for arguments in (
        ["import", str(path), "--policy", POLICY],
        ["replay", "chat-", "--outcome", 'tool_called("refund")'],
        ["replay", "chat-", "--outcome", 'tool_called("refund")', "--do", "resample(1)", "-n", "8", "--json"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    out, err = capsys.readouterr()
    assert "replayable, 3 decisions and 2 recorded tool results" in err
    assert "next: butfor attribute chat-" in err
    assert "the untouched replay is faithful" in out
    with Store.open() as store:
        (summary,) = store.list_runs()
        assert store.load_run(summary.run_id).provenance.format == "messages (chat)"


def test_attribution_finds_the_step_in_a_foreign_trace(tmp_path, monkeypatch, capsys):
    # Half of the policy's draws refund at step 1, whatever came before: its true blame is 0.5, that of the others 0:
    # the answer holds the decisive step with error at most 1e-6.
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "home"))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(REFUNDED))
    for arguments in (
        ["import", str(path), "--policy", POLICY],
        [
            "attribute",
            "chat-",
            "--outcome",
            'tool_called("refund")',
            "--alpha",
            "1e-6",
            "--max-rollouts",
            "400",
            "--json",
        ],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    document = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert 1 in document["answer"]["candidates"]
    assert document["bill"]["tool_calls"]["live"] == 0
    assert document["bill"]["tool_calls"]["recorded"] > 0
