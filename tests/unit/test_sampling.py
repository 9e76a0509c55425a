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
    TIES,
    average_over_ranks,
    distinct_items,
    draw_sampled_ranks,
    expected_values,
    histograms,
    pmf,
    sampled_rank_distribution,
)

WITHOUT, WITH, DISTINCT = Sampling
MEASURES = [parse_measure(name) for name in ("recall@3", "precision@2", "ap", "ndcg@5", "auc")]


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
        return Fraction(comb(m, i) * (rank - 1) ** i * (n - rank) ** (m - i), (n - 1) ** m)
    if sampling is WITHOUT:
        return Fraction(comb(rank - 1, i) * comb(n - rank, m - i), comb(n - 1, m))
    # i of the better items are drawn and j of the worse ones, by t and m - t of the draws
    ways = sum(
        comb(m, t) * comb(rank - 1, i) * onto(t, i) * comb(n - rank, j) * onto(m - t, j)
        for t in range(i, m + 1)
        for j in range(m - t + 1)
    )
    return Fraction(ways, (n - 1) ** m)


class TestPmf:
    def test_by_hand(self):
        # rank 2 of 4: one of three others is better, p = 1/3; two draws
        assert pmf(2, 4, 2, WITH)[0] == pytest.approx([4 / 9, 2 * 2 / 9, 1 / 9], rel=1e-14)
        # without replacement the pairs are bw, bw, ww
        assert pmf(2, 4, 2, WITHOUT)[0] == pytest.approx([1 / 3, 2 / 3, 0], rel=1e-14)

    @pytest.mark.parametrize("sampling", [WITH, WITHOUT])
    @pytest.mark.parametrize(("n", "m"), [(3541, 100), (10**6, 100), (3541, 3000), (101, 100)])
    def test_against_exact_fractions(self, sampling, n, m):
        for rank in {1, 2, 12, n // 7, n // 2, n - 1, n}:
            row = pmf(rank, n, m, sampling)[0]
            for i in {0, 1, 7, m // 7, m // 2, m - 1, m}:
                exact = exact_probability(rank, n, m, i, sampling)
                tiny = exact < Fraction(1, 10**300)
                assert row[i] == pytest.approx(float(exact), rel=2e-12, abs=1e-299 if tiny else 0)

    @pytest.mark.parametrize(("n", "m"), [(2, 5), (9, 6), (40, 25), (26, 30)])
    def test_distinct_against_exact_fractions(self, n, m):
        for rank in {1, 2, n // 2, n}:
            row = pmf(rank, n, m, DISTINCT)[0]
            exact = [exact_probability(rank, n, m, i, DISTINCT) for i in range(m + 1)]
            assert row == pytest.approx([float(each) for each in exact], rel=1e-11, abs=1e-15)

    def test_distinct_items_of_an_evaluation_of_movielens_1m(self):
        # (n - 1)(1 - (1 - 1/(n - 1))^m) are expected: 98.6 of 100
        others, m = 3540, 100
        probability = distinct_items(others, m)
        assert probability.sum() == pytest.approx(1, abs=1e-14)
        mean = probability @ np.arange(m + 1)
        assert mean == pytest.approx(others * (1 - (1 - 1 / others) ** m), rel=1e-12)
        assert mean == pytest.approx(98.6, abs=0.05)

    def test_every_distinct_rank_keeps_a_probability(self):
        # 100 distinct out of 150 are as good as impossible, but the estimators divide by it
        assert 0 < pmf(151, 151, 100, DISTINCT)[0, 100] < 1e-15

    @pytest.mark.parametrize("sampling", [WITH, WITHOUT])
    def test_against_scipy(self, sampling):
        rank, n, m, i = np.arange(1, 60), 59, 40, np.arange(41)
        theirs = {
            WITH: stats.binom.pmf(i, m, (rank[:, None] - 1) / (n - 1)),
            WITHOUT: stats.hypergeom.pmf(i, n - 1, rank[:, None] - 1, m),
        }
        np.testing.assert_allclose(
            pmf(rank, n, m, sampling), theirs[sampling], rtol=1e-9, atol=1e-15
        )

    @settings(deadline=None, derandomize=True, max_examples=60)
    @given(st.data(), st.sampled_from(Sampling), st.integers(2, 4000))
    def test_is_a_distribution_with_the_mean_of_section_4_4_1(self, data, sampling, n):
        rank = data.draw(st.integers(1, n))
        m = data.draw(st.integers(1, n - 1 if sampling is WITHOUT else 200))
        (row,) = pmf(rank, n, m, sampling)
        assert row.min() >= 0
        assert row.sum() == pytest.approx(1, abs=1e-14)
        others = n - 1
        drawn = others * (1 - (1 - 1 / others) ** m) if sampling is DISTINCT else m
        mean = row @ np.arange(1, m + 2)
        assert mean == pytest.approx(1 + drawn * (rank - 1) / others, rel=1e-11)

    def test_number_of_candidates_may_differ_between_users(self):
        both = pmf([3, 3], [10, 20], 4, WITH)
        assert np.array_equal(both, np.vstack([pmf(3, 10, 4, WITH), pmf(3, 20, 4, WITH)]))

    def test_does_not_depend_on_blocks(self):
        whole = pmf(np.arange(1, 3001), 3000, 100, WITH)
        assert np.array_equal(whole[2345], pmf(2346, 3000, 100, WITH)[0])

    def test_sampling_everything_reveals_the_rank(self):
        assert np.array_equal(pmf([1, 2, 3, 4], 4, 3, WITHOUT), np.eye(4))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1, 5, 2, "poisson"), "unknown sampling 'poisson'; known: without-replacement, with"),
            ((0, 5, 2, WITH), "rank is 0; it must be from 1 to n"),
            ((6, 5, 2, WITH), "rank is 6;"),
            ((1, 1, 2, WITH), "n is 1; it must be at least 2"),
            ((1, 5, 0, WITH), "m is 0; it must be at least 1"),
            ((1, 5, 5, WITHOUT), "n is 5; it must be above m = 5 without replacement"),
            ((1.5, 5, 2, WITH), "rank has dtype float64; expected integers"),
            (([[1]], 5, 2, WITH), r"rank has shape \(1, 1\); expected a number"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(InputError, match=message):
            pmf(*arguments)


def expected_recall(rank, n, m, k, sampling):
    """Eq. 18: the distribution function of the number of better items, at k - 1."""
    if sampling is WITH:
        return stats.binom.cdf(k - 1, m, (rank - 1) / (n - 1))
    sizes = np.eye(m + 1)[m] if sampling is WITHOUT else distinct_items(n - 1, m)
    return stats.hypergeom.cdf(k - 1, n - 1, rank[:, None] - 1, np.arange(m + 1)) @ sizes


def expected_ap(rank, n, m):
    """Eq. 19, for draws with replacement."""
    p = (rank - 1) / (n - 1)
    return np.where(rank == 1, 1, -np.expm1((m + 1) * np.log1p(-p)) / np.where(p, p * (m + 1), 1))


class TestExpectedValues:
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("measure", MEASURES, ids=str)
    def test_enumeration(self, sampling, measure):
        n, m = 6, 3
        for rank in range(1, n + 1):
            others = [other for other in range(1, n + 1) if other != rank]
            drawn = list(samples_of(others, m, sampling))
            sampled_ranks = [1 + sum(item < rank for item in sample) for sample in drawn]
            mean = measure.at(np.array(sampled_ranks), m + 1).mean()
            assert expected_values(measure, rank, n, m, sampling) == pytest.approx(mean, rel=1e-13)

    @pytest.mark.parametrize("sampling", Sampling)
    def test_closed_forms_equal_eq_16(self, sampling):
        n, m, rank = 400, 60, np.arange(1, 400)
        values = {str(x): expected_values(x, rank, n, m, sampling) for x in MEASURES}
        if sampling is not DISTINCT:  # which ranks fewer than m + 1 items
            np.testing.assert_allclose(values["auc"], (n - rank) / (n - 1), atol=1e-13)
        recall = expected_recall(rank, n, m, 3, sampling)
        np.testing.assert_allclose(values["recall@3"], recall, rtol=1e-9, atol=1e-14)
        precision = expected_recall(rank, n, m, 2, sampling) / 2
        np.testing.assert_allclose(values["precision@2"], precision, rtol=1e-9, atol=1e-14)
        if sampling is WITH:
            np.testing.assert_allclose(values["ap"], expected_ap(rank, n, m), rtol=1e-12)

    @pytest.mark.parametrize("measure", MEASURES, ids=str)
    def test_one_sample_is_linear_in_the_rank(self, measure):
        # section 4.4.4: r (M(2) - M(1))/(n - 1) + (n M(1) - M(2))/(n - 1)
        n, rank = 50, np.arange(1, 51)
        first, second = measure.at([1, 2], 2)
        line = rank * (second - first) / (n - 1) + (n * first - second) / (n - 1)
        for sampling in Sampling:
            found = expected_values(measure, rank, n, 1, sampling)
            np.testing.assert_allclose(found, line, atol=1e-14, err_msg=sampling)

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
            ours = [expected_values(parse_measure(name), r, 10_000, 99, WITH).mean() for r in ranks]
            assert ours == pytest.approx(of_recommenders, abs=0.01)


class TestAverages:
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 2), (5, 4)])
    def test_against_every_sample(self, n, m, sampling):
        vectors = np.array([np.arange(m + 1.0) ** 2, np.arange(m + 1) == m])
        users = [(b, e) for b in range(n) for e in range(n - b)]
        ranks = Ranks([n] * len(users), *np.transpose(users))
        exact = [enumerated(n, b, e, m, sampling=sampling, ties="random") for b, e in users]
        found = average_over_ranks(vectors, ranks, sampling)
        np.testing.assert_allclose(found, vectors @ np.transpose(exact), rtol=0, atol=1e-13)

    @pytest.mark.parametrize("m", [1, 40, 600])
    def test_against_exact_numbers(self, m):
        n, rng = 1500, np.random.default_rng(m)
        vector = np.cumsum(rng.normal(size=m + 1))
        for better, tied in [(0, 0), (7, 0), (700, 0), (1499, 0), (90, 1), (900, 3)]:
            exact = sum(
                int(value) * comb(b, i) * comb(n - 1 - b, m - i)
                for b in range(better, better + tied + 1)
                for i, value in enumerate((vector * 2**40).round())
            )
            exact = float(Fraction(exact, comb(n - 1, m) * (tied + 1) * 2**40))
            found = average_over_ranks(vector[None], Ranks([n], [better], [tied]))
            assert found.item() == pytest.approx(exact, abs=1e-10)

    def test_improbable_ranks_within_the_cutoff_count(self):
        # 30 better ones are expected among 100 negatives; the top 10 has a probability of 1e-7.
        vector = (np.arange(101) < 10).astype(float)
        found = average_over_ranks(vector[None], Ranks([301], [90], [0]))
        exact = stats.hypergeom(300, 90, 100).cdf(9)
        assert 1e-9 < exact < 1e-6
        assert found.item() == pytest.approx(exact, rel=1e-9)

    @pytest.mark.parametrize("sampling", Sampling)
    def test_are_products_with_the_distribution(self, sampling):
        rng = np.random.default_rng(0)
        n = rng.integers(50, 90, 300)
        better = rng.integers(0, n)
        ranks = Ranks(n, better, np.minimum(rng.integers(0, 9, 300), n - 1 - better))
        vectors = rng.normal(size=(2, 50))
        expected = vectors @ sampled_rank_distribution(ranks, 49, sampling).T
        found = average_over_ranks(vectors, ranks, sampling)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


