"""Ranges of exact metrics and of differences against the truth."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from sampled_metrics.intervals.groups import group_units
from sampled_metrics.intervals.misfit import misfit
from sampled_metrics.intervals.ranges import bracket_users
from sampled_metrics.intervals.shapes import SHAPES
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.ranges import difference_ranges, metric_ranges
from tests.helpers.rank_draws import (
    RECALL,
    M,
    N,
    draw_ranks,
    each_sampling,
    each_shape,
    power_ranks,
)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    return SampledRanks(draw_ranks(power_ranks(1000, 0.25, rng), M, rng), N, M)


@pytest.fixture(scope="module")
def pair():
    """A worse and a better recommender that rank the same negatives."""
    rng = np.random.default_rng(6)
    uniform = rng.random(2000)
    true, worse = (np.ceil(N * uniform ** (1 / power)).astype(int) for power in (0.15, 0.4))
    negatives = np.sort(rng.random((2000, M)), axis=1)
    ranks = (1 + (negatives < (rank / N)[:, None]).sum(axis=1) for rank in (worse, true))
    return tuple(SampledRanks(rank, N, M, users=np.arange(2000)) for rank in ranks)


def ends(sample, **options):
    (actual,) = metric_ranges(RECALL, sample, **options)
    return actual.low, actual.high


class TestMetricRanges:
    @each_sampling
    @each_shape
    @pytest.mark.parametrize(
        "metric", ["recall@10", "ndcg@10", pytest.param("ap", marks=pytest.mark.long)]
    )
    def test_holds_the_exact_metric(self, metric, shape, sampling):
        rng, measure = np.random.default_rng(7), parse_measure(metric)
        share = np.diff((np.arange(301) / 300) ** 0.3)
        exact = share @ measure.value_at(np.arange(1, 301), 300)
        marginal = share @ pmf_at(np.arange(1, 301), 300, 10, sampling)
        for _ in range(8):
            ranks = 1 + rng.choice(11, 400, p=marginal / marginal.sum())
            (actual,) = metric_ranges(
                [measure], SampledRanks(ranks, 300, 10, sampling), shape=shape
            )
            assert actual.low <= exact <= actual.high
            assert not actual.is_inverted

    def test_proportional_metrics_have_proportional_ranges(self, sample):
        names = ["recall@10", "hit@10", "precision@10", "f1@10", "ap", "rr", "ap@5", "rr@5"]
        ranges = metric_ranges([parse_measure(name) for name in names], sample)
        recall, hit, precision, f1, ap, rr, ap5, rr5 = ([r.low, r.high] for r in ranges)
        np.testing.assert_allclose([hit, rr, rr5], [recall, ap, ap5], rtol=1e-9)
        np.testing.assert_allclose(np.multiply(10, precision), recall, rtol=1e-6)
        np.testing.assert_allclose(np.multiply(5.5, f1), recall, rtol=1e-6)

    def test_width_by_shape_confidence_users(self, sample):
        default = np.ptp(ends(sample))
        assert np.ptp(ends(sample, shape="none")) > default
        assert np.ptp(ends(sample, confidence=0.999)) > default
        assert np.ptp(ends(SampledRanks(sample.sampled_ranks[:100], N, M))) > default

    def test_row_order_and_repeats_do_not_matter(self, sample):
        ids, ranks = np.arange(1000), sample.sampled_ranks
        once = ends(SampledRanks(ranks, N, M, users=ids))
        order = np.random.default_rng(0).permutation(1000)
        shuffled = SampledRanks(ranks[order], N, M, users=ids[order])
        assert ends(shuffled) == pytest.approx(once, rel=1e-9)
        twice = SampledRanks(np.tile(ranks, 2), N, M, users=np.tile(ids, 2))
        assert ends(twice) == pytest.approx(once, rel=1e-9)
        assert np.ptp(ends(SampledRanks(np.repeat(ranks, 5), N, M))) < np.ptp(once)  # 5,000 users

    @each_sampling
    def test_auc_range_is_its_interval(self, sampling):
        ranks = np.random.default_rng(3).integers(1, 22, 2000)
        (actual,) = metric_ranges([parse_measure("auc")], SampledRanks(ranks, 60, 21, sampling))
        n_ranked = 21.0 if sampling != "distinct" else 59 * (1 - (1 - 1 / 59) ** 21)
        values = 1 - (ranks - 1) / n_ranked
        half = norm.ppf(0.975) * values.std() / np.sqrt(2000)
        expected = (values.mean() - half, values.mean() + half)
        assert (actual.low, actual.high) == pytest.approx(expected, abs=3e-4)

    def test_groups_of_n_near_mean_n(self):
        rng = np.random.default_rng(4)
        n = rng.integers(2000, 3700, 3000)
        true = np.ceil(n * rng.random(3000) ** 4).astype(int)
        ranks = draw_ranks(true, 50, rng, n)
        mean = ends(SampledRanks(ranks, round(n.mean()), 50))
        assert ends(SampledRanks(ranks, n, 50)) == pytest.approx(mean, abs=0.006)

    @each_shape
    def test_range_stays_in_class(self, shape):
        assert ends(SampledRanks([1] * 50, 20, 19), shape=shape)[1] == pytest.approx(1.0)
        low, high = ends(SampledRanks([20] * 50, 20, 19), shape="none")
        assert low == 0.0
        assert high < 0.1

    @pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 1), (3, 2), (20_001, 3)])
    @pytest.mark.parametrize("users", [1, 2, 3])
    def test_smallest_inputs(self, n, m, users):
        measures = [parse_measure(name) for name in ("recall@1", "recall@5", "ap", "auc")]
        for shape in SHAPES:
            for actual in metric_ranges(measures, SampledRanks([1] * users, n, m), shape=shape):
                assert 0.0 <= actual.low <= actual.high <= 1.0 + 1e-12

    def test_avoided_top_is_inverted(self):
        rng = np.random.default_rng(0)
        worse = SampledRanks(draw_ranks(rng.integers(N // 40, N // 30, 1000), M, rng), N, M)
        (actual,) = metric_ranges(RECALL, worse)
        assert actual.is_inverted


def test_larger_factor_widens_and_fits_better():
    true = power_ranks(3000, 0.3, np.random.default_rng(6))
    sample = SampledRanks(draw_ranks(true, M, np.random.default_rng(7)), N, M)
    spans = [ends(sample, shape=shape) for shape in (1, 1.5, 4, "none")]
    assert all(a[0] > b[0] and a[1] < b[1] for a, b in pairwise(spans))
    assert ends(sample, shape=1) == ends(sample)
    peaked = np.random.default_rng(8).integers(120, 170, 3000)
    sample = SampledRanks(draw_ranks(peaked, M, np.random.default_rng(9)), N, M)
    statistics = [misfit(sample, shape).statistic for shape in (1, 1.5, 2, 4, 16)]
    assert statistics == sorted(statistics, reverse=True)
    assert misfit(sample).p_value < 1e-6
    assert misfit(sample, 10**4).p_value > 0.01


def averaged(sample):
    """Lower and upper bracketing vectors averaged for each user."""
    brackets = bracket_users(sample, tuple(RECALL))
    (bracket,) = brackets.by_metric
    cohort = brackets.groups.cohort_of_unit
    return np.stack([bracket.lower.values[cohort], bracket.upper.values[cohort]])


def changed_by(ranks, user):
    """Other users whose bracketing vectors change with the rank of one user.

    Both halves are solved on the same true ranks, so vectors may also differ by some 1e-5.
    """
    other = ranks.copy()
    other[user] = 40
    before, after = (averaged(SampledRanks(rows, N, M)) for rows in (ranks, other))
    distance = abs(before - after).max(axis=0)
    return set(np.flatnonzero(distance > 1e-4).tolist()) - {user}


def test_vectors_do_not_depend_on_own_fold():
    """A rank changes the vectors of the other fold only."""
    ranks = draw_ranks(power_ranks(60, 0.3, np.random.default_rng(3)), M, np.random.default_rng(4))
    ranks = np.minimum(ranks, 20)
    others = changed_by(ranks, 0)
    assert 10 < len(others) < 50
    for user in sorted(others)[:3]:
        changed_back = changed_by(ranks, user)
        assert changed_back
        assert not changed_back & others


@pytest.mark.parametrize("times", [2, 3])
def test_repeated_rows_count_once(times):
    """Repeating every row changes nothing, to the last digits."""
    ranks = draw_ranks(power_ranks(200, 0.3, np.random.default_rng(6)), M, np.random.default_rng(7))
    ids = np.arange(200)
    once = SampledRanks(ranks, N, M, users=ids)
    again = SampledRanks(np.tile(ranks, times), N, M, users=np.tile(ids, times))
    (expected,), (actual,) = (metric_ranges(RECALL, each) for each in (once, again))
    assert actual[:2] == pytest.approx(expected[:2], rel=1e-12)


class TestDifferenceRanges:
    def test_difference_order_and_pairing(self, pair):
        a, b = pair
        (actual,), (back,) = (difference_ranges(RECALL, a, b), difference_ranges(RECALL, b, a))
        assert 0.0 < actual.low < actual.high < 1.0
        assert not actual.is_inverted
        assert (actual.low, actual.high) == pytest.approx((-back.high, -back.low), rel=1e-9)
        alone = [SampledRanks(each.sampled_ranks, N, M) for each in pair]
        (independent,) = difference_ranges(RECALL, *alone)
        assert independent.low < actual.low
        assert independent.high > actual.high
        (same,) = difference_ranges(RECALL, a, a)
        assert same.low < 0.0 < same.high


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ((100, 200, 400), [100, 200, 400]),
        ((100, 102, 102), [101]),  # 2 % apart
        ((100, 103, 103), [100, 103]),
    ],
)
def test_groups_have_similar_n(sizes, groups):
    n = np.repeat(sizes, (4, 4, 5))
    sample = SampledRanks(np.ones(n.size, int), n, 9)
    assert group_units(sample).n_of_group == groups


def test_ranges_print_nothing(capfd):
    measures = (parse_measure("recall@3"),)
    bracket_users(SampledRanks([1, 2, 9, 4, 1, 3], 37, 10), measures, "none", 0.9)
    assert tuple(capfd.readouterr()) == ("", "")
