"""Intervals, confidence sequences, sequential tests and multiplicity."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from butfor.confidence.betting import betting_gains, lower_betting_bound, plug_in_bets
    from butfor.confidence.bounded import bounded_mean, hoeffding_bentkus
    from butfor.confidence.contrasts import bets_against, log_gain, log_gain_of_counts
    from butfor.confidence.differences import difference, newcombe
    from butfor.confidence.estimates import Estimate, Interval, Undefined, interval_from_json, known
    from butfor.confidence.judges import LabelledSet, effect_without_bias, without_bias
    from butfor.confidence.means import betting_interval
    from butfor.confidence.multiplicity import bonferroni, closed_e_values, holm
    from butfor.confidence.proportions import clopper_pearson, clopper_pearson_bounds, wilson
    from butfor.confidence.sequences import asymptotic_sequence, bounded_sequence
    from butfor.confidence.sequential import MarginTest

__all__ = [
    "Estimate",
    "Interval",
    "Undefined",
    "interval_from_json",
    "known",
    "clopper_pearson",
    "clopper_pearson_bounds",
    "wilson",
    "betting_interval",
    "lower_betting_bound",
    "plug_in_bets",
    "betting_gains",
    "bounded_mean",
    "hoeffding_bentkus",
    "difference",
    "newcombe",
    "bonferroni",
    "holm",
    "closed_e_values",
    "bounded_sequence",
    "asymptotic_sequence",
    "MarginTest",
    "LabelledSet",
    "without_bias",
    "effect_without_bias",
    "bets_against",
    "log_gain",
    "log_gain_of_counts",
]

# Loaded on first use: a caller that needs only sequences (the gate's request path) does not load SciPy.
_HOME = {
    "estimates": ("Estimate", "Interval", "Undefined", "interval_from_json", "known"),
    "proportions": ("clopper_pearson", "clopper_pearson_bounds", "wilson"),
    "betting": ("betting_gains", "lower_betting_bound", "plug_in_bets"),
    "means": ("betting_interval",),
    "bounded": ("bounded_mean", "hoeffding_bentkus"),
    "differences": ("difference", "newcombe"),
    "multiplicity": ("bonferroni", "closed_e_values", "holm"),
    "sequences": ("asymptotic_sequence", "bounded_sequence"),
    "sequential": ("MarginTest",),
    "judges": ("LabelledSet", "effect_without_bias", "without_bias"),
    "contrasts": ("bets_against", "log_gain", "log_gain_of_counts"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(f"butfor.confidence.{module}"), name)
    raise AttributeError(f"module 'butfor.confidence' has no attribute {name!r}")
