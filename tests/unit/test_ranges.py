from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.stats import beta, chi2, norm

from sampled_metrics import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference import brackets, kernels
from sampled_metrics.inference.bounds import upper_bound
from sampled_metrics.inference.brackets import bracket, likely_shares
from sampled_metrics.inference.kernels import SHAPES, Kernel, given_rank, kernel
from sampled_metrics.inference.misfit import misfit
from sampled_metrics.inference.ranges import metric_ranges
from sampled_metrics.inference.resolution import behaves_like
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from tests.conftest import difference_ranges

N, M = 3541, 100
METRICS = ("recall@3", "precision@2", "f1@4", "hit@1", "ndcg@5", "ndcg", "ap@3", "ap", "rr@7")
RECALL = [parse_measure("recall@10")]
each_sampling = pytest.mark.parametrize("sampling", Sampling)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def extremes(n: int, shape: str) -> np.ndarray:
    """Extreme points of the class as distributions over the true ranks."""
    if shape == "none":
        return np.eye(n)
    return np.tri(n) / np.arange(1, n + 1)[:, None]


def power_ranks(users: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """True ranks that are at most k with probability (k/n)^exponent."""
    return np.ceil(N * rng.random(users) ** (1 / exponent)).astype(int).clip(1, N)


def sampled(true: np.ndarray, m: int, rng: np.random.Generator, n: int = N) -> np.ndarray:
    return 1 + rng.hypergeometric(true - 1, n - true, m)


@pytest.fixture
def few_points(monkeypatch):
    """Treat n above 200 as large."""
    monkeypatch.setattr(kernels, "ALL_POINTS", 200)
    monkeypatch.setattr("sampled_metrics.inference.brackets.ALL_POINTS", 200)
    kernels._kernel.cache_clear()
    yield
    kernels._kernel.cache_clear()


class TestKernel:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize(("n", "m"), [(2, 1), (9, 3), (40, 30)])
    def test_mixtures_of_single_ranks(self, n, m, shape, sampling):
        table = kernel(n, m, sampling, shape)
        single = given_rank(np.arange(1, n + 1), n, m, sampling)
        np.testing.assert_allclose(
            table.given, table.binned(extremes(n, shape) @ single), atol=1e-14
        )

    @pytest.mark.usefixtures("few_points")
    @each_sampling
    @each_shape
    def test_closed_forms_of_large_n(self, shape, sampling):
        n, m = 3000, 40
        table = kernel(n, m, sampling, shape, cutoff=777)
        single = given_rank(np.arange(1, n + 1), n, m, sampling)
        expected = table.binned(extremes(n, shape) @ single)[table.points - 1]
        np.testing.assert_allclose(table.given, expected, atol=1e-11)
        assert {1, 776, 777, 778, n} <= set(table.points.tolist())
        assert table.points.size < n / 2

    @each_shape
    @pytest.mark.parametrize("metric", METRICS)
    def test_exact_metric(self, metric, shape):
        measure = parse_measure(metric)
        expected = extremes(50, shape) @ measure.at(np.arange(1, 51), 50)
        found = kernel(50, 5, "distinct", shape).metric(measure)
        np.testing.assert_allclose(found, expected, atol=1e-15)

    def test_exact_metric_of_millions_of_ranks(self):
        n = 3_000_000
        table = kernel(n, 5, "with-replacement", "non-increasing")
        found = table.metric(parse_measure("ap"))
        harmonic = np.log(n) + np.euler_gamma + 1 / (2 * n)
        assert found[-1] == pytest.approx(harmonic / n, rel=1e-12)

    @pytest.mark.parametrize("metric", ["ap", "ndcg", "recall@10", "ndcg@25000", "rr@777"])
    def test_exact_metric_is_the_mean_over_all_ranks_up_to_each_point(self, metric):
        n, measure = 60_000, parse_measure(metric)
        table = kernel(n, 5, "with-replacement", "non-increasing", measure.cutoff)
        means = np.cumsum(measure.at(np.arange(1, n + 1), n))[table.points - 1] / table.points
        np.testing.assert_allclose(table.metric(measure), means, rtol=1e-12)

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ((10, 3, "distinct", "unimodal"), "unknown shape 'unimodal'"),
            ((10, 3, "cluster", "none"), "unknown sampling"),
            ((10, 10, "distinct", "none"), "10 negatives of 10 candidates"),
            ((10, 0, "distinct", "none"), "0 negatives"),
            ((10**6, 200_000, "distinct", "none"), "at most 100,000 negatives"),
        ],
    )
    def test_errors(self, arguments, problem):
        with pytest.raises(InputError, match=problem):
            kernel(*arguments)


