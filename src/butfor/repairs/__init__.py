"""The smallest change that really fixes the failure."""

from butfor.repairs.executor import BatchExecutor, Executor, TableExecutor, Trial, outcomes_of
from butfor.repairs.proposal import Failure, Proposal, Source, checked_for_leaks, leaks_of, literals_of
from butfor.repairs.validation import Hypothesis, RepairTest, Standard, level_of
from butfor.repairs.verdict import Verdict

__all__ = [
    "Failure",
    "Proposal",
    "Source",
    "Executor",
    "BatchExecutor",
    "TableExecutor",
    "Trial",
    "RepairTest",
    "Hypothesis",
    "Standard",
    "Verdict",
    "level_of",
    "leaks_of",
    "checked_for_leaks",
    "literals_of",
    "outcomes_of",
]
