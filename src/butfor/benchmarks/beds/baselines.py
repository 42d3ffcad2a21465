"""Two published ways to try again, through the model boundary: Self-Refine and Self-Reflection.

The prompts are ours, since the papers' own are for other tasks (Madaan et al. 2023, arXiv 2303.17651; Shinn et al.
2023, arXiv 2303.11366). Self-Refine is never told whether it is right; Self-Reflection is told that it was wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.replay import boundaries, reading
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json

ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Where a baseline ended.

    Attributes:
        text: Its last answer.
        calls: Model calls that it took.
    """

    text: str
    calls: int


def asker(name: str) -> Callable[[str], str]:
    """Return a function from a prompt to an answer's text.

    Args:
        name: ``module:function`` of one chat request that returns an answer in any known format.

    Raises:
        AgentError: It cannot be imported.
    """
    model = boundaries.model(import_by_name(name, what="the model"), name="model")

    def ask(prompt: str) -> str:
        request: dict[str, Json] = {"messages": [{"role": "user", "content": prompt}], "temperature": 0}
        return reading.read(model(request)).text or ""

    return ask


def direct(ask: Callable[[str], str], task: str) -> Attempt:
    """Ask once."""
    return Attempt(text=ask(task), calls=1)


def self_refine(ask: Callable[[str], str], task: str, first: str) -> Attempt:
    """Let the model criticise and rewrite its answer, ROUNDS times."""
    text = first
    for _ in range(ROUNDS):
        remarks = ask(f"{task}\n\nAn answer:\n{text}\n\nSay what is wrong with this answer, if anything is.")
        text = ask(f"{task}\n\nAn answer:\n{text}\n\nRemarks:\n{remarks}\n\nWrite the answer again, in full.")
    return Attempt(text=text, calls=2 * ROUNDS)


def self_reflection(ask: Callable[[str], str], task: str, first: str, is_right: Callable[[str], bool]) -> Attempt:
    """Tell the model that it was wrong, let it say why, and let it try again, ROUNDS times at most."""
    text, lessons, calls = first, "", 0
    for _ in range(ROUNDS):
        if is_right(text):
            break
        lessons += ask(f"{task}\n\nThis answer was wrong:\n{text}\n\nSay in one sentence what to do otherwise.") + "\n"
        text = ask(f"{task}\n\nEarlier attempts were wrong. Lessons:\n{lessons}\nWrite a new answer, in full.")
        calls += 2
    return Attempt(text=text, calls=calls)
