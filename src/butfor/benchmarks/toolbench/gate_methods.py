"""This gate as a method: the real, pure `decide`, on the log, and again on the trial's rows where it asked for one."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from butfor.benchmarks.toolbench.cases import Ruling
from butfor.gate import DEFAULT, PAPER, Demands, Inputs, Rules, Sample, Trial, answer_for
from butfor.gate.decide import decide
from butfor.gate.robustness import examine
from butfor.identification import Query

if TYPE_CHECKING:
    from butfor.benchmarks.toolbench.cases import Case
    from butfor.benchmarks.toolbench.families import Family
    from butfor.estimation import Columns
    from butfor.gate import Decision, Preset
    from butfor.gate.inputs import Answer
    from butfor.graphs import Graph
    from butfor.identification import Assumption

# Published: τ_u = 0, τ_r = 0.5, one-sided 95%. Our τ_c is the same number, since the published τ_r is met by the cost.
TAU_U, LIMIT, ALPHA = 0.0, 0.5, 0.05
# The traffic team's policy states that its rota is an instrument; no graph could.
INSTRUMENTS: dict[str, tuple[str, Assumption]] = {"traffic shift": ("rota", "linear_effect")}


_NO_DEMANDS = Demands()


@dataclasses.dataclass(frozen=True, kw_only=True)
class GateMethod:
    """The gate under one preset, with parts changed for an ablation.

    Attributes:
        preset: Paper settings or our defaults, or a variation of them.
        alpha: Error level of each bound.
        experiments: Whether the policy allows trials.
        demands: What a verdict must survive.
        randomised_first: Whether the log is taken for a trial: identification left out.
        instruments: Whether the policy states which column is an instrument.
        limit: Most that an action may cost.
        max_age: Oldest usable log, in seconds.
    """

    preset: Preset
    alpha: float = ALPHA
    experiments: bool = True
    demands: Demands = _NO_DEMANDS
    randomised_first: bool = False
    instruments: bool = True
    limit: float = LIMIT
    max_age: float | None = None

    def __call__(self, case: Case) -> Ruling:
        """Decide on the log, and after a trial on its rows."""
        family, graph = case.instance.family, case.graph
        answer = _answer(graph, self._instrument(family), randomised=self.randomised_first)
        found = self.decided(case, case.log_columns, answer)
        if found.verdict != "EXPERIMENT":
            return Ruling(verdict=found.verdict, executed=found.verdict == "EXECUTE", reason=found.reason)
        after = self.decided(case, case.trial_columns, _answer(graph, None, randomised=True), trial=True)
        return Ruling(verdict="EXPERIMENT", executed=after.verdict == "EXECUTE", reason=found.reason)

    def decided(self, case: Case, columns: Columns, answer: Answer, *, trial: bool = False) -> Decision:
        """Decide about one table."""
        assigned = trial or self.randomised_first
        inputs = Inputs(
            graph=case.graph,
            query=_query(case.instance.family),
            answer=answer,
            sample=Sample(
                data=columns, kind="randomised" if assigned else "observational", age=0.0 if trial else case.age
            ),
            rules=self.rules(case),
        )
        if self.preset.tests_graph or self.demands != _NO_DEMANDS:
            inputs = dataclasses.replace(inputs, robustness=examine(inputs, show=False))
        return decide(inputs)

    def rules(self, case: Case) -> Rules:
        """Write the policy's entry for this action."""
        one = case.instance
        return Rules(
            tau_u=TAU_U,
            tau_c=self.limit,
            tau_r=self.limit if self.preset.cost_limit == "tau_r" else None,
            alpha=self.alpha,
            cost=one.cost,
            reversible=one.reversible,
            trial=Trial(arms=(0.0, 1.0), most_units=one.rows, effect=1.8) if self.experiments else None,
            instrument=self._instrument(one.family),
            max_age=self.max_age,
            demands=self.demands,
            preset=self.preset,
        )

    def _instrument(self, family: Family) -> tuple[str, Assumption] | None:
        return INSTRUMENTS.get(family.name) if self.instruments else None


PAPER_SETTINGS = GateMethod(preset=PAPER)
DEFAULTS = GateMethod(preset=DEFAULT)


def _query(family: Family) -> Query:
    return Query.effect(family.treatment, family.outcome)


@functools.cache
def _answer(graph: Graph, instrument: tuple[str, Assumption] | None, *, randomised: bool) -> Answer:
    treatment, outcome = graph.with_role("treatment")[0], graph.with_role("outcome")[0]
    return answer_for(graph, Query.effect(treatment, outcome), randomised=randomised, instrument=instrument)


def answer_of(case: Case) -> Answer:
    """Return what the graph, and the policy where it states an instrument, say of a case."""
    return _answer(case.graph, INSTRUMENTS.get(case.instance.family.name), randomised=False)
