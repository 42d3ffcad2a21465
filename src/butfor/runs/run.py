"""One recorded execution: task, steps, outcome."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from butfor import canonical
from butfor.runs import requests
from butfor.runs.grades import Grade, Replayability
from butfor.runs.parts import Observation, Part, Text, ToolCall
from butfor.runs.requests import Request
from butfor.runs.values import EMPTY_OBJECT, NULL, Value

if TYPE_CHECKING:
    from butfor.canonical import Json

SCHEMA: Final = "butfor-run/1"


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


# Kept in UTC: some historical offsets have seconds, which no interchange format of timestamps can say.
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Effect(StrEnum):
    """What a tool does to the world, as its author declares it (design §4)."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"
    """Not declared, as in most imported traces: treated as `write`."""


class ToolDefinition(_Model):
    """A tool as the policy was told of it.

    Attributes:
        parameters: JSON Schema of the arguments, exactly as sent.
    """

    name: str
    description: str | None = None
    parameters: Value = EMPTY_OBJECT
    effect: Effect = Effect.UNKNOWN
    extra: Value = EMPTY_OBJECT


class Sampling(_Model):
    """The sampling parameters of a request; None where the source does not say.

    Attributes:
        extra: Every other parameter that was sent, by its own name.
    """

    model: str | None = None
    provider: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    extra: Value = EMPTY_OBJECT


class Usage(_Model):
    """What a step cost; None where the source does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class Agent(_Model):
    """One of the agents of a run.

    Attributes:
        name: Unique within the run; a step names its agent by it.
        parent: The agent that spawned it.
    """

    name: str
    model: str | None = None
    version: str | None = None
    parent: str | None = None
    extra: Value = EMPTY_OBJECT


class SourceSpan(_Model):
    """Where in a foreign file a step came from, for audit."""

    file: str | None = None
    line: int | None = None
    record: str | None = None


class Step(_Model):
    """One decision of the policy (one model response), with the observations that its tool calls returned.

    Attributes:
        index: 0-based position by recorded completion.
        lane: Spawn path of the concurrent part that decided; "0" is the agent's own.
        request: s_k, exactly what the policy decided from; None where the source does not hold it.
        parts: The action a_k (text and tool calls, in order) and the observations o_k.
        response: The provider's answer as it came, where it was recorded.
        grade: How faithfully this step can be run again.
    """

    index: int = Field(ge=0)
    agent: str = "agent"
    lane: str = "0"
    request: Request | None = None
    sampling: Sampling = Sampling()
    parts: tuple[Part, ...] = ()
    response: Value = NULL
    started_at: Moment | None = None
    ended_at: Moment | None = None
    usage: Usage = Usage()
    grade: Grade = Grade()
    source: SourceSpan | None = None
    extra: Value = EMPTY_OBJECT

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this step, in the order in which the policy made them."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def observations(self) -> tuple[Observation, ...]:
        """What the tools returned."""
        return tuple(part for part in self.parts if isinstance(part, Observation))

    @property
    def texts(self) -> tuple[Text, ...]:
        """What the policy said or thought."""
        return tuple(part for part in self.parts if isinstance(part, Text))


class PartRef(_Model):
    """Points at a part: the step's index and the part's position in it; no part means the step as a whole."""

    step: int = Field(ge=0)
    part: int | None = Field(default=None, ge=0)


class Dependency(_Model):
    """An edge of data dependence between parts.

    Attributes:
        origin: `recorded` where the source or the recorder saw the value flow; `inferred` where it was deduced.
        reason: How it was deduced, such as "tool_call_id" or "prefix containment".
    """

    source: PartRef
    target: PartRef
    origin: Literal["recorded", "inferred"]
    reason: str | None = None


class Outcome(_Model):
    """y of the run.

    Attributes:
        value: In [0, 1]; 1 = bad.
        rule: The rule or function that gave it, by name.
        source: Whether a rule, a judge, or a label in the source file gave it.
        detail: What the rule has to say, such as the matching text.
    """

    value: float = Field(ge=0, le=1, allow_inf_nan=False)
    rule: str
    source: Literal["rule", "judge", "label"] = "rule"
    detail: Value = NULL


class Provenance(_Model):
    """Where a run came from.

    Attributes:
        format: `butfor` for recorded runs, else the importer's name and dialect.
        digest: Tagged SHA-256 of the source file.
        agent: The `module:function` that was recorded.
        ignored: What the importer could not place, by name, with counts.
    """

    format: str = "butfor"
    file: str | None = None
    digest: str | None = None
    agent: str | None = None
    recorded_at: Moment | None = None
    butfor_version: str | None = None
    ignored: dict[str, int] = Field(default_factory=dict)


class Run(_Model):
    """One recorded execution τ.

    Attributes:
        run_id: The run's name in a store.
        task: What the agent was given; any JSON value.
        output: What the agent returned.
        grade: What keeps the run as a whole (beyond its steps) from exact replay.
    """

    schema_version: Literal["butfor-run/1"] = SCHEMA
    run_id: str
    task: Value = NULL
    agents: tuple[Agent, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    steps: tuple[Step, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    output: Value = NULL
    outcome: Outcome | None = None
    grade: Grade = Grade()
    provenance: Provenance = Provenance()
    extra: Value = EMPTY_OBJECT

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for position, step in enumerate(self.steps):
            if step.index != position:
                raise ValueError(f"step {position} is numbered {step.index}")
            if step.request and step.request.base is not None and step.request.base >= position:
                raise ValueError(
                    f"the request of step {position} refers to step {step.request.base}, not an earlier one"
                )
        for edge in self.dependencies:
            for end in (edge.source, edge.target):
                if end.step >= len(self.steps) or (end.part or 0) >= max(1, len(self.steps[end.step].parts)):
                    raise ValueError(f"a dependency refers to step {end.step}, part {end.part}, which does not exist")
        return self

    @property
    def overall_grade(self) -> Grade:
        """The run's own grade combined with the grades of all its steps."""
        combined = self.grade
        for step in self.steps:
            combined = combined & step.grade
        return combined

    def request_text(self, step: int) -> str | None:
        """Return the exact request of a step as JSON text, None where it is not known.

        Raises:
            CorruptRecord: The stored differences do not give a text with the recorded digest.
        """
        return requests.text_at([each.request for each in self.steps], step)

    def request(self, step: int) -> Json:
        """Return the exact request of a step as a fresh Python value; None where it is not known."""
        text = self.request_text(step)
        return None if text is None else canonical.decode(text)

    def supports(self, least: Replayability) -> bool:
        """Say whether every step and the run itself reach a grade."""
        return self.overall_grade.level >= least
