"""Sampled ranks: probabilities against enumeration, closed forms, draws against probabilities."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import (
    SAMPLED_TIE_POLICIES,
    draw_sampled_ranks,
    histograms,
    pmf,
    sampled_rank_distribution,
    shared_histograms,
)
from sampled_metrics.sampling.probability import (
    likely_columns,
    pmf_at,
    top_rank_probabilities,
)
from sampled_metrics_study.figures.figure1_to_4 import expected_values

WITHOUT, WITH, DISTINCT = Sampling
MEASURES = [
    parse_measure(name) for name in ("recall@3", "precision@2", "ap", "ndcg@5", "auc")
]


def samples_of(others, m, sampling):
    """Every sample of the letters in `others`, equally probable ones listed equally often."""
    if sampling is WITHOUT:
        return combinations(others, m)
    places = product(range(len(others)), repeat=m)
    kept = places if sampling is WITH else map(set, places)
    return ([others[place] for place in sample] for sample in kept)


def enumerated(n, better, tied, m, *, sampling, ties):
    """Distribution of the sampled rank by listing every sample and every place among the ties."""
    others = "b" * better + "t" * tied + "w" * (n - 1 - better - tied)
    listed = list(samples_of(others, m, sampling))
    probability = [Fraction(0)] * (m + 1)
    for sample in listed:
        above, equal = sample.count("b"), sample.count("t")
        places = {
            "random": range(equal + 1),
            "paper": range(max(equal, 1)),
            "optimistic": [0],
            "pessimistic": [equal],
        }[ties]
        for place in places:
            probability[above + place] += Fraction(1, len(listed) * len(places))
    return [float(value) for value in probability]


@cache
def onto(m, i):
    """Number of ways in which m draws hit all of i items, by inclusion and exclusion."""
    return sum((-1) ** (i - j) * comb(i, j) * j**m for j in range(i + 1))


def exact_probability(rank, n, m, i, sampling):
    if sampling is WITH:
        return Fraction(
            comb(m, i) * (rank - 1) ** i * (n - rank) ** (m - i), (n - 1) ** m
        )
    if sampling is WITHOUT:
        return Fraction(comb(rank - 1, i) * comb(n - rank, m - i), comb(n - 1, m))
    # i of the better items are drawn and j of the worse ones, by t and m - t of the draws
    ways = sum(
        comb(m, t)
        * comb(rank - 1, i)
        * onto(t, i)
        * comb(n - rank, j)
        * onto(m - t, j)
        for t in range(i, m + 1)
        for j in range(m - t + 1)
    )
    return Fraction(ways, (n - 1) ** m)


class TestPmf:
    def test_by_hand(self):
        # rank 2 of 4: one of three others is better, p = 1/3; two draws
        assert pmf(2, 4, 2, WITH)[0] == pytest.approx(
            [4 / 9, 2 * 2 / 9, 1 / 9], rel=1e-14
        )
        # without replacement the pairs are bw, bw, ww
        assert pmf(2, 4, 2, WITHOUT)[0] == pytest.approx([1 / 3, 2 / 3, 0], rel=1e-14)

    @pytest.mark.parametrize("sampling", [WITH, WITHOUT])
    @pytest.mark.parametrize(
        ("n", "m"), [(3541, 100), (10**6, 100), (3541, 3000), (101, 100)]
    )
    def test_against_exact_fractions(self, sampling, n, m):
        for rank in {1, 2, 12, n // 7, n // 2, n - 1, n}:
            row = pmf(rank, n, m, sampling)[0]
            for i in {0, 1, 7, m // 7, m // 2, m - 1, m}:
                exact = exact_probability(rank, n, m, i, sampling)
                tiny = exact < Fraction(1, 10**300)
                assert row[i] == pytest.approx(
                    float(exact), rel=2e-12, abs=1e-299 if tiny else 0
                )

    @pytest.mark.parametrize("sampling", list(Sampling))
    @pytest.mark.parametrize(
        ("n", "m"), [(3541, 1500), (301, 300), (200, 5), (2000, 1990)]
    )
    def test_columns_left_out_are_negligible(self, sampling, n, m):
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
            found = pmf_at(ranks, n, m, sampling, columns)
            np.testing.assert_allclose(found, inside, rtol=2e-11, atol=1e-30)

    @pytest.mark.parametrize(("n", "m"), [(2, 5), (9, 6), (40, 25), (26, 30)])
    def test_distinct_against_exact_fractions(self, n, m):
        for rank in {1, 2, n // 2, n}:
            row = pmf(rank, n, m, DISTINCT)[0]
            exact = [exact_probability(rank, n, m, i, DISTINCT) for i in range(m + 1)]
            assert row == pytest.approx(
                [float(each) for each in exact], rel=1e-11, abs=1e-15
            )

    def test_every_distinct_rank_keeps_a_probability(self):
        # 100 distinct out of 150 are as good as impossible, but the estimators divide by it
        assert 0 < pmf(151, 151, 100, DISTINCT)[0, 100] < 1e-15

    @settings(deadline=None, derandomize=True, max_examples=60)
    @given(st.data(), st.sampled_from(Sampling), st.integers(2, 4000))
    def test_is_a_distribution_with_the_mean_of_section_4_4_1(
        self, data, sampling, n
    ):
        rank = data.draw(st.integers(1, n))
        m = data.draw(st.integers(1, n - 1 if sampling is WITHOUT else 200))
        (row,) = pmf(rank, n, m, sampling)
        assert row.min() >= 0
        assert row.sum() == pytest.approx(1, abs=1e-14)
        others = n - 1
        drawn = others * (1 - (1 - 1 / others) ** m) if sampling is DISTINCT else m
        mean = row @ np.arange(1, m + 2)
        assert mean == pytest.approx(1 + drawn * (rank - 1) / others, rel=1e-11)

    def test_sampling_everything_reveals_the_rank(self):
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
    def test_refuses(self, arguments, message):
        with pytest.raises(InputError, match=message):
            pmf(*arguments)


class TestExpectedValues:
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("measure", MEASURES, ids=str)
    def test_enumeration(self, sampling, measure):
        n, m = 6, 3
        for rank in range(1, n + 1):
            others = [other for other in range(1, n + 1) if other != rank]
            drawn = list(samples_of(others, m, sampling))
            sampled_ranks = [
                1 + sum(item < rank for item in sample) for sample in drawn
            ]
            mean = measure.value_at(np.array(sampled_ranks), m + 1).mean()
            assert expected_values(measure, rank, n, m, sampling) == pytest.approx(
                mean, rel=1e-13
            )

    def test_table_2_of_the_paper(self):
        # recommenders A, B, C of section 3.2 with m = 99
        printed = {
            "ap": (0.630, 0.336, 0.325),
            "ndcg": (0.724, 0.444, 0.460),
            "recall@10": (1.000, 0.400, 0.567),
            "auc": (0.990, 0.555, 0.843),
        }
        ranks = [[100] * 5, [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]]
        for name, of_recommenders in printed.items():
            ours = [
                expected_values(parse_measure(name), r, 10_000, 99, WITH).mean()
                for r in ranks
            ]
            assert ours == pytest.approx(of_recommenders, abs=0.01)


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
                    listed = enumerated(
                        n, better, tied, m, sampling=sampling, ties=ties
                    )
                    assert ours == pytest.approx(listed, abs=2e-15)

    def test_impossible_ranks_have_probability_0(self):
        # at most 5 better and 3 tied; at most 4 worse, so at least 96 of 100 are not
        table = sampled_rank_distribution(Ranks([3541, 3541], [5, 3530], [3, 6]), 100)
        assert np.flatnonzero(table[0]).tolist() == list(range(9))
        assert np.flatnonzero(table[1]).tolist() == list(range(90, 101))

    @pytest.mark.parametrize("ties", SAMPLED_TIE_POLICIES)
    def test_large_samples(self, ties):
        n = (
            201 if ties == "paper" else 1001
        )  # because it takes time proportional to m^2
        records = Ranks([n, n, n], [100, 0, n - 2], [5, n - 1, 1])
        for m in (n - 2, n - 1):
            table = sampled_rank_distribution(records, m, ties=ties)
            assert table.min() >= 0
            np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
        # everything sampled: the place among the ties is all that is left to chance
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
    def test_refuses(self, options, message):
        with pytest.raises(InputError, match=message):
            histograms(
                Ranks([10], [3], [0]), **({"m": 2, "generators": []} | options)
            )


def generators(count, seed=7):
    return [
        np.random.default_rng(child)
        for child in np.random.SeedSequence(seed).spawn(count)
    ]


class TestDraws:
    RECORDS = Ranks([60, 60, 80, 80, 100], [0, 20, 10, 30, 90], [0, 0, 40, 1, 9])

    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize("ties", SAMPLED_TIE_POLICIES)
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("user", [(7, 2, 3), (8, 6, 1), (6, 5, 0), (5, 0, 4)])
    def test_draws_follow_the_enumeration(self, user, sampling, ties, shared):
        m, users = 4, 20_000
        alike = Ranks(*(np.full(users, count) for count in user))
        if shared and sampling is DISTINCT:
            with pytest.raises(InputError, match="duplicates"):
                shared_histograms(
                    alike,
                    m,
                    generators(1),
                    [generators(1)],
                    sampling=sampling,
                    ties=ties,
                )
            return
        counts = histograms(alike, m, generators(1, 4), sampling, ties)
        if shared:  # by two evaluations
            places = [generators(1, seed) for seed in (11, 12)]
            counts = shared_histograms(
                alike, m, generators(1, 4), places, sampling=sampling, ties=ties
            )[:, 0]
            assert counts.shape == (2, m + 1)
        probability = np.array(enumerated(*user, m, sampling=sampling, ties=ties))
        possible = probability > 0
        for histogram in counts:
            assert histogram[~possible].sum() == 0
            expected = probability[possible] * users
            if expected.size == 1:
                continue
            assert stats.chisquare(histogram[possible], expected).pvalue > 1e-4

    def test_a_repetition_stands_alone(self):
        # more users than one block holds, so that the generators are called several times
        rng = np.random.default_rng(5)
        n, better = rng.integers(1200, 1400, 1100), rng.integers(0, 100, 1100)
        records = Ranks(n, better, rng.integers(0, 90, n.size))
        counts = histograms(records, 1000, generators(2))
        together = draw_sampled_ranks(records, 1000, generators(2))
        assert together.dtype == np.int64
        for row, drawn, generator in zip(
            counts, together, generators(2), strict=True
        ):
            alone = draw_sampled_ranks(records, 1000, generator)
            assert np.array_equal(drawn, alone)
            assert np.array_equal(row, np.bincount(alone - 1, minlength=1001))

    def test_the_first_and_the_last_stay_so_among_users_drawn_together(self):
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

    def test_nothing_to_draw(self):
        empty = Ranks(*np.zeros((3, 0), dtype=np.int64))
        assert draw_sampled_ranks(empty, 5, np.random.default_rng(0)).tolist() == []
        assert draw_sampled_ranks(empty, 5, generators(2)).tolist() == [[], []]
        assert draw_sampled_ranks(self.RECORDS, 5, []).shape == (0, 5)
        assert histograms(empty, 5, generators(2)).tolist() == [[0] * 6] * 2
        assert histograms(self.RECORDS, 5, []).shape == (0, 6)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_histograms_count_the_draws_of_each_repetition(m):
    ranks = Ranks([30, 40, 50], [0, 9, 20], [0, 3, 0])
    counted = histograms(ranks, m, [np.random.default_rng(seed) for seed in range(4)])
    for seed, row in enumerate(counted):
        drawn = draw_sampled_ranks(ranks, m, np.random.default_rng(seed))
        assert row.tolist() == np.bincount(drawn - 1, minlength=m + 1).tolist()


def test_distinct_negatives_of_several_sizes_are_those_of_each():
    ranks = Ranks([8, 12, 8, 20], [0, 5, 7, 10], [0, 1, 0, 2])
    together = sampled_rank_distribution(ranks, 6, "distinct")
    for row in range(len(ranks)):
        alone = sampled_rank_distribution(
            ranks.take(slice(row, row + 1)), 6, "distinct"
        )
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-13, atol=1e-300)


def test_distinct_negatives_of_a_row_do_not_depend_on_other_rows():
    """The last of n candidates has sampled rank d + 1 if d of the negatives are distinct."""
    n, m = np.array([300, 8, 40]), 30
    together = pmf(n, n, m, DISTINCT)
    for row, size in enumerate(n.tolist()):
        assert np.array_equal(together[row], pmf(size, size, m, DISTINCT)[0])
        exact = [
            float(exact_probability(size, size, m, i, DISTINCT)) for i in range(m + 1)
        ]
        assert together[row] == pytest.approx(exact, rel=1e-11, abs=1e-17)


@pytest.mark.parametrize("sampling", [WITH, WITHOUT])
def test_draws_of_many_negatives_invert_the_distribution_function(sampling):
    rng = np.random.default_rng(3)
    better = rng.integers(0, 1500, 300)
    tied = np.where(rng.random(300) < 0.2, rng.integers(0, 400, 300), 0)
    ranks = Ranks(np.full(300, 2000), better, tied)
    function = np.cumsum(sampled_rank_distribution(ranks, 600, sampling), axis=1)
    drawn = draw_sampled_ranks(
        ranks, 600, np.random.default_rng(4).spawn(3), sampling
    )
    for found, generator in zip(
        drawn, np.random.default_rng(4).spawn(3), strict=True
    ):
        expected = (function < generator.random(300)[:, np.newaxis]).sum(axis=1) + 1
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize(("m", "k"), [(1, 10), (7, 3), (7, 8), (19, 5)])
def test_the_top_of_samples_has_the_first_columns_of_all(sampling, m, k):
    """At every rank with every number of ties, also where the negatives are all the others."""
    n = 20
    ends = [(b, e) for b in range(n) for e in range(n - b)]
    better, tied = np.array(ends).T
    ranks = Ranks(np.full(better.size, n), better, tied)
    whole = sampled_rank_distribution(ranks, m, sampling)
    top = top_rank_probabilities(ranks, m, k, sampling)
    assert top.shape == (better.size, min(k, m + 1))
    assert top == pytest.approx(whole[:, :k], abs=1e-12)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_the_top_of_samples_is_that_of_all_samples(m):
    for better, tied in combinations(range(7), 2):
        ranks = Ranks([6], [better], [tied - better - 1])
        (top,) = top_rank_probabilities(ranks, m, 2, WITHOUT)
        whole = enumerated(
            6, better, tied - better - 1, m, sampling=WITHOUT, ties="random"
        )
        assert top == pytest.approx(whole[:2], abs=1e-12)


def test_a_whole_number_is_a_seed():
    ranks = Ranks([500] * 300, np.arange(300), [0] * 300)
    drawn = draw_sampled_ranks(ranks, 20, seed=7)
    assert drawn.shape == (300,)
    assert drawn.tolist() == draw_sampled_ranks(ranks, 20, 7).tolist()
    assert drawn.tolist() != draw_sampled_ranks(ranks, 20, seed=8).tolist()
    for seed in ("7", -1, [1, 2], 0.5):
        with pytest.raises(InputError, match="seed"):
            draw_sampled_ranks(ranks, 20, seed=seed)
