"""Ask a peer for a one-sided 95% lower bound on an average effect, by its own usual call.

Reads ``{"peer", "tables": [{"t", "y", "x": [[…] a covariate]}]}`` or, for speed, ``{"peer", "n", "seed", "rounds"}``.
Coverage asks for a peer's default alone.
Prints ``{"method", "lowers"}`` or ``{"rows": [{"method", "ms CPU", "point", "lower"}]}``.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
Z = 1.6448536269514722


def statsmodels(t, y, x):
    """Ordinary least squares with HC3."""
    import statsmodels.api as sm

    fit = sm.OLS(y, sm.add_constant(np.column_stack([t, x]))).fit(cov_type="HC3")
    return fit.params[1], fit.params[1] - Z * fit.bse[1]


def dowhy(t, y, x):
    """Its linear regression on the back-door set."""
    import pandas as pd
    from dowhy import CausalModel

    names = [f"x{i}" for i in range(x.shape[1])]
    data = pd.DataFrame(np.column_stack([t, y, x]), columns=["t", "y", *names])
    model = CausalModel(data=data, treatment="t", outcome="y", common_causes=names)
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    found = model.estimate_effect(estimand, method_name="backdoor.linear_regression")
    # A two-sided interval at 90% has its lower end at 95%.
    interval = np.ravel(found.get_confidence_intervals(confidence_level=0.90))
    return found.value, float(interval[0])


def econml(t, y, x, **nuisances):
    """Its linear double machine learning."""
    from econml.dml import LinearDML

    model = LinearDML(discrete_treatment=True, random_state=0, **nuisances).fit(y, t, X=None, W=x)
    return float(model.ate()), float(model.ate_interval(alpha=0.10)[0])


def econml_linear(t, y, x):
    """The same with regressions in place of what it picks by itself."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    return econml(t, y, x, model_y=LinearRegression(), model_t=LogisticRegression(max_iter=1000))


def doubleml(t, y, x):
    """Its interactive regression with random forests; it has no default."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return doubleml_with(t, y, x, RandomForestRegressor(random_state=0), RandomForestClassifier(random_state=0))


def doubleml_linear(t, y, x):
    """The same with regressions."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    return doubleml_with(t, y, x, LinearRegression(), LogisticRegression(max_iter=1000))


def doubleml_with(t, y, x, outcome, propensity):
    """Its interactive regression."""
    import doubleml as dml

    model = dml.DoubleMLIRM(dml.DoubleMLData.from_arrays(x, y, t), outcome, propensity, n_folds=2).fit()
    return float(model.coef[0]), float(model.coef[0] - Z * model.se[0])


# What a peer is asked by, its default first, and the largest table that it is timed on: forests on a million rows take
# an hour and say nothing new.
MANY, SOME = 10_000_000, 20_000
METHODS = {
    "statsmodels": [(statsmodels, "statsmodels OLS, HC3", MANY)],
    "dowhy": [(dowhy, "DoWhy backdoor.linear_regression", MANY)],
    "econml": [
        (econml, "EconML LinearDML, default nuisances", SOME),
        (econml_linear, "EconML LinearDML, linear nuisances", MANY),
    ],
    "doubleml": [
        (doubleml, "DoubleML IRM, random forests", SOME),
        (doubleml_linear, "DoubleML IRM, linear nuisances", MANY),
    ],
}


def drawn(n, seed):
    """The table of `speed_estimation`, drawn in the same order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, n))
    t = (rng.random(n) < 1 / (1 + np.exp(-0.5 * x[0] + 0.4 * x[1]))).astype(float)
    return t, t + x[0] + x[1] + 0.5 * x[2] + rng.normal(size=n), x.T


def timed(ask, name, n, seed):
    """Time one estimate with its bound."""
    table = drawn(n, seed)
    ask(*(part[:1000] for part in table))  # imports and caches
    start = time.process_time()
    point, lower = ask(*table)
    spent = 1000 * (time.process_time() - start)
    return {"method": f"{name}, n = {n}", "ms CPU": spent, "point": float(point), "lower": float(lower)}


def main():
    """Answer one request."""
    asked = json.load(sys.stdin)
    ways = METHODS[asked["peer"]]
    np.random.seed(0)  # DoubleML deals its folds with the global generator
    if "tables" in asked:
        ask, name, _ = ways[0]
        tables = [(np.array(each["t"]), np.array(each["y"]), np.array(each["x"]).T) for each in asked["tables"]]
        print(json.dumps({"method": name, "lowers": [ask(*table)[1] for table in tables]}))
        return
    rows = [timed(ask, name, min(asked["n"], most), asked["seed"]) for ask, name, most in ways]
    print(json.dumps({"rows": rows}))


main()
