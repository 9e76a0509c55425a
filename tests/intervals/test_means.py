"""Intervals against formulas by hand, enumeration and simulation."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.intervals.means import MeanInterval, Moments, mean_interval

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, -0.2]), min_size=3, max_size=40)
PRIOR = Moments.from_values([0.0, 0.0, 0.0, 1.0])


def wilson(successes, n, confidence):
    """Roots mu of (p - mu)^2 = t^2 mu (1 - mu) / D, with p (1 - p) D/(D - 1) for the variance at p.

    Since mu (1 - mu) = p (1 - p) + (1 - 2 p)(mu - p) - (mu - p)^2.
    """
    p, t2 = successes / n, stats.t.ppf((1 + confidence) / 2, n - 1) ** 2

    def beyond(mu):
        x = mu - p
        return x**2 - t2 / n * (p * (1 - p) * n / (n - 1) + (1 - 2 * p) * x - x**2)

    return optimize.brentq(beyond, -1, p), optimize.brentq(beyond, p, 2)


class TestMoments:
    @given(VALUES, st.floats(-1, 1))
    def test_moments(self, values, centre):
        shape = Moments.from_values(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # equal values lose precision
            moments = [stats.moment(values, order=k) for k in (2, 3, 4)]
        assert shape[:4] == pytest.approx((np.mean(values), *moments), abs=1e-15)
        assert shape[4:] == (min(values), max(values))
        moments = [np.mean((np.array(values) - centre) ** k) for k in (2, 3, 4)]
        assert shape.moments_about(centre) == pytest.approx(moments, abs=1e-12)
        pairs = Moments.from_values(np.subtract.outer(values, values))
        assert shape.of_difference() == pytest.approx(pairs, abs=1e-12)

    @pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 2), (1, 3), (2, 4)])
    def test_mean_difference_of_all_samples(self, n_a, n_b):
        """A mean of n values scatters with cumulants k2/n, k3/n^2, k4/n^3."""
        a, b = [0.0, 0.3, 1.0], [0.1, 0.1, 0.9]
        differences = [
            np.mean(y) - np.mean(x)
            for x in itertools.product(a, repeat=n_a)
            for y in itertools.product(b, repeat=n_b)
        ]
        shape, n = Moments.from_mean_difference(
            Moments.from_values(a), n_a, Moments.from_values(b), n_b
        )
        assert (n, shape.mean) == (min(n_a, n_b), pytest.approx(np.mean(differences)))
        second, third, fourth = (stats.moment(differences, order=k) for k in (2, 3, 4))
        assert (shape.second / n, shape.third / n**2) == pytest.approx((second, third))
        assert (shape.fourth - 3 * shape.second**2) / n**3 == pytest.approx(fourth - 3 * second**2)
        assert (shape.low, shape.high) == pytest.approx((-0.9, 0.9))


class TestMeanInterval:
    @pytest.mark.parametrize(("successes", "n"), [(40, 100), (1, 30), (29, 30), (500, 1000)])
    def test_share_of_successes_is_wilson(self, successes, n):
        share = Moments.from_values([1.0] * successes + [0.0] * (n - successes))
        # A prior equal to the observed values changes nothing.
        for confidence in (0.5, 0.9, 0.95, 0.999):
            actual = mean_interval(share, n, share, confidence)
            expected = wilson(successes, n, confidence)
            assert (actual.ci_low, actual.ci_high) == pytest.approx(expected, abs=1e-12)
            deviation = math.sqrt(successes * (n - successes) / n**2 / (n - 1))
            assert actual.std_error == pytest.approx(deviation)

    @pytest.mark.parametrize("smooth", [None, Moments.from_values([0.0, 0.5, 1.0])])
    def test_unobserved_values_widen(self, smooth):
        """30 users have 0, half a user of the prior 0 or 1, and 50 smooth users other values."""
        actual = mean_interval(Moments.from_values([0.0] * 30), 30, PRIOR, smooth=smooth)
        users, weights = ([0, 1], [0.375, 0.125]) if smooth is None else ([0, 0.5, 1], [0, 50, 0])
        if smooth is not None:
            weights = np.array([0.375 + 50 / 3, 50 / 3, 0.125 + 50 / 3])
        total = 30 + sum(weights)
        second, third, fourth = (np.dot(weights, np.power(users, k)) / total for k in (2, 3, 4))
        step = stats.t.ppf(0.975, 29) ** 2 / 30
        curvature = max(fourth / second**2 - 3 - third**2 / second**3, -2)  # as of successes
        # (1 - step c/2) x^2 - step (k3/v) x - step v 30/29 = 0
        terms = [1 - step * curvature / 2, -step * third / second, -step * second * 30 / 29]
        assert actual.ci_high == pytest.approx(max(np.roots(terms)))
        assert (actual.value, actual.std_error, actual.ci_low) == (0.0, 0.0, 0.0)

    def test_tiny_values_scale(self):
        ones, tiny = (Moments.from_values(scale * np.array([0, 0, 1])) for scale in (1.0, 1e-60))
        one, small = (mean_interval(shape, 9, shape) for shape in (ones, tiny))
        assert small.ci_high == pytest.approx(1e-60 * one.ci_high)

    def test_few_users_and_constant_values(self):
        one = mean_interval(Moments.from_values([0.3]), 1, PRIOR)
        assert (one.value, one.n_users) == (0.3, 1)
        assert all(map(math.isnan, one[1:4]))
        two = mean_interval(Moments.from_values([0.3, 0.3]), 2, PRIOR)
        assert 0.0 == two.std_error <= two.ci_low < 0.3 < two.ci_high <= 1.0
        same = Moments.from_values([1.0])
        assert mean_interval(same, 7, same) == MeanInterval(1.0, 0.0, 1.0, 1.0, 7)

    @pytest.mark.parametrize(
        ("users", "confidence", "word"),
        [*((4, x, "confidence") for x in (0.0, 1.0, -1.0, 95.0, math.nan)), (0, 0.95, "no users")],
    )
    def test_wrong_confidence_and_no_users_are_refused(self, users, confidence, word):
        with pytest.raises(InputError, match=word):
            mean_interval(PRIOR, users, PRIOR, confidence)

    @given(VALUES, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_more_confidence_is_wider(self, values, one, other):
        shape = Moments.from_values(values)
        narrow, wide = (
            mean_interval(shape, len(values), PRIOR, each) for each in sorted([one, other])
        )
        assert wide.ci_low <= narrow.ci_low + 1e-15
        assert narrow.ci_high <= wide.ci_high + 1e-15
        assert min(0.0, wide.value) <= wide.ci_low <= wide.value <= wide.ci_high
        assert wide.ci_high <= max(1.0, wide.value)


DRAWS = {
    "hits": (lambda rng, n: (rng.random(n) < 0.05).astype(float), 0.05),
    # Like a corrected recall: mostly about 0, sometimes 0.6, sometimes slightly negative.
    "corrected": (
        lambda rng, n: rng.choice([0.57, 0.02, -0.04, 0.0], n, p=[0.1, 0.05, 0.15, 0.7]),
        0.57 * 0.1 + 0.02 * 0.05 - 0.04 * 0.15,
    ),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [30, 200])
def test_coverage(name, n):
    """Coverage is at least 95 %, within four standard errors."""
    rng, (draw, mean) = np.random.default_rng([n, len(name)]), DRAWS[name]
    prior = Moments.from_values(draw(np.random.default_rng(0), 10_000))
    actual = [mean_interval(Moments.from_values(draw(rng, n)), n, prior) for _ in range(400)]
    covered = np.mean([each.ci_low <= mean <= each.ci_high for each in actual])
    assert 0.95 - 4 * math.sqrt(0.95 * 0.05 / 400) < covered
