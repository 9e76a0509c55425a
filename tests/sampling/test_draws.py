"""Draws of sampled ranks against their distributions."""

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import (
    SAMPLED_TIE_POLICIES,
    draw_sampled_ranks,
    histograms,
    sampled_rank_distribution,
    shared_histograms,
)
from tests.helpers.enumeration import DISTINCT, WITH, WITHOUT, enumerated_distribution


def generators(count, seed=7):
    children = np.random.SeedSequence(seed).spawn(count)
    return [np.random.default_rng(child) for child in children]


class TestDraws:
    RECORDS = Ranks([60, 60, 80, 80, 100], [0, 20, 10, 30, 90], [0, 0, 40, 1, 9])

    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize("ties", SAMPLED_TIE_POLICIES)
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("user", [(7, 2, 3), (8, 6, 1), (6, 5, 0), (5, 0, 4)])
    def test_draws_follow_enumeration(self, user, sampling, ties, shared):
        m, users = 4, 10_000
        alike = Ranks(*(np.full(users, count) for count in user))
        options = {"sampling": sampling, "ties": ties}
        if shared and sampling is DISTINCT:
            with pytest.raises(InputError, match="duplicates"):
                shared_histograms(alike, m, generators(1), [generators(1)], **options)
            return
        counts = histograms(alike, m, generators(1, 4), **options)
        if shared:  # by two evaluations
            places = [generators(1, seed) for seed in (11, 12)]
            repetitions = shared_histograms(alike, m, generators(1, 4), places, **options)
            counts = repetitions[:, 0]
            assert counts.shape == (2, m + 1)
        probability = np.array(enumerated_distribution(*user, m, **options))
        possible = probability > 0
        for histogram in counts:
            assert histogram[~possible].sum() == 0
            expected = probability[possible] * users
            if expected.size == 1:
                continue
            assert stats.chisquare(histogram[possible], expected).pvalue > 1e-4

    def test_repetition_does_not_depend_on_others(self):
        # several blocks of users, so that generators are called several times
        rng = np.random.default_rng(5)
        n, better = rng.integers(1200, 1400, 1100), rng.integers(0, 100, 1100)
        records = Ranks(n, better, rng.integers(0, 90, n.size))
        counts = histograms(records, 1000, generators(2))
        together = draw_sampled_ranks(records, 1000, generators(2))
        assert together.dtype == np.int64
        rows = zip(counts, together, generators(2), strict=True)
        for row, sampled_ranks, generator in rows:
            alone = draw_sampled_ranks(records, 1000, generator)
            assert np.array_equal(sampled_ranks, alone)
            assert np.array_equal(row, np.bincount(alone - 1, minlength=1001))

    def test_first_and_last_item_are_certain(self):
        records = Ranks([5000] * 3, [4999, 0, 2500], [0] * 3)
        drawn = draw_sampled_ranks(records, 500, np.random.default_rng(0))
        assert drawn[[0, 1]].tolist() == [501, 1]
        assert 150 < drawn[2] < 350  # 9 standard deviations

    def test_impossible_ranks_are_never_drawn(self):
        class Extreme(np.random.Generator):
            value = 0.0

            def random(self, size=None, dtype=np.float64, out=None):
                del dtype, out
                return np.full(size, self.value)

        rng = Extreme(np.random.PCG64(0))
        lowest = draw_sampled_ranks(self.RECORDS, 20, rng)
        rng.value = np.nextafter(1.0, 0.0)
        highest = draw_sampled_ranks(self.RECORDS, 20, rng)
        # at least m - (worse) of the better ones; at most all of better and tied
        assert lowest.tolist() == [1, 1, 1, 1, 1 + 20 - (100 - 1 - 90)]
        assert (highest <= 1 + np.minimum(20, [0, 20, 50, 31, 99])).all()

    def test_no_users_or_no_generators(self):
        empty = Ranks(*np.zeros((3, 0), dtype=np.int64))
        assert draw_sampled_ranks(empty, 5, np.random.default_rng(0)).tolist() == []
        assert draw_sampled_ranks(empty, 5, generators(2)).tolist() == [[], []]
        assert draw_sampled_ranks(self.RECORDS, 5, []).shape == (0, 5)
        assert histograms(empty, 5, generators(2)).tolist() == [[0] * 6] * 2
        assert histograms(self.RECORDS, 5, []).shape == (0, 6)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_histograms_count_draws_of_each_repetition(m):
    ranks = Ranks([30, 40, 50], [0, 9, 20], [0, 3, 0])
    counted = histograms(ranks, m, [np.random.default_rng(seed) for seed in range(4)])
    for seed, row in enumerate(counted):
        drawn = draw_sampled_ranks(ranks, m, np.random.default_rng(seed))
        assert row.tolist() == np.bincount(drawn - 1, minlength=m + 1).tolist()


@pytest.mark.parametrize("sampling", [WITH, WITHOUT])
def test_draws_invert_the_distribution_function(sampling):
    rng = np.random.default_rng(3)
    better = rng.integers(0, 1500, 300)
    tied = np.where(rng.random(300) < 0.2, rng.integers(0, 400, 300), 0)
    ranks = Ranks(np.full(300, 2000), better, tied)
    function = np.cumsum(sampled_rank_distribution(ranks, 600, sampling), axis=1)
    spawned = [np.random.default_rng(4).spawn(3) for _ in range(2)]
    repetitions = draw_sampled_ranks(ranks, 600, spawned[0], sampling)
    for sampled_ranks, generator in zip(repetitions, spawned[1], strict=True):
        expected = (function < generator.random(300)[:, np.newaxis]).sum(axis=1) + 1
        np.testing.assert_array_equal(sampled_ranks, expected)


def test_seed_may_be_a_whole_number():
    ranks = Ranks([500] * 300, np.arange(300), [0] * 300)
    drawn = draw_sampled_ranks(ranks, 20, seed=7)
    assert drawn.shape == (300,)
    assert drawn.tolist() == draw_sampled_ranks(ranks, 20, 7).tolist()
    assert drawn.tolist() != draw_sampled_ranks(ranks, 20, seed=8).tolist()
    for seed in ("7", -1, [1, 2], 0.5):
        with pytest.raises(InputError, match="seed"):
            draw_sampled_ranks(ranks, 20, seed=seed)
