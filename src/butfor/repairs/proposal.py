"""A proposed replacement for one action, where it came from, and whether it knows what it should not know."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from butfor.canonical import Json

Source: TypeAlias = Literal["resample", "model", "argument_edit", "user", "other_solution", "mutation", "shrink"]
"""Where a proposal came from: the policy's own draws; a model asked for a correction; an edit of tool arguments; the
user; another solution of the same task; a mutation operator; a smaller version of an accepted repair."""

# Words, and numbers with their sign and fraction, so that 18 is not found in 180 or in 1.18.
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]\w*", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed run as a proposer sees it: everything that the policy saw, nothing that only the verifier knows.

    Attributes:
        run_id: The run.
        task: What the agent was given.
        actions: The factual action of every step, in short form: text, ``{"tool", "arguments"}``, or a list of those.
        states: The exact request of every step, None where it is not known; empty where none is.
        observations: What the tools returned to every step; empty where nothing is known.
        output: What the agent returned.
        outcome: What counts as bad, as the user wrote it.
        tools: Tool name to the JSON Schema of its arguments, where known.
        secrets: Literals that only the verifier knows: the gold answer, the tests' constants. Proposers are never
            shown them; they are here so that a proposal that contains one can be flagged.
    """

    run_id: str
    task: Json
    actions: tuple[Json, ...]
    states: tuple[Json, ...] = ()
    observations: tuple[tuple[Json, ...], ...] = ()
    output: Json = None
    outcome: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """N."""
        return len(self.actions)

    def seen_before(self, step: int) -> str:
        """Return everything that was there before a repair of a step: task, history, and the factual action."""
        state = self.states[step] if step < len(self.states) else None
        earlier = [self.actions[: step + 1], self.observations[:step]]
        return canonical.encode([self.task, state, earlier])


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One proposed action.

    Attributes:
        step: k.
        action: What to put in the place of a_k: text, ``{"tool", "arguments"}``, a list of those, or a whole answer.
        source: Where it came from.
        origin: Model, prompt template, seed, ids of the draws that produced it: whatever identifies it.
        leaks: Secret literals that it contains and that were not there before.
    """

    step: int
    action: Json
    source: Source
    origin: Mapping[str, Json] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "step": self.step,
            "action": self.action,
            "source": self.source,
            "origin": dict(self.origin),
            "leaks": list(self.leaks),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Proposal:
        """Read what `to_json` gave."""
        return cls(**document | {"leaks": tuple(document["leaks"])})


def leaks_of(action: Json, *, secrets: Iterable[str], before: str) -> tuple[str, ...]:
    """Name the secrets that an action contains and that were not there before it.

    A secret counts as contained where its words stand next to each other, so that a gold answer of 18 is not found in
    180. A repair that computes the right answer contains it too: a flag asks for a look, it is not a verdict.

    Args:
        action: The proposed action.
        secrets: Literals that only the verifier knows.
        before: Everything that was there before.
    """
    said, known = _words(canonical.encode(action)), _words(before)
    return tuple(
        dict.fromkeys(each for each in secrets if (word := _words(each)) and word in said and word not in known)
    )


def checked_for_leaks(proposals: Iterable[Proposal], failure: Failure) -> list[Proposal]:
    """Flag leaks in proposals, keeping flags that are there already."""
    return [
        replace(
            each,
            leaks=tuple(
                dict.fromkeys(
                    (
                        *each.leaks,
                        *leaks_of(each.action, secrets=failure.secrets, before=failure.seen_before(each.step)),
                    )
                )
            ),
        )
        for each in proposals
    ]


def literals_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Take the literals out of a verifier's text, such as tests: numbers of two digits and more, quoted strings."""
    found: list[str] = []
    for text in texts:
        found += [a or b for a, b in re.findall(r"'((?:[^'\\]|\\.){2,})'|\"((?:[^\"\\]|\\.){2,})\"", text)]
        found += [each for each in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", text) if len(each.strip("-")) > 1]
    return tuple(dict.fromkeys(found))


def _words(text: str) -> str:
    """Write a text as its words between single spaces, with one at either end."""
    words = " ".join(_WORD.findall(text.replace("\\n", " ").replace("\\t", " ").casefold()))
    return f" {words} " if words else ""
