"""Bracketing vectors against every extreme point, ranges against the truth, and refusals."""

import math
import warnings
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.stats import beta, chi2, norm
from scipy.stats import t as student

from sampled_metrics import InputError, InputWarning, correct
from sampled_metrics.evaluation.acts_like import acts_like_rank
from sampled_metrics.intervals.brackets import (
    LOWER,
    UPPER,
    _growth_between_points,
    _growth_within_blocks,
    bracketing_vectors,
    likely_mixture,
)
from sampled_metrics.intervals.groups import group_users
from sampled_metrics.intervals.kernels import kernel
from sampled_metrics.intervals.likelihood import UpperBound, UserValues
from sampled_metrics.intervals.misfit import (
    count_users_by_rank,
    misfit,
    rising_p_value,
)
from sampled_metrics.intervals.ranges import bracket_users
from sampled_metrics.intervals.shapes import SHAPES, shape_factor, shape_name
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import pmf_at
from tests.conftest import difference_ranges, metric_ranges
from tests.helpers.caught_warnings import full_messages, warns_about

N, M = 3541, 100
BROKEN = {  # what a correction does: (refuses the ranks, asks about them)
    "every negative twice": (True, False),
    "ten negatives given as a hundred": (True, True),
    "two negatives given as a hundred": (True, False),
    "counted from two": (True, False),
    "popular negatives": (
        False,
        True,
    ),  # some true ranks explain them, those of a poor recommender
    "ten of a hundred negatives hard": (True, False),
    "half of the negatives hard": (True, False),
    "held-out items that are not scored": (False, True),  # are at the end: not broken
}
METRICS = (
    "recall@3",
    "precision@2",
    "f1@4",
    "hit@1",
    "ndcg@5",
    "ndcg",
    "ap@3",
    "ap",
    "rr@7",
)
RECALL = [parse_measure("recall@10")]
each_sampling = pytest.mark.parametrize("sampling", Sampling)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def bracket(measure, table, shares, n_users, z):
    """Lower and upper vectors of a metric."""
    return tuple(
        bracketing_vectors(measure, table, shares, n_users=n_users, z=z, sign=sign)
        for sign in (LOWER, UPPER)
    )


def upper_bound(values, largest, confidence):
    """Upper bound of the mean of values, one of each user."""
    n_units = np.ones(values.size, int)
    return UpperBound(UserValues(values, n_units, largest)).at(confidence)


def power_ranks(users, exponent, rng):
    """True ranks that are at most k with probability (k/n)^exponent."""
    return np.ceil(N * rng.random(users) ** (1 / exponent)).astype(int).clip(1, N)


def sampled(true, m, rng, n=N):
    return 1 + rng.hypergeometric(true - 1, n - true, m)


@cache
def chances(n, m, sampling):
    """Distributions of the sampled rank for all true ranks."""
    return pmf_at(np.arange(1, n + 1), n, m, sampling)


def all_points(n, m, shape, sampling, metric, cutoff=None):
    """Distributions of sampled ranks and exact metrics under all extreme points."""
    ranks = np.arange(1, n + 1)
    single = chances(n, m, sampling).copy()
    values = parse_measure(metric).value_at(ranks, n)
    last = 0 if shape == "none" else max(math.ceil(5 * n / m), 3 * (cutoff or 0))
    single[:last] = np.cumsum(single[:last], axis=0) / ranks[:last, None]
    values[:last] = np.cumsum(values[:last]) / ranks[:last]
    return single, values


class TestKernel:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize(
        ("n", "m"), [(2, 1), (9, 3), (40, 30), (700, 200), (20_500, 40)]
    )
    def test_against_all_points(self, n, m, shape, sampling):
        for metric, cutoff in (("recall@777", 777), ("ap", None)):
            table = kernel(n, m, sampling, shape, cutoff)
            given, exact = all_points(n, m, shape, sampling, metric, cutoff)
            expected = np.add.reduceat(given[table.points - 1], table.starts, axis=1)
            np.testing.assert_allclose(
                table.probabilities, expected, rtol=0, atol=1e-11
            )
            found = table.exact_metric(parse_measure(metric))
            np.testing.assert_allclose(found, exact[table.points - 1], rtol=1e-12)
            beside = [k for k in (1, 777, 778, n) if k <= n and cutoff]
            assert set(beside) <= set(table.points.tolist())
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
    def test_errors(self, arguments, word):
        with pytest.raises(InputError, match=word):
            kernel(*arguments, None)


