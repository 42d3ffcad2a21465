"""The recorded agent of `butfor demo`."""

from __future__ import annotations

from typing import Any

import butfor
from butfor.demo import policy
from butfor.demo.support import converse

complete = butfor.model(policy.complete, name="demo-policy")


def agent(task: dict[str, Any]) -> dict[str, Any]:
    """Answer a customer with the demo policy."""
    return converse(task, complete, model="demo-policy")
