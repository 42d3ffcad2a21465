"""Is an answer to an identification question right? By brute force on small graphs, by the checker on sets."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.graphs import bits
from butfor.identification import (
    Adjustment,
    Estimand,
    FrontDoor,
    Instrument,
    Proof,
    check,
    evaluate,
    find_instruments,
    identify,
    minimal_adjustment,
)
from butfor.identification.nodes import Node, P, Product, Ratio, Sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.benchmarks.identification_cases import Case

_LETTERS = string.ascii_letters
# Summing out latents is exact up to here; beyond it only sets are judged.
_MOST_AXES = 24


def wrong(case: Case, answer: dict[str, Any], *, seed: int) -> str | None:
    """Say what is wrong with an answer, or return None where nothing could be shown to be.

    Args:
        case: The question.
        answer: ``identified`` (True, False, or None for no verdict), ``complete`` (whether the library claims that a
            False is final), and where given ``adjust_for``, ``mediators``, ``instruments`` or ``nodes`` (a formula).
        seed: Seed of the random models.
    """
    truth = isinstance(identify(case.graph, case.query), Proof)
    if answer.get("identified") is True and not truth:
        return "called identified"
    if answer.get("identified") is False:
        if answer.get("complete"):
            return "called not identified" if truth else None
        return "missed a set" if answer.get("sets_only") and _has_set(case) else None
    for argument in _sets(case, answer):
        proof = Proof(graph=case.graph.digest, query=case.query, argument=argument)
        if not check(case.graph, case.query, proof).ok:
            return f"invalid {argument.kind}"
    if "instruments" in answer:
        # Given some conditioning set or none: an instrument is not charged for the set that it was named without.
        proofs = find_instruments(case.graph, case.query, assumption="linear_effect")
        valid = {proof.argument.instrument for proof in proofs if isinstance(proof.argument, Instrument)}
        if not valid.issuperset(answer["instruments"]):
            return "invalid instrument"
    return _wrong_formula(case, answer, seed) if "nodes" in answer else None


def _has_set(case: Case) -> bool:
    """Say whether an effect that is there has an adjustment set; of no effect libraries say different things."""
    proof = minimal_adjustment(case.graph, case.query)
    return proof is not None and isinstance(proof.argument, Adjustment)


def _sets(case: Case, answer: dict[str, Any]) -> list[Adjustment | FrontDoor]:
    found: list[Adjustment | FrontDoor] = []
    names, acting = set(case.graph.names), case.query.treatments
    for kind, make in (("adjust_for", "adjust_for"), ("mediators", "mediators")):
        if kind in answer:
            chosen = tuple(name for name in answer[kind] if name in names)
            if len(chosen) < len(answer[kind]):
                chosen = case.query.outcomes  # a variable that was never measured: certainly refused
            found.append(
                Adjustment(acting=acting, adjust_for=chosen)
                if make == "adjust_for"
                else FrontDoor(acting=acting, mediators=chosen)
            )
    return found


def _wrong_formula(case: Case, answer: dict[str, Any], seed: int) -> str | None:
    axes = len(case.graph.names) + len(case.graph.bidirected)
    if axes > _MOST_AXES:
        return None
    query = case.query
    nodes = tuple(_node(each) for each in answer["nodes"])
    formula = Estimand(nodes=nodes, treatments=query.treatments, outcomes=query.outcomes, given=(), free=())
    rng = np.random.default_rng(seed)
    for _ in range(3):
        joint, effect = _model(case, rng)
        with np.errstate(all="ignore"):
            value = np.asarray(evaluate(formula, joint, case.graph.names))
        if not np.allclose(value, effect, rtol=0, atol=1e-9):
            return "wrong estimand"
    return None


def _node(document: dict[str, Any]) -> Node:
    if "p" in document:
        return P(of=tuple(document["p"]), given=tuple(document["given"]))
    if "sum" in document:
        return Sum(over=tuple(document["sum"]), of=document["of"])
    if "product" in document:
        return Product(of=tuple(document["product"]))
    return Ratio(top=document["ratio"][0], bottom=document["ratio"][1])


def _model(case: Case, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a binary model with one binary latent per latent edge; return P(v) and P(y | do(t)), one axis a node."""
    graph, n = case.graph, len(case.graph.names)
    latents = [tuple(map(graph.number, edge)) for edge in graph.bidirected]
    operands = [(rng.dirichlet([2.0, 2.0]), _LETTERS[n + k]) for k in range(len(latents))]
    tables = {}
    for i in range(n):
        inputs = [*bits(graph.edges.parents[i]), *(n + k for k, edge in enumerate(latents) if i in edge)]
        yes = rng.uniform(0.1, 0.9, size=[2] * len(inputs))
        tables[i] = (np.stack([1 - yes, yes], axis=-1), "".join(_LETTERS[j] for j in (*inputs, i)))
    t, y = graph.number(case.query.treatments[0]), graph.number(case.query.outcomes[0])
    everything = _LETTERS[:n]
    joint = _contract([*operands, *tables.values()], everything)
    rest = [table for i, table in tables.items() if i != t]
    effect = _contract([*operands, *rest, (np.ones(2), _LETTERS[t])], "".join(sorted((_LETTERS[t], _LETTERS[y]))))
    shape = [2 if i in (t, y) else 1 for i in range(n)]
    return joint, effect.reshape(shape)


def _contract(operands: list[tuple[NDArray[np.float64], str]], output: str) -> NDArray[np.float64]:
    inputs = ",".join(letters for _, letters in operands)
    result: NDArray[np.float64] = np.einsum(f"{inputs}->{output}", *(table for table, _ in operands), optimize="greedy")
    return result
