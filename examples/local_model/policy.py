"""Choose a tool call: calibrated option scores, and a draw with noise from outside the engine.

A model of this size that writes a tool's name freely is nearly blind to what it has read: it names its favourite. What
it has read does move the probabilities, so each option is scored against its own prior (Zhao et al. 2021, "Calibrate
Before Use"): log P(option | conversation) − log P(option | the same conversation with its content removed).
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from hashlib import blake2b
from math import exp, log
from typing import TYPE_CHECKING, Any

from prompt import END_OF_TURN, LEAD_IN, conversation, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Engine
    from wire import ChatRequest, Tool

REPLY = ("answer", "answer the user in words")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A tool call with its arguments, or a reply in words; and its price in tokens."""

    tool: str | None
    arguments: str
    content: str | None
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


def decide(engine: Engine, request: ChatRequest, *, seed: int) -> Decision:
    """Draw the next action and write it out; the same request and seed give the same action."""
    noise = Noise(seed, request.content)
    tool = choose(engine, request, noise)
    if tool is None:
        return _reply(engine, request, noise)
    arguments, written = _arguments(engine, request, tool, noise)
    return Decision(
        tool=tool.name,
        arguments=arguments,
        content=None,
        finish_reason="tool_calls",
        prompt_tokens=len(engine.tokens(_read(request))),
        completion_tokens=len(engine.tokens(words(tool.name))) + written,
    )


def choose(engine: Engine, request: ChatRequest, noise: Noise) -> Tool | None:
    """Draw which tool is called; None is a reply in words."""
    options = _options(request)
    return options[noise.draw("tool", _scores(engine, request, options), request.temperature)]


def probabilities(engine: Engine, request: ChatRequest) -> dict[str, float]:
    """Return the probability of each option, by the tool's name; the empty name is a reply in words."""
    options = _options(request)
    scores = _scores(engine, request, options)
    weights = [exp((score - max(scores)) / request.temperature) for score in scores]
    return {option.name if option else "": w / sum(weights) for option, w in zip(options, weights, strict=True)}


class Noise:
    """Gumbel noise keyed by the seed, the request's content and what is drawn: no draw depends on an earlier one."""

    def __init__(self, seed: int, content: str) -> None:
        self._seed = seed
        self._content = content

    def seed(self, what: str) -> int:
        """Return a seed for one purpose, in [0, 2³¹)."""
        key = json.dumps([self._seed, what, self._content]).encode()
        return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") % 2**31

    def draw(self, what: str, scores: Sequence[float], temperature: float) -> int:
        """Draw an index with probability proportional to exp(score / temperature); at 0 take the best."""
        if temperature == 0:
            return max(range(len(scores)), key=lambda i: scores[i])
        source = random.Random(self.seed(what))
        noisy = [score / temperature - log(max(source.expovariate(1.0), 1e-300)) for score in scores]
        return max(range(len(scores)), key=lambda i: noisy[i])


def option_logprobs(engine: Engine, prompt: str, options: Sequence[str]) -> list[float]:
    """Score which option comes next, reading each only as far as it differs from the others.

    Returns:
        One log-probability an option; their exponentials add up to 1.
    """
    # The end-of-turn token makes no option a prefix of another.
    spelled = [engine.tokens(f" {option}{END_OF_TURN}") for option in options]
    totals = [0.0] * len(options)
    open_prefixes: list[tuple[int, ...]] = [()]
    while open_prefixes:
        prefix = open_prefixes.pop()
        inside = [i for i, tokens in enumerate(spelled) if tokens[: len(prefix)] == prefix]
        branches = sorted({spelled[i][len(prefix)] for i in inside})
        if len(branches) > 1:
            scores = engine.scores(prompt, prefix, tuple(branches))
            for i in inside:
                totals[i] += scores[spelled[i][len(prefix)]]
        longer = {token: sum(spelled[i][len(prefix)] == token for i in inside) for token in branches}
        open_prefixes += [(*prefix, token) for token, shared in longer.items() if shared > 1]
    return totals


def _options(request: ChatRequest) -> list[Tool | None]:
    """List what the request permits; None is a reply in words."""
    return [*request.permitted, *([None] if request.may_reply else [])]


def _scores(engine: Engine, request: ChatRequest, options: Sequence[Tool | None]) -> list[float]:
    if len(options) == 1:
        return [0.0]
    return calibrated(engine, request, LEAD_IN, [words(o.name) if o else REPLY[0] for o in options])


def calibrated(engine: Engine, request: ChatRequest, tail: str, texts: Sequence[str]) -> list[float]:
    """Score each text as what the assistant says after the tail, less its prior."""
    seen = option_logprobs(engine, _read(request) + tail, texts)
    prior = option_logprobs(engine, _read(request, blank=True) + tail, texts)
    return [s - p for s, p in zip(seen, prior, strict=True)]


def _read(request: ChatRequest, *, blank: bool = False) -> str:
    abilities = [(words(tool.name), tool.description) for tool in request.tools]
    return conversation(request.messages, [*abilities, REPLY] if abilities else [], blank=blank)


def _reply(engine: Engine, request: ChatRequest, noise: Noise) -> Decision:
    text = engine.text(
        _read(request), max_tokens=request.max_tokens, temperature=request.temperature, seed=noise.seed("text")
    )
    return Decision(
        tool=None,
        arguments="",
        content=text.content,
        finish_reason=text.finish_reason,
        prompt_tokens=text.prompt_tokens,
        completion_tokens=text.completion_tokens,
    )


def _arguments(engine: Engine, request: ChatRequest, tool: Tool, noise: Noise) -> tuple[str, int]:
    """Fill the required arguments: drawn where they can be listed, else written by the engine under their schema.

    Returns:
        JSON text and its price in tokens. Text that ran into the token limit stays cut off, as on any server.
    """
    listed: dict[str, Any] = {}
    for name in tool.required:
        found = _candidates(tool.properties.get(name, {}), request)
        if found:
            tail = f"{LEAD_IN} {words(tool.name)}. {words(name).capitalize()}:"
            scores = calibrated(engine, request, tail, [str(value) for value in found]) if len(found) > 1 else [0.0]
            listed[name] = found[noise.draw(f"argument {name}", scores, request.temperature)]
    free = {name: tool.properties.get(name, {}) for name in tool.required if name not in listed}
    if not free:
        text = json.dumps(listed, ensure_ascii=False)
        return text, len(engine.tokens(text))
    written = engine.text(
        f"{_read(request)}{LEAD_IN} {words(tool.name)}. Arguments: ",
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        seed=noise.seed("arguments"),
        schema={"type": "object", "properties": free, "required": list(free), "additionalProperties": False},
    )
    if written.finish_reason == "length":
        return written.content, written.completion_tokens
    text = json.dumps(listed | json.loads(written.content), ensure_ascii=False)
    return text, written.completion_tokens


def _candidates(schema: dict[str, Any], request: ChatRequest) -> list[Any]:
    """List an argument's possible values: its enum, or what matches its pattern in the conversation."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return [True, False]
    if "pattern" in schema:
        read = re.compile(schema["pattern"].removeprefix("^").removesuffix("$"))
        said = json.dumps([m.get("content") for m in request.messages], ensure_ascii=False)
        return list(dict.fromkeys(match.group() for match in read.finditer(said)))
    return []
