"""What a policy entry demands of one action: thresholds, costs, limits, and the preset that says how to read them."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.dispatch import Method
    from butfor.identification import Assumption

BoundOn: TypeAlias = Literal["contrast", "level"]
Mutation: TypeAlias = Literal["latent_edge", "reversed_arrow", "bad_control"]

# Below this 1 − alpha is 1 to a double, or nearly: no quantile of it means anything.
SMALLEST_LEVEL = 1e-12

MUTATIONS: tuple[Mutation, ...] = ("latent_edge", "reversed_arrow", "bad_control")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """One named way to decide.

    Attributes:
        name: Its name in a policy file and on a certificate.
        method: How to adjust; None lets the evidence say (saturated strata, else a series).
        cost_limit: The threshold that the declared cost meets.
        bounds_risk: Whether the risk is bounded from the evidence and meets τ_r.
        partial: Whether a worst-case bound may stand for identification where it can.
        thin_to_experiment: Whether insufficient evidence may go to EXPERIMENT.
        finite_sample_trials: Whether randomised rows get the finite-sample bound of their declared outcome range.
        tests_graph: Whether a graph that the evidence contradicts blocks.
        spends_budget: Whether decisions spend from a family's error budget.
    """

    name: Literal["default", "paper"]
    method: Method | None
    cost_limit: Literal["tau_c", "tau_r"]
    bounds_risk: bool
    partial: bool
    thin_to_experiment: bool
    finite_sample_trials: bool
    tests_graph: bool
    spends_budget: bool


DEFAULT = Preset(
    name="default",
    method=None,
    cost_limit="tau_c",
    bounds_risk=True,
    partial=True,
    thin_to_experiment=True,
    finite_sample_trials=True,
    tests_graph=True,
    spends_budget=True,
)
PAPER = Preset(
    name="paper",
    method="ols_as_published",
    cost_limit="tau_r",
    bounds_risk=False,
    partial=False,
    thin_to_experiment=False,
    finite_sample_trials=False,
    tests_graph=False,
    spends_budget=False,
)
"""CIVeX as published: least squares on the rows, one-sided normal bound above τ_u, declared cost at most τ_r."""

PRESETS: Mapping[str, Preset] = types.MappingProxyType({preset.name: preset for preset in (DEFAULT, PAPER)})

DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    ("estimator", "least squares, one error variance", "strata where all confounders are discrete, else a series"),
    ("lower bound", "normal quantile", "Student's t with skewness, exact where outcomes are rare"),
    ("evidence from a trial", "the same rule", "finite-sample bounds where the outcome range is declared"),
    ("cost", "declared cost ≤ τ_r", "declared cost ≤ τ_c"),
    ("risk", "not estimated", "an upper bound from the evidence ≤ τ_r"),
    ("low bound", "REJECT", "EXPERIMENT where the policy allows it and no harm is shown, else REJECT"),
    ("not identified", "EXPERIMENT or ABSTAIN", "first a worst-case bound where one can clear τ_u"),
    ("graph", "trusted", "its implied independences are tested on the evidence, and block"),
    ("many questions", "each at α", "one α for all strata, values and variants of a family"),
)
"""What differs: (subject, paper settings, our defaults)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trial:
    """How EXPERIMENT may be answered.

    Attributes:
        arms: Treatment values that may be assigned, t* among them.
        most_units: Cap on the units of one trial.
        effect: The smallest effect above τ_u worth finding, in outcome units; sizes the trial.
        power: Chance of finding it.
    """

    arms: tuple[float | str, ...]
    most_units: int
    effect: float
    power: float = 0.8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demands:
    """What a verdict must survive.

    Attributes:
        falsification: The graph's implied independences must not be contradicted.
        mutations: Kinds of single-edge change after which the action must still be executed.
        robustness: Least share of treatment and outcome that a hidden cause must explain to flip the answer, in [0, 1).
        odds_factor: Λ ≥ 1: the bound must hold for every hidden cause that moves the odds of treatment by at most it.
    """

    falsification: bool = False
    mutations: tuple[Mutation, ...] = ()
    robustness: float | None = None
    odds_factor: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
    """What EXECUTE takes.

    Attributes:
        to: t*, a number or one of the treatment's texts.
        against: t0.
        bound_on: Which of the two the threshold τ_u meets: the contrast, or the level E[Y | do(t*)].
        tau_u: The bound must be above it, in outcome units.
        tau_c: Most that the action may cost, in the policy's own unit.
        tau_r: Most risk: a probability where a harm line is given, else a loss; None where the policy states none.
        alpha: Error level of each bound.
        harm_line: An outcome below it is harm, and risk is its probability; None bounds E[−Y | do(t*)].
        outcome_range: Lowest and highest possible outcome, declared, never read off the data.
        two_valued: Whether only the two ends of the range can occur.
        cost: What the action costs, declared.
        reversible: Whether it can be undone.
        trial: How EXPERIMENT may be answered; None forbids it.
        max_age: Oldest usable evidence, in seconds; None for no limit.
        instrument: An instrument to rely on and the assumption that it needs, where the policy states one.
        demands: What the verdict must survive.
        preset: How to decide.
    """

    to: float | str = 1.0
    against: float | str = 0.0
    bound_on: BoundOn = "contrast"
    tau_u: float = 0.0
    tau_c: float = 0.5
    tau_r: float | None = None
    alpha: float = 0.05
    harm_line: float | None = None
    outcome_range: tuple[float, float] | None = None
    two_valued: bool = False
    cost: float = 0.0
    reversible: bool = False
    trial: Trial | None = None
    max_age: float | None = None
    instrument: tuple[str, Assumption] | None = None
    demands: Demands = Demands()
    preset: Preset = DEFAULT

    def __hash__(self) -> int:
        # Asked for several times a decision, and 10 µs each time without being remembered.
        found = self.__dict__.get("_hash")
        if found is None:
            fields = tuple(getattr(self, field.name) for field in dataclasses.fields(self))
            found = self.__dict__["_hash"] = hash(fields)
        return int(found)

    @property
    def cost_limit(self) -> float | None:
        """The threshold that the declared cost meets; None where the policy does not state it."""
        return self.tau_c if self.preset.cost_limit == "tau_c" else self.tau_r

    @property
    def cheap(self) -> bool:
        """Whether the declared cost is within its threshold; false where either is not a number."""
        limit = self.cost_limit
        return limit is not None and self.cost <= limit

    @property
    def may_clear_unidentified(self) -> bool:
        """Whether a worst-case bound could be above τ_u at all: only then are the data looked at without a proof."""
        bounded = self.preset.partial and self.outcome_range is not None
        return bounded and (self.bound_on == "level" or self.tau_u < 0 or self.instrument is not None)

    @property
    def may_try(self) -> bool:
        """Whether EXPERIMENT is open: reversible, cheap and allowed."""
        return self.trial is not None and self.reversible and self.cheap


def differences_table() -> str:
    """Return what differs between the presets as Markdown, as docs/gate.md has it."""
    rows = [f"| {subject} | {paper} | {ours} |" for subject, paper, ours in DIFFERENCES]
    return "\n".join(["| subject | paper settings | our defaults |", "|---|---|---|", *rows])
