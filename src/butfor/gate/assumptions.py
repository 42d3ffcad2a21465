"""The closed list of what a verdict rests on, and how each was checked or that it was not."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Code: TypeAlias = Literal[
    "graph_correct",
    "agent_saw_no_more",
    "consistency",
    "positivity",
    "independent_units",
    "independent_clusters",
    "assigned_at_random",
    "outcome_range",
    "linear_outcome",
    "linear_effect",
    "monotonicity",
    "instrument",
    "estimator",
]

NOT_CHECKED = "not checked: no data can tell"

WORDS: Mapping[Code, str] = types.MappingProxyType(
    {
        "graph_correct": "the committed graph is right: every arrow and every hidden common cause that exists is in it",
        "agent_saw_no_more": "an agent chose these treatments from what it saw, and the graph holds all of that",
        "consistency": "a unit's outcome depends on its own treatment only, and is the one observed under it",
        "positivity": "every unit could have got either treatment",
        "independent_units": "the rows of the evidence are independent",
        "independent_clusters": "the clusters of rows are independent",
        "assigned_at_random": "the treatment was assigned at random, to each unit by itself",
        "outcome_range": "no outcome lies outside the declared range",
        "linear_outcome": "the outcome is linear in treatment and covariates, the effect the same for all",
        "linear_effect": "the effect is linear and the same for every unit",
        "monotonicity": "no unit takes less treatment because the instrument is larger; the effect is that among the "
        "units whose treatment the instrument moves",
        "instrument": "the instrument is as good as assigned at random and acts on the outcome only through the "
        "treatment",
        "estimator": "what the estimator needs beyond the graph",
    }
)
"""Code to words; an estimator's own assumption that has no code of its own is told in its words."""


class Assumption(NamedTuple):
    """One assumption.

    Attributes:
        code: Which, from the closed list.
        words: The assumption in words.
        checked: How it was checked, or that it was not.
    """

    code: Code
    words: str
    checked: str


_BY_WORDS: tuple[tuple[str, Code], ...] = (
    ("independent units", "independent_units"),
    ("the rows are independent", "independent_units"),
    ("independent clusters", "independent_clusters"),
    ("the clusters of rows", "independent_clusters"),
    ("the treatment was assigned", "assigned_at_random"),
    ("known assignment probabilities", "assigned_at_random"),
    ("every arm possible", "positivity"),
    ("overlap", "positivity"),
    ("a unit's outcome depends", "consistency"),
    ("the instrument is as good", "instrument"),
    ("outcomes in [", "outcome_range"),
    ("the outcome is linear", "linear_outcome"),
    ("the effect of the treatment on the outcome is linear", "linear_effect"),
    ("no unit takes less treatment", "monotonicity"),
)


def assumption(code: Code, checked: str = NOT_CHECKED) -> Assumption:
    """State one assumption of the closed list."""
    return Assumption(code=code, words=WORDS[code], checked=checked)


def of_estimator(words: str, diagnostics: Mapping[str, float]) -> Assumption:
    """Give an estimator's assumption, as it words it, its place in the closed list."""
    code: Code = next((code for start, code in _BY_WORDS if words.startswith(start)), "estimator")
    return Assumption(code=code, words=words, checked=_checked(code, diagnostics))


def _checked(code: Code, diagnostics: Mapping[str, float]) -> str:
    if code == "positivity":
        sizes = [value for name, value in diagnostics.items() if name.startswith("effective sample size")]
        return f"checked: the smaller arm is worth {min(sizes):.1f} units" if sizes else NOT_CHECKED
    if code == "outcome_range":
        return "checked: no unit of the evidence lies outside it"
    if code == "independent_units" and "autocorrelation" in diagnostics:
        return f"checked in time: autocorrelation {diagnostics['autocorrelation']:.2f}"
    return NOT_CHECKED
