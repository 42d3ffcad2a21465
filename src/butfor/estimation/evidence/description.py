"""What a table of evidence is: which column plays which part, where the units come from, and the digest of the rows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from butfor.errors import CorruptRecord, InputError

if TYPE_CHECKING:
    from butfor.canonical import Json

SCHEMA = "butfor.evidence/1"

Kind: TypeAlias = Literal["observational", "randomised", "mixed", "policy-confounded"]
"""How treatments were chosen; `policy-confounded`: by an agent that saw more than the covariates hold."""

KINDS: tuple[Kind, ...] = get_args(Kind)
Level: TypeAlias = Literal["rows", "statistics"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """Which column plays which part.

    Attributes:
        treatment: T.
        outcome: Y.
        covariates: Confounders, mediators, instruments, strata; which of them is used is the proof's choice.
        unit: Identifies a unit; two rows of one unit are refused.
        clusters: Which units belong together.
        time: When a unit was seen.
        probability: The known probability of the treatment value that the unit got.
        text: Columns to be read as text whatever they look like.
    """

    treatment: str
    outcome: str
    covariates: tuple[str, ...] = ()
    unit: str | None = None
    clusters: str | None = None
    time: str | None = None
    probability: str | None = None
    text: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        names = self.columns
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the column {name!r} has two parts", fix="give each column one part")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is used, in a fixed order."""
        further = (self.unit, self.clusters, self.time, self.probability)
        return (self.treatment, self.outcome, *self.covariates, *(name for name in further if name is not None))

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {**dataclasses.asdict(self), "covariates": list(self.covariates), "text": sorted(self.text)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """The description of a table; the data stay where they are.

    Attributes:
        digest: Names exactly the rows of the columns used, in any order (see `row_digest`).
        kind: How the treatments were chosen.
        roles: Which column plays which part.
        rows: Number of units.
        arms: Units by treatment value, as text.
        window: First and last time, as ISO 8601 in UTC or as numbers in text; None without a time column.
        source: Where it was read from, for people; no part of the digest.
        note: What a reader must know, such as that the agent chose the treatment itself.
    """

    digest: str
    kind: Kind
    roles: Roles
    rows: int
    arms: dict[str, int]
    window: tuple[str, str] | None = None
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"evidence is not {self.kind!r}", fix=f"choose one of {', '.join(KINDS)}")

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "schema": SCHEMA,
            "digest": self.digest,
            "kind": self.kind,
            "roles": self.roles.to_json(),
            "rows": self.rows,
            "arms": dict(self.arms),
            "window": None if self.window is None else list(self.window),
            "source": self.source,
            "note": self.note,
        }

    @classmethod
    def from_json(cls, document: Json) -> Evidence:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: It is no description of evidence.
        """
        fields = {"schema", *(field.name for field in dataclasses.fields(cls))}
        if not isinstance(document, dict) or document.get("schema") != SCHEMA or set(document) != fields:
            raise CorruptRecord("this is no description of evidence", where="$", fix=f"expected the schema {SCHEMA!r}")
        try:
            roles = dict(document["roles"])
            window = document["window"]
            return cls(
                digest=str(document["digest"]),
                kind=document["kind"],
                roles=Roles(**{**roles, "covariates": tuple(roles["covariates"]), "text": frozenset(roles["text"])}),
                rows=int(document["rows"]),
                arms={str(arm): int(n) for arm, n in document["arms"].items()},
                window=None if window is None else (str(window[0]), str(window[1])),
                source=str(document["source"]),
                note=str(document["note"]),
            )
        except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
            raise CorruptRecord(f"the description of evidence cannot be read ({error})", where="$") from None
