"""A policy for an imported conversation: it looks the order up, then refunds it in half of the draws."""

import json
from typing import Any

import butfor

CALLS: list[dict[str, Any]] = []


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        ],
    }


def decide(request: dict[str, Any]) -> dict[str, Any]:
    CALLS.append(request)
    steps = sum(message["role"] == "assistant" for message in request["messages"])
    if steps == 0:
        return _call("lookup", {"order": 7})
    if steps == 1 and butfor.rng().random() < 0.5:
        return _call("refund", {"order": 7})
    return {"role": "assistant", "content": "done"}


def audit(**arguments: Any) -> str:
    """Note a call that no trace holds."""
    return f"audited {arguments}"


def curious(request: dict[str, Any]) -> dict[str, Any]:
    """Ask for what the trace does not hold."""
    steps = sum(message["role"] == "assistant" for message in request["messages"])
    return _call("audit", {"order": 7}) if steps == 1 else {"role": "assistant", "content": "done"}
