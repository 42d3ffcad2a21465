"""Verifiers that do not reason from a graph, and the two ends: who knows, and who never acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.toolbench.cases import Ruling
from butfor.benchmarks.toolbench.published_rule import ALPHA, TAU_R, TAU_U
from butfor.benchmarks.toolbench.regression import effect_of, fit, lower
from butfor.graphs import descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.benchmarks.toolbench.cases import Case, Method

# The risk threshold counts what cannot be undone twice.
IRREVERSIBLE_COSTS = 2.0
CHEAP = 0.25


def _act(decided: bool) -> Ruling:
    return Ruling(verdict="EXECUTE" if decided else "REJECT", executed=decided)


def oracle(case: Case) -> Ruling:
    """Know τ."""
    return _act(case.instance.effect > 0)


def always_execute(case: Case) -> Ruling:
    """Trust the agent."""
    del case
    return _act(True)


def always_abstain(case: Case) -> Ruling:
    """Never act."""
    del case
    return Ruling(verdict="ABSTAIN", executed=False)


def graph_free(case: Case) -> Ruling:
    """Try what can be undone and is cheap, abstain from everything else; no graph, no log."""
    family = case.instance.family
    if not (case.instance.reversible and case.instance.cost <= TAU_R):
        return Ruling(verdict="ABSTAIN", executed=False)
    found = effect_of(case.trial, family.treatment, family.outcome)
    return Ruling(verdict="EXPERIMENT", executed=lower(found, ALPHA) > TAU_U)


def schema_validator(case: Case) -> Ruling:
    """Execute every call whose arguments are within the tool's schema."""
    schema, given = case.instance.family.schema, case.instance.arguments
    return _act(all(low <= given[name] <= high for name, (low, high) in schema.items()))


def policy_gate(case: Case) -> Ruling:
    """Execute what can be undone and is within the allowance."""
    return _act(case.instance.reversible and case.instance.cost <= TAU_R)


def risk_threshold(case: Case) -> Ruling:
    """Execute where declared cost, doubled for what cannot be undone, is within the allowance."""
    return _act(case.instance.cost * (1.0 if case.instance.reversible else IRREVERSIBLE_COSTS) <= TAU_R)


def _naive(case: Case) -> tuple[float, float]:
    return effect_of(case.log, case.instance.family.treatment, case.instance.family.outcome)


def observational_sign(case: Case) -> Ruling:
    """Execute where the log's difference in means is positive."""
    return _act(_naive(case)[0] > TAU_U)


def observational_bound(case: Case) -> Ruling:
    """Execute where the lower bound of the log's difference in means is positive."""
    return _act(lower(_naive(case), ALPHA) > TAU_U)


def adjust_for_everything(case: Case) -> Ruling:
    """Regress on every recorded column, whatever it is."""
    family = case.instance.family
    others = [name for name in case.log if name not in (family.treatment, family.outcome)]
    return _act(lower(effect_of(case.log, family.treatment, family.outcome, others), ALPHA) > TAU_U)


def heuristic_classifier(case: Case) -> Ruling:
    """Execute where two of three say so: it can be undone, it is cheap, the log looks good."""
    votes = [case.instance.reversible, case.instance.cost <= CHEAP, _naive(case)[0] > TAU_U]
    return _act(sum(votes) >= 2)


def outcome_predictor(case: Case) -> Ruling:
    """Predict the outcome with and without the action from what is known before it; execute if it is better."""
    family, graph, rows = case.instance.family, case.instance.family.graph, case.log
    after = descendants(graph.edges, graph.mask([family.treatment]), graph.all)
    known = [name for name in rows if name not in graph.names_of(after) and name != family.outcome]
    t, y = rows[family.treatment], rows[family.outcome]
    means = []
    for arm in (1.0, 0.0):
        kept = t == arm
        coefficients, _ = fit(y[kept], [rows[name][kept] for name in known])
        means.append(coefficients @ np.array([1.0, *(rows[name].mean() for name in known)]))
    return _act(bool(means[0] > means[1]))


BASELINES: Mapping[str, Method] = {
    "Oracle": oracle,
    "AlwaysExecute": always_execute,
    "AlwaysAbstain": always_abstain,
    "experiment if reversible, else abstain (graph-free)": graph_free,
    "schema validator": schema_validator,
    "policy gate": policy_gate,
    "risk threshold": risk_threshold,
    "observational sign": observational_sign,
    "observational LCB": observational_bound,
    "adjust for everything": adjust_for_everything,
    "heuristic classifier": heuristic_classifier,
    "outcome predictor": outcome_predictor,
}
OBSERVATIONAL = ("observational sign", "observational LCB", "adjust for everything", "outcome predictor")
