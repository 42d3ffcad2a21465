"""Whether the data contradict a graph: implied independences, negative controls, and shuffled graphs beside it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.confidence import Undefined, holm
from butfor.estimation.independence import Answer, IndependenceTest, NotTested, independence_test
from butfor.graphs import Graph
from butfor.identification import Independence, implied_independences
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from butfor.estimation.columns import Columns


@dataclasses.dataclass(frozen=True, kw_only=True)
class Falsification:
    """What was tested, and what the data contradict.

    Attributes:
        tested: The tests, p-values adjusted together.
        untested: Statements that these data cannot test, with the reason.
        alpha: P(any true statement is called refuted) is at most this.
        complete: Whether every implied independence was listed.
    """

    tested: tuple[IndependenceTest, ...]
    untested: tuple[NotTested, ...]
    alpha: float
    complete: bool

    @property
    def refuted(self) -> tuple[IndependenceTest, ...]:
        """The statements that the data contradict."""
        return tuple(each for each in self.tested if each.adjusted <= self.alpha)

    def in_words(self) -> str:
        """Say it in sentences; no contradiction is no confirmation."""
        if self.refuted:
            said = "; ".join(f"{each.statement} (adjusted p = {each.adjusted:.2g})" for each in self.refuted)
            return f"The data contradict the graph: {said}."
        if not self.tested:
            return "The graph implies no independence that these data can test, so nothing speaks for or against it."
        level = self.alpha / len(self.tested)
        weakest = max(each.detectable(level) for each in self.tested)
        return (
            f"None of {len(self.tested)} implied independences is contradicted. That confirms none: dependences weaker "
            f"than {weakest:.2f} (Cohen's w) could have been missed."
        )


def falsify(
    columns: Columns,
    graph: Graph,
    *,
    controls: Iterable[Independence] = (),
    alpha: float = 0.05,
    seed: int = 0,
) -> Falsification:
    """Test what a graph implies on the evidence.

    Estimand: which implied conditional independences are false.
    Assumptions: those of each test (see `independence_test`).
    Guarantee: familywise by Holm: P(any true statement is refuted) ≤ alpha, as far as each test keeps its own level.
    Reference: Pearl 1988; Holm 1979; negative controls: Lipsitch et al. 2010.

    Args:
        columns: The units. Variables of the graph without a column count as latent.
        graph: The graph.
        controls: Further independences that must hold if the graph is right, such as a placebo outcome and the
            treatment given what is adjusted for.
        alpha: Familywise level.
        seed: Root of the shuffles.
    """
    implied = implied_independences(_seen(graph, columns))
    answers = [independence_test(columns, statement, seed=seed) for statement in (*implied.independences, *controls)]
    tested = [answer for answer in answers if isinstance(answer, IndependenceTest)]
    adjusted = holm([each.p for each in tested])
    return Falsification(
        tested=tuple(dataclasses.replace(each, adjusted=p) for each, p in zip(tested, adjusted, strict=True)),
        untested=tuple(answer for answer in answers if isinstance(answer, NotTested)),
        alpha=alpha,
        complete=implied.complete,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Baseline:
    """How the graph does beside graphs of the same shape with shuffled names.

    Attributes:
        violated: Implied independences of the graph with p ≤ alpha, not adjusted.
        implied: How many the graph implies.
        share: Share of shuffled graphs, the graph itself among them, whose share of violations is at most the graph's.
            Small is good.
        shuffles: Shuffled graphs looked at.
    """

    violated: int
    implied: int
    share: float
    shuffles: int


def permutation_baseline(
    columns: Columns, graph: Graph, *, shuffles: int = 99, alpha: float = 0.05, seed: int = 0
) -> Baseline | Undefined:
    """Compare a graph's violations with those of graphs that say the same of other variables.

    Estimand: P(a graph of this shape with names at random is violated no more than this one).
    Assumptions: those of each test.
    Guarantee: a permutation p-value for "the graph fits no better than its shape"; heuristic as evidence for the graph.
    Reference: Eulig et al., *Toward falsifying causal graphs using a permutation-based test*, 2023 (arXiv 2305.09565).

    Returns:
        The comparison; Undefined where the graph implies nothing that can be tested.
    """
    seen = _seen(graph, columns)
    known: dict[Independence, Answer] = {}

    def answer(statement: Independence) -> Answer:
        key = _normal(statement)
        if key not in known:
            known[key] = independence_test(columns, key, seed=seed)
        return known[key]

    violated, implied = _violations(seen, answer, alpha)
    if implied == 0:
        return Undefined(reason="the graph implies no independence that these data can test")
    rng, names = numpy_generator("permutation baseline", seed), seen.names_of(seen.measured)
    as_good = 1
    for _ in range(shuffles):
        other, of = _violations(_renamed(seen, names, [names[i] for i in rng.permutation(len(names))]), answer, alpha)
        as_good += other * implied <= violated * max(of, 1)
    return Baseline(violated=violated, implied=implied, share=as_good / (shuffles + 1), shuffles=shuffles)


def _violations(graph: Graph, answer: Callable[[Independence], Answer], alpha: float) -> tuple[int, int]:
    answers = [answer(statement) for statement in implied_independences(graph).independences]
    tested = [each for each in answers if isinstance(each, IndependenceTest)]
    return sum(each.p <= alpha for each in tested), len(tested)


def _normal(statement: Independence) -> Independence:
    """Write equal statements the same way, so that each is tested once."""
    return Independence(
        variable=statement.variable,
        others=tuple(sorted(statement.others)),
        given=tuple(sorted(statement.given)),
    )


def _seen(graph: Graph, columns: Columns) -> Graph:
    """Return the graph in which what has no column is latent."""
    roles = {
        name: role if name in columns.table else "latent" for name, role in zip(graph.names, graph.roles, strict=True)
    }
    return Graph.of(nodes=roles, directed=graph.directed, bidirected=graph.bidirected)


def _renamed(graph: Graph, names: Sequence[str], others: Sequence[str]) -> Graph:
    new = {**{name: name for name in graph.names}, **dict(zip(names, others, strict=True))}
    return Graph.of(
        nodes={new[name]: role for name, role in zip(graph.names, graph.roles, strict=True)},
        directed=[(new[tail], new[head]) for tail, head in graph.directed],
        bidirected=[(new[one], new[other]) for one, other in graph.bidirected],
    )
