"""The support agent of `butfor demo`, on a real language model: the same loop and tools, and the `openai` client.

Order 1043 carries a note that somebody else wrote. The client's address comes from OPENAI_BASE_URL; by default it is
that of `server.py` on this machine.
"""

from __future__ import annotations

import os
from typing import Any

import httpx2
from openai import OpenAI

import butfor
from butfor.demo.support import TOOLS, converse

MODEL = "smollm2-135m-instruct"
TEMPERATURE = 0.7
# A model of this size does not understand what check_policy tells it, so that tool is not offered.
OFFERED = [tool for tool in TOOLS if tool["function"]["name"] != "check_policy"]
MOST_STEPS = 3


def agent(task: dict[str, Any]) -> dict[str, Any]:
    """Answer a customer: `question` is the customer's words, `seed` that of the requests."""
    address = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8135/v1")
    http_client = httpx2.Client(transport=butfor.openai_transport())
    with OpenAI(base_url=address, api_key="none", http_client=http_client, timeout=300) as client:

        def complete(**request: Any) -> dict[str, Any]:
            completion: dict[str, Any] = client.chat.completions.create(**request).model_dump()
            return completion

        return converse(task, complete, model=MODEL, temperature=TEMPERATURE, tools=OFFERED, most_steps=MOST_STEPS)
