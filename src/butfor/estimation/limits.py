"""The limits at which a diagnostic refuses, in one place, each with what it was chosen by.

They were chosen on simulated families and are checked by `butfor bench coverage`, which fails where one of them lets a
dishonest bound through or refuses too often.
"""

from __future__ import annotations

from typing import Final

# Below so many units in an arm no bound is computed that leans on an average being nearly normal: with 20 exponential
# outcomes in an arm a nominal 5% bound missed 13% of the time, even where a low skewness was seen.
SMALLEST_ARM: Final = 40
# Exact binomial bounds need no more than this.
SMALLEST_COUNTED_ARM: Final = 10
# A 0/1 outcome with fewer events or non-events in an arm gets the bound for few events, where there is one.
FEW_EVENTS: Final = 50
# Fewer of the rarer outcome than this, and a bound from scores (continuous confounders) is refused.
FEWEST_EVENTS: Final = 10
# Propensities below this are clipped; the share of units that need it is what refuses.
CLIP: Final = 0.02
MOST_CLIPPED: Final = 0.02
# Kish's effective sample size of an arm's weights, in units and as a share of the arm.
SMALLEST_ESS: Final = 20.0
SMALLEST_ESS_SHARE: Final = 0.25
# Welch–Satterthwaite degrees of freedom of the variance estimate: a handful of units decide below this. At 12 a series
# with linear confounding and 500 units was refused 19% of the time, at 4 it is 5%, and misses as rarely.
FEWEST_DF: Final = 4.0
# |skewness| / √n of the scores; beyond it two terms of the Edgeworth expansion do not describe the tail.
MOST_SKEW: Final = 0.6
# First-stage F below which a one-sided 5% bound cannot rely on the first stage (Lee et al. 2022); both sides then share
# the level. At 25 it missed 6.9% of the time in one mirror and 0.3% in the other.
DOUBTFUL_F: Final = 104.7
# Lag-one correlation of scores in time order, as a z-value, and its size.
AUTOCORRELATION_Z: Final = 4.0
AUTOCORRELATION: Final = 0.1
# Trend of the scores over the window, as a z-value.
DRIFT_Z: Final = 4.0
# Clusters below which a cluster-robust variance is not trusted.
FEWEST_CLUSTERS: Final = 12
