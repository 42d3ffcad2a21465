"""Recorder, journal, do-operations, engine and the tool-effect policy."""

from butfor.replay.agents import Agent, find_agent, wrap_agent
from butfor.replay.assemble import assemble
from butfor.replay.budget import Budget, Meter, Prices
from butfor.replay.do import Intervention
from butfor.replay.draws import FreshSeeds, RecordedSeeds
from butfor.replay.jobs import Job, Rollout, Score
from butfor.replay.journal import Journal
from butfor.replay.record import Recorded, factual_trajectory, new_run_id, outcome_of, record_run, untouched_differences
from butfor.replay.rollouts import Rollouts, load_journal
from butfor.replay.stored import rollout_run
from butfor.replay.tools import Simulator, ToolPolicy
from butfor.replay.trajectory import ToolUse, Trajectory

__all__ = [
    "Agent",
    "Budget",
    "FreshSeeds",
    "Intervention",
    "Job",
    "Journal",
    "Meter",
    "Prices",
    "Recorded",
    "RecordedSeeds",
    "Rollout",
    "Rollouts",
    "Score",
    "Simulator",
    "ToolPolicy",
    "ToolUse",
    "Trajectory",
    "assemble",
    "factual_trajectory",
    "find_agent",
    "load_journal",
    "new_run_id",
    "outcome_of",
    "record_run",
    "rollout_run",
    "untouched_differences",
    "wrap_agent",
]
