"""Proofs that an effect is identified, hedges that it is not, and the independent checker.

The search is loaded when it is first asked for: whoever only checks a proof runs none of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from butfor.identification.check import Checked, check
from butfor.identification.proof import (
    ASSUMPTIONS,
    Adjustment,
    Argument,
    Assumption,
    FrontDoor,
    GeneralId,
    Hedge,
    Instrument,
    Kind,
    NoEffect,
    Proof,
    Step,
)
from butfor.identification.query import Query

if TYPE_CHECKING:
    from butfor.identification.adjustment import (
        PreciseSet,
        cheapest_adjustment,
        is_adjustment_set,
        minimal_adjustment,
        optimal_adjustment,
        precise_adjustment,
    )
    from butfor.identification.answer import identify
    from butfor.identification.evaluation import evaluate
    from butfor.identification.expression import Estimand, estimand
    from butfor.identification.front_door import minimal_front_door
    from butfor.identification.implications import (
        Implications,
        Independence,
        Verma,
        implied_independences,
        verma_constraints,
    )
    from butfor.identification.instrument import find_instruments
    from butfor.identification.remedy import Remedy, remedies
    from butfor.identification.words import in_words

_HOMES = {
    **dict.fromkeys(
        [
            "PreciseSet",
            "cheapest_adjustment",
            "is_adjustment_set",
            "minimal_adjustment",
            "optimal_adjustment",
            "precise_adjustment",
        ],
        "adjustment",
    ),
    **dict.fromkeys(["Estimand", "estimand"], "expression"),
    "evaluate": "evaluation",
    "minimal_front_door": "front_door",
    "identify": "answer",
    **dict.fromkeys(["Implications", "Independence", "implied_independences"], "implications"),
    **dict.fromkeys(["Verma", "verma_constraints"], "implications"),
    "find_instruments": "instrument",
    **dict.fromkeys(["Remedy", "remedies"], "remedy"),
    "in_words": "words",
}

__all__ = [
    "Query",
    "identify",
    "check",
    "Checked",
    "Proof",
    "Hedge",
    "Argument",
    "Kind",
    "NoEffect",
    "Adjustment",
    "FrontDoor",
    "Instrument",
    "GeneralId",
    "Step",
    "Assumption",
    "ASSUMPTIONS",
    "minimal_adjustment",
    "cheapest_adjustment",
    "optimal_adjustment",
    "precise_adjustment",
    "PreciseSet",
    "is_adjustment_set",
    "minimal_front_door",
    "find_instruments",
    "Estimand",
    "estimand",
    "evaluate",
    "Independence",
    "Implications",
    "implied_independences",
    "Verma",
    "verma_constraints",
    "Remedy",
    "remedies",
    "in_words",
]


def __getattr__(name: str) -> Any:
    """Load the search, the estimands or the explanations when they are asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.identification' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.identification.{_HOMES[name]}"), name)
