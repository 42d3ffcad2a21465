"""Answer one chat request in words: what `butfor bench … --set model=answer:answer` asks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from engine import MODEL_NAME, Engine
from prompt import conversation

LONGEST = 160


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer in the form of a chat completion; the same request has the same answer."""
    said = _engine().text(conversation(request["messages"], []), max_tokens=LONGEST, temperature=0.0, seed=1)
    return {
        "model": MODEL_NAME,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": said.content}, "finish_reason": said.finish_reason}
        ],
        "usage": {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.completion_tokens},
    }


@lru_cache(maxsize=1)
def _engine() -> Engine:
    return Engine()
