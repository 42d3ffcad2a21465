"""Runs with planted truth: families, a simulator, published rules as baselines, and `butfor bench planted`."""

from butfor.benchmarks.planted.families import (
    both,
    doomed,
    either,
    gradual,
    hidden_help,
    judged,
    late_rescue,
    losing_calls,
    parallel_calls,
    pivotal,
    slow_failures,
    soft,
    tied,
    undone,
    variable_length,
)
from butfor.benchmarks.planted.simulate import Simulated, Spent, finish_times, simulate, simulate_on_slots
from butfor.benchmarks.planted.table import TableWorld
from butfor.benchmarks.planted.world import World, uniforms

__all__ = [
    "World",
    "TableWorld",
    "uniforms",
    "Simulated",
    "Spent",
    "simulate",
    "simulate_on_slots",
    "finish_times",
    "pivotal",
    "both",
    "either",
    "soft",
    "late_rescue",
    "undone",
    "hidden_help",
    "gradual",
    "doomed",
    "tied",
    "judged",
    "losing_calls",
    "variable_length",
    "parallel_calls",
    "slow_failures",
]
