"""What is asked: the effect of doing one thing on another, perhaps within a stratum."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.canonical import Json
    from butfor.graphs import Graph


@dataclasses.dataclass(frozen=True, kw_only=True)
class Query:
    """P(outcomes | do(treatments), given): the effect, within the stratum that `given` names. See `effect`.

    Attributes:
        treatments: What is set; any values.
        outcomes: What is looked at.
        given: Variables whose observed values define the stratum; empty for everyone.
        measured: The columns that evidence has; None means every node that is not latent.
    """

    treatments: tuple[str, ...]
    outcomes: tuple[str, ...]
    given: tuple[str, ...] = ()
    measured: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.treatments or not self.outcomes:
            raise InputError("a query needs a treatment and an outcome", fix="name both")
        named = (*self.treatments, *self.outcomes, *self.given)
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise InputError(f"{twice!r} appears twice in the query", fix="give each variable one part in it")

    @classmethod
    def effect(
        cls,
        treatments: str | Iterable[str],
        outcomes: str | Iterable[str],
        *,
        within: str | Iterable[str] = (),
        measured: Iterable[str] | None = None,
    ) -> Query:
        """Ask for the effect of treatments on outcomes; a single name may be a plain string.

        Raises:
            InputError: Nothing to set or to look at, or a variable with two parts.
        """
        return cls(
            treatments=_names(treatments),
            outcomes=_names(outcomes),
            given=_names(within),
            measured=None if measured is None else tuple(sorted(set(measured))),
        )

    @classmethod
    def of_roles(cls, graph: Graph) -> Query:
        """Ask what the graph's own roles ask: the effect of its treatments on its outcomes.

        Raises:
            InputError: The graph marks no treatment or no outcome.
        """
        return cls(treatments=graph.with_role("treatment"), outcomes=graph.with_role("outcome"))

    def to_json(self) -> dict[str, Json]:
        """Return the query as plain JSON values."""
        return {
            "treatments": list(self.treatments),
            "outcomes": list(self.outcomes),
            "given": list(self.given),
            "measured": None if self.measured is None else list(self.measured),
        }


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(sorted(names))
