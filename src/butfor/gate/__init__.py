"""May this tool call run? Four verdicts, each with a certificate."""

import importlib
from typing import TYPE_CHECKING, Any

from butfor.gate.verdict import EXIT_CODES, REASONS, Reason, ReasonRow, Verdict

if TYPE_CHECKING:
    from butfor.gate.action import Action
    from butfor.gate.decide import Decision
    from butfor.gate.gate import Gate
    from butfor.gate.inputs import Inputs, Sample, answer_for
    from butfor.gate.rules import DEFAULT, PAPER, PRESETS, Demands, Preset, Rules, Trial
    from butfor.gate.ruling import Ruling

__all__ = [
    "Verdict",
    "Reason",
    "ReasonRow",
    "REASONS",
    "EXIT_CODES",
    "Gate",
    "Ruling",
    "Action",
    "Decision",
    "Inputs",
    "Sample",
    "answer_for",
    "Rules",
    "Preset",
    "PRESETS",
    "DEFAULT",
    "PAPER",
    "Trial",
    "Demands",
]

# Loaded on first use: the table of verdicts needs no NumPy.
_HOMES = {
    **dict.fromkeys(["Rules", "Preset", "PRESETS", "DEFAULT", "PAPER", "Trial", "Demands"], "rules"),
    **dict.fromkeys(["Inputs", "Sample", "answer_for"], "inputs"),
    "Gate": "gate",
    "Ruling": "ruling",
    "Decision": "decide",
    "Action": "action",
}


def __getattr__(name: str) -> Any:
    """Load a part when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.gate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.gate.{_HOMES[name]}"), name)
