"""What a step is made of: text, tool calls and the observations they returned, each with its kind."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from butfor.runs.values import EMPTY_OBJECT, NULL, Value


class PartKind(StrEnum):
    """The eight step types of CausalFlow (arXiv 2605.25338), so that its finer steps map onto parts of ours."""

    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    LLM_RESPONSE = "llm_response"
    MEMORY_ACCESS = "memory_access"
    ENVIRONMENT_ACTION = "environment_action"
    ENVIRONMENT_OBSERVATION = "environment_observation"
    FINAL_ANSWER = "final_answer"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    extra: Value = EMPTY_OBJECT
    """Fields of the source that have no place here, kept as they were."""

    @model_serializer(mode="wrap")
    def _with_type(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A document leaves defaults out, but a part is read back by its type.
        return {"type": getattr(self, "type", None), **handler(self)}


class Text(_Part):
    """What the policy said or thought: text, or structured content as the source had it."""

    type: Literal["text"] = "text"
    kind: PartKind = PartKind.LLM_RESPONSE
    content: Value = NULL


class ToolCall(_Part):
    """What the policy asked a tool to do.

    Attributes:
        call_id: Joins a call to its observation; unique within a step.
        name: The tool's name.
        arguments: The arguments as the tool received them; a string where the policy wrote no valid JSON.
    """

    type: Literal["tool_call"] = "tool_call"
    kind: PartKind = PartKind.TOOL_CALL
    call_id: str
    name: str
    arguments: Value = EMPTY_OBJECT


class Observation(_Part):
    """What a tool returned, or what the environment showed.

    Attributes:
        call_id: The call that it answers; None where nothing was called.
        content: Any JSON value.
        is_error: Whether the tool reported a failure.
    """

    type: Literal["observation"] = "observation"
    kind: PartKind = PartKind.TOOL_RESPONSE
    call_id: str | None = None
    content: Value = NULL
    is_error: bool = False


Part: TypeAlias = Annotated[Text | ToolCall | Observation, Field(discriminator="type")]
