"""From recorded runs to evidence: one row for each decision of the policy.

The treatment is what the policy called, the covariates are plain facts about the state in which it decided, the outcome
is the run's. Such evidence is *policy-confounded*: the agent chose from its whole context, of which these columns are a
summary, so the starter graph keeps a hidden common cause of treatment and outcome. Removing that edge is a statement
that somebody must make and sign.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import InputError
from butfor.estimation.evidence.description import Roles
from butfor.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from butfor.runs import Run, Step

NONE = "none"
NOTE = "policy-confounded: the agent chose the treatment from more than these columns hold; a run is a cluster of rows"

FEATURES: dict[str, str] = {
    "step": "number of the decision in its run, from 0",
    "calls_before": "tool calls of earlier steps",
    "errors_before": "observations of earlier steps that report an error",
    "last_failed": "whether an observation of the step before reports an error",
    "last_tool": "the tool called last before this step, or none",
    "repeats_before": "earlier calls that repeat an earlier one exactly",
    "calls_of_it_before": "earlier calls of the tool in question (0 without one)",
    "request_size": "bits of the length of the request in characters (0 where the request is not known)",
    "agent": "the agent that decided",
    "model": "the model that decided, or none",
}
"""The covariates, each a function of the run before the decision."""

_TEXT = frozenset({"last_tool", "agent", "model"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions as a table.

    Attributes:
        table: Columns by name.
        roles: Which column plays which part.
        runs: Runs that gave rows.
        left_out: Why runs gave none, with counts; and covariates that say nothing here, with the reason.
    """

    table: Mapping[str, list[Any]]
    roles: Roles
    runs: int
    left_out: Mapping[str, int | str]

    @property
    def rows(self) -> int:
        """Number of decisions."""
        return len(self.table[self.roles.outcome])


def decision_rows(runs: Iterable[Run], *, tool: str | None = None) -> Decisions:
    """Turn runs into one row a decision.

    Args:
        runs: Recorded or imported runs; those without an outcome are counted and left out.
        tool: The treatment is whether the step called this tool (1 or 0). None: the treatment is what it called, as
            text: the tools' names in alphabetical order joined by ``+``, or ``none``.

    Raises:
        InputError: No run with an outcome has a step.
    """
    rows: list[dict[str, Any]] = []
    left_out: dict[str, int | str] = {}
    used = 0
    for run in runs:
        why = "no outcome" if run.outcome is None else "no steps" if not run.steps else None
        if why is not None:
            left_out[why] = int(left_out.get(why, 0)) + 1
            continue
        rows += _rows(run, tool)
        used += 1
    if not rows:
        raise InputError(
            "no run has both steps and an outcome",
            where=", ".join(f"{n} with {why}" for why, n in left_out.items()) or "the store is empty",
            fix="record with --outcome RULE",
        )
    table = {name: [row[name] for row in rows] for name in rows[0]}
    if any(moment is None for moment in table["time"]):
        del table["time"]
    covariates, dropped = _telling(table)
    kept = {name: column for name, column in table.items() if name in covariates or name not in FEATURES}
    roles = Roles(
        treatment="treatment",
        outcome="outcome",
        covariates=covariates,
        unit="decision",
        clusters="run",
        time="time" if "time" in table else None,
        text=frozenset(_TEXT & set(covariates)) | ({"treatment"} if tool is None else frozenset()),
    )
    return Decisions(table=kept, roles=roles, runs=used, left_out={**left_out, **dropped})


def starter_graph(roles: Roles) -> Graph:
    """Return the graph that assumes least: every covariate may cause treatment and outcome, and so may what is hidden.

    It implies no independence, and with T ↔ Y the effect is not identified.
    """
    t, y, covariates = roles.treatment, roles.outcome, roles.covariates
    return Graph.of(
        nodes={t: "treatment", y: "outcome", **dict.fromkeys(covariates, "state")},
        directed=[(t, y), *((name, t) for name in covariates), *((name, y) for name in covariates)],
        bidirected=[(t, y), *((a, b) for i, a in enumerate(covariates) for b in covariates[i + 1 :])],
    )


def _rows(run: Run, tool: str | None) -> list[dict[str, Any]]:
    assert run.outcome is not None
    past = _Past()
    rows = []
    for step in run.steps:
        called = sorted({call.name for call in step.tool_calls})
        rows.append(
            {
                "decision": f"{run.run_id}/{step.index}",
                "run": run.run_id,
                "time": _moment(step.started_at or run.provenance.recorded_at),
                "treatment": "+".join(called) or NONE if tool is None else int(tool in called),
                "outcome": run.outcome.value,
                **past.features(run, step, tool),
            }
        )
        past.add(step)
    return rows


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


class _Past:
    """What happened in a run before a step."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._seen: set[str] = set()
        self._repeats = self._errors = 0
        self._last_failed = False

    def features(self, run: Run, step: Step, tool: str | None) -> dict[str, Any]:
        """Describe the state of a step, one value for each of FEATURES."""
        request = run.request_text(step.index)
        return {
            "step": step.index,
            "calls_before": len(self._names),
            "errors_before": self._errors,
            "last_failed": int(self._last_failed),
            "last_tool": self._names[-1] if self._names else NONE,
            "repeats_before": self._repeats,
            "calls_of_it_before": self._names.count(tool) if tool is not None else 0,
            "request_size": 0 if request is None else len(request).bit_length(),
            "agent": step.agent,
            "model": step.sampling.model or NONE,
        }

    def add(self, step: Step) -> None:
        """Count a step in."""
        for call in step.tool_calls:
            name = canonical.digest([call.name, call.arguments.get()])
            self._repeats += name in self._seen
            self._seen.add(name)
            self._names.append(call.name)
        failed = sum(each.is_error for each in step.observations)
        self._errors += failed
        self._last_failed = failed > 0


def _telling(table: Mapping[str, list[Any]]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Choose the covariates that vary and do not repeat another one."""
    kept = {"outcome": _numbers(table["outcome"])}
    dropped: dict[str, str] = {}
    for name in FEATURES:
        column = _numbers(table[name])
        same = next((other for other, values in kept.items() if values == column), None)
        if len(set(column)) < 2:
            dropped[name] = "constant"
        elif same is not None:
            dropped[name] = f"the same as {same}"
        else:
            kept[name] = column
    return tuple(name for name in kept if name != "outcome"), dropped


def _numbers(column: list[Any]) -> list[float]:
    """Return a column as an estimator sees it: texts are numbered in sorted order, and may then equal a number's."""
    if not isinstance(column[0], str):
        return [float(value) for value in column]
    place = {text: float(i) for i, text in enumerate(sorted(set(column)))}
    return [place[value] for value in column]
