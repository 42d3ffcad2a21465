"""Word sorting: groups of words in order, each group sorted by its next letter, from left to right."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from butfor.benchmarks.beds.arithmetic.expression import Unreadable

Groups = tuple[tuple[str, ...], ...]
_LETTER = re.compile(r'"([^"]+)": "(\w)" \((\d+)\)')
_GROUP = re.compile(r'\[([^\]]*)\]|"([^"]+)"')
_WORD = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, kw_only=True)
class State:
    """What is written at one point.

    Attributes:
        groups: The words in order; a group of several is not yet sorted.
        passed: Groups that the procedure has gone past: it sorts from left to right and does not come back.
        letters: Letters that were read and not yet used, as word to number.
    """

    groups: Groups
    passed: int = 0
    letters: dict[str, int] = field(default_factory=dict)


class Sorting:
    """A trace of this task.

    Args:
        question: The words.
        steps: The written steps.

    Raises:
        Unreadable: The first step reads no letters.
    """

    def __init__(self, question: str, steps: list[str]) -> None:
        words = tuple(question.replace("List:", "").split())
        if not _LETTER.search(steps[0]):
            raise Unreadable(steps[0])
        states = [State(groups=(words,))]
        for step in steps:
            states.append(_next(states[-1], step))
        self._before = states

    def answer_from(self, step: int) -> str | None:
        """Return the words, the groups that are not yet passed sorted by the rule."""
        state = self._before[step]
        ordered: list[str] = []
        for place, group in enumerate(state.groups):
            if place < state.passed:
                ordered += group
            elif set(group) & set(state.letters):
                known = [word for word in group if word in state.letters]
                ordered += sorted(known, key=lambda word: (state.letters[word], word))
            else:
                ordered += sorted(group)
        return " ".join(ordered)


def _next(state: State, step: str) -> State:
    read = {word: int(number) for word, _, number in _LETTER.findall(step)}
    if read:
        if len(state.groups) == 1:
            return State(groups=(tuple(read),), letters=read)
        return replace(state, letters=read, passed=max(state.passed, _place(state.groups, set(read))))
    if "The answer is" in step:
        return State(groups=(tuple(step.partition("The answer is")[2].split()),), passed=1)
    whole = re.search(r"Hence,? we have (.*?)\.?$", step)
    if whole:
        return _regrouped(state, _groups(whole[1]))
    part = re.search(r"We now have:? (.*?)(?: for the subpart)?\.?$", step)
    if part is None:
        return state
    found = _groups(part[1])
    if "for the subpart" not in step:
        return _regrouped(state, found)
    at = _place(state.groups, {word for group in found for word in group})
    return _regrouped(state, (*state.groups[:at], *found, *state.groups[at + 1 :]))


def _regrouped(state: State, groups: Groups) -> State:
    """Take new groups; as many words as were passed stay passed."""
    words, passed = sum(len(group) for group in state.groups[: state.passed]), 0
    while passed < len(groups) and words >= len(groups[passed]):
        words -= len(groups[passed])
        passed += 1
    return State(groups=groups, passed=passed)


def _place(groups: Groups, words: set[str]) -> int:
    """Find the first group that has any of these words; the first of all where none has."""
    return next((place for place, group in enumerate(groups) if set(group) & words), 0)


def _groups(text: str) -> Groups:
    return tuple(tuple(_WORD.findall(many)) if many else (one,) for many, one in _GROUP.findall(text))
