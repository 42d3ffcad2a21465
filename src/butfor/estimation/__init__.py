"""Effects from evidence: estimators by proof, diagnostics that refuse, one-sided bounds."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from butfor.estimation.answers import Effect, EffectEstimate, Insufficient, ReasonCode, effect_from_json
    from butfor.estimation.anytime import anytime_bounded
    from butfor.estimation.cells import Cells
    from butfor.estimation.columns import Columns
    from butfor.estimation.dispatch import Method, estimate
    from butfor.estimation.endpoints import Range
    from butfor.estimation.falsification import Baseline, Falsification, falsify, permutation_baseline
    from butfor.estimation.independence import IndependenceTest, NotTested, independence_test
    from butfor.estimation.marginal import (
        MarginalBound,
        factor_in_words,
        marginal_contrast,
        tipping_factor,
        weighted_level,
    )
    from butfor.estimation.on_treated import effect_on_treated
    from butfor.estimation.partial import (
        Bounds,
        balke_pearl,
        instrument_level,
        manski_contrast,
        manski_level,
        manski_level_from_sums,
    )
    from butfor.estimation.questions import Contrast, Level, Randomised, Target
    from butfor.estimation.risk import expected_loss, harm
    from butfor.estimation.sensitivity import Confounder, LinearSensitivity, e_value, linear_sensitivity
    from butfor.estimation.sequential_scores import anytime_asymptotic

__all__ = [
    "estimate",
    "Columns",
    "Cells",
    "Contrast",
    "Level",
    "Target",
    "Randomised",
    "Method",
    "Effect",
    "EffectEstimate",
    "Insufficient",
    "ReasonCode",
    "effect_from_json",
    "Bounds",
    "balke_pearl",
    "instrument_level",
    "manski_contrast",
    "manski_level",
    "manski_level_from_sums",
    "Range",
    "Confounder",
    "LinearSensitivity",
    "e_value",
    "linear_sensitivity",
    "MarginalBound",
    "factor_in_words",
    "marginal_contrast",
    "tipping_factor",
    "weighted_level",
    "Baseline",
    "Falsification",
    "falsify",
    "permutation_baseline",
    "IndependenceTest",
    "NotTested",
    "independence_test",
    "effect_on_treated",
    "harm",
    "expected_loss",
    "anytime_bounded",
    "anytime_asymptotic",
]

# Loaded on first use: who asks for cells loads neither rows' estimators nor the readers of files.
_HOMES = {
    **dict.fromkeys(["Effect", "EffectEstimate", "Insufficient", "ReasonCode", "effect_from_json"], "answers"),
    **dict.fromkeys(
        ["Bounds", "balke_pearl", "instrument_level", "manski_contrast", "manski_level", "manski_level_from_sums"],
        "partial",
    ),
    "Range": "endpoints",
    **dict.fromkeys(["Confounder", "LinearSensitivity", "e_value", "linear_sensitivity"], "sensitivity"),
    **dict.fromkeys(
        ["MarginalBound", "factor_in_words", "marginal_contrast", "tipping_factor", "weighted_level"], "marginal"
    ),
    **dict.fromkeys(["Baseline", "Falsification", "falsify", "permutation_baseline"], "falsification"),
    **dict.fromkeys(["IndependenceTest", "NotTested", "independence_test"], "independence"),
    "effect_on_treated": "on_treated",
    "anytime_bounded": "anytime",
    "anytime_asymptotic": "sequential_scores",
    **dict.fromkeys(["expected_loss", "harm"], "risk"),
    "Cells": "cells",
    "Columns": "columns",
    **dict.fromkeys(["Method", "estimate"], "dispatch"),
    **dict.fromkeys(["Contrast", "Level", "Randomised", "Target"], "questions"),
}


def __getattr__(name: str) -> Any:
    """Load a part when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.estimation' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.estimation.{_HOMES[name]}"), name)