def greatest_sums(gains, last, factor):
    """Greatest weighted sum of gains over ranks 1 ... k, by k; beyond `last` the gain of k."""
    sums = np.cumsum(np.maximum(gains[:last], factor * gains[:last]))
    return np.concatenate([sums / np.arange(1, last + 1), gains[last:]])


class TestFactor:
    def test_names_and_numbers(self):
        assert [shape_factor(shape) for shape in (*SHAPES, 2, "2.5")] == [
            1.0,
            math.inf,
            2.0,
            2.5,
        ]
        assert [shape_name(shape) for shape in (1, "inf", 2.0, "3.10")] == [
            *SHAPES,
            "2",
            "3.1",
        ]
        for wrong in ("round", 0.9, "nan", True, None):
            with pytest.raises(InputError, match="number"):
                shape_factor(wrong)

    @pytest.mark.parametrize(
        ("n", "m"), [(25, 4), (80, 40), (300, 100), (20_500, 60)]
    )
    @pytest.mark.parametrize("factor", [1.3, 4.0])
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_encloses_every_distribution_of_the_class(self, n, m, factor, metric):
        measure, ranks = parse_measure(metric), np.arange(1, n + 1)
        table = kernel(n, m, "without-replacement", factor, measure.cutoff)
        true = np.random.default_rng(3).geometric(8 / n, 2000).clip(1, n)
        drawn = sampled(true, m, np.random.default_rng(4), n)
        counts = np.bincount(drawn - 1, minlength=m + 1).astype(float)
        shares = likely_mixture(table.sum_by_bin(counts), table).shares
        lower, upper = bracket(measure, table, shares[None], 2000, 1.96)
        single = pmf_at(ranks, n, m, Sampling.WITHOUT_REPLACEMENT)
        exact = measure.value_at(ranks, n)
        for gains in (exact - single @ upper[0], single @ lower[0] - exact):
            sums = greatest_sums(gains, table.last_shaped, factor)
            assert -2e-3 < sums.max() < 1e-10

    @pytest.mark.parametrize("factor", [1.0, 1.3, 2.0, 10.0])
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_many_users_leave_what_a_linear_programme_leaves(self, metric, factor):
        n, m, ranks = 25, 4, np.arange(1, 26)
        single = pmf_at(ranks, n, m, Sampling.WITHOUT_REPLACEMENT)
        exact = parse_measure(metric).value_at(ranks, n)
        shares = np.random.default_rng(1).dirichlet(np.arange(n, 0, -1)) @ (
            np.cumsum(single, axis=0) / ranks[:, None]
        )
        table = kernel(n, m, "without-replacement", factor, None)
        found = bracket(parse_measure(metric), table, shares[None], 10**12, 1.0)
        # q is non-increasing, q <= p <= factor q; the unknowns are p and q
        eye, zero = np.eye(n), np.zeros((n, n))
        falling = np.hstack([zero[1:], eye[1:] - eye[:-1]])
        between = [np.hstack([-eye, eye]), np.hstack([eye, -factor * eye])]
        rows = np.vstack([falling, *between])
        equal = np.hstack([single.T, zero[: m + 1]])
        for vectors, sign in zip(found, (1.0, -1.0), strict=True):
            extreme = linprog(
                np.r_[sign * exact, np.zeros(n)],
                A_ub=rows,
                b_ub=np.zeros(len(rows)),
                A_eq=equal,
                b_eq=shares,
                method="highs",
            )
            assert vectors[0] @ shares == pytest.approx(sign * extreme.fun, abs=4e-4)

    def test_ranges_widen_with_the_factor_and_the_fit_improves(self):
        true = power_ranks(3000, 0.3, np.random.default_rng(6))
        sample = SampledRanks(sampled(true, M, np.random.default_rng(7)), N, M)
        spans = [ends(sample, shape=shape) for shape in (1, 1.5, 4, "none")]
        assert all(a[0] > b[0] and a[1] < b[1] for a, b in pairwise(spans))
        assert ends(sample, shape=1) == ends(sample)
        peaked = np.random.default_rng(8).integers(120, 170, 3000)
        sample = SampledRanks(sampled(peaked, M, np.random.default_rng(9)), N, M)
        statistics = [misfit(sample, shape).statistic for shape in (1, 1.5, 2, 4, 16)]
        assert statistics == sorted(statistics, reverse=True)
        assert misfit(sample).p_value < 1e-6
        assert misfit(sample, 10**4).p_value > 0.01


