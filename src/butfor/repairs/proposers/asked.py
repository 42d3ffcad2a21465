"""A model that is asked for a correction, through the same boundary as any model call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from butfor import canonical, noise
from butfor.repairs.edits import readable
from butfor.repairs.edits.actions import is_short, without_fence
from butfor.repairs.proposal import Proposal
from butfor.repairs.proposers.templates import CORRECT, Template
from butfor.replay import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.canonical import Json
    from butfor.repairs.proposal import Failure

LONGEST_HISTORY = 12_000
"""Characters of the state that a prompt shows; of a longer one the end, which is nearest to the decision."""


class Chat(Protocol):
    """A chat-completions function: keyword arguments to an answer in any format that `replay` reads."""

    def __call__(self, **request: Json) -> Json:
        """Answer a request of `messages` and, where given, `model`, `temperature` and `seed`."""
        ...


class Recall(Protocol):
    """Keeps answers, so that a question that was paid for is not paid for again."""

    def __call__(self, question: Json, ask: Callable[[], Json], /) -> Json:
        """Return the kept answer to a question, or ask and keep it."""
        ...


def ask_afresh(question: Json, ask: Callable[[], Json], /) -> Json:
    """Keep nothing."""
    del question
    return ask()


class AskedModel:
    """Asks a model for corrections.

    The prompt holds the task, what the agent had seen and what it decided. It holds neither the gold answer nor the
    outcome rule, which may contain it, unless the user says so in `problem`.

    Args:
        chat: The model; wrapped with `butfor.model` where its calls are to be recorded.
        name: Under which the proposals say that it made them.
        model: Sent as it is; None sends none.
        temperature: Sent as it is, 0 included; None sends none.
        seed: Root of the seeds that are sent; None sends none.
        template: What is asked.
        problem: What the model is told about the failure.
        recall: Keeps answers.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        name: str,
        model: str | None = None,
        temperature: float | None = 1.0,
        seed: int | None = 0,
        template: Template = CORRECT,
        problem: str = "the run did not reach its goal",
        recall: Recall = ask_afresh,
    ) -> None:
        self._chat, self._name, self._model = chat, name, model
        self._temperature, self._seed = temperature, seed
        self._template, self._problem, self._recall = template, problem, recall

    def remembering(self, recall: Recall) -> AskedModel:
        """Return the same proposer, which keeps its answers."""
        return AskedModel(
            self._chat,
            name=self._name,
            model=self._model,
            temperature=self._temperature,
            seed=self._seed,
            template=self._template,
            problem=self._problem,
            recall=recall,
        )

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Ask `count` times."""
        prompt = self.prompt(failure, step)
        return [self._one(prompt, step, number) for number in range(count)]

    def prompt(self, failure: Failure, step: int) -> str:
        """Write what the model is asked."""
        tools = "\n".join(f"- {name}: {canonical.encode(schema)}" for name, schema in failure.tools.items())
        return self._template.text.format(
            task=_text(failure.task),
            history=history_of(failure, step),
            action=readable(failure.actions[step]),
            tools=tools or "none known",
            problem=self._problem,
        )

    def _one(self, prompt: str, step: int, number: int) -> Proposal:
        request: dict[str, Json] = {"messages": [{"role": "user", "content": prompt}]}
        if self._model is not None:
            request["model"] = self._model
        if self._temperature is not None:
            request["temperature"] = self._temperature
        if self._seed is not None:
            request["seed"] = noise.seed_of("proposal", self._seed, step, number)
        question = {"proposer": self._name, "template": self._template.template_id, "number": number, **request}
        answer = self._recall(question, lambda: self._chat(**request))
        return Proposal(
            step=step,
            action=action_of(answer),
            source="model",
            origin={
                "model": self._model or self._name,
                "template": self._template.template_id,
                "seed": request.get("seed"),
                "temperature": self._temperature,
                "number": number,
            },
        )


def action_of(answer: Json) -> Json:
    """Read the action out of a model's answer: JSON of calls, or text without the fence around it."""
    read = reading.read(answer)
    text = without_fence((read.text or "").strip()).strip()
    if text[:1] in ("{", "["):
        try:
            action = json.loads(text)
        except ValueError:
            return text
        return action if is_short(action) else text
    return text


def history_of(failure: Failure, step: int) -> str:
    """Write what a step decided from: its messages where they are known, else the steps before it."""
    state = failure.states[step] if step < len(failure.states) else None
    messages = _messages(state)
    if messages is None:
        lines = []
        for earlier in range(step):
            lines.append(f"step {earlier}: {readable(failure.actions[earlier])}")
            results = failure.observations[earlier] if earlier < len(failure.observations) else ()
            lines += [f"  returned {_text(each)}" for each in results]
    else:
        lines = [f"{message.get('role', '?')}: {_said(message)}" for message in messages]
    return "\n".join(lines)[-LONGEST_HISTORY:] or "nothing but the task"


def _messages(state: Json) -> list[dict[str, Json]] | None:
    body = state
    for inner in ("body", "kwargs"):
        if isinstance(body, dict) and isinstance(body.get(inner), dict):
            body = body[inner]
    found = body.get("messages") or body.get("input") if isinstance(body, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else None


def _said(message: dict[str, Json]) -> str:
    if "role" in message and message.get("role") == "assistant":
        read = reading.read(message)
        return " ".join([read.text or "", *(f"{call.name}({_text(call.arguments)})" for call in read.calls)]).strip()
    return _text(message.get("content", message))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical.encode(value)
