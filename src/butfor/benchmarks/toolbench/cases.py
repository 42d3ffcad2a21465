"""What a method sees of an action, and what it rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.estimation import Columns

if TYPE_CHECKING:
    from butfor.benchmarks.toolbench.families import Rows
    from butfor.benchmarks.toolbench.instances import Instance
    from butfor.graphs import Graph

Verdict: TypeAlias = Literal["EXECUTE", "REJECT", "EXPERIMENT", "ABSTAIN"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ruling:
    """What became of an action.

    Attributes:
        verdict: The first verdict.
        executed: Whether it was carried out in the end: by EXECUTE, or after the trial that EXPERIMENT asked for.
        reason: Reason code, where the method gives one.
    """

    verdict: Verdict
    executed: bool
    reason: str = ""

    @property
    def tried(self) -> bool:
        """Whether a trial was run."""
        return self.verdict == "EXPERIMENT"


class Case:
    """An action with its tables, drawn when first asked for, each once however many methods ask.

    Args:
        instance: The action.
        graph: What the methods are told of the world; by default the truth.
    """

    age = 0.0
    """Seconds since the newest row of the log."""

    def __init__(self, instance: Instance, graph: Graph | None = None) -> None:
        self.instance = instance
        self.graph = instance.family.graph if graph is None else graph

    @cached_property
    def log(self) -> Rows:
        """The observational table."""
        return self.instance.log()

    @cached_property
    def trial(self) -> Rows:
        """The randomised table; only a method that ruled EXPERIMENT may look."""
        return self.instance.trial()

    @cached_property
    def log_columns(self) -> Columns:
        """The observational table, checked."""
        family = self.instance.family
        return Columns.of(self.log, treatment=family.treatment, outcome=family.outcome)

    @cached_property
    def trial_columns(self) -> Columns:
        """The randomised table, checked."""
        family = self.instance.family
        return Columns.of(self.trial, treatment=family.treatment, outcome=family.outcome)


Method: TypeAlias = Callable[[Case], Ruling]