def all_points(table: Kernel, metric: str, sampling: str) -> tuple[np.ndarray, np.ndarray]:
    """Distributions of sampled ranks and exact metrics under all extreme points."""
    ranks = np.arange(1, table.n + 1)
    single = given_rank(ranks, table.n, table.m, Sampling(sampling))
    values = parse_measure(metric).at(ranks, table.n)
    if table.shape == "none":
        return single, values
    return np.cumsum(single, axis=0) / ranks[:, None], np.cumsum(values) / ranks


class TestBracket:
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_encloses_every_distribution_of_the_class(self, data):
        n = data.draw(st.integers(2, 80))
        m = data.draw(st.integers(1, min(n - 1, 40)))
        sampling = data.draw(st.sampled_from(list(Sampling)))
        shape, metric = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(METRICS))
        users = data.draw(st.sampled_from([1, 30, 1000, 10**7]))
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        table = kernel(n, m, sampling, shape)
        shares = rng.dirichlet(np.full(table.starts.size, 0.3), 2) + 1e-4
        measure = parse_measure(metric)
        lower, upper = bracket(measure, table, shares / shares.sum(1, keepdims=True), users, 1.96)
        given, exact = all_points(table, metric, sampling)
        scale = 1e-12 * max(1.0, np.abs([lower, upper]).max())
        assert (given @ lower.T <= exact[:, None] + scale).all()
        assert (given @ upper.T >= exact[:, None] - scale).all()
        mixture = rng.dirichlet(np.full(n, 0.1))
        assert (mixture @ given @ lower.T <= mixture @ exact + scale).all()
        assert (mixture @ given @ upper.T >= mixture @ exact - scale).all()

    @pytest.mark.usefixtures("few_points")
    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@10", "recall@900", "ndcg"])
    def test_holds_between_the_points_of_large_n(self, metric, shape, sampling):
        n, m, measure = 6000, 60, parse_measure(metric)
        table = kernel(n, m, sampling, shape, measure.cutoff)
        counts = np.bincount(
            np.random.default_rng(5).binomial(m, beta(0.2, 1).rvs(2000, random_state=5)),
            minlength=m + 1,
        ).astype(float)
        lower, upper = bracket(measure, table, likely_shares(counts, table)[None], 2000, 1.96)
        given, exact = all_points(table, metric, sampling)
        assert (given @ lower[0] <= exact + 1e-10).all()
        assert (given @ upper[0] >= exact - 1e-10).all()
        # and is not far from what holds at the points alone
        assert (exact - given @ lower[0]).min() < 0.002
        assert (given @ upper[0] - exact).min() < 0.002

    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@3", "ap", "ndcg@5"])
    def test_many_users_leave_what_a_linear_programme_leaves(self, metric, shape, sampling):
        n, m = 25, 4
        table = kernel(n, m, sampling, shape)
        given, exact = all_points(table, metric, sampling)
        weights = np.random.default_rng(1).dirichlet(np.ones(n))
        shares = weights @ given
        lower, upper = bracket(parse_measure(metric), table, shares[None], 10**12, 1.0)
        for vector, sign in ((lower[0], 1.0), (upper[0], -1.0)):
            extreme = linprog(
                sign * exact, A_eq=given.T, b_eq=shares, bounds=(0, None), method="highs"
            )
            assert vector @ shares == pytest.approx(sign * extreme.fun, abs=2e-4)

    def test_metric_that_does_not_vary(self):
        table = kernel(10, 3, "distinct", "none")
        shares = np.full((1, 4), 0.25)
        lower, upper = bracket(parse_measure("recall@10"), table, shares, 5, 1.96)
        np.testing.assert_array_equal([lower, upper], np.ones((2, 1, 4)))

    @each_shape
    def test_likely_shares_are_close_to_those_of_the_class(self, shape):
        table = kernel(500, 20, "without-replacement", shape)
        shares = np.full(500, 1 / 500) @ given_rank(
            np.arange(1, 501), 500, 20, Sampling.WITHOUT_REPLACEMENT
        )
        found = likely_shares(10_000 * shares, table)
        np.testing.assert_allclose(found, table.binned(shares), rtol=0.1)
        assert found.sum() == pytest.approx(1)


