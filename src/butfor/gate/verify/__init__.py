"""Re-derive a certificate: every check, and what could not be recomputed."""

from butfor.gate.verify.case import Given
from butfor.gate.verify.checks import WORDS, Check, Report
from butfor.gate.verify.run import verify

__all__ = ["verify", "Given", "Check", "Report", "WORDS"]
