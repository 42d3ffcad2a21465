"""Causal verification for LLM agents: gate a tool call, attribute a failure, repair the step that caused it.

What you need is loaded when you use it: importing this package is light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from butfor.gate.gate import Gate as Gate
    from butfor.replay import do as do
    from butfor.replay.agents import factory as factory
    from butfor.replay.boundaries import model as model
    from butfor.replay.boundaries import now as now
    from butfor.replay.boundaries import rng as rng
    from butfor.replay.boundaries import tool as tool
    from butfor.replay.boundaries import uuid4 as uuid4
    from butfor.replay.openai_transport import openai_transport as openai_transport
    from butfor.replay.tools import simulator as simulator
    from butfor.verbs import attribute as attribute
    from butfor.verbs import record as record
    from butfor.verbs import repair as repair
    from butfor.verbs import rescue as rescue

_PUBLIC = {
    "record": "butfor.verbs:record",
    "attribute": "butfor.verbs:attribute",
    "repair": "butfor.verbs:repair",
    "rescue": "butfor.verbs:rescue",
    "Gate": "butfor.gate.gate:Gate",
    "do": "butfor.replay.do",
    "model": "butfor.replay.boundaries:model",
    "tool": "butfor.replay.boundaries:tool",
    "now": "butfor.replay.boundaries:now",
    "rng": "butfor.replay.boundaries:rng",
    "uuid4": "butfor.replay.boundaries:uuid4",
    "factory": "butfor.replay.agents:factory",
    "openai_transport": "butfor.replay.openai_transport:openai_transport",
    "simulator": "butfor.replay.tools:simulator",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'butfor' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    loaded = importlib.import_module(module)
    value = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value