class TestUpperBound:
    def test_against_direct_optimisation(self):
        values, shares = np.array([0.0, 0.3, 0.5, 2.0]), np.array([5, 3, 2, 0])
        points = np.repeat(values, shares)
        for quantile in (0.5, 1.96, 6.0):
            result = minimize(
                lambda w: -(w @ values),
                np.full(4, 0.25),
                bounds=[(1e-9, 1)] * 4,
                constraints=[
                    {"type": "eq", "fun": lambda w: w.sum() - 1},
                    {
                        "type": "ineq",
                        "fun": lambda w, q=quantile: (
                            q**2 / 2 - shares[:3] @ np.log(shares[:3] / 10 / w[:3])
                        ),
                    },
                ],
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert upper_bound(points, 2.0, quantile) == pytest.approx(-result.fun, abs=1e-5)

    def test_share_of_successes_is_the_likelihood_ratio_interval(self):
        successes, users = 7, 50
        found = upper_bound(np.repeat([1.0, 0.0], [successes, users - successes]), 1.0, 1.96)
        share = successes / users
        ratio = 2 * (
            successes * np.log(share / found)
            + (users - successes) * np.log((1 - share) / (1 - found))
        )
        assert ratio == pytest.approx(1.96**2)

    def test_many_values_give_the_normal_bound(self):
        values = np.random.default_rng(0).normal(size=200_000)
        expected = values.mean() + 1.96 * values.std() / np.sqrt(values.size)
        assert upper_bound(values, 10.0, 1.96) == pytest.approx(expected, abs=2e-5)

    def test_equal_values(self):
        assert upper_bound(np.ones(5), 1.0, 1.96) == 1.0
        assert 1.0 < upper_bound(np.ones(5), 2.0, 1.96) < 2.0

    @given(st.lists(st.floats(-2, 2), min_size=1, max_size=20), st.floats(0.1, 5))
    def test_lies_between_the_mean_and_the_largest(self, values, quantile):
        found = upper_bound(np.array(values), 2.0, quantile)
        assert np.mean(values) - 1e-9 <= found <= 2.0


@pytest.fixture(scope="module")
def sample() -> SampledRanks:
    rng = np.random.default_rng(2)
    return SampledRanks(sampled(power_ranks(1000, 0.25, rng), M, rng), N, M)


@pytest.fixture(scope="module")
def two() -> tuple[SampledRanks, SampledRanks]:
    rng = np.random.default_rng(6)
    uniform = rng.random(2000)
    true, worse = (np.ceil(N * uniform ** (1 / power)).astype(int) for power in (0.15, 0.4))
    negatives = np.sort(rng.random((2000, M)), axis=1)  # shared by both recommenders
    ids = np.arange(2000)
    return tuple(
        SampledRanks(1 + (negatives < (rank / N)[:, None]).sum(axis=1), N, M, users=ids)
        for rank in (worse, true)
    )


class TestMetricRanges:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "ap"])
    def test_holds_the_exact_metric(self, metric, shape, sampling):
        rng, measure = np.random.default_rng(7), parse_measure(metric)
        share = np.diff((np.arange(301) / 300) ** 0.3)
        exact = share @ measure.at(np.arange(1, 301), 300)
        given = share @ given_rank(np.arange(1, 301), 300, 10, sampling)
        for _ in range(8):
            ranks = 1 + rng.choice(11, 400, p=given / given.sum())
            (found,) = metric_ranges([measure], SampledRanks(ranks, 300, 10, sampling), shape=shape)
            assert found.low <= exact <= found.high
            assert not found.inverted

    def test_multiples_and_aliases_have_proportional_ranges(self, sample):
        names = ["recall@10", "hit@10", "precision@10", "f1@10", "ap", "rr", "ap@5", "rr@5"]
        ranges = metric_ranges([parse_measure(name) for name in names], sample)
        recall, hit, precision, f1, ap, rr, ap5, rr5 = ([r.low, r.high] for r in ranges)
        np.testing.assert_allclose([hit, rr, rr5], [recall, ap, ap5], rtol=1e-9)
        np.testing.assert_allclose(np.multiply(10, precision), recall, rtol=1e-6)
        np.testing.assert_allclose(np.multiply(5.5, f1), recall, rtol=1e-6)

    def test_shape_confidence_and_users_decide_the_width(self, sample):
        def width(sample, **options):
            (found,) = metric_ranges(RECALL, sample, **options)
            return found.high - found.low

        default = width(sample)
        assert width(sample, shape="none") > default
        assert width(sample, confidence=0.999) > default
        assert width(SampledRanks(sample.sampled_ranks[:100], N, M)) > default

    def test_same_sample_same_range(self, sample):
        assert metric_ranges(RECALL, sample) == metric_ranges(RECALL, sample)

    def test_order_of_rows_does_not_matter_with_ids(self, sample):
        ids = np.arange(1000)
        order = np.random.default_rng(0).permutation(1000)
        ordered = SampledRanks(sample.sampled_ranks, N, M, users=ids)
        shuffled = SampledRanks(sample.sampled_ranks[order], N, M, users=ids[order])
        (a,), (b,) = metric_ranges(RECALL, ordered), metric_ranges(RECALL, shuffled)
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)

    def test_rows_of_a_user_are_averaged(self, sample):
        ids = np.arange(1000)
        once = SampledRanks(sample.sampled_ranks, N, M, users=ids)
        twice = SampledRanks(np.tile(sample.sampled_ranks, 2), N, M, users=np.tile(ids, 2))
        (a,), (b,) = metric_ranges(RECALL, once), metric_ranges(RECALL, twice)
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)
        repeated = SampledRanks(np.repeat(sample.sampled_ranks, 5), N, M)  # as 5,000 users
        (c,) = metric_ranges(RECALL, repeated)
        assert c.high - c.low < b.high - b.low

    @each_sampling
    def test_auc_has_the_interval_of_its_estimate(self, sampling):
        rng = np.random.default_rng(3)
        ranks = rng.integers(1, 22, 2000)
        sample = SampledRanks(ranks, 60, 21, sampling)
        (found,) = metric_ranges([parse_measure("auc")], sample)
        drawn = 21.0 if sampling != "distinct" else 59 * (1 - (1 - 1 / 59) ** 21)
        values = 1 - (ranks - 1) / drawn
        half = norm.ppf(0.975) * values.std() / np.sqrt(2000)
        assert found.low == pytest.approx(values.mean() - half, abs=3e-4)
        assert found.high == pytest.approx(values.mean() + half, abs=3e-4)

    def test_groups_of_n_against_the_mean_n(self, monkeypatch):
        rng = np.random.default_rng(4)
        n = rng.integers(2000, 3700, 3000)
        true = np.ceil(n * rng.random(3000) ** 4).astype(int)
        sample = SampledRanks(1 + rng.hypergeometric(true - 1, n - true, 50), n, 50)
        ends = []
        for groups in (1, 3, 12):
            monkeypatch.setattr("sampled_metrics.inference.crossfit._GROUPS", groups)
            (found,) = metric_ranges(RECALL, sample)
            ends.append((found.low, found.high))
        np.testing.assert_allclose(ends[0], ends[2], atol=0.006)
        np.testing.assert_allclose(ends[1], ends[2], atol=0.003)

    @each_shape
    def test_stays_within_the_class(self, shape):
        (first,) = metric_ranges(RECALL, SampledRanks([1] * 50, 20, 19), shape=shape)
        assert first.high == pytest.approx(1.0)
        (last,) = metric_ranges(RECALL, SampledRanks([20] * 50, 20, 19), shape="none")
        assert last.low == 0.0
        assert last.high < 0.1

    @pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 1), (3, 2), (20_001, 3)])
    @pytest.mark.parametrize("users", [1, 2, 3])
    def test_few_of_everything(self, n, m, users):
        measures = [parse_measure(name) for name in ("recall@1", "recall@5", "ap", "auc")]
        for shape in SHAPES:
            for found in metric_ranges(measures, SampledRanks([1] * users, n, m), shape=shape):
                assert 0.0 <= found.low <= found.high <= 1.0 + 1e-12

    def test_a_recommender_worse_than_random_is_inverted(self):
        rng = np.random.default_rng(0)
        worst = N + 1 - power_ranks(1000, 0.2, rng)
        (found,) = metric_ranges(RECALL, SampledRanks(sampled(worst, M, rng), N, M))
        assert found.inverted

    @pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
    def test_confidence_out_of_range(self, sample, confidence):
        with pytest.raises(InputError, match="confidence"):
            metric_ranges(RECALL, sample, confidence=confidence)


