"""Distributions of sampled ranks: by hand, exact fractions, enumeration."""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import (
    SAMPLED_TIE_POLICIES,
    histograms,
    pmf,
    sampled_rank_distribution,
)
from sampled_metrics.sampling.probability import likely_columns, pmf_at, top_rank_probabilities
from tests.helpers.enumeration import DISTINCT, WITH, WITHOUT, enumerated_distribution


@cache
def onto(m, i):
    """Return in how many ways m draws hit all of i items, by inclusion and exclusion."""
    return sum((-1) ** (i - j) * comb(i, j) * j**m for j in range(i + 1))


def exact_probability(rank, n, m, i, sampling):
    if sampling is WITH:
        ways = comb(m, i) * (rank - 1) ** i * (n - rank) ** (m - i)
        return Fraction(ways, (n - 1) ** m)
    if sampling is WITHOUT:
        return Fraction(comb(rank - 1, i) * comb(n - rank, m - i), comb(n - 1, m))
    # t draws hit i of the better items, and m - t draws hit j of the worse ones
    ways = sum(
        comb(m, t) * comb(rank - 1, i) * onto(t, i) * comb(n - rank, j) * onto(m - t, j)
        for t in range(i, m + 1)
        for j in range(m - t + 1)
    )
    return Fraction(ways, (n - 1) ** m)


class TestPmf:
    def test_by_hand(self):
        # rank 2 of 4: one of three others is better, p = 1/3; two draws
        by_hand = [4 / 9, 2 * 2 / 9, 1 / 9]
        assert pmf(2, 4, 2, WITH)[0] == pytest.approx(by_hand, rel=1e-14)
        # without replacement the pairs are bw, bw, ww
        assert pmf(2, 4, 2, WITHOUT)[0] == pytest.approx([1 / 3, 2 / 3, 0], rel=1e-14)

    @pytest.mark.parametrize("sampling", [WITH, WITHOUT])
    @pytest.mark.parametrize(("n", "m"), [(3541, 100), (10**6, 100), (3541, 3000), (101, 100)])
    def test_pmf_matches_exact_fractions(self, sampling, n, m):
        for rank in {1, 2, 12, n // 7, n // 2, n - 1, n}:
            row = pmf(rank, n, m, sampling)[0]
            for i in {0, 1, 7, m // 7, m // 2, m - 1, m}:
                exact = exact_probability(rank, n, m, i, sampling)
                error = 1e-299 if exact < Fraction(1, 10**300) else 0
                assert row[i] == pytest.approx(float(exact), rel=2e-12, abs=error)

    @pytest.mark.parametrize("sampling", list(Sampling))
    @pytest.mark.parametrize(("n", "m"), [(3541, 1500), (301, 300), (200, 5), (2000, 1990)])
    def test_likely_columns_omit_negligible_probability(self, sampling, n, m):
        m = min(m, 60) if sampling is DISTINCT else m
        for least in {1, 2, n // 3, n // 2, n - 1, n}:
            ranks = np.arange(least, min(least + n // 20, n) + 1)
            better = (ranks - 1) / (n - 1)
            columns = likely_columns(better[0], better[-1], m, sampling)
            whole = pmf(ranks, n, m, sampling)
            inside = whole[:, columns.start : columns.stop]
            assert np.delete(whole, columns, axis=1).sum() <= 1e-20 * ranks.size
            if sampling is not DISTINCT:
                assert len(columns) <= m / 10 + 2 + np.sqrt(100.0 * m)
            computed = pmf_at(ranks, n, m, sampling, columns)
            np.testing.assert_allclose(computed, inside, rtol=2e-11, atol=1e-30)

    @pytest.mark.parametrize(("n", "m"), [(2, 5), (9, 6), (40, 25), (26, 30)])
    def test_distinct_matches_exact_fractions(self, n, m):
        for rank in {1, 2, n // 2, n}:
            row = pmf(rank, n, m, DISTINCT)[0]
            exact = [float(exact_probability(rank, n, m, i, DISTINCT)) for i in range(m + 1)]
            assert row == pytest.approx(exact, rel=1e-11, abs=1e-15)

    def test_distinct_last_rank_has_positive_probability(self):
        # 100 distinct items in 100 draws from 150 are almost impossible; estimators divide by this
        assert 0 < pmf(151, 151, 100, DISTINCT)[0, 100] < 1e-15

    @settings(deadline=None, derandomize=True, max_examples=60)
    @given(st.data(), st.sampled_from(Sampling), st.integers(2, 4000))
    def test_rows_sum_to_1_with_the_mean_of_section_4_4_1(self, data, sampling, n):
        rank = data.draw(st.integers(1, n))
        m = data.draw(st.integers(1, n - 1 if sampling is WITHOUT else 200))
        (row,) = pmf(rank, n, m, sampling)
        assert row.min() >= 0
        assert row.sum() == pytest.approx(1, abs=1e-14)
        others = n - 1
        drawn = others * (1 - (1 - 1 / others) ** m) if sampling is DISTINCT else m
        mean = row @ np.arange(1, m + 2)
        assert mean == pytest.approx(1 + drawn * (rank - 1) / others, rel=1e-11)

    def test_sampling_all_items_reveals_the_rank(self):
        assert np.array_equal(pmf([1, 2, 3, 4], 4, 3, WITHOUT), np.eye(4))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1, 5, 2, "poisson"), "poisson"),
            ((0, 5, 2, WITH), "rank is 0"),
            ((6, 5, 2, WITH), "rank is 6"),
            ((1, 1, 2, WITH), "n is 1"),
            ((1, 5, 0, WITH), "m is 0"),
            ((1, 5, 5, WITHOUT), "n is 5"),
            ((1.5, 5, 2, WITH), "dtype"),
            (([[1]], 5, 2, WITH), "shape"),
        ],
    )
    def test_impossible_arguments_are_refused(self, arguments, message):
        with pytest.raises(InputError, match=message):
            pmf(*arguments)


def test_distinct_pmf_does_not_depend_on_other_rows():
    """The last of n candidates has sampled rank d + 1 if d of the negatives are distinct."""
    n, m = np.array([300, 8, 40]), 30
    together = pmf(n, n, m, DISTINCT)
    for row, size in enumerate(n.tolist()):
        assert np.array_equal(together[row], pmf(size, size, m, DISTINCT)[0])
        exact = [float(exact_probability(size, size, m, i, DISTINCT)) for i in range(m + 1)]
        assert together[row] == pytest.approx(exact, rel=1e-11, abs=1e-17)


class TestDistribution:
    @pytest.mark.parametrize("ties", SAMPLED_TIE_POLICIES)
    @pytest.mark.parametrize("sampling", Sampling)
    def test_enumeration(self, sampling, ties):
        for n in range(2, 7):
            for better in range(n):
                for tied in range(n - better):
                    m = min(3, n - 1)
                    records = Ranks([n], [better], [tied])
                    (ours,) = sampled_rank_distribution(records, m, sampling, ties)
                    counts = (n, better, tied, m)
                    listed = enumerated_distribution(*counts, sampling=sampling, ties=ties)
                    assert ours == pytest.approx(listed, abs=2e-15)

    def test_impossible_ranks_have_probability_0(self):
        # at most 5 better and 3 tied; at most 4 worse, so at least 96 of 100 are not
        table = sampled_rank_distribution(Ranks([3541, 3541], [5, 3530], [3, 6]), 100)
        assert np.flatnonzero(table[0]).tolist() == list(range(9))
        assert np.flatnonzero(table[1]).tolist() == list(range(90, 101))

    @pytest.mark.parametrize("ties", SAMPLED_TIE_POLICIES)
    def test_large_samples_are_distributions(self, ties):
        n = 201 if ties == "paper" else 1001  # "paper" takes time proportional to m^2
        records = Ranks([n, n, n], [100, 0, n - 2], [5, n - 1, 1])
        for m in (n - 2, n - 1):
            table = sampled_rank_distribution(records, m, ties=ties)
            assert table.min() >= 0
            np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
        # if all items are sampled, only the place among the ties is random
        count = {"random": 6, "paper": 5, "optimistic": 1, "pessimistic": 1}[ties]
        start = 105 if ties == "pessimistic" else 100
        expected = np.zeros(n)
        expected[start : start + count] = 1 / count
        np.testing.assert_allclose(table[0], expected, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"sampling": "cluster"}, "cluster"),
            ({"ties": "middle"}, "middle"),
            ({"m": 10}, "n is 10"),
        ],
    )
    def test_impossible_options_are_refused(self, options, message):
        with pytest.raises(InputError, match=message):
            histograms(Ranks([10], [3], [0]), **({"m": 2, "generators": []} | options))


