"""Tracking shuffled objects: who holds what while pairs swap."""

from __future__ import annotations

import re

from butfor.benchmarks.beds.arithmetic.expression import Unreadable

_START = re.compile(r"(\w+) (?:gets|has a|has an|is playing|is dancing with|has) ([^,.:]+?)(?=,|\.|$)")
_SWAP = re.compile(r"\b([A-Z]\w+) and ([A-Z]\w+) (?:swap|trade|switch)")
_ASKED = re.compile(r"At the end of [^,]*, (\w+) (?:has|is)")
_OPTION = re.compile(r"\((\w)\) ([^\n]*?)\.?(?:\n|$)")
_HELD = r"\b{name}\b\s*(?::|has|is playing|is dancing with|is|gets|with)\s*(?:the|a|an)?\s*([^,;]+?)(?=[,;]|\.$|\.\s|$)"


class Swaps:
    """A trace of this task: its state is what the rule makes of the state before, overruled by what is written.

    Args:
        question: The story.
        steps: The written steps.

    Raises:
        Unreadable: The story is told in another form.
    """

    def __init__(self, question: str, steps: list[str]) -> None:
        story, _, rest = question.partition("Options:")
        options = dict(_OPTION.findall(rest + "\n"))
        asked = _ASKED.search(story)
        opening = story.partition("\n")[0].partition(": ")[2]
        start = {name: _option(held.removeprefix("and "), options) for name, held in _START.findall(opening)}
        self._moves = _SWAP.findall(story.partition("\n")[2])
        if asked is None or None in start.values() or len(start) != len(options) or not self._moves:
            raise Unreadable(story)
        self._asked = asked[1]
        self._start = {name: held for name, held in start.items() if held}
        # One entry a step: (state after it, swaps done).
        self._after: list[tuple[dict[str, str], int]] = []
        state, done = self._start, 0
        for step in steps[:-1]:
            state, done = self._next(state, done, _in_full(step, list(self._start)), options)
            self._after.append((state, done))

    def _next(self, state: dict[str, str], done: int, step: str, options: dict[str, str]) -> tuple[dict[str, str], int]:
        """Read one step: the swaps that it makes, and what it says of who holds what."""
        written = _written(step, list(self._start), options)
        named = _SWAP.findall(step)
        first = done == 0 and written == {name: held for name, held in self._start.items() if name in written}
        swaps = len(named) or (0 if first or not written else 1)
        moves = self._moves[done : done + swaps]
        state = _swapped(state, moves)
        # A step that says more than what the swapped two hold lists everyone: whoever is not in the list is forgotten.
        lists = bool(set(written) - {name for move in moves for name in move})
        return (written if lists else state | written), done + swaps

    def answer_from(self, step: int) -> str | None:
        """Return the option that the asked person holds, swapping on from the state as written."""
        state, done = self._after[step - 1] if step else (self._start, 0)
        held = _swapped(state, self._moves[done:]).get(self._asked)
        return f"({held})" if held else None


def _in_full(step: str, names: list[str]) -> str:
    """Write names out where a step uses their initials."""
    if any(re.search(rf"\b{name}\b", step) for name in names):
        return step
    for name in names:
        step = re.sub(rf"\b{name[0]}\b(?=:| and | swap| trade| has)", name, step)
    return step


def _swapped(state: dict[str, str], moves: list[tuple[str, str]]) -> dict[str, str]:
    state = dict(state)
    for one, other in moves:
        held = {other: state.pop(one, ""), one: state.pop(other, "")}
        state |= {name: each for name, each in held.items() if each}
    return state


def _written(step: str, names: list[str], options: dict[str, str]) -> dict[str, str]:
    found = {}
    for name in names:
        for held in re.findall(_HELD.format(name=name), step):
            option = _option(held, options)
            if option is not None:
                found[name] = option
    return found


def _option(text: str, options: dict[str, str]) -> str | None:
    """Find the option that a text names, in whole or by most of its words."""
    words = _words(text)
    scored = [
        (len(words & _words(option)) / max(len(words | _words(option)), 1), letter)
        for letter, option in options.items()
    ]
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] > 0 and sum(score == best[0] for score, _ in scored) == 1 else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower())) - {"the", "a", "an", "ball", "present", "and"}
