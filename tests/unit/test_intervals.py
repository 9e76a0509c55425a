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
from sampled_metrics.inference.intervals import Estimate, Shape, estimate

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, -0.2]), min_size=3, max_size=40)
PRIOR = Shape.of([0.0, 0.0, 0.0, 1.0])


def wilson(successes, n, confidence):
    """Roots mu of (p - mu)^2 = t^2 mu (1 - mu) / D, with p (1 - p) D/(D - 1) for the variance at p.

    Since mu (1 - mu) = p (1 - p) + (1 - 2 p)(mu - p) - (mu - p)^2.
    """
    p, t2 = successes / n, stats.t.ppf((1 + confidence) / 2, n - 1) ** 2

    def beyond(mu):
        x = mu - p
        return x**2 - t2 / n * (p * (1 - p) * n / (n - 1) + (1 - 2 * p) * x - x**2)

    return optimize.brentq(beyond, -1, p), optimize.brentq(beyond, p, 2)


class TestShape:
    @given(VALUES)
    def test_moments(self, values):
        shape = Shape.of(values)
        assert shape.mean == pytest.approx(np.mean(values))
        found = (shape.second, shape.third, shape.fourth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # equal values lose precision
            expected = [stats.moment(values, order=k) for k in (2, 3, 4)]
        assert found == pytest.approx(expected, abs=1e-15)
        assert (shape.low, shape.high) == (min(values), max(values))

    @given(VALUES, st.data())
    def test_weights_are_repetitions(self, values, data):
        size = len(values)
        weights = data.draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
        repeated, weighted = Shape.of(np.repeat(values, weights)), Shape.of(values, weights)
        for name in ("mean", "second", "third", "fourth", "low", "high"):
            ours, theirs = getattr(weighted, name), getattr(repeated, name)
            assert ours == pytest.approx(theirs, abs=1e-14)

    def test_two_dimensions(self):
        values, counts = np.array([[1.0, 0.0], [3.0, 2.0]]), np.array([[1, 2], [0, 4]])
        assert Shape.of(values, counts).mean == pytest.approx((1 + 0 + 0 + 4 * 2) / 7)

    @given(VALUES, st.floats(-1, 1))
    def test_moments_about_any_centre(self, values, centre):
        about = Shape.of(values).about(centre)
        expected = [np.mean((np.array(values) - centre) ** k) for k in (2, 3, 4)]
        assert about == pytest.approx(expected, abs=1e-12)

    def test_difference_of_two_alike(self):
        values = [0.0, 0.0, 0.2, 1.0]
        pairs = Shape.of([b - a for a, b in itertools.product(values, repeat=2)])
        found = Shape.of(values).difference()
        assert (found.mean, found.third, pairs.third) == pytest.approx((0, 0, 0))
        assert (found.second, found.fourth) == pytest.approx((pairs.second, pairs.fourth))
        assert (found.low, found.high) == (pairs.low, pairs.high) == (-1.0, 1.0)

    @pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 2), (1, 3), (2, 4)])
    def test_means_of_all_samples(self, n_a, n_b):
        """A mean of n values scatters with cumulants k2/n, k3/n^2, k4/n^3."""
        a, b = [0.0, 0.3, 1.0], [0.1, 0.1, 0.9]
        differences = [
            np.mean(y) - np.mean(x)
            for x in itertools.product(a, repeat=n_a)
            for y in itertools.product(b, repeat=n_b)
        ]
        shape, n = Shape.of_means(Shape.of(a), n_a, Shape.of(b), n_b)
        assert n == min(n_a, n_b)
        assert shape.mean == pytest.approx(np.mean(differences))
        second, third, fourth = (stats.moment(differences, order=k) for k in (2, 3, 4))
        assert shape.second / n == pytest.approx(second)
        assert shape.third / n**2 == pytest.approx(third)
        assert (shape.fourth - 3 * shape.second**2) / n**3 == pytest.approx(fourth - 3 * second**2)
        assert (shape.low, shape.high) == pytest.approx((-0.9, 0.9))


