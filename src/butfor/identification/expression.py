"""The estimand of a proof as an expression over the observed distribution.

An expression is a list of nodes, operands before the nodes that use them, the whole last. Shared parts are written
once: as a nested tree the same formula can be exponentially long.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.identification.kernels import factors_of
from butfor.identification.nodes import Covariance, Node, P, Product, Ratio, Sum, Writer
from butfor.identification.proof import Adjustment, FrontDoor, GeneralId, Instrument
from butfor.identification.written import written

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.graphs import Graph
    from butfor.identification.proof import Proof


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimand:
    """A formula for P(outcomes | do(treatments), given), or for an instrument's ratio.

    Attributes:
        nodes: The formula; the last node is the whole.
        treatments: Variables whose values are those of the intervention.
        outcomes: Variables whose distribution it is.
        given: The stratum.
        free: Further variables that the formula mentions and that do not change its value: any value will do (with
            estimated probabilities choose one, or average over them).
    """

    nodes: tuple[Node, ...]
    treatments: tuple[str, ...]
    outcomes: tuple[str, ...]
    given: tuple[str, ...]
    free: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the formula as plain JSON values."""
        return {
            "treatments": list(self.treatments),
            "outcomes": list(self.outcomes),
            "given": list(self.given),
            "free": list(self.free),
            "nodes": [node.to_json() for node in self.nodes],
        }

    def __str__(self) -> str:
        """Write the formula; a part used more than once is named and written once."""
        whole, *named = written(self.nodes, (*self.treatments, *self.outcomes, *self.given))
        return "; ".join([f"{self._left()} = {whole}", *named])

    def _left(self) -> str:
        if isinstance(self.nodes[-1], Ratio) and isinstance(self.nodes[0], Covariance):
            return f"effect of {', '.join(self.treatments)} on {', '.join(self.outcomes)}"
        stratum = "".join(f", {name}" for name in self.given)
        return f"P({', '.join(self.outcomes)} | do({', '.join(self.treatments)}){stratum})"


def estimand(graph: Graph, proof: Proof) -> Estimand:
    """Write the formula that a proof stands for.

    Args:
        graph: The graph that the proof is about.
        proof: A proof that `check` accepts; the formula of a wrong proof is wrong.

    Raises:
        InputError: The proof is about another graph.
    """
    if proof.graph != graph.digest:
        raise InputError("the proof is about another graph", fix="pass the graph that it was made for")
    argument, query = proof.argument, proof.query
    writer = Writer()
    if isinstance(argument, Adjustment):
        _adjustment(writer, argument, query.outcomes, query.given)
    elif isinstance(argument, FrontDoor):
        _front_door(writer, argument, query.outcomes)
    elif isinstance(argument, Instrument):
        _instrument(writer, argument, query.treatments, query.outcomes)
    elif isinstance(argument, GeneralId):
        _general(writer, graph, proof, argument)
    else:
        writer.add(P(of=query.outcomes, given=query.given))
    known = {*query.treatments, *query.outcomes, *query.given}
    free = () if isinstance(argument, Instrument) else tuple(sorted(writer.mentions(-1) - known))
    return Estimand(
        nodes=tuple(writer.nodes), treatments=query.treatments, outcomes=query.outcomes, given=query.given, free=free
    )


def _adjustment(writer: Writer, argument: Adjustment, outcomes: tuple[str, ...], given: tuple[str, ...]) -> None:
    z = argument.adjust_for
    outcome = writer.add(P(of=outcomes, given=(*argument.acting, *z, *given)))
    if z:
        weight = writer.add(P(of=z, given=given))
        writer.add(Sum(over=z, of=writer.add(Product(of=(outcome, weight)))))


def _front_door(writer: Writer, argument: FrontDoor, outcomes: tuple[str, ...]) -> None:
    t, m = argument.acting, argument.mediators
    outcome = writer.add(P(of=outcomes, given=(*t, *m)))
    inner = writer.add(Sum(over=t, of=writer.add(Product(of=(outcome, writer.add(P(of=t)))))))
    mediator = writer.add(P(of=m, given=t))
    writer.add(Sum(over=m, of=writer.add(Product(of=(mediator, inner)))))


def _instrument(writer: Writer, argument: Instrument, treatments: tuple[str, ...], outcomes: tuple[str, ...]) -> None:
    z, w = argument.instrument, argument.adjust_for
    top = writer.add(Covariance(one=z, other=outcomes[0], given=w))
    writer.add(Ratio(top=top, bottom=writer.add(Covariance(one=z, other=treatments[0], given=w))))


def _general(writer: Writer, graph: Graph, proof: Proof, argument: GeneralId) -> None:
    query = proof.query
    stratum = tuple(name for name in query.given if name not in argument.moved)
    factors = factors_of(writer, graph, proof, argument)
    kept = {*query.outcomes, *stratum}
    relevant = {name for i in argument.factors for name in argument.steps[i].keep}
    whole = writer.product(factors)
    rest = tuple(name for name in graph.names if name in relevant - kept)
    if rest:
        whole = writer.add(Sum(over=rest, of=whole))
    if stratum:
        writer.add(Ratio(top=whole, bottom=writer.add(Sum(over=query.outcomes, of=whole))))
