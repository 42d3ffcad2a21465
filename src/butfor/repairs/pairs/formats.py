"""A pair as rows of a training file.

TRL's conversational dataset types (preference, unpaired preference, preference with an implicit prompt) and OpenAI's
preference fine-tuning input.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from butfor.repairs.pairs.pair import answer_key, arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from butfor.canonical import Json
    from butfor.repairs.pairs.messages import Message
    from butfor.repairs.pairs.pair import Pair

Format: TypeAlias = Literal["trl-dpo", "trl-kto", "trl-reward", "openai"]
FORMATS: tuple[Format, ...] = get_args(Format)

Row: TypeAlias = dict[str, Any]


def rows_of(pairs: Iterable[Pair], name: Format) -> list[tuple[Pair, Row]]:
    """Write pairs as rows of a format, each with the pair that it comes from.

    An answer that several pairs share is one row of `trl-kto`, which has a row an answer.
    """
    seen: set[tuple[str, str, bool]] = set()
    rows: list[tuple[Pair, Row]] = []
    for pair in pairs:
        if name != "trl-kto":
            rows.append((pair, _WRITERS[name](pair)))
            continue
        for answer, label in ((pair.chosen, True), (pair.rejected, False)):
            key = (pair.prompt.digest, answer_key(answer), label)
            if key not in seen:
                rows.append((pair, _kto(pair, answer, label)))
            seen.add(key)
    return rows


def _dpo(pair: Pair) -> Row:
    return {"prompt": _prompt(pair), "chosen": [_trl(pair.chosen)], "rejected": [_trl(pair.rejected)]} | _tools(pair)


def _kto(pair: Pair, answer: Message, label: bool) -> Row:
    return {"prompt": _prompt(pair), "completion": [_trl(answer)], "label": label} | _tools(pair)


def _reward(pair: Pair) -> Row:
    # TRL's reward trainer recommends the implicit prompt: the same messages at the head of both.
    prompt = _prompt(pair)
    return {"chosen": [*prompt, _trl(pair.chosen)], "rejected": [*prompt, _trl(pair.rejected)]} | _tools(pair)


def _openai(pair: Pair) -> Row:
    given: Row = {"messages": [dict(each) for each in pair.prompt.messages], "tools": list(pair.prompt.tools)}
    if pair.prompt.tools:
        given["parallel_tool_calls"] = True if pair.prompt.parallel is None else pair.prompt.parallel
    return {"input": given, "preferred_output": [pair.chosen], "non_preferred_output": [pair.rejected]}


_WRITERS: dict[Format, Callable[[Pair], Row]] = {"trl-dpo": _dpo, "trl-reward": _reward, "openai": _openai}


def _prompt(pair: Pair) -> list[Message]:
    return [_trl(each) for each in pair.prompt.messages]


def _trl(message: Message) -> Message:
    """Write a message as chat templates read it: a call's arguments are an object there."""
    calls = [
        each | {"function": each["function"] | {"arguments": arguments_of(each["function"]["arguments"])}}
        for each in message.get("tool_calls") or []
    ]
    role = "system" if message["role"] == "developer" else message["role"]
    return message | {"role": role} | ({"tool_calls": calls} if calls else {})


def _tools(pair: Pair) -> Row:
    # As JSON text: schemas have different keys, and a table would fill in those that are not there with nulls.
    return {"tools": _text(list(pair.prompt.tools))} if pair.prompt.tools else {}


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