class TestDistribution:
    @pytest.mark.parametrize("ties", TIES)
    @pytest.mark.parametrize("sampling", Sampling)
    def test_enumeration(self, sampling, ties):
        for n in range(2, 7):
            for better in range(n):
                for tied in range(n - better):
                    m = min(3, n - 1)
                    records = Ranks([n], [better], [tied])
                    (ours,) = sampled_rank_distribution(records, m, sampling, ties)
                    listed = enumerated(n, better, tied, m, sampling=sampling, ties=ties)
                    assert ours == pytest.approx(listed, abs=2e-15)

    def test_random_is_the_mean_over_all_places(self):
        records = Ranks([3541, 10**6], [900, 30_000], [2600, 40])
        ours = sampled_rank_distribution(records, 100)
        first = pmf(np.arange(901, 3502), 3541, 100, WITHOUT).mean(axis=0)
        second = pmf(np.arange(30_001, 30_042), 10**6, 100, WITHOUT).mean(axis=0)
        np.testing.assert_allclose(ours, [first, second], atol=1e-12)

    def test_impossible_ranks_have_probability_0(self):
        # at most 5 better and 3 tied; at most 4 worse, so at least 96 of 100 are not
        table = sampled_rank_distribution(Ranks([3541, 3541], [5, 3530], [3, 6]), 100)
        assert np.flatnonzero(table[0]).tolist() == list(range(9))
        assert np.flatnonzero(table[1]).tolist() == list(range(90, 101))

    @pytest.mark.parametrize("sampling", Sampling)
    def test_policies_are_ordered_and_agree_without_ties(self, sampling):
        records = Ranks([500, 500], [120, 120], [0, 300])
        ranks = np.arange(1, 51)
        means = {t: sampled_rank_distribution(records, 49, sampling, t) @ ranks for t in TIES}
        assert len({means[t][0].round(12) for t in TIES}) == 1
        optimistic, paper, random, pessimistic = (
            means[t][1] for t in ("optimistic", "paper", "random", "pessimistic")
        )
        assert optimistic < paper < random < pessimistic
        # half a place less than random wherever a tie is sampled, which is nearly always
        assert random - paper == pytest.approx(0.5, abs=1e-9)

    @pytest.mark.parametrize("ties", TIES)
    def test_large_samples(self, ties):
        records = Ranks([3001, 3001, 3001], [1000, 0, 2999], [5, 3000, 1])
        for m in (2999, 3000):
            table = sampled_rank_distribution(records, m, ties=ties)
            assert table.min() >= 0
            np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
        # everything sampled: the place among the ties is all that is left to chance
        count = {"random": 6, "paper": 5, "optimistic": 1, "pessimistic": 1}[ties]
        start = 1005 if ties == "pessimistic" else 1000
        expected = np.zeros(3001)
        expected[start : start + count] = 1 / count
        np.testing.assert_allclose(table[0], expected, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"sampling": "cluster"}, "unknown sampling 'cluster'; known: without-replacement"),
            ({"ties": "middle"}, "unknown tie policy 'middle'; known: optimistic, paper, pessim"),
            ({"m": 10}, "n is 10; it must be above m = 10"),
        ],
    )
    def test_refuses(self, options, message):
        records = Ranks([10], [3], [0])
        with pytest.raises(InputError, match=message):
            sampled_rank_distribution(records, **({"m": 2} | options))
        with pytest.raises(InputError, match=message):
            draw_sampled_ranks(records, rng=np.random.default_rng(0), **({"m": 2} | options))
        with pytest.raises(InputError, match=message):
            histograms(records, generators=[], **({"m": 2} | options))