class TestDifferenceRanges:
    def test_order_decided(self, two):
        (found,) = difference_ranges(RECALL, *two)
        assert 0.0 < found.low < found.high < 1.0
        assert not found.inverted

    def test_other_way_round(self, two):
        a, b = two
        (forth,), (back,) = difference_ranges(RECALL, a, b), difference_ranges(RECALL, b, a)
        assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), rel=1e-9)

    def test_pairs_are_narrower_than_independent_samples(self, two):
        (paired,) = difference_ranges(RECALL, *two)
        alone = [SampledRanks(sample.sampled_ranks, N, M) for sample in two]
        (independent,) = difference_ranges(RECALL, *alone)
        assert independent.low < paired.low
        assert independent.high > paired.high

    def test_users_in_both_are_paired_by_id(self, two):
        a, b = two
        order = np.random.default_rng(0).permutation(2000)
        shuffled = SampledRanks(b.sampled_ranks[order], N, M, users=b.users[order].astype(str))
        (found,) = difference_ranges(RECALL, a, shuffled)
        (expected,) = difference_ranges(RECALL, a, b)
        assert found.low == pytest.approx(expected.low, abs=0.02)

    def test_a_recommender_does_not_differ_from_itself(self, two):
        (found,) = difference_ranges(RECALL, two[0], two[0])
        assert found.low < 0.0 < found.high

    def test_other_numbers_of_negatives(self, two):
        rng = np.random.default_rng(1)
        more = SampledRanks(sampled(power_ranks(2000, 0.15, rng), 500, rng), N, 500)
        (found,) = difference_ranges(RECALL, two[0], more)
        assert found.low < found.high

    def test_auc(self, two):
        (found,) = difference_ranges([parse_measure("auc")], *two)
        ranks = [sample.sampled_ranks for sample in two]
        values = (ranks[0] - ranks[1]) / M
        half = norm.ppf(0.975) * values.std() / np.sqrt(2000)
        assert found.low == pytest.approx(values.mean() - half, abs=3e-4)
        assert found.high == pytest.approx(values.mean() + half, abs=3e-4)


