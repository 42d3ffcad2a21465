import numpy as np
import pytest

from butfor.estimation import Columns, Contrast, EffectEstimate, Insufficient
from butfor.estimation.boosted import aipw_boosted

pytest.importorskip("sklearn", reason="pip install 'butfor[evidence]'")


def curved(n: int) -> Columns:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=n)
    t = (rng.random(n) < 1 / (1 + np.exp(-np.sin(2 * x)))).astype(float)
    table = {"t": t, "y": t + 2 * np.sin(2 * x) + rng.normal(size=n), "x": x}
    return Columns.of(table, treatment="t", outcome="y")


def test_boosted_nuisances_follow_a_curve():
    answer = aipw_boosted(curved(500), ["x"], target=Contrast())
    assert isinstance(answer, EffectEstimate)
    assert answer.lower < 1.0 < (answer.upper or 0.0)


def test_trees_that_can_hardly_split_are_refused():
    answer = aipw_boosted(curved(100), ["x"], target=Contrast())
    assert isinstance(answer, Insufficient)
    assert answer.reason_code == "insufficient_evidence"
    assert "smaller arm" in answer.sentence