class TestBracket:
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_encloses_every_distribution_of_the_class(self, data):
        n = data.draw(st.integers(2, 80))
        m = data.draw(st.integers(1, min(n - 1, 40)))
        sampling = data.draw(st.sampled_from(list(Sampling)))
        shape, metric = (
            data.draw(st.sampled_from(SHAPES)),
            data.draw(st.sampled_from(METRICS)),
        )
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
    def test_holds_between_the_points_of_large_n(self, metric, shape, sampling):
        n, m, measure = 20_500, 60, parse_measure(metric)
        table = kernel(n, m, sampling, shape, measure.cutoff)
        ranks = np.random.default_rng(5).binomial(
            m, beta(0.2, 1).rvs(2000, random_state=5)
        )
        counts = np.bincount(ranks, minlength=m + 1).astype(float)
        lower, upper = bracket(
            measure,
            table,
            likely_mixture(table.sum_by_bin(counts), table).shares[None],
            2000,
            1.96,
        )
        points, exact = all_points(n, m, shape, sampling, metric, measure.cutoff)
        assert (points @ lower[0] <= exact + 1e-10).all()
        assert (points @ upper[0] >= exact - 1e-10).all()
        # and is not far from what holds at the points alone
        assert (exact - points @ lower[0]).min() < 0.002
        assert (points @ upper[0] - exact).min() < 0.002

    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_many_users_leave_what_a_linear_programme_leaves(
        self, metric, shape, sampling
    ):
        n, m = 25, 4
        points, exact = all_points(n, m, shape, sampling, metric)
        shares = np.random.default_rng(1).dirichlet(np.ones(n)) @ points
        table = kernel(n, m, sampling, shape, None)
        lower, upper = bracket(
            parse_measure(metric), table, shares[None], 10**12, 1.0
        )
        for vector, sign in ((lower[0], 1.0), (upper[0], -1.0)):
            extreme = linprog(
                sign * exact, A_eq=points.T, b_eq=shares, method="highs"
            )
            assert vector @ shares == pytest.approx(sign * extreme.fun, abs=2e-4)

    def test_metric_that_does_not_vary(self):
        table, shares = kernel(10, 3, "distinct", "none", None), np.full((1, 4), 0.25)
        found = bracket(parse_measure("recall@10"), table, shares, 5, 1.96)
        np.testing.assert_array_equal(found, np.ones((2, 1, 4)))


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
            found = upper_bound(np.repeat(values, shares), 2.0, confidence)
            assert found == pytest.approx(-best.fun, abs=1e-5)

    def test_share_of_successes_is_the_likelihood_ratio_interval(self):
        found, share = upper_bound(np.repeat([1.0, 0.0], [7, 43]), 1.0, 0.95), 7 / 50
        ratio = 7 * np.log(share / found) + 43 * np.log((1 - share) / (1 - found))
        assert 2 * ratio == pytest.approx(student.ppf(0.975, 49) ** 2)

    def test_equal_values(self):
        assert upper_bound(np.ones(5), 1.0, 0.95) == 1.0
        assert 1.0 < upper_bound(np.ones(5), 2.0, 0.95) < 2.0


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    return SampledRanks(sampled(power_ranks(1000, 0.25, rng), M, rng), N, M)


@pytest.fixture(scope="module")
def two():
    """A worse and a better recommender that rank the same negatives."""
    rng = np.random.default_rng(6)
    uniform = rng.random(2000)
    true, worse = (
        np.ceil(N * uniform ** (1 / power)).astype(int) for power in (0.15, 0.4)
    )
    negatives = np.sort(rng.random((2000, M)), axis=1)
    ranks = (
        1 + (negatives < (rank / N)[:, None]).sum(axis=1) for rank in (worse, true)
    )
    return tuple(SampledRanks(rank, N, M, users=np.arange(2000)) for rank in ranks)