class TestBehavesLike:
    @pytest.mark.parametrize(
        ("m", "expected"),
        [
            (10, [3305, 238, 133, 87]),
            (20, [1684, 122, 69, 45]),
            (50, [681, 50, 30, 20]),
            (100, [342, 26, 17, 12]),
            (500, [70, 7, 9, 10]),
        ],
    )
    def test_recall_at_10_of_movielens_1m(self, m, expected):
        names = ("sampled", "cls", "bv:0.1", "bv:0.01")
        estimators = [parse_estimator(name) for name in names]
        vectors = estimator_matrix(estimators, RECALL, N, m, sampling="with-replacement")[0]
        assert [behaves_like(vector, N) for vector in vectors] == expected

    @each_sampling
    @pytest.mark.parametrize("n", [60, 5000])
    def test_against_all_ranks(self, n, sampling):
        rng = np.random.default_rng(8)
        given = given_rank(np.arange(1, n + 1), n, 20, sampling)
        for vector in np.sort(rng.exponential(size=(20, 21)))[:, ::-1]:
            credit = given @ vector
            fallen = np.flatnonzero(credit <= vector[0] / 2)
            expected = fallen[0] + 1 if fallen.size else None
            assert behaves_like(vector, n, sampling) == expected

    def test_millions_of_candidates(self):
        assert behaves_like(np.linspace(1, 0, 1001), 10**6) == 500_001

    @pytest.mark.parametrize("vector", [[1.0, 0.9, 0.8], [0.0, 0.0], [-1.0, 0.0]])
    def test_credit_that_does_not_fall_to_half(self, vector):
        assert behaves_like(np.array(vector), 100) is None


