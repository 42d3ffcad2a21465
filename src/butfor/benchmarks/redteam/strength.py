"""How strong a forgotten hidden cause may be: false executions against its strength, and what the demand costs.

The policy declares a strength; a bound must stand for every hidden cause that explains at most this share of treatment
and outcome. At or below the declared strength the guarantee is α; above it nothing is promised, and the rate is shown.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.benchmarks.redteam.attacks import DECLARED, Setting, rule
from butfor.benchmarks.redteam.worlds import ROWS, WORLDS, hidden_cause, strengths
from butfor.benchmarks.toolbench.scores import share
from butfor.benchmarks.toolbench.surrogate import ALPHA, EFFECTS, NOISE
from butfor.gate import DEFAULT, PAPER, Demands
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    import numpy as np

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
DEMANDED = (DECLARED, 0.1, 0.2)
# The published attack's hidden cause explains .44 of T and .09 of Y: as much bias as one of this share of both.
PUBLISHED_SHARE = 0.23
KEPT = 0.5
WRONG = WORLDS[0].wrong
GATES: dict[str, Setting] = {
    "paper settings": Setting(preset=PAPER),
    "our defaults": Setting(preset=DEFAULT),
    **{f"ours, declared {share:g}": Setting(preset=DEFAULT, demands=Demands(robustness=share)) for share in DEMANDED},
}
DECLARES = {f"ours, declared {share:g}": share for share in DEMANDED}


def sweep(n: int, root: int) -> tuple[list[dict[str, Any]], list[Check]]:
    """Count false executions of harmful actions for every strength, and correct ones where nothing is hidden."""
    rows, checks = [], []
    for share_of_both in SHARES:
        for name, setting in GATES.items():
            for effects in ("near", "published size"):
                false = _executed(setting, share_of_both, effects, n, root, harmful=True)
                on = f"edge omitted, hidden cause of {share_of_both:.0%}"
                rows.append(
                    {
                        "attack": on,
                        "graph": "wrong",
                        "gate": name,
                        "effects": effects,
                        "n": n,
                        "false per harmful": share(false, n),
                    }
                )
                if share_of_both <= DECLARES.get(name, -1.0):
                    checks.append(_within(name, share_of_both, effects, false, n))
    kept, held = _kept(n, root)
    return [*rows, *kept], [*checks, *held]


def _within(name: str, share_of_both: float, effects: str, false: int, n: int) -> Check:
    most = int(binom.ppf(1.0 - 1e-6, n, ALPHA))
    said = f"{name}, hidden cause of {share_of_both:.0%}, {effects} effects: false executions consistent with ≤ α"
    return Check(name=said, value=float(false), bound=float(most), ok=false <= most)


def _kept(n: int, root: int) -> tuple[list[dict[str, Any]], list[Check]]:
    """Count correct executions with the right graph, beside those of the gate that demands nothing."""
    rows, checks = [], []
    free = _executed(GATES["our defaults"], 0.0, "published size", n, root, harmful=False)
    for name, setting in GATES.items():
        kept = _executed(setting, 0.0, "published size", n, root, harmful=False)
        rows.append(
            {
                "attack": "none: nothing hidden, right graph",
                "graph": "right",
                "gate": name,
                "effects": "published size",
                "n": n,
                "correct per good": share(kept, n),
                "kept of the ungated": f"{kept / max(1, free):.0%}",
            }
        )
        if DECLARES.get(name) == DECLARED:
            said = f"{name}: correct executions kept of the ungated, effects U({EFFECTS[0]:g}, {EFFECTS[1]:g}), ≥ 50%"
            checks.append(Check(name=said, value=kept / max(1, free), bound=KEPT, ok=kept >= KEPT * free > 0))
    return rows, checks


@functools.cache
def _executed(setting: Setting, share_of_both: float, effects: str, n: int, root: int, *, harmful: bool) -> int:
    choice, push = strengths(share_of_both)
    draw = functools.partial(hidden_cause, choice=choice, push=push)
    count = 0
    for i in range(n):
        noise = numpy_generator("redteam strength", root, effects, harmful, i)
        tau = _effect(noise, effects) * (-1.0 if harmful else 1.0)
        found = rule(setting, WRONG, draw(tau, noise, False), reversible=False, trial=False)
        count += found.verdict == "EXECUTE"
    return count


def _effect(noise: np.random.Generator, effects: str) -> float:
    """Draw |τ|: 0 or within one standard error of it, or of the size that the surrogate has."""
    if effects == "near":
        return float(noise.integers(2)) * float(noise.random()) * 2.0 * NOISE / math.sqrt(ROWS)
    return float(noise.uniform(*EFFECTS))