def generators(count, seed=7):
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


class TestDraws:
    RECORDS = Ranks([60, 60, 80, 80, 100], [0, 20, 10, 30, 90], [0, 0, 40, 1, 9])

    @pytest.mark.parametrize("ties", TIES)
    @pytest.mark.parametrize("sampling", Sampling)
    def test_chi_square_against_a_joint_draw(self, sampling, ties):
        # the oracle draws better, tied and worse candidates together, then the place among ties
        m, repetitions, rng = 12, 10_000, np.random.default_rng(11)
        for n, better, tied in [(80, 10, 40), (80, 30, 1), (60, 20, 0)]:
            one = Ranks([n], [better], [tied])
            ours = histograms(one, m, np.repeat(rng, repetitions), sampling, ties).sum(axis=0)
            counts = [better, tied, n - 1 - better - tied]
            if sampling is DISTINCT:
                letters = np.repeat([0, 1, 2], counts)
                drawn = np.array(
                    [
                        np.bincount(letters[np.unique(items)], minlength=3)
                        for items in rng.integers(0, n - 1, (repetitions, m))
                    ]
                )
            elif sampling is WITH:
                drawn = rng.multinomial(m, np.array(counts) / (n - 1), size=repetitions)
            else:
                drawn = rng.multivariate_hypergeometric(counts, m, size=repetitions)
            equal = drawn[:, 1]
            place = {
                "random": rng.integers(0, equal + 1),
                "paper": rng.integers(0, np.maximum(equal, 1)),
                "optimistic": 0,
                "pessimistic": equal,
            }[ties]
            theirs = np.bincount(drawn[:, 0] + place, minlength=m + 1)
            often = ours + theirs >= 20
            table = np.array([ours, theirs])
            pooled = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
            pooled = pooled[:, pooled.sum(axis=0) > 0]
            assert stats.chi2_contingency(pooled).pvalue > 1e-4

    def test_frequencies_within_four_standard_errors(self):
        repetitions = 4000
        total = histograms(self.RECORDS, 20, generators(repetitions)).sum(axis=0)
        by_user = sampled_rank_distribution(self.RECORDS, 20)
        error = np.sqrt(repetitions * (by_user * (1 - by_user)).sum(axis=0))
        assert (np.abs(total - repetitions * by_user.sum(axis=0)) <= 4 * error + 1e-9).all()

    def test_same_seed_same_bits(self):
        once = histograms(self.RECORDS, 20, generators(5))
        assert np.array_equal(once, histograms(self.RECORDS, 20, generators(5)))
        assert not np.array_equal(once, histograms(self.RECORDS, 20, generators(5, seed=8)))

    @pytest.mark.parametrize("ties", TIES)
    def test_a_repetition_stands_alone(self, ties):
        # more users than one block holds, so that the generators are called several times
        rng = np.random.default_rng(5)
        n = rng.integers(200, 400, 12_000)
        better = rng.integers(0, 100, n.size)
        records = Ranks(n, better, rng.integers(0, 2, n.size) * rng.integers(0, 90, n.size))
        counts = histograms(records, 100, generators(2), ties=ties)
        together = draw_sampled_ranks(records, 100, generators(2), ties=ties)
        assert together.dtype == np.int64
        for row, drawn, generator in zip(counts, together, generators(2), strict=True):
            alone = draw_sampled_ranks(records, 100, generator, ties=ties)
            assert np.array_equal(drawn, alone)
            assert np.array_equal(row, np.bincount(alone - 1, minlength=101))

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
