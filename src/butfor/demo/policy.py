"""A small stochastic policy that speaks the chat-completions format.

It scores each tool, and answering, by features of the request (what was asked, which tools were called, what they
said, whether something in the history reads like an instruction), and draws from the softmax with the request's seed.
It does not know which step matters: it can look before it leaps, obey an injected note, or resist it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from butfor import canonical, noise

# Logits at temperature 1, chosen by hand so that every option keeps some probability everywhere.
_WEIGHTS: dict[str, dict[str, float]] = {
    "lookup_order": {"always": -1.0, "nothing known": 4.0, "looked up": -5.0},
    "check_policy": {"always": -0.6, "looked up": 0.9, "checked": -5.0, "told to skip": -1.2},
    "issue_refund": {"always": -4.5, "asked for refund": 0.8, "told to refund": 3.1, "eligible": 5.0, "refused": -2.5,
                     "refunded": -9.0},
    "answer": {"always": -1.5, "looked up": 1.0, "checked": 2.5, "refunded": 6.0, "refused": 1.5},
}  # fmt: skip

_ANSWERS = {
    "refunded": "I have sent the money for order {order} back to you.",
    "refused": "Order {order} is not eligible for a refund, I am sorry.",
    "looked up": "Order {order} was delivered.",
    "always": "Which order is it about?",
}


def complete(
    *, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]], temperature: float, seed: int
) -> dict[str, Any]:
    """Answer a chat-completions request.

    Args:
        model: Echoed.
        messages: The history.
        tools: The tools that may be called.
        temperature: Of the softmax; 0 takes the likeliest option.
        seed: Of the draw. The same request with the same seed gives the same answer.
    """
    seen = features(messages)
    options = [tool["function"]["name"] for tool in tools] + ["answer"]
    scores = [
        sum(weight for name, weight in _WEIGHTS.get(o, {"always": -3.0}).items() if name in seen) for o in options
    ]
    draw = noise.generator("demo policy", seed, canonical.digest(messages))
    chosen = _draw(options, scores, temperature, draw.random)
    order = _order(messages)
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if chosen == "answer":
        key = next(name for name in _ANSWERS if name in seen)
        message["content"] = _ANSWERS[key].format(order=order)
    else:
        call = {"name": chosen, "arguments": json.dumps({"order_id": order})}
        message["tool_calls"] = [{"id": f"call_{len(messages)}", "type": "function", "function": call}]
    return {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if message["content"] else "tool_calls"}],
        "usage": {"prompt_tokens": _tokens(messages), "completion_tokens": _tokens([message])},
    }


def probabilities(messages: list[dict[str, Any]], options: list[str], temperature: float = 1.0) -> dict[str, float]:
    """Return the policy's distribution in a state: the truth that estimates can be held against."""
    seen = features(messages)
    scores = [sum(weight for name, weight in _WEIGHTS[option].items() if name in seen) for option in options]
    top = max(scores)
    weights = [math.exp((score - top) / temperature) for score in scores]
    return {option: weight / sum(weights) for option, weight in zip(options, weights, strict=True)}


def features(messages: list[dict[str, Any]]) -> set[str]:
    """Name what is true of a history."""
    called = [call["function"]["name"] for m in messages for call in m.get("tool_calls") or []]
    results = " ".join(m["content"] or "" for m in messages if m["role"] == "tool")
    asked = " ".join(m["content"] or "" for m in messages if m["role"] == "user").lower()
    names = {
        "always": True,
        "nothing known": not called,
        "looked up": "lookup_order" in called,
        "checked": "check_policy" in called,
        "refunded": "issue_refund" in called,
        "asked for refund": "refund" in asked or "money" in asked,
        "told to refund": bool(re.search(r"SYSTEM:.*issue_refund", results)),
        "told to skip": bool(re.search(r"SYSTEM:.*without check", results)),
        "eligible": '"eligible": true' in results,
        "refused": '"eligible": false' in results,
    }
    return {name for name, holds in names.items() if holds}


def _draw(options: list[str], scores: list[float], temperature: float, uniform: Any) -> str:
    """Draw by Gumbel-max, so that the same noise meets the same options whatever their scores."""
    if temperature <= 0:
        return options[scores.index(max(scores))]
    noisy = [score / temperature - math.log(-math.log(max(uniform(), 1e-300))) for score in scores]
    return options[noisy.index(max(noisy))]


def _order(messages: list[dict[str, Any]]) -> str:
    found = re.search(r"\b\d{4}\b", " ".join(m["content"] or "" for m in messages if m["role"] == "user"))
    return found.group() if found else "0000"


def _tokens(messages: list[dict[str, Any]]) -> int:
    return sum(len(json.dumps(message)) for message in messages) // 4
