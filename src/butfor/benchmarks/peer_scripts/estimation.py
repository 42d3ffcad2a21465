"""Ask a peer for a one-sided 95% lower bound on an average effect, by its own usual call.

Reads ``{"peer", "tables": [{"t", "y", "x": [[…] a covariate]}]}`` or, for speed, ``{"peer", "n", "seed", "rounds"}``.
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


def econml(t, y, x):
    """Its linear double machine learning with default nuisances."""
    from econml.dml import LinearDML

    model = LinearDML(discrete_treatment=True, random_state=0).fit(y, t, X=None, W=x)
    return float(model.ate()), float(model.ate_interval(alpha=0.10)[0])


def doubleml(t, y, x):
    """Its interactive regression with random forests."""
    import doubleml
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    data = doubleml.DoubleMLData.from_arrays(x, y, t)
    model = doubleml.DoubleMLIRM(
        data, RandomForestRegressor(random_state=0), RandomForestClassifier(random_state=0), n_folds=2
    ).fit()
    return float(model.coef[0]), float(model.coef[0] - Z * model.se[0])


METHODS = {
    "statsmodels": (statsmodels, "statsmodels OLS, HC3"),
    "dowhy": (dowhy, "DoWhy backdoor.linear_regression"),
    "econml": (econml, "EconML LinearDML, default nuisances"),
    "doubleml": (doubleml, "DoubleML IRM, random forests"),
}


def drawn(n, seed):
    """The table of `speed_estimation`, drawn in the same order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, n))
    t = (rng.random(n) < 1 / (1 + np.exp(-0.5 * x[0] + 0.4 * x[1]))).astype(float)
    return t, t + x[0] + x[1] + 0.5 * x[2] + rng.normal(size=n), x.T


def main():
    """Answer one request."""
    asked = json.load(sys.stdin)
    ask, name = METHODS[asked["peer"]]
    if "tables" in asked:
        tables = [(np.array(each["t"]), np.array(each["y"]), np.array(each["x"]).T) for each in asked["tables"]]
        print(json.dumps({"method": name, "lowers": [ask(*table)[1] for table in tables]}))
        return
    table = drawn(asked["n"], asked["seed"])
    ask(*(part[:1000] for part in table))  # imports and caches
    start = time.process_time()
    point, lower = ask(*table)
    row = {"method": f"{name}, n = {asked['n']}", "ms CPU": 1000 * (time.process_time() - start)}
    print(json.dumps({"rows": [{**row, "point": float(point), "lower": float(lower)}]}))


main()
