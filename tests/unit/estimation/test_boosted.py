import numpy as np
import pytest

from butfor.estimation import Columns, Contrast, EffectEstimate
from butfor.estimation.boosted import aipw_boosted

pytest.importorskip("sklearn", reason="pip install 'butfor[evidence]'")


def test_boosted_nuisances_follow_a_curve():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=500)
    t = (rng.random(500) < 1 / (1 + np.exp(-np.sin(2 * x)))).astype(float)
    table = {"t": t, "y": t + 2 * np.sin(2 * x) + rng.normal(size=500), "x": x}
    columns = Columns.of(table, treatment="t", outcome="y")
    answer = aipw_boosted(columns, ["x"], target=Contrast())
    assert isinstance(answer, EffectEstimate)
    assert answer.lower < 1.0 < (answer.upper or 0.0)
