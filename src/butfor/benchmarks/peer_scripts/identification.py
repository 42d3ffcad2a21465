"""Ask one identification library every question; runs in that library's environment, and imports nothing of ours.

Reads {library, cases, limit, budget} as JSON, prints {version, answers} as JSON. A case that takes longer than `limit`
CPU seconds is a time-out; after two in a group the rest of the group is not asked, nor is anything after `budget`.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Question = dict[str, Any]
Answer = dict[str, Any]
Adapter = tuple["Callable[[Question], Any]", "Callable[[Any, Question], Any]", "Callable[[Any, Question], Answer]"]
"""(build the library's graph, ask: the timed part, translate what it said)"""


class _TimeOut(Exception):
    pass


def main() -> None:
    """Answer what standard input asks."""
    asked = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    adapter = globals()["_" + asked["library"].replace("-", "_")]()
    signal.signal(signal.SIGPROF, _stop)
    for question in asked["cases"][:1] * 2:  # imports and caches
        _answer(adapter, question, asked["limit"])
    answers: list[Answer] = []
    late: dict[str, int] = {}
    start = time.process_time()
    for question in asked["cases"]:
        group = question["group"]
        if late.get(group, 0) >= 2 or time.process_time() - start > asked["budget"]:
            answers.append({"error": "time-out" if late.get(group, 0) >= 2 else "not asked"})
            continue
        answers.append(_answer(adapter, question, asked["limit"]))
        late[group] = late.get(group, 0) + (answers[-1].get("error") == "time-out")
    print(json.dumps({"version": importlib.metadata.version(asked["library"]), "answers": answers}))


def _stop(signum: int, frame: object) -> None:
    del signum, frame
    raise _TimeOut


def _answer(adapter: Adapter, question: Question, limit: float) -> Answer:
    build, ask, translate = adapter
    try:
        graph = build(question)
        signal.setitimer(signal.ITIMER_PROF, limit)
        # The process clock moves in ticks of 4 ms while the timer is armed; the thread's own clock does not.
        start = time.thread_time()
        said = ask(graph, question)
        seconds = time.thread_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"seconds": seconds, **translate(said, question)}
    except _TimeOut:
        return {"error": "time-out"}
    except RecursionError:
        return {"error": "recursion limit"}
    except Exception as error:  # noqa: BLE001  whatever a library raises is its answer
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _y0() -> Adapter:
    from y0 import dsl
    from y0.algorithm.identify import identify_outcomes
    from y0.graph import NxMixedGraph

    def build(q: Question) -> Any:
        v = dsl.Variable
        return NxMixedGraph.from_edges(
            nodes=[v(n) for n in q["nodes"]],
            directed=[(v(a), v(b)) for a, b in q["directed"]],
            undirected=[(v(a), v(b)) for a, b in q["bidirected"]],
        )

    def ask(graph: Any, q: Question) -> Any:
        return identify_outcomes(
            graph, treatments={dsl.Variable(q["treatment"])}, outcomes={dsl.Variable(q["outcome"])}
        )

    def translate(said: Any, q: Question) -> Answer:
        if said is None:
            return {"identified": False, "complete": True}
        nodes: list[dict[str, Any]] = []

        def walk(e: Any) -> int:
            node: dict[str, Any]
            if isinstance(e, dsl.Probability):
                node = {"p": [v.name for v in e.children], "given": [v.name for v in e.parents]}
            elif isinstance(e, dsl.Sum):
                node = {"sum": [v.name for v in e.ranges], "of": walk(e.expression)}
            elif isinstance(e, dsl.Product):
                node = {"product": [walk(each) for each in e.expressions]}
            else:
                node = {"ratio": [walk(e.numerator), walk(e.denominator)]}
            nodes.append(node)
            return len(nodes) - 1

        walk(said)
        return {"identified": True, "complete": True, **_small({"nodes": nodes}, q)}

    return build, ask, translate


def _causaleffect() -> Adapter:
    from causaleffect import ID
    from igraph import Graph

    def build(q: Question) -> Any:
        number = {name: i for i, name in enumerate(q["nodes"])}
        edges = [(number[a], number[b]) for a, b in q["directed"]]
        marks = [0] * len(edges)
        for a, b in q["bidirected"]:
            edges += [(number[a], number[b]), (number[b], number[a])]
            marks += [1, -1]
        graph = Graph(n=len(q["nodes"]), vertex_attrs={"name": q["nodes"]}, edges=edges, directed=True)
        graph.es["confounding"] = marks
        return graph

    def ask(graph: Any, q: Question) -> Any:
        return ID({q["outcome"]}, {q["treatment"]}, graph)

    def translate(said: Any, q: Question) -> Answer:
        if not said.identifiable:
            return {"identified": False, "complete": True}
        nodes: list[dict[str, Any]] = []

        def add(node: dict[str, Any]) -> int:
            nodes.append(node)
            return len(nodes) - 1

        def walk(p: Any) -> int:
            if p._recursive:
                part = add({"product": [walk(child) for child in p._children]})
            else:
                part = add({"p": sorted(p._var), "given": sorted(p._cond)})
            if p._sumset:
                part = add({"sum": sorted(p._sumset), "of": part})
            return add({"ratio": [part, walk(p._divisor)]}) if p._fraction else part

        walk(said)
        return {"identified": True, "complete": True, **_small({"nodes": nodes}, q)}

    return build, ask, translate


