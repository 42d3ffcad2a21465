"""Every published or planted comparison, each one command."""

from butfor.benchmarks.harness import BENCHMARKS, Check, Report, Settings, check_options, find

__all__ = ["BENCHMARKS", "Check", "Report", "Settings", "check_options", "find"]
