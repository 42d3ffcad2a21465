"""One pair for training: what was decided, what should have been, and the state that both follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor import canonical

if TYPE_CHECKING:
    from butfor.repairs.pairs.messages import Message, Prompt
    from butfor.repairs.result import Repair


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A preference that rollouts have shown.

    Attributes:
        prompt: The factual request of step k, the same for both answers.
        chosen: The repaired action.
        rejected: The factual action.
        repair: What was shown about it.
        result_id: The repair's name in the store.
        task: Digest of what the agent was given.
        run_digest: Digest of the run as it is stored.
    """

    prompt: Prompt
    chosen: Message
    rejected: Message
    repair: Repair
    result_id: str
    task: str
    run_digest: str

    @property
    def name(self) -> str:
        """What makes two pairs the same: state and both answers, not the run that they were found in."""
        return canonical.digest([self.prompt.digest, answer_key(self.chosen), answer_key(self.rejected)])


def answer_key(message: Message) -> str:
    """Name what an answer says: text without space at the ends, and calls without their ids."""
    return canonical.digest(bare(message))


def bare(message: Message) -> list[object]:
    """Return an answer's text and calls, without ids."""
    calls = [
        [each["function"]["name"], arguments_of(each["function"]["arguments"])]
        for each in message.get("tool_calls") or []
    ]
    return [str(message.get("content") or "").strip(), calls]


def arguments_of(written: canonical.Json) -> canonical.Json:
    """Parse a call's arguments; text that is no JSON stays as it is."""
    if not isinstance(written, str):
        return written
    try:
        return canonical.decode(written)
    except ValueError:
        return written
