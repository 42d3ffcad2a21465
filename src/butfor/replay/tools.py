"""How a tool call of a rollout is answered without touching the world (design §4).

In this order: a simulator that the user registered; the recorded answer where tool, arguments and the sequence of
write calls before are equal; a live call where the effect is `none`, or `read` with no write before it; else the
rollout is unsupported there. A `write` tool runs live only where the user allows it by name.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from butfor import canonical
from butfor.errors import InputError
from butfor.replay import codecs
from butfor.replay.journal import NO_WRITES, after_write, is_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.journal import AnswerKey, Journal


class Simulator(Protocol):
    """Answers tools in a rollout; a fresh one is made for each rollout."""

    def replay(self, tool: str, arguments: Json, answer: Json) -> None:
        """Learn of a call that was answered by the recording, in order, to rebuild the state that it left."""
        ...

    def answer(self, tool: str, arguments: Json) -> Json:
        """Answer a call."""
        ...


@dataclass(frozen=True, kw_only=True)
class ToolPolicy:
    """What rollouts may do with tools.

    Attributes:
        allow_write: Tools of effect `write` that may run live in rollouts, by name.
        live_reads_after_write: Let `read` tools run live after a write; they show the world as it is now.
        simulators: Tool name to the maker of its simulator.
    """

    allow_write: frozenset[str] = frozenset()
    live_reads_after_write: bool = False
    simulators: dict[str, Callable[[], Simulator]] = field(default_factory=dict)


registered: dict[tuple[str, str], Callable[[], Simulator]] = {}
"""Simulators by (module that registered them, tool)."""


def simulators_of(is_mine: Callable[[str], bool]) -> dict[str, Callable[[], Simulator]]:
    """Return the simulators that an agent's own modules registered, by tool.

    What else the process has loaded must not answer its calls, nor count in the key of its draws.

    Args:
        is_mine: Whether a module is part of the agent.
    """
    return {tool: kind for (module, tool), kind in registered.items() if is_mine(module)}


def simulator(*tools: str) -> Callable[[type[Any]], type[Any]]:
    """Register a class as the simulator of tools, for every rollout of an agent that imports it.

    Args:
        tools: The tools' names. A class that simulates several shares one instance between them.

    It answers for agents whose code imports the module that registers it, and for those of the running script; for any
    other agent, name it in `ToolPolicy.simulators`.

    Raises:
        InputError: No tool is named, or the class lacks a method of `Simulator`.
    """
    if not tools or not all(isinstance(tool, str) for tool in tools):
        raise InputError("a simulator needs the names of its tools", fix='write @butfor.simulator("refund")')

    def register(kind: type[Any]) -> type[Any]:
        for method in ("replay", "answer"):
            if not callable(getattr(kind, method, None)):
                raise InputError(f"the simulator {kind.__qualname__} has no method {method}()")
        registered.update({(kind.__module__, tool): kind for tool in tools})
        return kind

    return register


@dataclass(slots=True)
class Answered:
    """How a call is answered; `response` is None where it must run live; `inside` is what the recorded call called."""

    by: str
    response: str | None = None
    codec: str = ""
    error: tuple[str, str] | None = None
    inside: tuple[Crossing, ...] = ()


class ToolAnswers:
    """The tool calls of one rollout: what was written so far, and who answers the next call."""

    def __init__(self, journal: Journal, policy: ToolPolicy) -> None:
        self._journal = journal
        self._policy = policy
        self._writes = NO_WRITES
        self._held_writes: list[Crossing] = []
        self._own_writes: list[tuple[str, str]] = []
        self._asked: Counter[tuple[str, str, str]] = Counter()
        self._simulators: dict[Callable[[], Simulator], Simulator] = {}
        self._history: list[tuple[str, str, str]] = []

    def held(self, crossing: Crossing, arguments: str, response: str) -> None:
        """Note a call that the journal answered, after what was called inside it."""
        self._asked[self._journal.key_of(crossing)] += 1
        if is_write(crossing.effect):
            self._hold_write(crossing)
        self._remember(crossing, arguments, response)

    def _hold_write(self, crossing: Crossing) -> None:
        """Extend the sequence of writes as the recording has it: lanes may be served in another order than they ran."""
        held = self._held_writes
        if not self._own_writes and (not held or held[-1].began < crossing.began):
            held.append(crossing)
            self._writes = after_write(self._writes, crossing.name, crossing.digest)
            return
        insort(held, crossing, key=lambda each: each.began)
        self._writes = NO_WRITES
        for name, digest in (*((each.name, each.digest) for each in held), *self._own_writes):
            self._writes = after_write(self._writes, name, digest)

    def forced(self, crossing: Crossing, arguments: str, response: str) -> None:
        """Note a call that an operation answered."""
        self._note(crossing, arguments, response)

    def completed(self, crossing: Crossing, arguments: str, response: str) -> None:
        """Note what a call that ran live gave; that it wrote was noted when it began."""
        self._remember(crossing, arguments, response)

    def answer(self, crossing: Crossing, arguments: str) -> Answered | None:
        """Say who answers a call; None where it is unsupported."""
        name, effect = crossing.name, crossing.effect
        make = self._policy.simulators.get(name)
        if make is not None:
            response, codec = codecs.dump(self._simulator(make).answer(name, canonical.decode(arguments)))
            self._note(crossing, arguments, response, by=make)
            return Answered("simulated", response, codec)
        recorded = self._recorded_answer((name, crossing.digest, self._writes))
        if recorded is not None:
            self._note(crossing, arguments, recorded.response or "null")
            inside = self._journal.inside.get((recorded.lane, recorded.occurrence), ())
            for each in inside:
                if each.kind == "tool":
                    self._note(each, each.middle, each.response or "null")
            return Answered("recorded", recorded.response, recorded.codec, recorded.error, tuple(inside))
        if self._may_run(name, effect):
            if is_write(effect):
                self._write(crossing)
            return Answered("live")
        return None

    def _recorded_answer(self, key: AnswerKey) -> Crossing | None:
        recorded = self._journal.answers.get(key)
        # The steps inside a tool that is an agent itself are decided again, so its recorded answer is not its answer.
        if not recorded or key[0] in self._journal.agent_tools:
            return None
        match = recorded[min(self._asked[key], len(recorded) - 1)]
        if match.error is not None and match.error[0] == codecs.CANCELLED:
            return None  # the agent gave it up before there was an answer
        self._asked[key] += 1
        return match

    def may_run_inside_model(self, name: str, effect: str) -> bool:
        """Whether a tool that a live model call runs by itself may run."""
        return self._may_run(name, effect)

    def _may_run(self, name: str, effect: str) -> bool:
        if is_write(effect):
            return name in self._policy.allow_write
        if effect == "none" or name in self._journal.agent_tools:
            return True  # what a tool that is an agent reads passes boundaries inside it
        return self._writes == NO_WRITES or self._policy.live_reads_after_write

    def _note(self, crossing: Crossing, arguments: str, response: str, *, by: object = None) -> None:
        if is_write(crossing.effect):
            self._write(crossing)
        self._remember(crossing, arguments, response, by=by)

    def _write(self, crossing: Crossing) -> None:
        self._own_writes.append((crossing.name, crossing.digest))
        self._writes = after_write(self._writes, crossing.name, crossing.digest)

    def _remember(self, crossing: Crossing, arguments: str, response: str, *, by: object = None) -> None:
        self._history.append((crossing.name, arguments, response))
        maker = self._policy.simulators.get(crossing.name)
        if maker in self._simulators and maker is not by and maker is not None:
            self._tell(self._simulators[maker], [self._history[-1]])

    def _simulator(self, make: Callable[[], Simulator]) -> Simulator:
        if make not in self._simulators:
            self._simulators[make] = make()
            mine = {tool for tool, maker in self._policy.simulators.items() if maker is make}
            self._tell(self._simulators[make], [call for call in self._history if call[0] in mine])
        return self._simulators[make]

    @staticmethod
    def _tell(simulator: Simulator, calls: Iterable[tuple[str, str, str]]) -> None:
        for name, arguments, response in calls:
            simulator.replay(name, canonical.decode(arguments), canonical.decode(response))
