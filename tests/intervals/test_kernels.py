"""Kernels against the distributions of all single ranks."""

import numpy as np
import pytest

from sampled_metrics import InputError
from sampled_metrics.intervals.kernels import kernel
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.rank_draws import all_points, each_sampling, each_shape


class TestKernel:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize(("n", "m"), [(2, 1), (9, 3), (40, 30), (700, 200), (20_500, 40)])
    def test_against_all_points(self, n, m, shape, sampling):
        for metric, cutoff in (("recall@777", 777), ("ap", None)):
            table = kernel(n, m, sampling, shape, cutoff)
            probabilities, exact = all_points(n, m, shape, sampling, metric, cutoff)
            expected = np.add.reduceat(probabilities[table.points - 1], table.starts, axis=1)
            np.testing.assert_allclose(table.probabilities, expected, rtol=0, atol=1e-11)
            actual = table.exact_metric(parse_measure(metric))
            np.testing.assert_allclose(actual, exact[table.points - 1], rtol=1e-12)
            points = [k for k in (1, 777, 778, n) if k <= n and cutoff]
            assert set(points) <= set(table.points.tolist())
            assert table.points.size == n if n < 20_000 else table.points.size < n / 2

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            ((10, 3, "distinct", "unimodal"), "shape"),
            ((10, 3, "cluster", "none"), "sampling"),
            ((10, 10, "distinct", "none"), "10 negatives of 10"),
            ((10, 0, "distinct", "none"), "0 negatives"),
            ((10**6, 200_000, "distinct", "none"), "100,000 negatives"),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments, word):
        with pytest.raises(InputError, match=word):
            kernel(*arguments, None)

    @pytest.mark.parametrize(
        ("n", "m"),
        [(300, 30), (300, 299), (3, 1), pytest.param(25_000, 400, marks=pytest.mark.long)],
    )
    def test_down_to_extends_the_shape(self, n, m):
        table = kernel(n, m, "without-replacement", "non-increasing", None)
        for last in (n // 2, n):
            wider = kernel(n, m, "without-replacement", "non-increasing", None, down_to=last)
            single = pmf_at(np.arange(1, n + 1), n, m, Sampling.WITHOUT_REPLACEMENT)
            binned = np.add.reduceat(single, table.starts, axis=1)
            means = np.cumsum(binned, axis=0) / np.arange(1, n + 1)[:, None]
            last = max(last, table.last_shaped)
            expected = np.where(np.arange(1, n + 1)[:, None] <= last, means, binned)
            assert wider.last_shaped == last
            np.testing.assert_allclose(wider.probabilities, expected[wider.points - 1], atol=1e-11)
