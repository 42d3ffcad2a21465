"""Effects from evidence: estimators by proof, diagnostics that refuse, one-sided bounds."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from butfor.estimation.answers import Effect, EffectEstimate, Insufficient, ReasonCode, effect_from_json
    from butfor.estimation.anytime import anytime_bounded
    from butfor.estimation.cells import Cells
    from butfor.estimation.columns import Columns
    from butfor.estimation.dispatch import Method, estimate
    from butfor.estimation.questions import Contrast, Level, Randomised, Target
    from butfor.estimation.risk import expected_loss, harm
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
    "harm",
    "expected_loss",
    "anytime_bounded",
    "anytime_asymptotic",
]

# Loaded on first use: who asks for cells loads neither rows' estimators nor the readers of files.
_HOMES = {
    **dict.fromkeys(["Effect", "EffectEstimate", "Insufficient", "ReasonCode", "effect_from_json"], "answers"),
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
