"""Which pairs teach something: no no-ops, no duplicates, no contradictions, nothing that differs by form alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor.repairs.edits import tree_of
from butfor.repairs.edits.actions import without_fence
from butfor.repairs.pairs.pair import Pair, answer_key, bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.repairs.pairs.messages import Message

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w+.-]*[ \t]*$", re.MULTILINE)


@dataclass(kw_only=True)
class Sieved:
    """What is left of pairs, and why the others are not.

    Attributes:
        kept: In the order in which they came.
        dropped: Reason to count.
        contradictions: Prompt digest and answer of each one that is chosen in one pair and rejected in another.
    """

    kept: list[Pair] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    contradictions: list[tuple[str, str]] = field(default_factory=list)


def sieve(pairs: Iterable[Pair]) -> Sieved:
    """Drop what teaches nothing, or teaches both a thing and its opposite.

    An answer that is chosen here and rejected there under one prompt would be pulled both ways, so neither pair stays.
    """
    result, seen = Sieved(), set[str]()
    left: list[Pair] = []
    for pair in pairs:
        why = _useless(pair)
        if why is None and pair.name in seen:
            why = "duplicates"
        seen.add(pair.name)
        if why is None:
            left.append(pair)
        else:
            result.dropped[why] += 1
    result.contradictions = contradictions((pair.prompt.digest, pair.chosen, pair.rejected) for pair in left)
    against = set(result.contradictions)
    for pair in left:
        keys = {(pair.prompt.digest, answer_key(each)) for each in (pair.chosen, pair.rejected)}
        if keys & against:
            result.dropped["contradictions"] += 1
        else:
            result.kept.append(pair)
    return result


def contradictions(pairs: Iterable[tuple[str, Message, Message]]) -> list[tuple[str, str]]:
    """Find the answers that are chosen in one pair and rejected in another under the same prompt.

    Args:
        pairs: Prompt digest, chosen, rejected.
    """
    chosen, rejected = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for prompt, good, bad in pairs:
        chosen[prompt].add(answer_key(good))
        rejected[prompt].add(answer_key(bad))
    return sorted((prompt, key) for prompt in chosen for key in chosen[prompt] & rejected[prompt])


def _useless(pair: Pair) -> str | None:
    if answer_key(pair.chosen) == answer_key(pair.rejected):
        return "no-ops"
    return "differ by form alone" if differ_by_form(pair.chosen, pair.rejected) else None


def differ_by_form(a: Message, b: Message) -> bool:
    """Say whether two answers differ only by code fences and white space.

    Indentation is white space that means something in Python: where both are code, they differ when their trees do.
    """
    left, right = bare(a), bare(b)
    if _formless(left) != _formless(right):
        return False
    return not any(_is_other_code(x, y) for x, y in zip(_texts(left), _texts(right), strict=True))


def _formless(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(_FENCE.sub("", value).split())
    if isinstance(value, list):
        return [_formless(each) for each in value]
    if isinstance(value, dict):
        return {name: _formless(each) for name, each in value.items()}
    return value


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [value[name] for name in sorted(value)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def _is_other_code(a: str, b: str) -> bool:
    left, right = tree_of(without_fence(a)), tree_of(without_fence(b))
    return left is not None and right is not None and left != right
