"""The smallest change that really fixes the failure."""

from butfor.repairs.ask import RepairAsk
from butfor.repairs.critique import Critique, Opinion, Quality, agreement_with_truth, critique_answer, critique_of
from butfor.repairs.edits import Edit, measure
from butfor.repairs.executor import BatchExecutor, Executor, TableExecutor, Trial, outcomes_of
from butfor.repairs.failure import failure_of, failure_of_run
from butfor.repairs.predicted import predict_repairs, predict_run
from butfor.repairs.proposal import Failure, Proposal, Source, checked_for_leaks, leaks_of, literals_of
from butfor.repairs.proposers import ArgumentEdits, AskedModel, FromActions, GivenProposals, Proposer, Resamples
from butfor.repairs.provenance import DeclaredCheck, check_declared, downstream, flows_of
from butfor.repairs.repair import repair_run
from butfor.repairs.rescue import Rescue, rescue_run
from butfor.repairs.result import FUNNEL, Repair, RepairAnswer, Tried
from butfor.repairs.shrink import Shrunk, shrink
from butfor.repairs.standard import Standard, level_of
from butfor.repairs.stored import answers_of, repairs_of, save_repair
from butfor.repairs.validation import Hypothesis, RepairTest
from butfor.repairs.verdict import Verdict

__all__ = [
    "repair_run",
    "repairs_of",
    "answers_of",
    "save_repair",
    "RepairAsk",
    "Repair",
    "RepairAnswer",
    "Tried",
    "FUNNEL",
    "Failure",
    "Proposal",
    "Source",
    "Proposer",
    "Resamples",
    "AskedModel",
    "ArgumentEdits",
    "GivenProposals",
    "FromActions",
    "Executor",
    "BatchExecutor",
    "TableExecutor",
    "Trial",
    "RepairTest",
    "Hypothesis",
    "Standard",
    "Verdict",
    "Edit",
    "measure",
    "shrink",
    "Shrunk",
    "level_of",
    "leaks_of",
    "checked_for_leaks",
    "literals_of",
    "outcomes_of",
    "failure_of",
    "failure_of_run",
    "predict_repairs",
    "predict_run",
    "critique_of",
    "critique_answer",
    "agreement_with_truth",
    "Critique",
    "Opinion",
    "Quality",
    "flows_of",
    "check_declared",
    "downstream",
    "DeclaredCheck",
    "rescue_run",
    "Rescue",
]
