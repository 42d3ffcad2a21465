"""The searching agent: query, read, query, read, answer; its policy is a table, so that success can be computed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from butfor.benchmarks.beds.retrieval.corpus import Corpus, Question

Action = dict[str, Any]
STEPS = 4
_FOUNDED = re.compile(r"(\w+ \w+) founded (\w+)")
_SITS = re.compile(r"(\w+) (?:is|was) headquartered in (\w+)")


def search(query: str) -> Action:
    """Write a call of the search tool."""
    return {"tool": "search", "arguments": {"query": query}}


def read(rank: int) -> Action:
    """Write a call that opens one of the pages found, the best being 0."""
    return {"tool": "read", "arguments": {"rank": rank}}


@dataclass(frozen=True, kw_only=True)
class State:
    """What the agent knows.

    Attributes:
        found: Texts of the last search.
        company: Read off a page about founders.
        city: Read off a page about a company.
    """

    found: tuple[str, ...] = ()
    company: str | None = None
    city: str | None = None


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Answers one question over a corpus.

    Attributes:
        corpus: What it searches.
        question: What it is asked.
    """

    corpus: Corpus
    question: Question

    def options(self, state: State, step: int) -> list[tuple[float, Action]]:
        """Return π(· | state) at a step: actions with their probabilities, which add up to 1."""
        first, last = self.question.person.split()
        if step == 0:
            return [
                (0.6, search(f"{first} {last} founded")),
                (0.25, search(f"{last} family")),
                (0.15, search(self.question.text)),
            ]
        if step == 2:
            subject = state.company or last
            return [
                (0.65, search(f"{subject} is headquartered in")),
                (0.2, search(f"headquarters of {subject}")),
                (0.15, search(f"{last} company")),
            ]
        return [(0.85, read(0)), (0.1, read(1)), (0.05, read(2))]

    def after(self, state: State, step: int, action: Action) -> State:
        """Return the state after an action; a call that the tool does not know finds nothing."""
        arguments = action.get("arguments", {})
        if action.get("tool") == "search":
            pages = self.corpus.search(str(arguments.get("query", "")))
            return State(found=tuple(page.text for page in pages), company=state.company, city=state.city)
        rank = arguments.get("rank")
        page = state.found[rank] if isinstance(rank, int) and 0 <= rank < len(state.found) else ""
        if step == 1:
            founded = _FOUNDED.search(page)
            return State(found=(), company=founded[2] if founded else None, city=None)
        sits = _SITS.search(page)
        # It believes what it reads: an outdated page, or one about another company, gives a wrong answer.
        return State(found=(), company=state.company, city=sits[2] if sits else None)

    def is_right(self, state: State) -> bool:
        """Whether the city that it would answer is right."""
        return state.city == self.question.answer

    def play(self, fixed: Sequence[Action], source: random.Random) -> tuple[list[Action], bool]:
        """Run from the start with the first actions given and the rest drawn from π."""
        state, done = State(), []
        for step in range(STEPS):
            action = fixed[step] if step < len(fixed) else self.draw(state, step, source)
            state = self.after(state, step, action)
            done.append(action)
        return done, self.is_right(state)

    def draw(self, state: State, step: int, source: random.Random) -> Action:
        """Draw an action from π."""
        options = self.options(state, step)
        return source.choices([action for _, action in options], weights=[share for share, _ in options])[0]

    def success(self, fixed: Sequence[Action]) -> float:
        """Compute P(right | the first actions given, the rest decided by π), exactly."""
        state = State()
        for step, action in enumerate(fixed):
            state = self.after(state, step, action)
        return self._success(state, len(fixed))

    def _success(self, state: State, step: int) -> float:
        if step == STEPS:
            return float(self.is_right(state))
        return sum(
            share * self._success(self.after(state, step, action), step + 1)
            for share, action in self.options(state, step)
        )


def direct(corpus: Corpus, question: Question) -> bool:
    """Answer without steps: search for the question itself and believe the first city on the pages found."""
    for page in corpus.search(question.text):
        sits = _SITS.search(page.text)
        if sits:
            return sits[2] == question.answer
    return False
