"""The trace model: runs, steps, tool calls, observations, outcomes and replayability grades."""

from butfor.runs.documents import from_text, to_text
from butfor.runs.grades import Grade, Replayability
from butfor.runs.parts import Observation, Part, PartKind, Text, ToolCall
from butfor.runs.requests import Request, RequestChain
from butfor.runs.run import (
    SCHEMA,
    Agent,
    Dependency,
    Effect,
    Outcome,
    PartRef,
    Provenance,
    Run,
    Sampling,
    SourceSpan,
    Step,
    ToolDefinition,
    Usage,
)
from butfor.runs.values import EMPTY_OBJECT, NULL, Value

__all__ = [
    "Run",
    "Step",
    "Part",
    "PartKind",
    "Text",
    "ToolCall",
    "Observation",
    "Outcome",
    "Agent",
    "ToolDefinition",
    "Effect",
    "Sampling",
    "Usage",
    "Dependency",
    "PartRef",
    "Provenance",
    "SourceSpan",
    "Grade",
    "Replayability",
    "Request",
    "RequestChain",
    "Value",
    "NULL",
    "EMPTY_OBJECT",
    "SCHEMA",
    "to_text",
    "from_text",
]
