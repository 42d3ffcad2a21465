"""Which step caused the failure, and how sure is that."""

from butfor.attribution.answers import AnswerKind, Role
from butfor.attribution.bill import Bill, Quote
from butfor.attribution.case import Question
from butfor.attribution.drive import Attribution, NotReplayable
from butfor.attribution.margins import Margins
from butfor.attribution.methods import METHODS, Ask, attribute_run
from butfor.attribution.profile_result import Profile, StepProfile

__all__ = [
    "attribute_run",
    "METHODS",
    "Ask",
    "Question",
    "Margins",
    "Attribution",
    "NotReplayable",
    "Profile",
    "StepProfile",
    "AnswerKind",
    "Role",
    "Bill",
    "Quote",
]
