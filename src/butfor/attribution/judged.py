"""The recorded outcome where a judge gives it: its mean on the recorded run, not one verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from butfor.attribution.margins import Margins
from butfor.confidence import Estimate, bounded_mean
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Share of α that y's own interval costs on top of the answer's.
JUDGE_SHARE = 0.2
VERDICTS = 64
ON_THE_SCORE = "effects are on the judge's score; only a labelled set can correct its bias"


def judged_outcome(verdicts: Sequence[float | None], *, margins: Margins | None = None) -> Estimate:
    """Estimate y from judging the recorded run again and again.

    Estimand: y = v(n) = the judge's mean on the recorded run.
    Assumptions: independent verdicts; None where the judge gave none.
    Guarantee: finite-sample, at a fifth of α; the answer's level is then 1.2·α.
    Reference: as `bounded_mean`.

    Args:
        verdicts: Scores in [0, 1]; 64 leave ± .06 at a score of .98 and ± .16 at .5.
        margins: α.

    Raises:
        InputError: No verdicts.
    """
    interval = bounded_mean(verdicts, alpha=JUDGE_SHARE * (margins or Margins()).alpha)
    if not isinstance(interval, Estimate):
        raise InputError("a judged outcome needs verdicts", fix=f"judge the recorded run, {VERDICTS} times say")
    return replace(interval, assumptions=(*interval.assumptions, ON_THE_SCORE))
