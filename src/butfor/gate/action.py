"""The tool call that asks to run."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.errors import InputError
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json

_KEYS = frozenset({"tool", "arguments", "agent"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    """One tool call, exactly as it would be made.

    Attributes:
        tool: The tool's name.
        arguments: Its arguments: JSON with string keys.
        agent: Who asks; each agent has a share of its own in an error budget.
    """

    tool: str
    arguments: Mapping[str, Json]
    agent: str = "default"

    @classmethod
    def read(cls, data: bytes) -> Action:
        """Read ``{"tool": …, "arguments": {…}, "agent": …}``; `agent` may be left out.

        Raises:
            InputError: It is not strict JSON (see `parse_strict`) or not a tool call.
        """
        document = parse_strict(data)
        if not isinstance(document, dict) or not {"tool"} <= set(document) <= _KEYS:
            raise InputError("this is not a tool call", fix='write {"tool": "name", "arguments": {}, "agent": "name"}')
        arguments, agent = document.get("arguments", {}), document.get("agent", "default")
        if not isinstance(document["tool"], str) or not isinstance(agent, str) or not isinstance(arguments, dict):
            raise InputError("tool and agent are text, arguments an object", fix="correct the call")
        return cls(tool=document["tool"], arguments=arguments, agent=agent)

    @property
    def digest(self) -> str:
        """The tagged SHA-256 of the canonical call: what an approval binds to. Who asks is no part of it.

        Raises:
            NotRecordable: An argument cannot be written exactly: an integer beyond ±(2^53 − 1), NaN, half a surrogate
                pair. It is never rounded, so that two calls never share a digest.
        """
        # Never remembered: a caller may still hold, and change, a list inside the arguments.
        return self.frozen()[1]

    def frozen(self) -> tuple[Action, str]:
        """Return the call as its canonical bytes say, which nobody else holds, and its digest.

        Raises:
            NotRecordable: See `digest`.
        """
        data = canonical_bytes({"tool": self.tool, "arguments": dict(self.arguments)})
        plain = json.loads(data)  # canonical bytes are strict JSON already
        return Action(tool=plain["tool"], arguments=plain["arguments"], agent=self.agent), digest_text(data)
