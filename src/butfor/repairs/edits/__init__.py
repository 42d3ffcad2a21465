"""Edits: what changed between two actions, how much, and in which independent pieces."""

from butfor.repairs.edits.actions import decided, key_of, readable, same_action, short_form
from butfor.repairs.edits.hunks import Change, Hunk
from butfor.repairs.edits.measure import Edit, measure, path_distance
from butfor.repairs.edits.syntax import tree_distance, tree_of
from butfor.repairs.edits.tokens import positional_score, token_distance, tokens

__all__ = [
    "Edit",
    "measure",
    "Change",
    "Hunk",
    "short_form",
    "decided",
    "same_action",
    "key_of",
    "readable",
    "positional_score",
    "token_distance",
    "path_distance",
    "tree_distance",
    "tree_of",
    "tokens",
]
