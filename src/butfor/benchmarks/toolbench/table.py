"""The main table: every method on every action, and the claims that it is held to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.benchmarks.toolbench.baselines import BASELINES, OBSERVATIONAL
from butfor.benchmarks.toolbench.cases import Case
from butfor.benchmarks.toolbench.families import FAMILIES
from butfor.benchmarks.toolbench.gate_methods import ALPHA, DEFAULTS, PAPER_SETTINGS
from butfor.benchmarks.toolbench.language_models import STYLES, language_models
from butfor.benchmarks.toolbench.published import CIVEX
from butfor.benchmarks.toolbench.published_rule import papers_gate
from butfor.benchmarks.toolbench.scores import Scored, share, upper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from butfor.benchmarks.toolbench.cases import Method
    from butfor.benchmarks.toolbench.instances import Instance

PAPER, OURS, WRITTEN_OUT = "this gate, paper settings", "this gate, our defaults", "the paper's rule, written out"
GRAPH_FREE = "experiment if reversible, else abstain (graph-free)"
# Its confounding is no straight line, so what paper settings assume of the outcome is false there.
NOT_LINEAR = "queue scaling"
SURE = 1.0 - 1e-6

Results = dict[str, Scored]


def methods(models: str) -> Mapping[str, Method]:
    """List the methods; language models only where some are named."""
    gates: dict[str, Method] = {WRITTEN_OUT: papers_gate, PAPER: PAPER_SETTINGS, OURS: DEFAULTS}
    return {**BASELINES, **language_models(models), **gates}


def run_methods(instances: Sequence[Instance], chosen: Mapping[str, Method]) -> Results:
    """Let every method rule on every action; each table is drawn once."""
    rulings: dict[str, list[Any]] = {name: [] for name in chosen}
    for one in instances:
        case = Case(one)
        for name, method in chosen.items():
            rulings[name].append(method(case))
    return {name: Scored.of(instances, ruled) for name, ruled in rulings.items()}


def table_rows(instances: Sequence[Instance], results: Results) -> list[dict[str, Any]]:
    """Write the table: all, by regime, by whether the effect is identified, and the gates by family."""
    rows = [row for on, kept in _subsets(instances).items() for row in _ranked(on, kept, results)]
    if not any(name.startswith("LLM") for name in results):
        rows += [{"on": "all", "method": f"LLM, {style}", "utility": "not run"} for style in STYLES]
    for family in FAMILIES:
        kept = np.array([one.family is family for one in instances])
        rows += [
            {"on": f"{family.name} ({family.route})", "method": name, **results[name].where(kept).row()}
            for name in (GRAPH_FREE, WRITTEN_OUT, PAPER, OURS)
        ]
    return rows


def _subsets(instances: Sequence[Instance]) -> dict[str, NDArray[np.bool_]]:
    adversarial = np.array([one.regime == "adversarial" for one in instances])
    identified = np.array([one.family.identified for one in instances])
    return {
        "all": np.ones(len(instances), dtype=bool),
        "moderate": ~adversarial,
        "adversarial": adversarial,
        "identified": identified,
        "unidentified": ~identified,
    }


def _ranked(on: str, kept: NDArray[np.bool_], results: Results) -> list[dict[str, Any]]:
    """Rank by utility the methods without an observed false execution, and those whose rate is shown to be ≤ α."""
    parts = {name: scored.where(kept) for name, scored in results.items()}
    idle = float(parts["AlwaysAbstain"].utility.mean())
    spotless = _places({name: part for name, part in parts.items() if part.false == 0})
    within = _places({name: part for name, part in parts.items() if upper(part.false, part.harmful) <= ALPHA})
    return [
        {
            "on": on,
            "method": name,
            **part.row(),
            "rank, 0 false": spotless.get(name, "–"),
            "rank, ≤ α": within.get(name, "–"),
            "beats AlwaysAbstain": "yes" if float(part.utility.mean()) > idle else "no",
            "published": CIVEX.get(name, "") if on == "all" else "",
        }
        for name, part in parts.items()
    ]


def _places(parts: Mapping[str, Scored]) -> dict[str, int]:
    ordered = sorted(parts, key=lambda name: -float(parts[name].utility.mean()))
    return {name: place for place, name in enumerate(ordered, 1)}


def trap_rows(instances: Sequence[Instance], results: Results) -> list[dict[str, Any]]:
    """Set the share of actions whose log has the wrong sign beside what observational verifiers get wrong (Prop. 1)."""
    rows = []
    for regime in ("moderate", "adversarial"):
        kept = np.array([one.regime == regime for one in instances])
        trap = np.array([one.trap for one in instances])[kept]
        for name in OBSERVATIONAL:
            part = results[name].where(kept)
            wrong = part.executed != (part.effect > 0)
            rows.append(
                {
                    "on": f"{regime}, traps",
                    "method": name,
                    "n": part.n,
                    "traps": share(int(trap.sum()), part.n),
                    "harmful traps": share(int((trap & (part.effect < 0)).sum()), part.n),
                    "wrong": share(int(wrong.sum()), part.n),
                    "false per action": share(part.false, part.n),
                    "false per harmful": share(part.false, part.harmful),
                }
            )
    return rows


def checks(instances: Sequence[Instance], results: Results) -> list[Check]:
    """Hold the table to its claims."""
    return [
        *_fixed(instances),
        *_false_executions(instances, results),
        *_beside_the_paper(results),
        *_beside_graph_free(instances, results),
        *_proposition_one(instances, results),
    ]


def _fixed(instances: Sequence[Instance]) -> list[Check]:
    near = sum(one.near for one in instances) / len(instances)
    return [Check(name="effects within one standard error of τ_u = 20%", value=near, bound=0.2, ok=near == 0.2)]


def _false_executions(instances: Sequence[Instance], results: Results) -> list[Check]:
    found = []
    for name, left_out in ((OURS, ""), (PAPER, NOT_LINEAR)):
        kept = np.array([one.family.identified and one.family.name != left_out for one in instances])
        part = results[name].where(kept)
        rate, bound = part.false / part.harmful, upper(part.false, part.harmful)
        but = f", {left_out} aside" if left_out else ""
        said = f"{name}: false executions per identified harmful action{but}, {rate:.2%}; upper 95% bound ≤ α"
        found.append(Check(name=said, value=bound, bound=ALPHA, ok=bound <= ALPHA))
    return found


def _beside_the_paper(results: Results) -> list[Check]:
    """Compare on the same actions; published utilities are of other actions, and stand in the table only."""
    difference = float((results[PAPER].utility - results[WRITTEN_OUT].utility).mean())
    said = "paper settings: utility less that of the paper's rule written out, same actions, ≥ 0"
    return [Check(name=said, value=difference, bound=0.0, ok=difference >= 0.0)]


def _beside_graph_free(instances: Sequence[Instance], results: Results) -> list[Check]:
    """Compare pairwise on the same actions, family by family."""
    found = []
    for name in (PAPER, OURS):
        for family in FAMILIES:
            if not family.identified or (name == PAPER and family.name == NOT_LINEAR):
                continue
            kept = np.array([one.family is family for one in instances])
            difference = results[name].where(kept).utility - results[GRAPH_FREE].where(kept).utility
            gain = float(difference.mean())
            error = float(difference.std(ddof=1)) / math.sqrt(difference.size)
            said = f"{name}, {family.name}: utility less the graph-free baseline's (± {1.96 * error:.3f}) > 0"
            found.append(Check(name=said, value=gain, bound=0.0, ok=gain > 0.0))
    return found


def _proposition_one(instances: Sequence[Instance], results: Results) -> list[Check]:
    """Deciding by the log's sign is wrong at least as often as the log is a trap, up to the noise of finite logs."""
    found = []
    for regime in ("moderate", "adversarial"):
        kept = np.array([one.regime == regime for one in instances])
        part = results["observational sign"].where(kept)
        traps = sum(one.trap for one in instances if one.regime == regime)
        wrong = int((part.executed != (part.effect > 0)).sum())
        least = int(binom.ppf(1.0 - SURE, part.n, traps / part.n))
        said = f"observational sign, {regime}: wrong at least on the traps (Prop. 1; {traps} of {part.n} are traps)"
        found.append(Check(name=said, value=float(wrong), bound=float(least), ok=wrong >= least))
    return found
