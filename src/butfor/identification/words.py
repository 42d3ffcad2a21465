"""Answers in plain words, for people who do not read graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.identification.proof import ASSUMPTIONS, Adjustment, FrontDoor, GeneralId, Hedge, Instrument, Proof

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.graphs import Graph


def in_words(graph: Graph, answer: Proof | Hedge) -> str:
    """Say why the effect can, or cannot, be computed from evidence on the measured variables."""
    return _hedge(graph, answer) if isinstance(answer, Hedge) else _proof(answer)


def _proof(proof: Proof) -> str:
    argument = proof.argument
    t, y = listed(proof.query.treatments), listed(proof.query.outcomes)
    within = f" within strata of {listed(proof.query.given)}" if proof.query.given else ""
    if isinstance(argument, Adjustment) and not argument.adjust_for:
        return f"Nothing confounds {t} and {y}{within}: comparing them as they are gives the effect."
    if isinstance(argument, Adjustment):
        return (
            f"Comparing cases with equal {listed(argument.adjust_for)}{within} gives the effect of {t} on {y}: "
            f"every path that is not causal is blocked."
        )
    if isinstance(argument, FrontDoor):
        m = listed(argument.mediators)
        return (
            f"{t} acts on {y} only through {m}, and neither step is confounded once {t} is known: "
            f"the effect is that of {t} on {m} followed by that of {m} on {y}."
        )
    if isinstance(argument, Instrument):
        given = f" among cases with equal {listed(argument.adjust_for)}" if argument.adjust_for else ""
        return (
            f"{argument.instrument} is an instrument for {t}{given}: it is tied to {y} only through {t}. "
            f"This needs an assumption that the graph does not state: {ASSUMPTIONS[argument.assumption]}."
        )
    if isinstance(argument, GeneralId):
        return (
            f"No adjustment set exists, but the effect of {t} on {y}{within} follows from the observed distribution "
            f"in {len(argument.steps)} steps of summing out and splitting into districts."
        )
    return f"{t} has no causal path to {y}{within}: setting it changes nothing there."


def _hedge(graph: Graph, hedge: Hedge) -> str:
    query = hedge.query
    links = " and ".join(link_in_words(graph, hedge, one, other) for one, other in hedge.blocking)
    edges = ", ".join(f"{one} <-> {other}" for one, other in hedge.blocking)
    within = f" within strata of {listed(query.given)}" if query.given else ""
    return (
        f"The effect of {listed(query.treatments)} on {listed(query.outcomes)}{within} is not identified: {links} "
        f"({edges}), and no evidence on the measured variables, however much of it, tells what the treatment does from "
        f"what that does."
    )


def link_in_words(graph: Graph, hedge: Hedge, one: str, other: str) -> str:
    """Say what a latent edge of the hedge stands for, by name where the graph names it."""
    names = hidden_causes(graph, hedge, one, other)
    if names:
        return f"{one} and {other} share the unmeasured {listed(names)}"
    return f"{one} and {other} share an unmeasured cause"


def hidden_causes(graph: Graph, hedge: Hedge, one: str, other: str) -> tuple[str, ...]:
    """Name the unmeasured nodes that reach both ends through unmeasured nodes alone."""
    measured = graph.measured
    if hedge.query.measured is not None:
        measured &= graph.mask(name for name in hedge.query.measured if name in graph)
    below = [0] * len(graph.names)
    for i in reversed(range(len(graph.names))):
        below[i] = graph.edges.children[i]
        for j in bits(graph.edges.children[i] & ~measured):
            below[i] |= below[j]
    ends = graph.mask((one, other))
    return tuple(graph.names[i] for i in bits(graph.all & ~measured) if below[i] & ends == ends)


def listed(names: Sequence[str]) -> str:
    """Write names as a list in a sentence."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