class TestMisfit:
    @each_shape
    @pytest.mark.parametrize("exponent", [0.1, 0.3, 1.0])
    def test_valid_data_is_rarely_refused(self, exponent, shape):
        rng = np.random.default_rng(10)
        refused = 0
        for m, users in [(5, 500), (20, 200), (100, 1000)] * 20:
            ranks = sampled(power_ranks(users, exponent, rng), m, rng)
            refused += misfit(SampledRanks(ranks, N, m), shape).p_value < 0.01
        assert refused <= 3  # of 60

    def broken(self, case: str, rng: np.random.Generator) -> np.ndarray:
        true = power_ranks(4000, 0.25, rng)
        if case == "every negative twice":
            return 2 * sampled(true, 50, rng) - 1
        if case == "ten negatives given as a hundred":
            return sampled(true, 10, rng)
        if case == "counted from two":
            return np.minimum(sampled(true, M, rng) + 1, M + 1)
        if case == "popular negatives for rare items":  # the share of popular items above is near 1
            return 1 + rng.binomial(M, 1 - (true - 1) / N)
        raise ValueError(case)

    @pytest.mark.parametrize(
        "case",
        [
            "every negative twice",
            "ten negatives given as a hundred",
            "counted from two",
            "popular negatives for rare items",
        ],
    )
    def test_broken_data_is_refused(self, case):
        ranks = self.broken(case, np.random.default_rng(11))
        assert misfit(SampledRanks(ranks, N, M)).p_value < 0.01

    def test_ranks_counted_from_zero_are_no_sampled_ranks(self):
        with pytest.raises(InputError):
            misfit(SampledRanks([0, 3, 5], N, M))

    @each_shape
    def test_negatives_that_only_look_like_a_worse_recommender_pass(self, shape):
        # Popular items are drawn as if there were fewer candidates, all of them hard
        rng = np.random.default_rng(12)
        ranks = 1 + rng.binomial(M, rng.random(2000) ** 2)
        assert misfit(SampledRanks(ranks, N, M), shape).p_value > 0.01

    def test_one_row_per_user(self):
        rng = np.random.default_rng(13)
        ranks = np.repeat(sampled(power_ranks(300, 0.3, rng), M, rng), 20)
        users = np.repeat(np.arange(300), 20)
        assert misfit(SampledRanks(ranks, N, M, users=users)).p_value > 0.01
        assert misfit(SampledRanks(ranks, N, M)).p_value < 0.01  # 6,000 users of 300 ranks

    def test_p_value(self):
        found = misfit(SampledRanks([1] * 30 + [2] * 70, N, 1), "non-increasing")
        # m = 1: rank 1 has at least the probability 1/2
        expected = 2 * (30 * np.log(30 / 50) + 70 * np.log(70 / 50))
        assert found.statistic == pytest.approx(expected, rel=0.01)
        assert found.p_value == pytest.approx(chi2.sf(found.statistic, found.degrees))


def test_growth_between_points_by_the_steepest_bend_beside_them():
    """With points 1, 2, 4, 8, 16, 32 and slopes of 0, 1, 3, 10 and 11."""
    table = SimpleNamespace(n=brackets.ALL_POINTS + 1, points=2 ** np.arange(6))
    lacking = np.cumsum([0.0, 0 * 1, 1 * 2, 3 * 4, 10 * 8, 11 * 16])
    bends = [2 * 1 / (1 + 2), 2 * 2 / (2 + 4), 2 * 7 / (4 + 8), 2 * 1 / (8 + 16)]
    at = [bends[0], *bends, bends[-1]]  # the ends have those beside them
    between = [0.0] + [
        step**2 * max(at[i], at[i + 1]) / 4 for i, step in enumerate((2, 4, 8, 16), 1)
    ]
    # each point has the larger one of both sides; the first and the last have one side
    expected = [between[0], *map(max, between[:-1], between[1:]), 0.0]
    assert brackets._between(lacking, table) == pytest.approx(expected)
