"""Training pairs from validated repairs: derived, sieved, split by task, audited, written and checked."""

from butfor.repairs.pairs.check import Checked, check_file
from butfor.repairs.pairs.derive import Derived, derive_pairs
from butfor.repairs.pairs.export import Exported, export_pairs
from butfor.repairs.pairs.formats import FORMATS, Format, rows_of
from butfor.repairs.pairs.messages import Prompt, answer_message, prompt_of
from butfor.repairs.pairs.pair import Pair
from butfor.repairs.pairs.schema import Problem, format_of, problems_of
from butfor.repairs.pairs.shortcut import Audit, audit
from butfor.repairs.pairs.sieve import Sieved, sieve
from butfor.repairs.pairs.split import split_of, tasks_of

__all__ = [
    "derive_pairs",
    "Derived",
    "Pair",
    "Prompt",
    "prompt_of",
    "answer_message",
    "sieve",
    "Sieved",
    "tasks_of",
    "split_of",
    "audit",
    "Audit",
    "rows_of",
    "Format",
    "FORMATS",
    "export_pairs",
    "Exported",
    "check_file",
    "Checked",
    "problems_of",
    "Problem",
    "format_of",
]
