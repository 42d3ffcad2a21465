"""Ready-made outcome rules and judges."""

from butfor.outcomes.finding import find_outcome, score_of, scores_failures
from butfor.outcomes.judges import WARNING, Judge, is_noisy
from butfor.outcomes.rules import RULES, exit_code, failed, json_path, text_matches, tool_called

__all__ = [
    "find_outcome",
    "score_of",
    "scores_failures",
    "RULES",
    "tool_called",
    "text_matches",
    "json_path",
    "exit_code",
    "failed",
    "Judge",
    "WARNING",
    "is_noisy",
]
