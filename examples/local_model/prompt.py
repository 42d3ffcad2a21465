"""A chat request as the text that the model reads, and the same text with its content removed."""

from __future__ import annotations

import json
from typing import Any

BLANK = "N/A"
LEAD_IN = "I will"
END_OF_TURN = "<|im_end|>"
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def words(name: str) -> str:
    """Say a tool's or an argument's name in words: `issue_refund` is *issue refund*."""
    return name.replace("_", " ").replace("-", " ")


def conversation(messages: list[dict[str, Any]], abilities: list[tuple[str, str]], *, blank: bool = False) -> str:
    """Render a conversation up to the assistant's next word.

    Args:
        messages: The request's messages.
        abilities: What the assistant may do, each a name in words and a description.
        blank: Put N/A for what users, tools and the assistant said. Instructions, roles and the names of earlier tool
            calls stay: the model's choice on this text is its prior.
    """
    turns: list[tuple[str, str]] = []
    for message in messages:
        role = ROLES[message["role"]]
        kept = role == "system" or not blank
        turns += [(role, said if kept else BLANK) for said in [_text(message.get("content"))] if said]
        turns += [(role, _call(call["function"], blank=blank)) for call in message.get("tool_calls") or ()]
    if abilities:
        menu = "You can:\n" + "\n".join(f"- {name}: {description}" for name, description in abilities)
        if turns and turns[0][0] == "system":
            turns[0] = ("system", f"{turns[0][1]}\n{menu}")
        else:
            turns.insert(0, ("system", menu))
    return "".join(f"<|im_start|>{role}\n{said}{END_OF_TURN}\n" for role, said in turns) + "<|im_start|>assistant\n"


def _call(function: dict[str, Any], *, blank: bool) -> str:
    """Say an earlier tool call, in another form than the next one is asked for.

    Said in the same form ("I will lookup order 1042"), a model of this size repeats it: P(lookup again) was .4 to .8
    after a result that needs no second look, against .1 to .2 in this form.
    """
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except json.JSONDecodeError:
        arguments = {}
    values = arguments.values() if isinstance(arguments, dict) else ()
    return f"{words(function['name'])}({', '.join(BLANK if blank else _text(str(value)) for value in values)})"


def _text(content: Any) -> str:
    """Join text parts; markers of the chat format inside a text lose their meaning."""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content or "").replace("<|", "< |")
