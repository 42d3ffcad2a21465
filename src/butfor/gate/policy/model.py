"""The policy file as typed parts. Its JSON Schema is made from these (`policy_schema`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from butfor.gate.policy.durations import seconds

POLICY_SCHEMA = "butfor.policy/1"

Value: TypeAlias = float | str
Seconds: TypeAlias = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)$"},
            ]
        }
    ),
]
"""A length of time: a number of seconds, or text such as ``90d``."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class FromArgument(_Part):
    """A value that the tool call carries."""

    argument: str = Field(min_length=1, description="the argument's name; a.b looks inside an object")


class Outcome(_Part):
    """What the action is for."""

    name: str = Field(min_length=1, description="the outcome's column and node")
    range: tuple[float, float] | None = Field(
        default=None, description="lowest and highest possible outcome, declared, never read off the data"
    )
    two_valued: bool = Field(default=False, description="only the two ends of the range occur")
    better: Literal["more", "less"] = Field(
        default="more", description="less: the gate reads the column upside down (low + high - value)"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Outcome:
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError(f"the range [{self.range[0]:g}, {self.range[1]:g}] is empty: write the lower end first")
        if self.range is None and (self.two_valued or self.better == "less"):
            raise ValueError("a two-valued or upside-down outcome needs its range: [low, high]")
        return self


class Treatment(_Part):
    """What the tool call does, in the words of the evidence."""

    name: str = Field(min_length=1, description="the treatment's column and node")
    to: Value | FromArgument = Field(description="t*: the value that this call sets, or the argument that holds it")
    against: Value = Field(description="t0: what it is compared with, usually not acting")


class EvidenceSource(_Part):
    """Where past units come from: exactly one of file, sql, saved, runs."""

    file: str | None = Field(default=None, description="a CSV, TSV, JSON Lines or Parquet file")
    sql: str | None = Field(default=None, description="a SELECT statement that DuckDB can run")
    saved: str | None = Field(default=None, description="a description written by `butfor evidence show --save`")
    runs: str | None = Field(default=None, description="the recorded runs of this agent (any: *), one row a decision")
    kind: Literal["observational", "randomised", "mixed", "policy-confounded"] | None = Field(
        default=None, description="how treatments were chosen; saved evidence and runs know it"
    )
    covariates: tuple[str, ...] | None = Field(
        default=None, description="further columns to read; by default the graph's other measured nodes"
    )
    unit: str | None = Field(default=None, description="the column that names a unit")
    clusters: str | None = Field(default=None, description="the column that says which units belong together")
    time: str | None = Field(default=None, description="the column that says when a unit was seen")
    probability: str | None = Field(default=None, description="the known chance of the treatment that the unit got")
    text: tuple[str, ...] = Field(default=(), description="columns to read as text whatever they look like")
    level: Literal["rows", "statistics"] = Field(
        default="rows", description="what is read: the rows, or only counts and sums (discrete columns, DuckDB)"
    )

    @model_validator(mode="after")
    def _one_source(self) -> EvidenceSource:
        given = [name for name in ("file", "sql", "saved", "runs") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"evidence comes from one of file, sql, saved, runs, not from {' and '.join(given) or 'none'}"
            )
        if given[0] in ("file", "sql") and self.kind is None:
            raise ValueError("say how the treatments were chosen: kind: observational, randomised, …")
        return self


class ContextVariable(_Part):
    """Where the value of a context variable comes from: exactly one source."""

    argument: str | None = Field(default=None, description="an argument of the call")
    callable: str | None = Field(default=None, description="module:function, called with the call's arguments")
    command: tuple[str, ...] | None = Field(
        default=None, description="a program and its arguments; {name} stands for an argument of the call"
    )
    http: str | None = Field(default=None, description="a URL to GET; {name} stands for an argument, percent-encoded")
    sql: str | None = Field(default=None, description="a query with one row and column; :name is an argument")
    database: str | None = Field(default=None, description="SQLAlchemy URL for sql")
    timeout: Seconds = Field(default=1.0, description="how long to wait")
    max_age: Seconds | None = Field(default=None, description="the oldest usable value, by its own time stamp")
    text: bool = Field(default=False, description="take the value as text whatever it looks like")

    @model_validator(mode="after")
    def _one_source(self) -> ContextVariable:
        given = [n for n in ("argument", "callable", "command", "http", "sql") if getattr(self, n) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise ValueError(f"a value comes from one of argument, callable, command, http, sql, not from {said}")
        if (self.sql is None) != (self.database is None):
            raise ValueError("sql and database belong together: give both or neither")
        if self.command == ():
            raise ValueError("the command is empty: write [program, argument, …]")
        return self


class Risk(_Part):
    """How much may go wrong."""

    tau_r: float = Field(description="τ_r: most risk: a probability with a harm line, else an expected loss")
    harm_line: float | None = Field(default=None, description="an outcome below it is harm")


class Experiment(_Part):
    """How EXPERIMENT may be answered."""

    arms: tuple[Value, ...] = Field(min_length=2, description="treatment values that a trial may assign")
    most_units: int = Field(gt=0, description="cap on the units of one trial")
    effect: float = Field(gt=0, description="the smallest effect above τ_u worth finding, in outcome units")
    power: float = Field(default=0.8, gt=0, lt=1, description="the chance of finding it")


class InstrumentPart(_Part):
    """An instrument to rely on where nothing else identifies the effect."""

    name: str = Field(description="the instrument's column and node")
    assumption: Literal["linear_effect", "monotonicity"] = Field(description="what is assumed besides the graph")


class RobustnessPart(_Part):
    """What the verdict must survive."""

    falsification: bool = Field(default=False, description="the graph must have been tested and not be contradicted")
    mutations: tuple[Literal["latent_edge", "reversed_arrow", "bad_control"], ...] = Field(
        default=(), description="kinds of single-edge change after which EXECUTE must still stand"
    )
    hidden_cause: float | None = Field(
        default=None, ge=0, lt=1, description="least share of treatment and outcome that a hidden cause must explain"
    )
    show: bool = Field(default=True, description="examine the rest too, up to 50,000 rows, and show it")
    odds_factor: float | None = Field(
        default=None, ge=1, description="Λ: the bound must hold for hidden causes that move the odds by at most it"
    )


class Hypothesis(_Part):
    """One question that may be asked."""

    to: Value = Field(description="t*")
    stratum: dict[str, Value] = Field(default={}, description="value of each stratum variable")


class BudgetPart(_Part):
    """How a family's error level is shared out."""

    shares: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default={}, description="share of the error level, by agent; levels then follow the order of asking"
    )
    other_agents: float | None = Field(
        default=None, ge=0, le=1, description="share of all agents that are not named; by default what is left"
    )
    hypotheses: tuple[Hypothesis, ...] | None = Field(
        default=None,
        min_length=1,
        description="all that may be asked, at an equal part of the error level each; by default what occurs",
    )

    @model_validator(mode="after")
    def _one_whole(self) -> BudgetPart:
        if sum(self.shares.values()) + (self.other_agents or 0.0) > 1.0 + 1e-12:
            raise ValueError("the agents' shares add up to more than 1")
        return self


Mode: TypeAlias = Literal["observe", "enforce"]


class Entry(_Part):
    """What one tool call must show before it runs."""

    tool: str | None = Field(default=None, description="the tool's name; by default the entry's own")
    when: dict[str, str | float | bool] = Field(default={}, description="arguments that a call of this entry has")
    outcome: Outcome
    treatment: Treatment
    graph: str = Field(min_length=1, description="name of a committed graph, or its file, which must be as committed")
    evidence: EvidenceSource
    context: dict[str, ContextVariable] = Field(default={}, description="what is read when the call comes")
    strata: tuple[str, ...] = Field(default=(), description="context variables within whose values the effect is asked")
    bound_on: Literal["contrast", "level"] = Field(default="contrast", description="which of the two τ_u meets")
    tau_u: float = Field(default=0.0, description="τ_u: the lower bound must be above it, in outcome units")
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="error level")
    cost: float = Field(ge=0, description="what the action costs, in a unit of yours")
    tau_c: float = Field(default=0.5, description="τ_c: most that it may cost")
    risk: Risk | Literal["none"] = Field(description="the limit on risk, or the word none")
    reversible: bool = Field(description="whether the action can be undone")
    experiment: Experiment | None = Field(default=None, description="leave out to forbid EXPERIMENT")
    instrument: InstrumentPart | None = None
    robustness: RobustnessPart = RobustnessPart()
    max_evidence_age: Seconds | None = Field(default=None, description="older evidence is stale")
    budget: BudgetPart = BudgetPart()
    approval: Literal["none", "required"] = Field(
        default="none", description="required: EXECUTE also takes an approver's yes to the exact call"
    )

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Left out where it asks for nothing: an older policy keeps its digest, and its certificates theirs.
        document: dict[str, Any] = write(self)
        if self.approval == "none":
            del document["approval"]
        return document

    @model_validator(mode="after")
    def _fits(self) -> Entry:
        missing = [name for name in self.strata if name not in self.context]
        if missing:
            raise ValueError(f"the stratum {missing[0]!r} has no source: add it under context")
        if self.experiment is not None and self.treatment.against not in self.experiment.arms:
            raise ValueError(f"the arms of a trial must contain against = {self.treatment.against!r}")
        return self


class Policy(_Part):
    """A policy file."""

    schema_: Literal["butfor.policy/1"] = Field(alias="schema")
    preset: Literal["default", "paper"] = Field(
        default="default", description="our settings, or the published ones of CIVeX"
    )
    mode: Mode = Field(
        default="enforce", description="observe decides and records, and lets every call pass, marked so"
    )
    graphs: str = Field(default="graphs", description="the folder of committed graphs")
    trust: str = Field(
        default="trust.json", description="the trust file: whose approval counts; an operator's own takes its place"
    )
    tools: dict[str, Entry] = Field(min_length=1, description="one entry a tool")


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file (draft 2020-12)."""
    schema = Policy.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://butfor.dev/schemas/policy-1.json",
        **schema,
        "title": "butfor policy file",
    }