def _ananke_causal() -> Adapter:
    from ananke.graphs import ADMG
    from ananke.identification import OneLineID

    def build(q: Question) -> Any:
        return ADMG(q["nodes"], [tuple(e) for e in q["directed"]], [tuple(e) for e in q["bidirected"]])

    def ask(graph: Any, q: Question) -> Any:
        return OneLineID(graph, [q["treatment"]], [q["outcome"]]).id()

    def translate(said: Any, q: Question) -> Answer:
        del q
        return {"identified": bool(said), "complete": True}

    return build, ask, translate


def _pydagitty() -> Adapter:
    from pydagitty import DAG, Edge, Endpoint, Node

    def build(q: Question) -> Any:
        graph = DAG(nodes=[Node(n) for n in q["nodes"]])
        for a, b in q["directed"]:
            graph.add_edge(Edge(Node(a), Node(b)))
        for a, b in q["bidirected"]:
            graph.add_edge(Edge(Node(a), Node(b), Endpoint.ARROW, Endpoint.ARROW))
        return graph

    def ask(graph: Any, q: Question) -> Any:
        sets = graph.adjustment_sets(exposure=Node(q["treatment"]), outcome=Node(q["outcome"]), max_results=1)
        return list(sets)

    def translate(said: Any, q: Question) -> Answer:
        del q
        if not said:
            return {"identified": False, "sets_only": True}
        return {"identified": True, "adjust_for": sorted(str(node.identifier) for node in said[0])}

    return build, ask, translate


def _with_latents(q: Question) -> tuple[list[tuple[str, str]], list[str]]:
    arrows = [(a, b) for a, b in q["directed"]]
    latents = []
    for k, (a, b) in enumerate(q["bidirected"]):
        latents.append(f"latent {k}")
        arrows += [(latents[-1], a), (latents[-1], b)]
    return arrows, latents


def _pgmpy() -> Adapter:
    from pgmpy.base import DAG
    from pgmpy.inference import CausalInference

    def build(q: Question) -> Any:
        arrows, latents = _with_latents(q)
        graph = DAG(arrows, latents=set(latents))
        graph.add_nodes_from(n for n in q["nodes"] if n not in graph)
        return CausalInference(graph)

    def ask(graph: Any, q: Question) -> Any:
        return graph.get_minimal_adjustment_set(q["treatment"], q["outcome"])

    def translate(said: Any, q: Question) -> Answer:
        del q
        if said is None:
            return {"identified": False, "sets_only": True}
        return {"identified": True, "adjust_for": sorted(said)}

    return build, ask, translate


def _dowhy() -> Adapter:
    import networkx as nx
    from dowhy.causal_identifier import AutoIdentifier, EstimandType

    def build(q: Question) -> Any:
        arrows, _ = _with_latents(q)
        graph = nx.DiGraph(arrows)
        graph.add_nodes_from(q["nodes"])
        return graph

    def ask(graph: Any, q: Question) -> Any:
        identifier = AutoIdentifier(estimand_type=EstimandType.NONPARAMETRIC_ATE)
        return identifier.identify_effect(graph, [q["treatment"]], [q["outcome"]], q["nodes"])

    def translate(said: Any, q: Question) -> Answer:
        del q
        answer: Answer = {"identified": False}
        if said.estimands.get("backdoor") is not None:
            answer |= {"identified": True, "adjust_for": sorted(said.get_backdoor_variables() or [])}
        if said.estimands.get("frontdoor") is not None:
            answer |= {"identified": True, "mediators": sorted(said.get_frontdoor_variables() or [])}
        if said.estimands.get("iv") is not None:
            answer["instruments"] = sorted(said.get_instrumental_variables() or [])
        return answer

    return build, ask, translate


def _small(answer: Answer, q: Question) -> Answer:
    """Send a formula only where it can be judged by enumeration."""
    return answer if len(q["nodes"]) + len(q["bidirected"]) <= 24 and len(answer["nodes"]) < 5000 else {}


if __name__ == "__main__":
    main()
