"""Logical deduction: an order of things, and what each step leaves possible."""

from __future__ import annotations

import re
from itertools import permutations

from butfor.benchmarks.beds.arithmetic.expression import Unreadable

_RANKS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_WORDS = {"three": 3, "five": 5, "seven": 7}
# The scale of each story, from its first place to its last, and the words that compare along it.
_BEFORE = ("to the left of", "older than", "less expensive than", "finished above")
_AFTER = ("to the right of", "newer than", "more expensive than", "finished below")
_FROM_FRONT = ("from the left", "-oldest", "-cheapest", "finished {rank}")
_FROM_BACK = ("from the right", "-newest", "-most expensive", "{rank}-to-last")
_ENDS = {
    "leftmost": 0,
    "rightmost": -1,
    "the oldest": 0,
    "the newest": -1,
    "the cheapest": 0,
    "the most expensive": -1,
    "finished first": 0,
    "finished last": -1,
}
_DIRECTIONS = {
    ("left", "right"): 1,
    ("right", "left"): -1,
    ("oldest", "newest"): 1,
    ("newest", "oldest"): -1,
    ("cheapest", "most expensive"): 1,
    ("most expensive", "cheapest"): -1,
    ("most", "least expensive"): -1,
    ("most expensive", "least expensive"): -1,
    ("least", "most expensive"): 1,
    ("first", "last"): 1,
    ("last", "first"): -1,
}
_CLAIM = re.compile(r"[Ss]o from (?:the )?([\w ]+?) to (?:the )?([\w ]+?)(?: |, )*:(.*)$")
_RANK = f"(?:{'|'.join(_RANKS)})"
_PLACES = re.compile(
    rf"((?:{_RANK}(?:, (?:and )?| and )?)+) (?:can be|is|are) (.*?)(?=, (?:and )?(?:then )?{_RANK}\b|[.]?$)"
)
_OPTION = re.compile(r"\((\w)\) ([^\n]*)")


class Deduction:
    """A trace of this task: its state is the set of orders that the written places leave possible.

    Args:
        question: The story with its statements and options.
        steps: The written steps.

    Raises:
        Unreadable: The statements do not fix one order, or one of them is of another form.
    """

    def __init__(self, question: str, steps: list[str]) -> None:
        story, _, rest = question.partition("Q:")
        self._things = _things(story)
        statements = [line[2:] for line in story.splitlines() if line.startswith("- ") and ":" not in line]
        rules = [_rule(line, self._things) for line in statements]
        fitting = [order for order in permutations(range(len(self._things))) if all(_holds(r, order) for r in rules)]
        if len(fitting) != 1:
            raise Unreadable(story)
        self._order = fitting[0]
        options = _OPTION.findall(rest)
        right = [letter for letter, text in options if _holds(_rule(text, self._things), self._order)]
        if len(right) != 1:
            raise Unreadable(rest)
        self._right = f"({right[0]})"
        # One entry a step: whether the true order is still possible after it.
        self._possible = [self._leaves_the_truth(step) for step in steps[:-1]]

    def answer_from(self, step: int) -> str | None:
        """Return the right option while the written places leave the true order possible."""
        # Places are written anew at every step, so the last ones written are the state.
        known = [possible for possible in self._possible[:step] if possible is not None]
        return self._right if not known or known[-1] else None

    def _leaves_the_truth(self, step: str) -> bool | None:
        claim = _CLAIM.search(step)
        direction = _DIRECTIONS.get((claim[1].strip(), claim[2].strip())) if claim else None
        if claim is None or direction is None:
            return None
        places = list(range(len(self._things)))[::direction]
        for ranks, allowed in _PLACES.findall(claim[3]):
            named = {i for i, thing in enumerate(self._things) if _names(allowed, thing)}
            if "any" in allowed or not named:
                continue
            for rank in re.findall("|".join(_RANKS), ranks):
                if _RANKS.index(rank) >= len(places):
                    return False
                if self._order[places[_RANKS.index(rank)]] not in named:
                    return False
        return True


def _things(story: str) -> list[str]:
    listed = re.search(r"(three|five|seven) \w+: (.*?)\.", story)
    if listed is None:
        raise Unreadable(story)
    things = [re.sub(r"^(?:and )?(?:an? )?", "", each.strip()) for each in re.split(r",| and (?=an? |\w+$)", listed[2])]
    things = [each for each in things if each]
    if len(things) != _WORDS[listed[1]]:
        raise Unreadable(listed[0])
    return things


def _names(text: str, thing: str) -> bool:
    return re.search(rf"\b{re.escape(thing)}\b", text) is not None


def _rule(line: str, things: list[str]) -> tuple[str, int, int]:
    """Read a statement as (comparison, thing, thing) or (place, thing, index from the front or the back)."""
    found = sorted(
        (at.start(), i) for i, thing in enumerate(things) if (at := re.search(rf"\b{re.escape(thing)}\b", line))
    )
    if len(found) == 2:
        if any(words in line for words in _BEFORE):
            return "before", found[0][1], found[1][1]
        if any(words in line for words in _AFTER):
            return "before", found[1][1], found[0][1]
    if len(found) == 1:
        place = _place(line)
        if place is not None:
            return "at", found[0][1], place
    raise Unreadable(line)


def _place(line: str) -> int | None:
    for rank, word in enumerate(_RANKS):
        if any(f"{word} {each}" in line or f"{word}{each}" in line for each in _FROM_BACK) or f"{word}-to-last" in line:
            return -rank - 1
        if any(f"{word} {each}" in line or f"{word}{each}" in line for each in _FROM_FRONT):
            return rank
    for words, place in _ENDS.items():
        if words in line:
            return place
    return next((rank for rank, word in enumerate(_RANKS) if f"finished {word}" in line), None)


def _holds(rule: tuple[str, int, int], order: tuple[int, ...]) -> bool:
    kind, thing, other = rule
    if kind == "before":
        return order.index(thing) < order.index(other)
    return order[other] == thing
