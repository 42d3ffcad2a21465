"""How strong a hidden cause of treatment and outcome must be to change the answer of a linear adjustment."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import stdtrit

from butfor.confidence import Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns

# The search for the strength that flips an answer ends at these multiples of a named covariate.
STRONGEST, DIGITS = 1000.0, 60


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confounder:
    """How strong a hidden cause is, in shares of the variance that the covariates leave unexplained.

    Attributes:
        of_treatment: Share of the treatment that it explains, in [0, 1).
        of_outcome: Share of the outcome that it explains, given the treatment too, in [0, 1].
    """

    of_treatment: float
    of_outcome: float

    def __post_init__(self) -> None:
        if not (0 <= self.of_treatment < 1 and 0 <= self.of_outcome <= 1):
            raise InputError(
                f"a hidden cause cannot explain {self.of_treatment:g} of the treatment and {self.of_outcome:g} of the "
                "outcome",
                fix="give shares in [0, 1)",
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearSensitivity:
    """A linear adjustment, and what hidden causes would do to it.

    Attributes:
        effect: The coefficient of the treatment, in outcome units per unit of treatment.
        error: Its classical standard error.
        freedom: Residual degrees of freedom.
        threshold: What the effect is held against, τ_u.
        alpha: Error level of the one-sided bound.
        strengths: For each covariate, what it explains of treatment and outcome beyond the other covariates.
    """

    effect: float
    error: float
    freedom: int
    threshold: float
    alpha: float
    strengths: dict[str, Confounder]

    @property
    def lower(self) -> float:
        """The one-sided lower bound without a hidden cause."""
        return self.effect - self._critical(self.freedom) * self.error

    def lower_under(self, hidden: Confounder) -> float:
        """Bound the effect from below where a hidden cause of this strength works against it.

        Estimand: the coefficient of T in the regression that also holds the hidden cause.
        Assumptions: the linear model with the hidden cause is right; homoscedastic errors.
        Guarantee: the change of estimate and standard error is an identity; the bound is asymptotic.
        Reference: Cinelli and Hazlett, *Making sense of sensitivity*, JRSS B 2020, equations 7, 8 and 14.
        """
        factor = math.sqrt(hidden.of_outcome * hidden.of_treatment / (1.0 - hidden.of_treatment))
        bias = self.error * math.sqrt(self.freedom) * factor
        ratio = (1.0 - hidden.of_outcome) / (1.0 - hidden.of_treatment) * self.freedom / (self.freedom - 1)
        return self.effect - bias - self._critical(self.freedom - 1) * self.error * math.sqrt(ratio)

    @property
    def robustness(self) -> float:
        """The share of both treatment and outcome that a hidden cause must explain to bring the estimate to threshold.

        0 where the estimate is not above the threshold. Reference: Cinelli and Hazlett 2020, equation 18.
        """
        return _robustness((self.effect - self.threshold) / self.error / math.sqrt(self.freedom))

    @property
    def robustness_of_bound(self) -> float:
        """The same for the lower bound at level alpha; 0 where it is not above the threshold."""
        critical = self._critical(self.freedom - 1) / math.sqrt(self.freedom - 1)
        f = (self.effect - self.threshold) / self.error / math.sqrt(self.freedom) - critical
        if f <= 0:
            return 0.0
        # Where a cause of one share could not do it, explaining all of the outcome decides (their footnote on x ≥ 1).
        value = _robustness(f)
        if f + critical > 1 / critical:
            value = ((f + critical) ** 2 - critical**2) / (1 + (f + critical) ** 2)
        return value

    def times(self, covariate: str, k: float) -> Confounder | None:
        """Return a hidden cause that is k times as strong as a covariate; None where nothing can be so strong.

        Reference: Cinelli and Hazlett 2020, section 4.4.
        """
        if covariate not in self.strengths:
            raise InputError(
                f"{covariate!r} is not among the covariates", fix=f"choose one of {sorted(self.strengths)}"
            )
        d, y = self.strengths[covariate].of_treatment, self.strengths[covariate].of_outcome
        of_treatment = k * d / (1.0 - d)
        if of_treatment >= 1.0 or y >= 1.0:
            return None
        with_covariate = k * d**2 / ((1.0 - k * d) * (1.0 - d)) if k * d < 1 else 1.0
        if with_covariate >= 1.0:
            return None
        of_outcome = ((math.sqrt(k) + math.sqrt(with_covariate)) / math.sqrt(1.0 - with_covariate)) ** 2 * y / (1.0 - y)
        return Confounder(of_treatment=of_treatment, of_outcome=min(1.0, of_outcome))

    def flips_at(self, covariate: str) -> float | None:
        """Return how many times as strong as a covariate a hidden cause must be for the bound to fall to threshold.

        Returns:
            The multiple, 0 where the bound is there already; None where even the strongest one that can exist leaves
            it above.
        """
        low, high = 0.0, STRONGEST
        if self.lower <= self.threshold:
            return 0.0
        for _ in range(DIGITS):
            middle = 0.5 * (low + high)
            hidden = self.times(covariate, middle)
            if hidden is None or self.lower_under(hidden) <= self.threshold:
                high = middle
            else:
                low = middle
        reached = self.times(covariate, high)
        return high if reached is not None and self.lower_under(reached) <= self.threshold + 1e-9 * self.error else None

    def in_words(self) -> str:
        """Say it in sentences."""
        if self.lower <= self.threshold:
            return f"The lower bound {self.lower:.3g} is not above {self.threshold:g} even without a hidden cause."
        share = self.robustness_of_bound
        first = (
            f"A hidden cause that explains {share:.1%} of what is left of both treatment and outcome would flip this"
        )
        said = [f"{first}; one that explains less of both would not."]
        for name in self.strengths:
            times = self.flips_at(name)
            if times is None:
                said.append(f"No hidden cause with the profile of `{name}` is strong enough to flip this.")
            else:
                said.append(f"A hidden cause {_times(times)} as strong as `{name}` would flip this.")
        return " ".join(said)

    def _critical(self, freedom: int) -> float:
        return float(stdtrit(freedom, 1.0 - self.alpha))


Linear: TypeAlias = LinearSensitivity | Undefined


def linear_sensitivity(
    columns: Columns, adjust_for: Iterable[str], *, threshold: float = 0.0, alpha: float = 0.05
) -> Linear:
    """Regress the outcome on treatment and covariates, and keep what hidden causes would change.

    Estimand: the coefficient of T given the covariates and one hidden cause (see `LinearSensitivity.lower_under`).
    Assumptions: linear model, homoscedastic independent errors; a numeric treatment.
    Guarantee: see the method; this quantifies one violated assumption, it does not repair others.
    Reference: Cinelli and Hazlett 2020.

    Args:
        columns: The units. Text covariates enter as one indicator for each value but the first.
        adjust_for: Covariates, by name.
        threshold: What the effect is held against, in outcome units.
        alpha: Error level of the one-sided bound.

    Returns:
        The regression's sensitivity, or why it has none.

    Raises:
        InputError: There is no such column.
    """
    names = tuple(adjust_for)
    columns.require(names)
    if columns.clusters is not None:
        return Undefined(reason="the rows come in clusters, and this bound takes them for independent")
    if len(columns.levels.get(columns.treatment, ())) > 2:
        return Undefined(reason="the treatment has more than two texts, which are no numbers")
    blocks = {name: _design(columns, name) for name in names}
    rest = np.column_stack([np.ones(columns.n), *blocks.values()])
    freedom = columns.n - rest.shape[1] - 1
    if freedom < 2:
        return Undefined(reason=f"{columns.n} rows are too few for {len(names)} covariates")
    t, y = _residual(rest, columns.t), _residual(rest, columns.y)
    if float(t @ t) <= 1e-12 * columns.n * float(columns.t.var()):
        return Undefined(reason="the covariates determine the treatment")
    effect = float(t @ y) / float(t @ t)
    left = y - effect * t
    # Variance that is rounding is none: a standard error from it would make any hidden cause look weak.
    if float(left @ left) <= 1e-12 * float(columns.y @ columns.y):
        return Undefined(reason="treatment and covariates determine the outcome")
    error = math.sqrt(float(left @ left) / freedom / float(t @ t))
    strengths = {name: _strength(columns, blocks, name) for name in names}
    return LinearSensitivity(
        effect=effect, error=error, freedom=freedom, threshold=threshold, alpha=alpha, strengths=strengths
    )


def e_value(risk_ratio: float) -> float:
    """Return the risk ratio that a hidden cause must have with both treatment and outcome to explain one away.

    Estimand: the least strength of confounding that makes the true ratio 1; 1 where the ratio is 1 already.
    Assumptions: a binary outcome; apply it to the confidence limit nearer 1 to cover sampling error.
    Guarantee: sharp bound (no weaker hidden cause can do it).
    Reference: VanderWeele and Ding, *Sensitivity analysis in observational research*, 2017.

    Args:
        risk_ratio: P(Y = 1 | do(t*)) / P(Y = 1 | do(t0)), above 0; below 1 it is turned round.

    Raises:
        InputError: The ratio is not a positive number.
    """
    if not (risk_ratio > 0 and math.isfinite(risk_ratio)):
        raise InputError(f"{risk_ratio} is not a risk ratio", fix="give a positive number")
    ratio = max(risk_ratio, 1.0 / risk_ratio)
    return ratio + math.sqrt(ratio * (ratio - 1.0))


def _robustness(f: float) -> float:
    return 0.0 if f <= 0 else 0.5 * (math.sqrt(f**4 + 4 * f**2) - f**2)


def _design(columns: Columns, name: str) -> NDArray[np.float64]:
    values = columns.table[name]
    if name not in columns.levels:
        return values[:, None]
    indicators: NDArray[np.float64] = (values[:, None] == np.arange(1, len(columns.levels[name]))).astype(float)
    return indicators


def _residual(design: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    solution = np.linalg.lstsq(design, values, rcond=None)[0]
    return np.asarray(values - design @ solution)


def _strength(columns: Columns, blocks: dict[str, NDArray[np.float64]], name: str) -> Confounder:
    """Return the partial R² of a covariate with the treatment, and with the outcome given the treatment too."""
    others = [np.ones((columns.n, 1)), *(block for other, block in blocks.items() if other != name)]
    without, with_it = np.column_stack(others), np.column_stack([*others, blocks[name]])
    treated = columns.t[:, None]
    return Confounder(
        of_treatment=min(1.0 - 1e-12, _partial(without, with_it, columns.t)),
        of_outcome=_partial(np.hstack([without, treated]), np.hstack([with_it, treated]), columns.y),
    )


def _partial(without: NDArray[np.float64], with_it: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    before, after = _residual(without, values), _residual(with_it, values)
    return max(0.0, 1.0 - float(after @ after) / float(before @ before))


def _times(k: float) -> str:
    return "exactly" if round(k, 1) == 1.0 else "twice" if round(k, 1) == 2.0 else f"{k:.1f} times"
