"""Where proposals come from."""

from butfor.repairs.proposers.arguments import ArgumentEdits
from butfor.repairs.proposers.asked import AskedModel, Chat, Recall, action_of
from butfor.repairs.proposers.given import FromActions, GivenProposals
from butfor.repairs.proposers.protocol import Proposer
from butfor.repairs.proposers.resamples import Resamples
from butfor.repairs.proposers.templates import TEMPLATES, Template

__all__ = [
    "Proposer",
    "Resamples",
    "AskedModel",
    "ArgumentEdits",
    "GivenProposals",
    "FromActions",
    "Chat",
    "Recall",
    "Template",
    "TEMPLATES",
    "action_of",
]