def ends(sample, **options):
    (found,) = metric_ranges(RECALL, sample, **options)
    return found.low, found.high


class TestMetricRanges:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "ap"])
    def test_holds_the_exact_metric(self, metric, shape, sampling):
        rng, measure = np.random.default_rng(7), parse_measure(metric)
        share = np.diff((np.arange(301) / 300) ** 0.3)
        exact = share @ measure.value_at(np.arange(1, 301), 300)
        marginal = share @ pmf_at(np.arange(1, 301), 300, 10, sampling)
        for _ in range(8):
            ranks = 1 + rng.choice(11, 400, p=marginal / marginal.sum())
            (found,) = metric_ranges(
                [measure], SampledRanks(ranks, 300, 10, sampling), shape=shape
            )
            assert found.low <= exact <= found.high
            assert not found.is_inverted

    def test_multiples_and_aliases_have_proportional_ranges(self, sample):
        names = [
            "recall@10",
            "hit@10",
            "precision@10",
            "f1@10",
            "ap",
            "rr",
            "ap@5",
            "rr@5",
        ]
        ranges = metric_ranges([parse_measure(name) for name in names], sample)
        recall, hit, precision, f1, ap, rr, ap5, rr5 = (
            [r.low, r.high] for r in ranges
        )
        np.testing.assert_allclose([hit, rr, rr5], [recall, ap, ap5], rtol=1e-9)
        np.testing.assert_allclose(np.multiply(10, precision), recall, rtol=1e-6)
        np.testing.assert_allclose(np.multiply(5.5, f1), recall, rtol=1e-6)

    def test_shape_confidence_and_users_decide_the_width(self, sample):
        default = np.ptp(ends(sample))
        assert np.ptp(ends(sample, shape="none")) > default
        assert np.ptp(ends(sample, confidence=0.999)) > default
        assert np.ptp(ends(SampledRanks(sample.sampled_ranks[:100], N, M))) > default

    def test_rows_in_another_order_and_rows_of_one_user(self, sample):
        ids, ranks = np.arange(1000), sample.sampled_ranks
        once = ends(SampledRanks(ranks, N, M, users=ids))
        order = np.random.default_rng(0).permutation(1000)
        shuffled = SampledRanks(ranks[order], N, M, users=ids[order])
        assert ends(shuffled) == pytest.approx(once, rel=1e-9)
        twice = SampledRanks(np.tile(ranks, 2), N, M, users=np.tile(ids, 2))
        assert ends(twice) == pytest.approx(once, rel=1e-9)
        assert np.ptp(ends(SampledRanks(np.repeat(ranks, 5), N, M))) < np.ptp(
            once
        )  # 5,000 users

    @each_sampling
    def test_auc_has_the_interval_of_its_estimate(self, sampling):
        ranks = np.random.default_rng(3).integers(1, 22, 2000)
        (found,) = metric_ranges(
            [parse_measure("auc")], SampledRanks(ranks, 60, 21, sampling)
        )
        drawn = 21.0 if sampling != "distinct" else 59 * (1 - (1 - 1 / 59) ** 21)
        values = 1 - (ranks - 1) / drawn
        half = norm.ppf(0.975) * values.std() / np.sqrt(2000)
        expected = (values.mean() - half, values.mean() + half)
        assert (found.low, found.high) == pytest.approx(expected, abs=3e-4)

    def test_groups_of_n_against_the_mean_n(self):
        rng = np.random.default_rng(4)
        n = rng.integers(2000, 3700, 3000)
        true = np.ceil(n * rng.random(3000) ** 4).astype(int)
        ranks = sampled(true, 50, rng, n)
        mean = ends(SampledRanks(ranks, round(n.mean()), 50))
        assert ends(SampledRanks(ranks, n, 50)) == pytest.approx(mean, abs=0.006)

    @each_shape
    def test_stays_within_the_class(self, shape):
        assert ends(SampledRanks([1] * 50, 20, 19), shape=shape)[1] == pytest.approx(
            1.0
        )
        low, high = ends(SampledRanks([20] * 50, 20, 19), shape="none")
        assert low == 0.0
        assert high < 0.1

    @pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 1), (3, 2), (20_001, 3)])
    @pytest.mark.parametrize("users", [1, 2, 3])
    def test_few_of_everything(self, n, m, users):
        measures = [
            parse_measure(name) for name in ("recall@1", "recall@5", "ap", "auc")
        ]
        for shape in SHAPES:
            for found in metric_ranges(
                measures, SampledRanks([1] * users, n, m), shape=shape
            ):
                assert 0.0 <= found.low <= found.high <= 1.0 + 1e-12

    def test_a_recommender_that_avoids_the_top_is_inverted(self):
        rng = np.random.default_rng(0)
        worse = SampledRanks(
            sampled(rng.integers(N // 40, N // 30, 1000), M, rng), N, M
        )
        (found,) = metric_ranges(RECALL, worse)
        assert found.is_inverted


def averaged(sample):
    """Lower and upper bracketing vectors averaged for each user."""
    brackets = bracket_users(tuple(RECALL), sample)
    (bracket,) = brackets.by_metric
    kind = brackets.groups.kind_of_unit
    return np.stack([bracket.lower.values[kind], bracket.upper.values[kind]])


def changed_by(ranks, user):
    """Users whose bracketing vectors change with the rank of one user, besides that user.

    Both halves are solved on the same true ranks, so vectors may also differ by some 1e-5.
    """
    other = ranks.copy()
    other[user] = 40
    before, after = (averaged(SampledRanks(rows, N, M)) for rows in (ranks, other))
    distance = abs(before - after).max(axis=0)
    return set(np.flatnonzero(distance > 1e-4).tolist()) - {user}


def test_no_user_chooses_the_vectors_applied_to_that_user():
    """A rank moves the vectors of the other half, and no rank of those moves them in turn."""
    ranks = sampled(
        power_ranks(60, 0.3, np.random.default_rng(3)), M, np.random.default_rng(4)
    )
    ranks = np.minimum(ranks, 20)
    others = changed_by(ranks, 0)
    assert 10 < len(others) < 50
    for user in sorted(others)[:3]:
        own = changed_by(ranks, user)
        assert own
        assert not own & others


@pytest.mark.parametrize("times", [2, 3])
def test_rows_of_a_user_count_as_one_user(times):
    """Every row several times is the same evaluation: nothing changes, to the last digits."""
    ranks = sampled(
        power_ranks(200, 0.3, np.random.default_rng(6)), M, np.random.default_rng(7)
    )
    ids = np.arange(200)
    once = SampledRanks(ranks, N, M, users=ids)
    again = SampledRanks(np.tile(ranks, times), N, M, users=np.tile(ids, times))
    (expected,), (found,) = (metric_ranges(RECALL, each) for each in (once, again))
    assert found[:2] == pytest.approx(expected[:2], rel=1e-12)


def test_bounds_of_some_confidence_are_above_means():
    values = np.array([0.0, 0.2, 0.2, 0.9])
    assert upper_bound(values, 1.0, 1e-3) > values.mean() + 1e-5


@pytest.mark.skipif(
    scipy.__version__.startswith("1.15"), reason="its quantiles are off by 1e-7 here"
)
@pytest.mark.parametrize("confidence", [0.0, 1e-12])
def test_bounds_of_no_confidence_are_means(confidence):
    values = np.array([0.0, 0.2, 0.2, 0.9])
    assert upper_bound(values, 1.0, confidence) == pytest.approx(
        values.mean(), abs=1e-9
    )


class TestDifferenceRanges:
    def test_order_and_pairing(self, two):
        a, b = two
        (found,), (back,) = (
            difference_ranges(RECALL, a, b),
            difference_ranges(RECALL, b, a),
        )
        assert 0.0 < found.low < found.high < 1.0
        assert not found.is_inverted
        assert (found.low, found.high) == pytest.approx(
            (-back.high, -back.low), rel=1e-9
        )
        alone = [SampledRanks(each.sampled_ranks, N, M) for each in two]
        (independent,) = difference_ranges(RECALL, *alone)
        assert independent.low < found.low
        assert independent.high > found.high
        (same,) = difference_ranges(RECALL, a, a)
        assert same.low < 0.0 < same.high


class TestBehavesLike:
    @each_sampling
    @pytest.mark.parametrize("n", [60, 5000])
    def test_against_all_ranks(self, n, sampling):
        points = pmf_at(np.arange(1, n + 1), n, 20, sampling)
        vectors = np.random.default_rng(8).exponential(size=(20, 21))
        for vector in np.sort(vectors)[:, ::-1]:
            fallen = np.flatnonzero(points @ vector <= vector[0] / 2)
            expected = fallen[0] + 1 if fallen.size else None
            assert acts_like_rank(vector, n, sampling) == expected

    def test_millions_of_candidates(self):
        assert acts_like_rank(np.linspace(1, 0, 1001), 10**6) == 500_001

    @pytest.mark.parametrize("vector", [[1.0, 0.9, 0.8], [0.0, 0.0], [-1.0, 0.0]])
    def test_credit_that_does_not_fall_to_half(self, vector):
        assert acts_like_rank(np.array(vector), 100) is None


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ((100, 200, 400), [100, 200, 400]),
        ((100, 102, 102), [101]),  # 2 % apart
        ((100, 103, 103), [100, 103]),
    ],
)
def test_users_are_in_groups_of_about_as_many_candidates(sizes, groups):
    n = np.repeat(sizes, (4, 4, 5))
    sample = SampledRanks(np.ones(n.size, int), n, 9)
    assert group_users(sample).group_sizes == groups


