"""An agent that carries on an imported conversation.

It asks exactly the recorded requests for as long as every answer and every tool result is the recorded one, whatever
the original agent did to its context; from the first difference on it appends answers and results to the last request.
"""

from __future__ import annotations

import inspect
import json
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from butfor import canonical, runs
from butfor.errors import InputError, MissingExtra, UnsupportedCall
from butfor.replay import boundaries, reading
from butfor.replay.lanes import here
from butfor.replay.plan import import_by_name
from butfor.runs import Observation, PartKind, Run, Step
from butfor.runs.requests import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from butfor.canonical import Json
    from butfor.replay.reading import Call, Reading

USER = "user"
"""The tool name under which a person (or their simulator) replies to an answer that calls nothing."""

# A rollout that goes round in circles ends: twice the recorded steps and some more.
_SLACK = 10


class Script(Protocol):
    """Answers a conversation while it is rehearsed, from the imported run."""

    def answer(self, step: int) -> Json:
        """Return what the model answered at a step."""
        ...

    def result(self, step: int, call_id: str | None) -> Json:
        """Return what a call of a step returned; None stands for the user's reply."""
        ...


rehearsed: ContextVar[Script | None] = ContextVar("rehearsed", default=None)
"""Who answers instead of the live policy and tools, while an imported run is made replayable."""


def converse(task: dict[str, Json]) -> Json:
    """Carry on a conversation.

    Args:
        task: ``{"task", "imported": {"run", "policy", "defaults", "tools", "effects"}}``, as `imported.py` writes it.

    Returns:
        The run's output where it was followed to its end, else what the model said last.
    """
    setup = task["imported"]
    run = _run(setup["run"])
    recorded = texts([step.request for step in run.steps])
    has_user = any(replies_of(each) for each in run.steps)
    request = canonical.decode(next(recorded) or "null")
    following = True
    said = reading.Reading()
    for step in range(2 * len(run.steps) + _SLACK):
        answer = _ask(request, setup, step)
        said = reading.read(answer)
        factual = run.steps[step] if following and step < len(run.steps) else None
        same = factual is not None and said.key == reading.read(answer_of(factual)).key
        results = [(call, _use(call, setup, step)) for call in said.calls]
        reply = _reply(factual if same else None, said, setup, step) if has_user else []
        following = factual is not None and same and _results_of(factual, said) == [result for _, result in results]
        if following and step + 1 < len(run.steps):
            request = canonical.decode(next(recorded) or "null")
        elif following:
            return run.output.get()
        elif not said.calls and not reply:
            break
        else:
            request = extended(request, answer, said, results, reply)
    return said.text


@lru_cache(maxsize=8)
def _run(text: str) -> Run:
    return runs.from_text(text)


def answer_of(step: Step) -> Json:
    """Return a step's answer as the provider gave it, else as a chat message."""
    response = step.response.get()
    if response is not None and reading.read(response).known:
        return response
    spoken = [part.content.get() for part in step.texts if part.kind is not PartKind.REASONING]
    thought = [part.content.get() for part in step.texts if part.kind is PartKind.REASONING]
    calls = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": _as_text(call.arguments.get())},
        }
        for call in step.tool_calls
    ]
    message: dict[str, Json] = {"role": "assistant", "content": "\n".join(map(_as_text, spoken)) or None}
    message |= {"reasoning_content": "\n".join(map(_as_text, thought))} if thought else {}
    return message | ({"tool_calls": calls} if calls else {})


def replies_of(step: Step) -> list[Json]:
    """Return what the user said after a step that called nothing."""
    return [
        {"role": _role_of(part), "content": part.content.get()}
        for part in step.observations
        if part.kind is PartKind.ENVIRONMENT_OBSERVATION and not step.tool_calls
    ]


def result_of(step: Step, call_id: str) -> Json:
    """Return what a call returned, None where the trace does not say."""
    return next((part.content.get() for part in step.observations if part.call_id == call_id), None)


def _role_of(part: Observation) -> Json:
    extra = part.extra.get()
    return extra.get("role", USER) if isinstance(extra, dict) else USER


def _results_of(step: Step, said: Reading) -> list[Json]:
    """Return the recorded results in the order of the calls, which may have come back in another."""
    own = [call.call_id for call in step.tool_calls]
    return [result_of(step, own[i]) if i < len(own) else None for i in range(len(said.calls))]


def _ask(request: Json, setup: dict[str, Json], step: int) -> Json:
    script = rehearsed.get()

    def ask(payload: dict[str, Json]) -> Json:
        if script is not None:
            return script.answer(step)
        policy = import_by_name(setup["policy"], what="the policy")
        return policy((setup["defaults"] or {}) | payload)

    return boundaries.model(ask, name=str(request.get("model") or "model"))(request)


def _use(call: Call, setup: dict[str, Json], step: int) -> Json:
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    return _cross(call.name, arguments, call.call_id, setup, step)


