"""Upper bounds of means against direct optimisation."""

import numpy as np
import pytest
import scipy
from scipy.optimize import minimize
from scipy.stats import t as student

from sampled_metrics.intervals.likelihood import UpperBound, UserValues


def upper_bound(values, largest, confidence):
    """Upper bound of the mean of values, one per user."""
    n_units = np.ones(values.size, int)
    return UpperBound(UserValues(values, n_units, largest)).at(confidence)


class TestUpperBound:
    def test_against_direct_optimisation(self):
        values, shares = np.array([0.0, 0.3, 0.5, 2.0]), np.array([5, 3, 2, 0])
        for confidence in (0.4, 0.95, 0.9995):
            allowed = student.ppf((1 + confidence) / 2, 9) ** 2 / 2

            def left(w, allowed=allowed):
                return allowed - shares[:3] @ np.log(shares[:3] / 10 / w[:3])

            best = minimize(
                lambda w: -(w @ values),
                np.full(4, 0.25),
                bounds=[(1e-9, 1)] * 4,
                constraints=[
                    {"type": "eq", "fun": lambda w: w.sum() - 1},
                    {"type": "ineq", "fun": left},
                ],
                options={"ftol": 1e-12, "maxiter": 500},
            )
            actual = upper_bound(np.repeat(values, shares), 2.0, confidence)
            assert actual == pytest.approx(-best.fun, abs=1e-5)

    def test_share_of_successes_is_likelihood_ratio(self):
        actual, share = upper_bound(np.repeat([1.0, 0.0], [7, 43]), 1.0, 0.95), 7 / 50
        ratio = 7 * np.log(share / actual) + 43 * np.log((1 - share) / (1 - actual))
        assert 2 * ratio == pytest.approx(student.ppf(0.975, 49) ** 2)

    def test_equal_values(self):
        assert upper_bound(np.ones(5), 1.0, 0.95) == 1.0
        assert 1.0 < upper_bound(np.ones(5), 2.0, 0.95) < 2.0


def test_bound_with_confidence_above_mean():
    values = np.array([0.0, 0.2, 0.2, 0.9])
    assert upper_bound(values, 1.0, 1e-3) > values.mean() + 1e-5


@pytest.mark.skipif(
    scipy.__version__.startswith("1.16"), reason="its t quantile at 1/2 is off by 1e-9"
)
@pytest.mark.parametrize("confidence", [0.0, 1e-12])
def test_bound_without_confidence_is_mean(confidence):
    values = np.array([0.0, 0.2, 0.2, 0.9])
    assert upper_bound(values, 1.0, confidence) == pytest.approx(values.mean(), abs=1e-9)
