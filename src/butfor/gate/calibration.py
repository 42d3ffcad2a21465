"""What executed decisions were promised, held against what happened.

It is a check of the world, not a proof of the gate: executed decisions are those whose bound was high, so their points
are a little too high on average (the winner's curse); their bounds are not, if the assumptions held.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor.confidence.estimates import Estimate, Undefined
from butfor.gate.outcomes import followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.canonical import Json
    from butfor.confidence.estimates import Interval
    from butfor.gate.ledger.chain import Ledger
    from butfor.gate.outcomes import Followed

Standing: TypeAlias = Literal["kept", "broken", "unknown"]
_FEW = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Promise:
    """One promise of a group of executed decisions, and how it stands.

    Attributes:
        words: What was promised.
        promised: The promised number, averaged over the decisions.
        happened: What happened, with bounds.
        standing: `broken`: the bounds exclude the promise. `kept`: they do not. `unknown`: there are no bounds.
    """

    words: str
    promised: float
    happened: Interval
    standing: Standing

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {**dataclasses.asdict(self), "happened": self.happened.to_json()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
    """The executed decisions of one tool and outcome.

    Attributes:
        tool: The tool.
        outcome: The outcome; where less is better, the gate reads it upside down, and so is it here.
        executed: Executed decisions whose outcome is known.
        level: Mean outcome against the mean lower bound of E[Y | do(t*)]; None where no certificate bounds it.
        risk: Share of outcomes below the harm line against the mean upper bound on it; None without a harm line.
    """

    tool: str
    outcome: str
    executed: int
    level: Promise | None
    risk: Promise | None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        promises = {name: getattr(self, name) for name in ("level", "risk")}
        return {
            "tool": self.tool,
            "outcome": self.outcome,
            "executed": self.executed,
            **{name: None if each is None else each.to_json() for name, each in promises.items()},
        }


def calibrate(ledger: Ledger, *, alpha: float = 0.05) -> list[Calibration]:
    """Hold executed decisions against their outcomes, by tool and outcome.

    Estimand: E[Y] over executed decisions, and the share of them with Y below the harm line.
    Assumptions: outcomes are told whatever they are; units do not influence one another.
    Guarantee: the share: exact (Clopper–Pearson). The mean: finite-sample where the policy declares the outcome's range
        (a bound on the mean of the conditional means), else asymptotic (Student's t), from 10 outcomes on.
    Reference: Clopper and Pearson 1934; Hoeffding 1963.

    Args:
        ledger: Where decisions and outcomes are.
        alpha: Both sides together.

    Raises:
        CorruptRecord: A certificate cannot be read.
    """
    groups: dict[tuple[str, str], list[Followed]] = {}
    for each in followed(ledger):
        if each.ran and each.decision.payload.get("verdict") == "EXECUTE":
            action = each.body["action"]
            groups.setdefault((str(action["tool"]), str(action["outcome"])), []).append(each)
    return [
        Calibration(
            tool=tool, outcome=outcome, executed=len(group), level=_level(group, alpha), risk=_risk(group, alpha)
        )
        for (tool, outcome), group in sorted(groups.items())
    ]


def as_read(each: Followed) -> float:
    """Return an outcome as the gate reads it: upside down within its range, where less is better."""
    described = _outcome(each)
    if described.get("better") != "less":
        return each.value
    low, high = described["range"]
    return float(low + high - each.value)


def _level(group: Sequence[Followed], alpha: float) -> Promise | None:
    bounded = [(as_read(each), bound, each) for each in group if (bound := _bound(each)) is not None]
    if not bounded:
        return None
    promised = _mean(bound for _, bound, _ in bounded)
    gaps = [value - bound for value, bound, _ in bounded]
    gap = _mean_interval(gaps, _gap_range(bounded), alpha)
    standing: Standing = "unknown" if isinstance(gap, Undefined) else "broken" if gap.upper < 0 else "kept"
    return Promise(
        words="the mean outcome is at least the mean lower bound",
        promised=promised,
        happened=_moved(gap, promised),
        standing=standing,
    )


def _bound(each: Followed) -> float | None:
    level = (each.body.get("estimate") or {}).get("level") or {}
    lower = level.get("lower")
    return None if lower is None else float(lower)


def _risk(group: Sequence[Followed], alpha: float) -> Promise | None:
    from butfor.confidence.proportions import clopper_pearson

    lined = [(each, risk) for each in group if (risk := each.body.get("risk")) and _bounds_harm(risk)]
    if not lined:
        return None
    promised = _mean(risk["bound"] for _, risk in lined)
    harmed = sum(as_read(each) < risk["harm_line"] for each, risk in lined)
    happened = clopper_pearson(harmed, len(lined), alpha=alpha)
    standing: Standing = (
        "unknown" if isinstance(happened, Undefined) else "broken" if happened.lower > promised else "kept"
    )
    return Promise(
        words="the share of harmful outcomes is at most the mean upper bound",
        promised=promised,
        happened=happened,
        standing=standing,
    )


def _bounds_harm(risk: dict[str, Any]) -> bool:
    return risk.get("harm_line") is not None and risk.get("bound") is not None


def _gap_range(bounded: Iterable[tuple[float, float, Followed]]) -> tuple[float, float] | None:
    """Return between what every gap must lie; None where a range is not declared, or an outcome lies outside."""
    ends: list[tuple[float, float]] = []
    for value, bound, each in bounded:
        span = _outcome(each).get("range")
        if span is None or not span[0] <= value <= span[1]:
            return None
        ends.append((span[0] - bound, span[1] - bound))
    return min(low for low, _ in ends), max(high for _, high in ends)


def _mean_interval(gaps: list[float], ends: tuple[float, float] | None, alpha: float) -> Interval:
    if ends is None:
        return _student(gaps, alpha)
    # Strata differ in their means, so a bound on the mean of their means is asked for: Hoeffding's.
    n, mean = len(gaps), _mean(gaps)
    half = (ends[1] - ends[0]) * math.sqrt(math.log(2 / alpha) / (2 * n))
    return Estimate(
        point=mean,
        lower=max(ends[0], mean - half),
        upper=min(ends[1], mean + half),
        alpha=alpha,
        n=n,
        method="Hoeffding, by the declared range",
    )


def _student(gaps: list[float], alpha: float) -> Interval:
    import numpy as np
    from scipy.special import stdtrit

    n = len(gaps)
    if n < _FEW:
        return Undefined(reason=f"{n} outcomes, and without a declared range a bound takes {_FEW}")
    mean, half = float(np.mean(gaps)), float(stdtrit(n - 1, 1 - alpha / 2) * np.std(gaps, ddof=1) / np.sqrt(n))
    return Estimate(
        point=mean, lower=mean - half, upper=mean + half, alpha=alpha, n=n, method="Student's t, asymptotic"
    )


def _moved(interval: Interval, by: float) -> Interval:
    if isinstance(interval, Undefined):
        return interval
    moved = {name: by + getattr(interval, name) for name in ("point", "lower", "upper")}
    return dataclasses.replace(interval, **moved)


def _outcome(each: Followed) -> dict[str, Any]:
    found = (each.body["policy"].get("entry") or {}).get("outcome")
    return found if isinstance(found, dict) else {}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