class TestEstimate:
    def test_value_and_standard_error_by_hand(self):
        found = estimate(Shape.of([0.0, 0.5, 1.0]), 3, PRIOR)
        # squares 1/4 + 0 + 1/4 over D - 1 = 2, over D = 3
        assert (found.value, found.std_error) == pytest.approx((0.5, math.sqrt(0.25 / 3)))

    @pytest.mark.parametrize(("successes", "n"), [(40, 100), (1, 30), (29, 30), (500, 1000)])
    def test_shares_of_successes_have_the_interval_of_wilson(self, successes, n):
        share = Shape.of([1.0] * successes + [0.0] * (n - successes))
        # The half user of the prior does not matter where it is as those observed.
        for confidence in (0.5, 0.9, 0.95, 0.999):
            found = estimate(share, n, share, confidence)
            low, high = wilson(successes, n, confidence)
            assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-12)

    def test_the_half_user(self):
        """30 users at 0 and half a user at 0 or 1 with probability 3/4 and 1/4, by hand."""
        found = estimate(Shape.of([0.0] * 30), 30, PRIOR)
        second = third = fourth = 0.5 / 4 / 30.5  # moments about the mean observed, 0
        step = stats.t.ppf(0.975, 29) ** 2 / 30
        curvature = fourth / second**2 - 3 - third**2 / second**3
        assert curvature == pytest.approx(-3.0)  # so that of a share of successes is taken, -2
        # (1 - step c/2) x^2 - step (k3/v) x - step v 30/29 = 0, with k3 = v
        roots = np.roots([1 + step, -step, -step * second * 30 / 29])
        assert found.ci_high == pytest.approx(max(roots))
        assert (found.std_error, found.ci_low) == (0.0, 0.0)
        assert 0.03 < found.ci_high < 0.2

    @given(st.integers(50, 5000), st.integers(0, 100))
    def test_symmetric_values_have_nearly_the_t_interval(self, n, seed):
        values = np.random.default_rng(seed).uniform(-1, 1, n)
        values = np.concatenate([values, -values])
        found = estimate(Shape.of(values), 2 * n, Shape.of([-1.0, 1.0]))
        t = stats.t.ppf(0.975, 2 * n - 1) * values.std(ddof=1) / math.sqrt(2 * n)
        assert (found.ci_low, found.ci_high) == pytest.approx((-t, t), rel=6 / n)

    def test_one_user(self):
        found = estimate(Shape.of([0.3]), 1, PRIOR)
        assert (found.value, found.n_users) == (0.3, 1)
        assert all(map(math.isnan, (found.std_error, found.ci_low, found.ci_high)))

    def test_two_users_alike(self):
        found = estimate(Shape.of([0.3, 0.3]), 2, PRIOR)
        assert found.std_error == 0.0
        assert 0.0 <= found.ci_low < 0.3 < found.ci_high <= 1.0

    def test_nothing_varies(self):
        one = Shape.of([1.0])
        assert estimate(one, 7, one) == Estimate(1.0, 0.0, 1.0, 1.0, 7)

    @pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 95.0, math.nan])
    def test_wrong_confidence(self, confidence):
        with pytest.raises(InputError, match=r"confidence is .*; it must be between 0 and 1"):
            estimate(PRIOR, 4, PRIOR, confidence)

    def test_no_user(self):
        with pytest.raises(InputError, match="no users to average over"):
            estimate(PRIOR, 0, PRIOR)

    @given(VALUES, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_more_confidence_is_wider(self, values, one, other):
        shape = Shape.of(values)
        narrow, wide = (estimate(shape, len(values), PRIOR, each) for each in sorted([one, other]))
        assert wide.ci_low <= narrow.ci_low + 1e-15
        assert narrow.ci_high <= wide.ci_high + 1e-15

    @given(VALUES)
    def test_holds_the_mean_and_keeps_to_the_range(self, values):
        found = estimate(Shape.of(values), len(values), PRIOR)
        assert found.ci_low <= found.value <= found.ci_high
        assert min(0.0, found.value) <= found.ci_low
        assert found.ci_high <= max(1.0, found.value)

    @given(VALUES, st.floats(0.1, 100), st.floats(-10, 10))
    def test_units_do_not_matter(self, values, scale, shift):
        values = np.array(values)
        found = estimate(Shape.of(values), values.size, PRIOR)
        moved = estimate(
            Shape.of(values * scale + shift),
            values.size,
            Shape.of(np.array([0.0, 0.0, 0.0, 1.0]) * scale + shift),
        )
        for key in ("value", "ci_low", "ci_high"):
            expected = getattr(found, key) * scale + shift
            assert getattr(moved, key) == pytest.approx(expected, abs=1e-6 * scale)
        assert moved.std_error == pytest.approx(found.std_error * scale, abs=1e-6 * scale)

    @given(VALUES)
    def test_a_mirror_mirrors_the_interval(self, values):
        values, prior = np.array(values), np.array([0.0, 0.0, 1.0])
        found = estimate(Shape.of(values), values.size, Shape.of(prior))
        mirrored = estimate(Shape.of(-values), values.size, Shape.of(-prior))
        assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx(
            (-found.ci_high, -found.ci_low), abs=1e-9
        )


@pytest.mark.parametrize(
    ("name", "draw", "mean"),
    [
        ("hits", lambda rng, n: (rng.random(n) < 0.05).astype(float), 0.05),
        # As a corrected recall: mostly about 0, now and then 0.6, below 0 between.
        (
            "corrected",
            lambda rng, n: rng.choice([0.57, 0.02, -0.04, 0.0], n, p=[0.1, 0.05, 0.15, 0.7]),
            0.57 * 0.1 + 0.02 * 0.05 - 0.04 * 0.15,
        ),
        ("ndcg", lambda rng, n: 1 / np.log2(1 + rng.geometric(0.05, n)), None),
    ],
)
@pytest.mark.parametrize("n", [30, 200])
def test_coverage(name, draw, mean, n):
    """At least 95 % but for what chance allows, and not much more."""
    rng = np.random.default_rng([n, len(name)])
    if mean is None:
        k = np.arange(1, 2000)
        mean = float((stats.geom.pmf(k, 0.05) / np.log2(1 + k)).sum())
    prior = Shape.of(draw(np.random.default_rng(0), 10_000))
    found = [estimate(Shape.of(draw(rng, n)), n, prior) for _ in range(400)]
    covered = np.mean([each.ci_low <= mean <= each.ci_high for each in found])
    tolerance = 4 * math.sqrt(0.95 * 0.05 / 400)
    assert 0.95 - tolerance < covered