def _reply(factual: Step | None, said: Reading, setup: dict[str, Json], step: int) -> list[Json]:
    """Let the user reply to an answer that calls nothing."""
    if said.calls or (factual is not None and not replies_of(factual)):
        return []
    reply = _cross(USER, {"said": said.text or ""}, None, setup, step)
    return reply if isinstance(reply, list) else [{"role": USER, "content": reply}]


def _cross(name: str, arguments: dict[str, Json], call_id: str | None, setup: dict[str, Json], step: int) -> Json:
    """Pass the boundary of a tool whose arguments are one object."""
    script = rehearsed.get()

    def call(**given: Json) -> Json:
        if script is not None:
            return script.result(step, call_id)
        return _live(name, setup["tools"] or {})(**given)

    # The boundary takes keyword arguments as they are where the signature has as many, whatever their foreign names.
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(f"p{i}", kind) for i in range(len(arguments))]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    effect = (setup["effects"] or {}).get(name, "write")
    return boundaries.tool(effect=effect, name=name)(call)(**arguments)


def _live(name: str, tools: Mapping[str, str]) -> Callable[..., Json]:
    """Return the user's function for a tool, or end the rollout as unsupported."""
    if name in tools:
        function: Callable[..., Json] = import_by_name(tools[name], what=f"the tool {name}")
        return function
    error = UnsupportedCall(
        f"the imported run has no recorded answer for this call of {name!r}, and no function was given for it",
        tool=name,
        fix="register a simulator, or give the function and allow it",
    )
    lane = here()
    raise lane.session.latch(error) if lane is not None else error


def extended(request: Json, answer: Json, said: Reading, results: list[tuple[Call, Json]], reply: list[Json]) -> Json:
    """Append an answer, the results of its calls and the user's reply to a request, in the request's own dialect."""
    if isinstance(request.get("input"), list):
        return request | {"input": [*request["input"], *_as_items(said, results), *reply]}
    messages = list(request.get("messages") or [])
    if "system" in request or any(_is_anthropic(message) for message in messages):
        return request | {"messages": [*messages, *_as_blocks(said, results, reply)]}
    returned = [{"role": "tool", "tool_call_id": call.call_id, "content": _as_text(result)} for call, result in results]
    return request | {"messages": [*messages, _as_message(answer, said), *returned, *reply]}


def _as_message(answer: Json, said: Reading) -> Json:
    if isinstance(answer, dict) and isinstance(answer.get("choices"), list):
        return answer["choices"][0]["message"]
    if isinstance(answer, dict) and answer.get("role") == "assistant" and not isinstance(answer.get("content"), list):
        return answer
    calls = [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": _as_text(call.arguments)}}
        for call in said.calls
    ]
    return {"role": "assistant", "content": said.text} | ({"tool_calls": calls} if calls else {})


def _as_blocks(said: Reading, results: list[tuple[Call, Json]], reply: list[Json]) -> list[Json]:
    uses = [{"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments} for call in said.calls]
    words: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
    returned = [
        {"type": "tool_result", "tool_use_id": call.call_id, "content": _as_text(result)} for call, result in results
    ]
    shown = [{"role": "user", "content": returned}] if returned else []
    return [{"role": "assistant", "content": [*words, *uses]}, *shown, *reply]


def _as_items(said: Reading, results: list[tuple[Call, Json]]) -> list[Json]:
    words: list[Json] = [{"role": "assistant", "content": said.text}] if said.text else []
    calls = [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": _as_text(call.arguments)}
        for call in said.calls
    ]
    outputs = [
        {"type": "function_call_output", "call_id": call.call_id, "output": _as_text(result)}
        for call, result in results
    ]
    return [*words, *calls, *outputs]


def _is_anthropic(message: Json) -> bool:
    blocks = message.get("content") if isinstance(message, dict) else None
    return isinstance(blocks, list) and any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result") for block in blocks
    )


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def openai_policy(request: dict[str, Json]) -> Json:
    """Ask the recorded model through the openai client, which takes its address and key from the environment.

    Raises:
        MissingExtra: The client is not installed.
        InputError: The request names no model, or is in Anthropic's dialect.
    """
    if not request.get("model"):
        raise InputError("the trace does not name the model", fix='give it: --defaults FILE with {"model": …}')
    if "system" in request or any(map(_is_anthropic, request.get("messages") or [])):
        raise InputError("the request is in Anthropic's dialect", fix="give a policy: --policy module:function")
    try:
        from openai import OpenAI
    except ImportError:
        raise MissingExtra("openai", extra="openai", purpose="asking the recorded model") from None
    with OpenAI() as client:
        create: Callable[..., Any] = client.responses.create if "input" in request else client.chat.completions.create
        answer: Json = create(**request).model_dump(mode="json", exclude_none=True)
    return answer
