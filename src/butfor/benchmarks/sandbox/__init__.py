"""Run a program that nobody vouches for, against its tests."""

from butfor.benchmarks.sandbox.finding import Finding
from butfor.benchmarks.sandbox.limits import Limits
from butfor.benchmarks.sandbox.sandbox import Sandbox, why_refused

__all__ = ["Finding", "Limits", "Sandbox", "why_refused"]
