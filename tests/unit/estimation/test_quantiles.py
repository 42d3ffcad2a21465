import pytest
from scipy import special, stats

from butfor.estimation.quantiles import beta_cdf, beta_quantile, t_quantile


@pytest.mark.parametrize("df", [1.0, 2.0, 3.7, 12.0, 55.5, 1000.0, 9e5, 1e9])
@pytest.mark.parametrize("p", [0.5, 0.500001, 0.9, 0.95, 0.999, 0.01])
def test_t_quantiles_are_scipys(df, p):
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("a", [0.5, 1.0, 3.3, 200.0, 5e4])
@pytest.mark.parametrize("b", [0.5, 2.0, 40.5, 1e5])
@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.95])
def test_beta_quantiles_are_scipys(a, b, p):
    x = float(special.betaincinv(a, b, p))
    assert beta_quantile(p, a, b) == pytest.approx(x, rel=1e-8)
    assert beta_cdf(x, a, b) == pytest.approx(p, rel=1e-7)