def test_within_blocks_where_the_sign_changes_by_hand():
    """Means are 3, -1/2, -1/2 and 1/2; a block of one rank has no room for a change."""
    sizes = np.array([1.0, 2.0, 2.0, 4.0])
    sums = np.array([3.0, -1.0, -1.0, 2.0])
    table = SimpleNamespace(factor=3.0, block_sums=lambda _: (sums, sizes))
    found = _growth_within_blocks(np.zeros(5), table)
    changes = np.array([0.0, 3.5, 1.0, 1.0])
    bound = 2.0 * np.cumsum(sizes * changes / 8.0) / [1, 3, 5, 9]
    assert found.tolist() == pytest.approx([*bound, 0.0])


def test_between_points_a_parabola_is_bounded_twice():
    # 3 k^2 rises above the line between points at most by 3 (step / 2)^2, in the middle.
    points = np.array([1, 2, 6, 12, 20])
    growth = _growth_between_points(3.0 * points**2, SimpleNamespace(points=points))
    of_step = [0, 3 * 2**2, 3 * 3**2, 3 * 4**2]
    above = np.maximum([*of_step, 0], [0, *of_step])  # of the steps on both sides
    assert growth[:-1] == pytest.approx(2 * above[:-1])


class TestMisfit:
    @pytest.mark.long
    @each_shape
    @pytest.mark.parametrize("exponent", [0.1, 0.3, 1.0])
    def test_valid_data_is_rarely_refused(self, exponent, shape):
        rng = np.random.default_rng(10)
        refused = 0
        for m, users in [(5, 500), (20, 200), (100, 1000)] * 20:
            ranks = sampled(power_ranks(users, exponent, rng), m, rng)
            refused += misfit(SampledRanks(ranks, N, m), shape).p_value < 0.01
        assert refused <= 3  # of 60

    def broken(self, case):
        rng = np.random.default_rng(11)
        true = power_ranks(4000, 0.25, rng)
        match case:
            case "every negative twice":
                drawn = 2 * sampled(true, 50, rng) - 1
            case "ten negatives given as a hundred":
                drawn = sampled(true, 10, rng)
            case "two negatives given as a hundred":
                drawn = sampled(true, 2, rng)
            case "counted from two":
                drawn = np.minimum(sampled(true, M, rng) + 1, M + 1)
            case "popular negatives":  # of which the share above is near 1
                drawn = 1 + rng.binomial(M, 1 - (true - 1) / N)
            case "ten of a hundred negatives hard":  # as good as the held-out item
                drawn = sampled(true, 90, rng) + rng.binomial(10, 0.5, true.size)
            case "half of the negatives hard":
                drawn = sampled(true, 50, rng) + rng.binomial(50, 0.5, true.size)
            case _:
                assert case == "held-out items that are not scored"
                unscored = true.size * 2 // 5
                true[:unscored] = rng.integers(N - 600, N, unscored)
                drawn = sampled(true, M, rng)
        return drawn

    @pytest.mark.parametrize("case", BROKEN)
    def test_broken_data_is_refused_or_asked_about(self, case, recwarn):
        """Each of these made up mistakes must not pass in silence, by the public function."""
        refused = False
        try:
            correct(self.broken(case), "recall@10", "cls", n_items=N, n_negatives=M)
        except InputError:
            refused = True
        asked = any(issubclass(each.category, InputWarning) for each in recwarn)
        assert (refused, asked) == BROKEN[case]

    @pytest.mark.parametrize("users", [300, 6000])
    def test_some_poor_ranks_are_no_question(self, users, recwarn):
        """A good recommender that has 4 % of its users in the last four tenths."""
        rng = np.random.default_rng(12)
        true = power_ranks(users, 0.25, rng)
        true[: users // 25] = rng.integers(N * 6 // 10, N, users // 25)
        correct(sampled(true, M, rng), "recall@10", "cls", n_items=N, n_negatives=M)
        assert not recwarn.list

    def test_ranks_that_avoid_the_top_need_a_wider_shape(self):
        """Some ranks a little further down are likelier: no broken data, but not of shape 1."""
        rng = np.random.default_rng(14)
        rank = np.arange(1, N + 1)
        weights = np.where(rank <= 60, 1.0, 2.5 * np.minimum(1.0, 177 / rank) ** 2)
        true = rng.choice(rank, 100_000, p=weights / weights.sum())
        drawn = SampledRanks(sampled(true, M, rng), N, M)
        with pytest.raises(InputError, match="shape=3"):
            correct(drawn, "recall@10", "sampled")
        with warns_about("negatives"):
            correct(drawn, "recall@10", "sampled", shape=3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            correct(drawn, "recall@10", "sampled", shape="none")

    @pytest.mark.filterwarnings("ignore:.*in a random order")
    @pytest.mark.parametrize(("step", "asks"), [(8, True), (6, False), (-8, False)])
    def test_first_ranks_that_are_rarer_than_later_ones(self, step, asks):
        """The mean of the first 6 of 20 ranks, of 100 users each, is tested."""
        counts = np.full(20, 100)
        counts[:6] += step * np.arange(-5, 6, 2) // 2
        rank = np.arange(1, 7)
        z = (rank @ counts[:6] / 600 - 3.5) / np.sqrt(35 / 12 / 600)
        assert (norm.sf(z) < 0.0025) == asks
        drawn = SampledRanks(np.repeat(np.arange(1, 21), counts), 1000, 19)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            correct(drawn, "recall@10", "sampled")
        assert any("likelier" in text for text in full_messages(caught)) == asks

    @pytest.mark.parametrize(
        ("n", "m"), [(300, 30), (300, 299), (3, 1), (25_000, 400)]
    )
    def test_classes_in_order_further_down(self, n, m):
        table = kernel(n, m, "without-replacement", "non-increasing", None)
        for last in (n // 2, n):
            wider = kernel(n, m, "without-replacement", "non-increasing", None, last)
            single = pmf_at(np.arange(1, n + 1), n, m, Sampling.WITHOUT_REPLACEMENT)
            binned = np.add.reduceat(single, table.starts, axis=1)
            means = np.cumsum(binned, axis=0) / np.arange(1, n + 1)[:, None]
            last = max(last, table.last_shaped)
            expected = np.where(np.arange(1, n + 1)[:, None] <= last, means, binned)
            assert wider.last_shaped == last
            np.testing.assert_allclose(
                wider.probabilities, expected[wider.points - 1], atol=1e-11
            )

    def test_one_row_per_user(self):
        rng = np.random.default_rng(13)
        ranks = np.repeat(sampled(power_ranks(300, 0.3, rng), M, rng), 20)
        users = np.repeat(np.arange(300), 20)
        assert misfit(SampledRanks(ranks, N, M, users=users)).p_value > 0.01
        assert (
            misfit(SampledRanks(ranks, N, M)).p_value < 0.01
        )  # 6,000 users of 300 ranks

    def test_p_value(self):
        found = misfit(SampledRanks([1] * 30 + [2] * 70, N, 1), "non-increasing")
        # m = 1: rank 1 has at least the probability 1/2
        expected = 2 * (30 * np.log(30 / 50) + 70 * np.log(70 / 50))
        assert found.statistic == pytest.approx(expected, rel=0.01)
        assert found.p_value == pytest.approx(chi2.sf(found.statistic, found.degrees))
        # Of true ranks 1, 2, 3, rank 2 comes closest: 3 cells less 1 point, and 1.
        sample = SampledRanks(
            [1] * 10 + [2] * 80 + [3] * 10, 3, 2, "with-replacement"
        )
        expected = 2 * (20 * np.log(10 / 25) + 80 * np.log(80 / 50))
        assert misfit(sample, "none")[:2] == (pytest.approx(expected), 3)


def rise_of(ranks, m):
    return rising_p_value(count_users_by_rank(SampledRanks(ranks, N, m)))


class TestRise:
    @each_sampling
    @pytest.mark.parametrize(("n", "m"), [(9, 8), (60, 7), (60, 20), (400, 100)])
    def test_low_ranks_of_the_class_have_no_larger_mean_than_equally_likely_ones(
        self, n, m, sampling
    ):
        """Under each extreme point of the class, equally likely true ranks 1 ... k."""
        single = pmf_at(np.arange(1, n + 1), n, m, sampling)
        of_points = np.cumsum(single, axis=0) / np.arange(1, n + 1)[:, None]
        for length in (6, 12, 24):
            if length == 6 or length <= (m + 1) // 4:
                head = of_points[:, :length]
                means = head @ np.arange(1, length + 1) / head.sum(axis=1)
                assert means.max() <= (length + 1) / 2 + 1e-12

    def test_p_value_by_hand(self):
        """Of 100 negatives the means of ranks up to 6, 12 and 24 are tested."""
        ranks = [1] * 2 + [5] * 20 + [9] * 4 + [20] * 30 + [80] * 40
        found = []
        for length, head in (
            (6, [1] * 2 + [5] * 20),
            (12, ranks[:26]),
            (24, ranks[:56]),
        ):
            deviation = np.std(np.arange(1, length + 1)) / np.sqrt(len(head))
            found.append(norm.sf((np.mean(head) - (length + 1) / 2) / deviation))
        assert rise_of(ranks, M) == pytest.approx(3 * min(found))
        few = SampledRanks([1] * 2 + [5] * 17 + [80] * 40, N, M)
        assert (
            rising_p_value(count_users_by_rank(few)) == 1.0
        )  # of 19 users the mean is not normal

    @pytest.mark.parametrize(
        ("m", "longest"), [(1, 6), (10, 6), (46, 6), (47, 12), (95, 24)]
    )
    def test_up_to_a_quarter_of_all_ranks(self, m, longest):
        """Ranks just below the longest tested are noticed, those after it are not."""
        last = min(longest, m + 1)
        assert rise_of([last] * 200, m) < 0.01 or last < 4
        assert rise_of([min(longest + 1, m + 1)] * 200, m) == 1.0 or m + 1 <= longest

    @pytest.mark.parametrize("m", [10, 50, 500])
    def test_level_where_all_ranks_are_equally_likely(self, m):
        """The least favourable case: questions begin at p = 0.0025."""
        rng = np.random.default_rng(15)
        found = [rise_of(rng.integers(1, m + 2, 500), m) for _ in range(2000)]
        assert np.mean(np.array(found) < 0.0025) < 0.006

    def test_some_popular_negatives_are_asked_about(self, recwarn):
        """Above the item is a share of negatives that is the root of that of the candidates."""
        rng = np.random.default_rng(16)
        rank = np.arange(1, N + 1)
        weights = 1.0 / (rank + 20)
        true = rng.choice(rank, 2000, p=weights / weights.sum())
        drawn = SampledRanks(1 + rng.binomial(M, np.sqrt((true - 1) / N)), N, M)
        correct(drawn, "recall@10", "sampled")
        assert [each.category for each in recwarn.list] == [InputWarning]


def test_nothing_is_printed_while_ranges_are_computed(capfd):
    measures = (parse_measure("recall@3"),)
    bracket_users(measures, SampledRanks([1, 2, 9, 4, 1, 3], 37, 10), "none", 0.9)
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_test_of_one_cell_has_one_degree_of_freedom():
    for ranks in ([1, 2, 3], [1, 5, 11, 2, 3, 4, 1, 1]):
        assert tuple(misfit(SampledRanks(ranks, 50, 10), "none")) == pytest.approx(
            (0, 1, 1)
        )
