"""The policy file: one entry a tool, every mistake named with line and column."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from butfor.gate.policy.marks import Mistake
    from butfor.gate.policy.model import Policy, policy_schema
    from butfor.gate.policy.reading import read_policy, read_text

__all__ = ["Policy", "Mistake", "read_policy", "read_text", "policy_schema"]

# Pydantic and YAML are loaded when a policy is opened, never on the request path.
_HOMES = {
    "Mistake": "marks",
    **dict.fromkeys(["Policy", "policy_schema"], "model"),
    **dict.fromkeys(["read_policy", "read_text"], "reading"),
}


def __getattr__(name: str) -> Any:
    """Load a part when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'butfor.gate.policy' has no attribute {name!r}")
    return getattr(importlib.import_module(f"butfor.gate.policy.{_HOMES[name]}"), name)
