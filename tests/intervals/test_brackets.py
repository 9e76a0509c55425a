"""Bracketing vectors against every extreme point, and against linear programmes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import beta

from sampled_metrics.intervals.brackets import (
    _growth_between_points,
    _growth_within_blocks,
    likely_mixture,
)
from sampled_metrics.intervals.kernels import kernel
from sampled_metrics.intervals.shapes import SHAPES
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.rank_draws import all_points, bracket, draw_ranks, each_sampling, each_shape

METRICS = ("recall@3", "precision@2", "f1@4", "hit@1", "ndcg@5", "ndcg", "ap@3", "ap", "rr@7")


def greatest_sums(gains, last, factor):
    """Greatest weighted mean of gains over ranks 1 ... k; beyond `last` the gain at rank k."""
    sums = np.cumsum(np.maximum(gains[:last], factor * gains[:last]))
    return np.concatenate([sums / np.arange(1, last + 1), gains[last:]])


class TestFactor:
    @pytest.mark.parametrize(("n", "m"), [(25, 4), (80, 40), (300, 100), (20_500, 60)])
    @pytest.mark.parametrize("factor", [1.3, 4.0])
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_encloses_the_class(self, n, m, factor, metric):
        measure, ranks = parse_measure(metric), np.arange(1, n + 1)
        table = kernel(n, m, "without-replacement", factor, measure.cutoff)
        true = np.random.default_rng(3).geometric(8 / n, 2000).clip(1, n)
        sampled_ranks = draw_ranks(true, m, np.random.default_rng(4), n)
        counts = np.bincount(sampled_ranks - 1, minlength=m + 1).astype(float)
        shares = likely_mixture(table.sum_by_bin(counts), table).shares
        lower, upper = bracket(measure, table, shares[None], 2000, 1.96)
        single = pmf_at(ranks, n, m, Sampling.WITHOUT_REPLACEMENT)
        exact = measure.value_at(ranks, n)
        for gains in (exact - single @ upper[0], single @ lower[0] - exact):
            sums = greatest_sums(gains, table.last_shaped, factor)
            assert -2e-3 < sums.max() < 1e-10

    @pytest.mark.parametrize("factor", [1.0, 1.3, 2.0, 10.0])
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_many_users_match_linear_programme(self, metric, factor):
        n, m, ranks = 25, 4, np.arange(1, 26)
        single = pmf_at(ranks, n, m, Sampling.WITHOUT_REPLACEMENT)
        exact = parse_measure(metric).value_at(ranks, n)
        shares = np.random.default_rng(1).dirichlet(np.arange(n, 0, -1)) @ (
            np.cumsum(single, axis=0) / ranks[:, None]
        )
        table = kernel(n, m, "without-replacement", factor, None)
        actual = bracket(parse_measure(metric), table, shares[None], 10**12, 1.0)
        # q is non-increasing, q <= p <= factor q; the unknowns are p and q
        eye, zero = np.eye(n), np.zeros((n, n))
        falling = np.hstack([zero[1:], eye[1:] - eye[:-1]])
        between = [np.hstack([-eye, eye]), np.hstack([eye, -factor * eye])]
        rows = np.vstack([falling, *between])
        equal = np.hstack([single.T, zero[: m + 1]])
        for vectors, sign in zip(actual, (1.0, -1.0), strict=True):
            extreme = linprog(
                np.r_[sign * exact, np.zeros(n)],
                A_ub=rows,
                b_ub=np.zeros(len(rows)),
                A_eq=equal,
                b_eq=shares,
                method="highs",
            )
            assert vectors[0] @ shares == pytest.approx(sign * extreme.fun, abs=4e-4)


class TestBracket:
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_encloses_the_class(self, data):
        n = data.draw(st.integers(2, 80))
        m = data.draw(st.integers(1, min(n - 1, 40)))
        sampling = data.draw(st.sampled_from(list(Sampling)))
        shape, metric = (data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(METRICS)))
        users = data.draw(st.sampled_from([1, 30, 1000, 10**7]))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        table = kernel(n, m, sampling, shape, None)
        shares = rng.dirichlet(np.full(table.starts.size, 0.3), 2) + 1e-4
        shares /= shares.sum(1, keepdims=True)
        lower, upper = bracket(parse_measure(metric), table, shares, users, 1.96)
        points, exact = all_points(n, m, shape, sampling, metric)
        scale = 1e-12 * max(1.0, np.abs([lower, upper]).max())
        assert (points @ lower.T <= exact[:, None] + scale).all()
        assert (points @ upper.T >= exact[:, None] - scale).all()

    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@10", "recall@900", "ndcg"])
    def test_holds_between_grid_points(self, metric, shape, sampling):
        n, m, measure = 20_500, 60, parse_measure(metric)
        table = kernel(n, m, sampling, shape, measure.cutoff)
        ranks = np.random.default_rng(5).binomial(m, beta(0.2, 1).rvs(2000, random_state=5))
        counts = np.bincount(ranks, minlength=m + 1).astype(float)
        lower, upper = bracket(
            measure, table, likely_mixture(table.sum_by_bin(counts), table).shares[None], 2000, 1.96
        )
        points, exact = all_points(n, m, shape, sampling, metric, measure.cutoff)
        assert (points @ lower[0] <= exact + 1e-10).all()
        assert (points @ upper[0] >= exact - 1e-10).all()
        # The bound is not much wider than the points alone require.
        assert (exact - points @ lower[0]).min() < 0.002
        assert (points @ upper[0] - exact).min() < 0.002

    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_many_users_match_linear_programme(self, metric, shape, sampling):
        n, m = 25, 4
        points, exact = all_points(n, m, shape, sampling, metric)
        shares = np.random.default_rng(1).dirichlet(np.ones(n)) @ points
        table = kernel(n, m, sampling, shape, None)
        lower, upper = bracket(parse_measure(metric), table, shares[None], 10**12, 1.0)
        for vector, sign in ((lower[0], 1.0), (upper[0], -1.0)):
            extreme = linprog(sign * exact, A_eq=points.T, b_eq=shares, method="highs")
            assert vector @ shares == pytest.approx(sign * extreme.fun, abs=2e-4)

    def test_constant_metric(self):
        table, shares = kernel(10, 3, "distinct", "none", None), np.full((1, 4), 0.25)
        actual = bracket(parse_measure("recall@10"), table, shares, 5, 1.96)
        np.testing.assert_array_equal(actual, np.ones((2, 1, 4)))


def test_growth_within_blocks_by_hand():
    """Block means are 3, -1/2, -1/2 and 1/2; within a block of one rank no weight can change."""
    sizes = np.array([1.0, 2.0, 2.0, 4.0])
    sums = np.array([3.0, -1.0, -1.0, 2.0])
    table = SimpleNamespace(factor=3.0, block_sums=lambda _: (sums, sizes))
    actual = _growth_within_blocks(np.zeros(5), table)
    changes = np.array([0.0, 3.5, 1.0, 1.0])
    bound = 2.0 * np.cumsum(sizes * changes / 8.0) / [1, 3, 5, 9]
    assert actual.tolist() == pytest.approx([*bound, 0.0])


def test_growth_between_points_of_parabola():
    # Between two points 3 k^2 differs most from a straight line in the middle: by 3 (step / 2)^2.
    points = np.array([1, 2, 6, 12, 20])
    growth = _growth_between_points(3.0 * points**2, SimpleNamespace(points=points))
    of_step = [0, 3 * 2**2, 3 * 3**2, 3 * 4**2]
    above = np.maximum([*of_step, 0], [0, *of_step])  # the larger one of the steps on both sides
    assert growth[:-1] == pytest.approx(2 * above[:-1])