def test_distinct_distribution_of_several_sizes_matches_each():
    ranks = Ranks([8, 12, 8, 20], [0, 5, 7, 10], [0, 1, 0, 2])
    together = sampled_rank_distribution(ranks, 6, "distinct")
    for row in range(len(ranks)):
        one = ranks.take(slice(row, row + 1))
        alone = sampled_rank_distribution(one, 6, "distinct")
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize(("m", "k"), [(1, 10), (7, 3), (7, 8), (19, 5)])
def test_top_rank_probabilities_match_first_columns(sampling, m, k):
    """At each rank with each number of ties, also if all other items are negatives."""
    n = 20
    ends = [(b, e) for b in range(n) for e in range(n - b)]
    better, tied = np.array(ends).T
    ranks = Ranks(np.full(better.size, n), better, tied)
    whole = sampled_rank_distribution(ranks, m, sampling)
    top = top_rank_probabilities(ranks, m, k, sampling)
    assert top.shape == (better.size, min(k, m + 1))
    assert top == pytest.approx(whole[:, :k], abs=1e-12)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_top_rank_probabilities_match_enumeration(m):
    for better, tied in combinations(range(7), 2):
        counts = (6, better, tied - better - 1)
        ranks = Ranks([6], [better], [tied - better - 1])
        (top,) = top_rank_probabilities(ranks, m, 2, WITHOUT)
        whole = enumerated_distribution(*counts, m, sampling=WITHOUT, ties="random")
        assert top == pytest.approx(whole[:2], abs=1e-12)
