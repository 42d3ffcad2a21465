"""Everything that a verdict follows from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from butfor.estimation.questions import Randomised
from butfor.identification import Hedge, Instrument, Proof, identify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.cells import Cells
    from butfor.estimation.columns import Columns
    from butfor.estimation.evidence.description import Kind
    from butfor.gate.robustness.report import Robustness
    from butfor.gate.rules import Rules
    from butfor.graphs import Graph
    from butfor.identification import Assumption, Query

Answer: TypeAlias = Proof | Hedge | Randomised
"""Why the effect is identified, why it is not, or that the treatment was assigned at random."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Evidence as a decision reads it: units, or what a GROUP BY gives of them.

    Attributes:
        data: Rows, or counts and sums by stratum and arm.
        kind: How treatments were chosen.
        digest: Names exactly these data.
        age: Seconds since the newest unit; None where unknown, which a policy with a maximum age refuses.
        harmed: With cells: the cells of the outcome 1{Y < harm line}; a two-valued outcome needs none.
        levels: With cells: for each text column its texts, in the order of their codes.
    """

    data: Columns | Cells
    kind: Kind = "observational"
    digest: str = ""
    age: float | None = None
    harmed: Cells | None = None
    levels: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """What `decide` decides from, and nothing else: the same inputs give the same decision anywhere.

    Attributes:
        graph: The committed graph.
        query: The effect that is asked for; `given` names the stratum's variables.
        answer: Proof, hedge, or random assignment; it is checked again, whoever made it.
        sample: The evidence.
        rules: What EXECUTE takes.
        within: Value of each stratum variable.
        alpha: Error level that the budget granted; None takes the rules' own.
        robustness: What was found of the graph on the evidence; a demand without it fails closed.
    """

    graph: Graph
    query: Query
    answer: Answer
    sample: Sample
    rules: Rules
    within: Mapping[str, float | str] = dataclasses.field(default_factory=dict)
    alpha: float | None = None
    robustness: Robustness | None = None

    @property
    def level(self) -> float:
        """The error level of each bound."""
        return self.rules.alpha if self.alpha is None else self.alpha


def answer_for(
    graph: Graph, query: Query, *, randomised: bool = False, instrument: tuple[str, Assumption] | None = None
) -> Answer:
    """Find why a query can be answered, or why not.

    Args:
        graph: The graph.
        query: The question.
        randomised: Whether the evidence comes from a trial: assignment identifies the effect by itself.
        instrument: An instrument that the policy relies on where nothing else identifies, and its assumption.

    Raises:
        InputError: The query names a variable that the graph does not have or nobody measured.
    """
    if randomised:
        return Randomised()
    found = identify(graph, query)
    if isinstance(found, Proof) or instrument is None or query.given:
        return found
    from butfor.identification import find_instruments

    name, assumption = instrument
    proofs = find_instruments(graph, query, assumption=assumption)
    named = (p for p in proofs if isinstance(p.argument, Instrument) and p.argument.instrument == name)
    return next(named, found)
