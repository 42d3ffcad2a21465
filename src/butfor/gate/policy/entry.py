"""A policy entry made ready: which calls it is about, what it asks of them, where their context comes from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError
from butfor.gate.context.sources import (
    argument_source,
    callable_source,
    command_source,
    from_argument,
    http_source,
    sql_source,
)
from butfor.gate.policy.model import FromArgument
from butfor.gate.rules import PRESETS, Demands, Rules, Trial
from butfor.gate.signing.strict_json import digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.gate.action import Action
    from butfor.gate.context.reading import Source
    from butfor.gate.policy.model import ContextVariable, Entry, Policy

# An agent may send any value: what is remembered of them ends here.
MOST_KEPT = 1000


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Ready:
    """One entry, ready to decide.

    Attributes:
        name: The entry's name in the file.
        entry: The entry as written.
        preset: Name of the policy's preset.
        sources: Source of each context variable.
        document: The entry as plain JSON, for the certificate.
        digest: Names the entry and the preset.
    """

    name: str
    entry: Entry
    preset: str
    sources: Mapping[str, Source]
    document: Json
    digest: str

    @property
    def tool(self) -> str:
        """The tool that it is about."""
        return self.entry.tool or self.name

    def covers(self, action: Action) -> bool:
        """Say whether a call is this entry's."""
        if action.tool != self.tool:
            return False
        return all(_same(action.arguments.get(name), value) for name, value in self.entry.when.items())

    def treatment_of(self, action: Action) -> float | str:
        """Return t*: what the call sets.

        Raises:
            InputError: The argument that holds it is missing, or is no number and no text.
        """
        to = self.entry.treatment.to
        value = from_argument(to.argument, action.arguments) if isinstance(to, FromArgument) else to
        if isinstance(value, bool):
            value = float(value)
        if not isinstance(value, int | float | str):
            raise InputError(f"the treatment {str(value)[:40]!r} is no number and no text", fix="pass a plain value")
        value = value if isinstance(value, str) else float(value)
        if value == self.entry.treatment.against:
            raise InputError(f"the call sets what it is compared with, {value!r}", fix="nothing is to be decided")
        return value

    def rules(self, to: float | str) -> Rules:
        """Return what EXECUTE takes for a call that sets `to`; the same object for the same value."""
        kept: dict[float | str, Rules] = self.__dict__.setdefault("_rules", {})
        found = kept.get(to)
        if found is None:
            found = rules_of(self.entry, self.preset, to)
            if len(kept) < MOST_KEPT:
                kept[to] = found
        return found


def _same(value: Json, wanted: str | float | bool) -> bool:
    # 1 and true are equal in Python, and not in a tool call.
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def ready(policy: Policy, directory: Path) -> tuple[Ready, ...]:
    """Make every entry of a policy ready.

    Args:
        policy: The policy.
        directory: Where commands run.

    Raises:
        InputError: A callable cannot be imported, or a URL is none.
    """
    return tuple(ready_entry(name, entry, policy.preset, directory) for name, entry in policy.tools.items())


def ready_entry(name: str, entry: Entry, preset: str, directory: Path) -> Ready:
    """Make one entry ready; see `ready`."""
    document = entry.model_dump(mode="json")
    return Ready(
        name=name,
        entry=entry,
        preset=preset,
        sources={each: source_of(variable, directory) for each, variable in entry.context.items()},
        document=document,
        digest=digest({"name": name, "preset": preset, "entry": document}),
    )


def source_of(variable: ContextVariable, directory: Path) -> Source:
    """Return the source that a context variable names."""
    limits: dict[str, Any] = {"timeout": variable.timeout, "max_age": variable.max_age, "text": variable.text}
    if variable.argument is not None:
        return argument_source(variable.argument, **limits)
    if variable.callable is not None:
        return callable_source(variable.callable, **limits)
    if variable.command is not None:
        return command_source(variable.command, directory=directory, **limits)
    if variable.http is not None:
        return http_source(variable.http, **limits)
    assert variable.sql is not None
    assert variable.database is not None
    return sql_source(variable.sql, variable.database, **limits)


def rules_of(entry: Entry, preset: str, to: float | str) -> Rules:
    """Return what EXECUTE takes for a call of this entry that sets `to`."""
    risk = None if isinstance(entry.risk, str) else entry.risk
    trial, instrument, robust = entry.experiment, entry.instrument, entry.robustness
    return Rules(
        to=to,
        against=entry.treatment.against,
        bound_on=entry.bound_on,
        tau_u=entry.tau_u,
        tau_c=entry.tau_c,
        tau_r=None if risk is None else risk.tau_r,
        alpha=entry.alpha,
        harm_line=None if risk is None else risk.harm_line,
        outcome_range=entry.outcome.range,
        two_valued=entry.outcome.two_valued,
        cost=entry.cost,
        reversible=entry.reversible,
        trial=None
        if trial is None
        else Trial(arms=trial.arms, most_units=trial.most_units, effect=trial.effect, power=trial.power),
        max_age=entry.max_evidence_age,
        instrument=None if instrument is None else (instrument.name, instrument.assumption),
        demands=Demands(
            falsification=robust.falsification,
            mutations=robust.mutations,
            robustness=robust.hidden_cause,
            odds_factor=robust.odds_factor,
        ),
        preset=PRESETS[preset],
    )


def policy_digest(policy: Policy) -> str:
    """Name a policy by what it says, however it is written."""
    return digest(policy.model_dump(mode="json", by_alias=True))
