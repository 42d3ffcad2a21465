"""A reconstruction of Causal-ToolBench: tool workflows with known effects, verdicts scored by the published utility."""

from butfor.benchmarks.toolbench.families import FAMILIES, Draw, Family, Route
from butfor.benchmarks.toolbench.instances import Instance, instances
from butfor.benchmarks.toolbench.utility import utility

__all__ = ["FAMILIES", "Draw", "Family", "Route", "Instance", "instances", "utility"]
