"""What was found of a graph on the evidence, and which demands it meets."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.estimation.falsification import Falsification
    from butfor.gate.rules import Demands, Mutation
    from butfor.gate.verdict import Verdict


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mutant:
    """One single-edge change of the graph, and the verdict with it.

    Attributes:
        kind: What was changed.
        edge: The edge in words, as ``A <-> B`` or ``B -> A``.
        verdict: The verdict with the changed graph on the same evidence.
        words: What became of proof and bound.
        judged_by_strength: Whether the change destroys identification whatever the data say, so that only the strength
            of the hidden cause can be judged.
    """

    kind: Mutation
    edge: str
    verdict: Verdict
    words: str
    judged_by_strength: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Strength:
    """How strong a hidden cause of treatment and outcome must be to flip the answer.

    Attributes:
        robustness: Share of what is left of both treatment and outcome that it must explain, for the bound; None where
            the linear model gives none.
        odds_factor: Λ up to which the bound stands in the marginal sensitivity model; None where it cannot be computed.
        words: Both in sentences.
    """

    robustness: float | None
    odds_factor: float | None
    words: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Robustness:
    """Everything that was examined; a part that is None was not.

    Attributes:
        falsification: Tests of the graph's implied independences.
        mutants: Every single-edge change.
        strength: Hidden causes by strength.
    """

    falsification: Falsification | None = None
    mutants: tuple[Mutant, ...] | None = None
    strength: Strength | None = None

    def unmet(self, demands: Demands) -> tuple[str, ...]:
        """Say which demands are not met; what was not examined is not met."""
        return (*self._unmet_mutations(demands), *self._unmet_strength(demands))

    def _unmet_mutations(self, demands: Demands) -> tuple[str, ...]:
        if not demands.mutations:
            return ()
        if self.mutants is None:
            return ("the single-edge changes that the policy demands were not examined",)
        return tuple(
            f"with {each.edge} the verdict is {each.verdict}: {each.words}"
            for each in self.mutants
            if each.kind in demands.mutations and each.verdict != "EXECUTE" and not each.judged_by_strength
        )

    def _unmet_strength(self, demands: Demands) -> tuple[str, ...]:
        found = self.strength
        said = []
        for name, asked in (("robustness", demands.robustness), ("odds_factor", demands.odds_factor)):
            value = None if found is None else getattr(found, name)
            if asked is not None and not (value is not None and not math.isnan(value) and value >= asked):
                said.append(_too_weak(name, value, asked))
        return tuple(said)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values; an infinite factor is the text ``any``."""
        return {
            "falsification": None if self.falsification is None else falsification_json(self.falsification),
            "mutations": None if self.mutants is None else [dataclasses.asdict(each) for each in self.mutants],
            "strength": None
            if self.strength is None
            else {
                "robustness": self.strength.robustness,
                "odds_factor": _finite(self.strength.odds_factor),
                "words": self.strength.words,
            },
        }


def _too_weak(name: str, value: float | None, asked: float) -> str:
    measure = "share that a hidden cause must explain" if name == "robustness" else "factor Λ on the odds of treatment"
    found = "unknown" if value is None else f"{value:.3g}"
    return f"the {measure} to flip this is {found}, and the policy demands {asked:g}"


def _finite(value: float | None) -> float | str | None:
    return "any" if value is not None and math.isinf(value) else value


def falsification_json(found: Falsification) -> dict[str, Json]:
    """Return what was tested as plain JSON values."""
    return {
        "alpha": found.alpha,
        "tested": len(found.tested),
        "refuted": [str(each.statement) for each in found.refuted],
        "untested": len(found.untested),
        "complete": found.complete,
        "words": found.in_words(),
    }
