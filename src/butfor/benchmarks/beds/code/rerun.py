"""Run a program's tests again with the program changed: the `Executor` of this bed."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.code.mutation import mutants
from butfor.noise import generator

if TYPE_CHECKING:
    import random

    from butfor.benchmarks.beds.code.tasks import Task
    from butfor.benchmarks.sandbox import Finding, Sandbox
    from butfor.canonical import Json

# A program that names one of these may come out otherwise the next time; hashes are fixed in the sandbox.
_STOCHASTIC = {"random", "secrets", "uuid", "time", "datetime", "threading", "asyncio", "id", "os", "socket"}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """π of this bed, declared: keeps the program with probability `keep`, else one mutation of it, uniformly."""

    keep: float = 0.5

    @property
    def words(self) -> str:
        """Say what π is."""
        return f"keeps the program with probability {self.keep:g}, else one mutation of it, uniformly"

    def decide(self, program: str, source: random.Random) -> str:
        """Draw a program."""
        if source.random() < self.keep:
            return program
        others = mutants(program)
        return source.choice(others).source if others else program


@dataclass(frozen=True, kw_only=True)
class CodeRerun:
    """Executes one task's tests on any program; an action is a program as text.

    Attributes:
        task: The task.
        program: The program that failed.
        sandbox: Where everything runs.
        policy: π, which draws the null arm.
        seed: Root of every draw.
    """

    task: Task
    program: str
    sandbox: Sandbox
    policy: Policy
    seed: int
    _found: dict[str, Finding] = field(default_factory=dict)

    def run(self, step: int, action: Json, draw: int) -> float:
        """Return y: 0 where every test passes, else 1; a limit that stops a program is a failure.

        Args:
            step: 0: the program is the only decision.
            action: A program; None for the null arm.
            draw: Id of the draw; it matters for the null arm only.
        """
        del step
        if action is None:
            action = self.policy.decide(self.program, generator(self.seed, "null arm", self.task.name, draw))
        return 0.0 if self.finding(action).passed else 1.0

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Say whether a program names nothing that could come out otherwise the next time."""
        del step
        return isinstance(action, str) and is_deterministic(action)

    def finding(self, program: str) -> Finding:
        """Run a program's tests, once a program."""
        if program not in self._found:
            self._found[program] = self.sandbox.run(f"{program}\n{self.task.setup}", self.task.tests)
        return self._found[program]

    @property
    def runs(self) -> int:
        """Programs that were run."""
        return len(self._found)

    @property
    def tried(self) -> tuple[str, ...]:
        """What any of them tried that the sandbox contained, or which limit stopped it."""
        found = self._found.values()
        return tuple(kind for each in found for kind in (*each.tried, *(f"limit of {limit}" for limit in each.limits)))


def is_deterministic(program: str) -> bool:
    """Whether a program names nothing stochastic; one that does not parse fails every time."""
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError):
        return True
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in each.names}
        if isinstance(each, ast.ImportFrom):
            names.add((each.module or "").partition(".")[0])
    return not names & _STOCHASTIC
