"""How tool calls of a rollout are answered, in the order of design §4."""

from typing import Any

import pytest

import butfor
from butfor import do
from butfor.errors import InputError
from butfor.replay import ToolPolicy
from butfor.replay.tools import registered
from tests.agents.recording import recorded, rollouts_of, run

LIVE: list[str] = []
SCRIPT: list[list[tuple[str, dict[str, Any]]]] = []


@butfor.tool(effect="read")
def read(key: str) -> str:
    LIVE.append("read")
    return f"value of {key}"


@butfor.tool(effect="write")
def write(key: str) -> str:
    LIVE.append("write")
    return f"wrote {key}"


@butfor.tool(effect="none")
def pure(x: int) -> int:
    LIVE.append("pure")
    return x * x


TOOLS: dict[str, Any] = {"read": read, "write": write, "pure": pure}


@butfor.model
def choose(script: list[Any]) -> list[Any]:
    return script


def agent(task: list[Any]) -> list[Any]:
    """Ask once; run the calls that the answer lists."""
    return [TOOLS[name](**arguments) for name, arguments in choose(script=task)]


def rolled(factual: list[Any], instead: list[Any], tools: ToolPolicy | None = None) -> Any:
    store, run_id = recorded(agent, factual)
    LIVE.clear()
    (rollout,) = run(rollouts_of(agent, store, run_id, tools=tools), do.action(0, instead), 1)
    return rollout


READ_A, READ_B = ["read", {"key": "a"}], ["read", {"key": "b"}]
WRITE_A, WRITE_B = ["write", {"key": "a"}], ["write", {"key": "b"}]


def test_the_recorded_answer_is_used_where_tool_arguments_and_earlier_writes_are_equal():
    rollout = rolled([READ_A, WRITE_A, READ_B], [READ_A, WRITE_A, READ_B])
    assert (rollout.status, rollout.counts["recorded"], LIVE) == ("completed", 3, [])


def test_a_read_after_another_write_is_not_the_recorded_one():
    rollout = rolled([WRITE_A, READ_B], [READ_B])
    # No write came before it now, so it may run live, and does.
    assert (rollout.status, LIVE) == ("completed", ["read"])


def test_a_new_read_after_a_write_is_unsupported_and_flagged_when_it_is_let_through():
    rollout = rolled([WRITE_A], [WRITE_A, READ_B])
    assert (rollout.status, rollout.tool, LIVE) == ("unsupported", "read", [])
    allowed = rolled([WRITE_A], [WRITE_A, READ_B], ToolPolicy(live_reads_after_write=True))
    assert (allowed.status, allowed.counts["live"], LIVE) == ("completed", 1, ["read"])


def test_a_new_write_is_unsupported():
    rollout = rolled([READ_A], [WRITE_B])
    assert (rollout.status, rollout.tool, rollout.counts["unsupported"], LIVE) == ("unsupported", "write", 1, [])


def test_a_function_of_its_arguments_runs_live_at_any_time():
    rollout = rolled([WRITE_A], [WRITE_A, ["pure", {"x": 3}]])
    assert (rollout.status, rollout.output, LIVE) == ("completed", ["wrote a", 9], ["pure"])


def test_a_simulator_rebuilds_its_state_from_the_prefix():
    class Shelf:
        def __init__(self) -> None:
            self.keys: list[str] = []

        def replay(self, tool: str, arguments: Any, answer: Any) -> None:
            self.keys.append(arguments["key"])

        def answer(self, tool: str, arguments: Any) -> Any:
            self.keys.append(arguments["key"])
            return list(self.keys)

    @butfor.model
    def next_call(history: list[Any]) -> Any:
        return WRITE_A if not history else None

    def two_steps(task: Any) -> list[Any]:
        history: list[Any] = []
        while (call := next_call(history=history)) is not None:
            history.append(TOOLS[call[0]](**call[1]))
        return history

    store, run_id = recorded(two_steps, None)
    LIVE.clear()
    rollouts = rollouts_of(two_steps, store, run_id, tools=ToolPolicy(simulators={"write": Shelf}))
    (rollout,) = run(rollouts, do.action(1, WRITE_B), 1)
    assert (rollout.output, rollout.counts["simulated"], LIVE) == (["wrote a", ["a", "b"]], 1, [])


def test_a_repeated_call_gets_the_recorded_answers_in_turn():
    answers = iter(["first", "second"])

    @butfor.tool(effect="read", name="flaky")
    def flaky() -> str:
        return next(answers)

    TOOLS["flaky"] = flaky
    rollout = rolled([["flaky", {}], ["flaky", {}]], [["flaky", {}], ["flaky", {}], ["flaky", {}]])
    assert rollout.output == ["first", "second", "second"]


@pytest.mark.parametrize("effect", ["", "delete", None])
def test_a_tool_says_what_it_does_to_the_world(effect):
    with pytest.raises(InputError, match="one of none, read, write"):
        butfor.tool(effect=effect)


def test_a_tool_without_effect_is_refused_with_the_same_sentence():
    with pytest.raises(InputError, match="one of none, read, write, and has to be given"):
        butfor.tool()
    with pytest.raises(InputError, match="has to be given"):
        butfor.tool(len)


def test_a_simulator_lacking_a_method_is_refused():
    with pytest.raises(InputError, match=r"has no method replay\(\)"):
        butfor.simulator("x")(type("Half", (), {"answer": lambda *_: None}))


def test_only_the_agents_own_simulators_answer_its_calls_and_count_in_its_draws():
    store, run_id = recorded(agent, [WRITE_A])
    before = rollouts_of(agent, store, run_id)

    class Foreign:
        def replay(self, tool: str, arguments: Any, answer: Any) -> None: ...

        def answer(self, tool: str, arguments: Any) -> Any:
            return "from another agent"

    Foreign.__module__ = "somebody.elses.agent"
    butfor.simulator("write")(Foreign)
    after = rollouts_of(agent, store, run_id)
    (rollout,) = run(after, do.action(0, [WRITE_B]), 1)
    assert (after.fingerprint, rollout.status) == (before.fingerprint, "unsupported")
    Foreign.__module__ = agent.__module__
    butfor.simulator("write")(Foreign)
    try:
        (mine,) = run(rollouts_of(agent, store, run_id), do.action(0, [WRITE_B]), 1)
    finally:
        del registered[agent.__module__, "write"]
    assert mine.output == ["from another agent"]
