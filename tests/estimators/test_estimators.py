"""Estimators: names, exact rational solutions, identities, optimality, the paper's constants."""

from fractions import Fraction
from functools import cache
from math import comb, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import lsq_linear

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    em_step,
    estimator_matrix,
    parse_estimator,
    reduce_system,
    solve_bias_variance,
    solve_monotone,
)
from sampled_metrics.estimators.least_squares import (
    ConditioningError,
    rank_rule,
    sums_up_to,
)
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.sampling.probability import pmf_at

NAMES = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
ESTIMATORS = [parse_estimator(name) for name in NAMES]
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
WITH, WITHOUT = SAMPLINGS = ("with-replacement", "without-replacement")


@cache
def grid(n, m, sampling):
    """p(sampled rank | rank) from scipy."""
    rank, i = np.arange(1, n + 1)[:, None], np.arange(m + 1)
    if sampling == WITH:
        return stats.binom.pmf(i, m, (rank - 1) / (n - 1))
    return stats.hypergeom.pmf(i, n - 1, rank - 1, m)


def exact(measures, n):
    return np.column_stack(
        [measure.value_at(np.arange(1, n + 1), n) for measure in measures]
    )


def matrix(names, measures, n, m, **options):
    estimators = [parse_estimator(name) for name in names]
    return estimator_matrix(
        estimators, measures, n, m, **({"sampling": WITH} | options)
    )


class TestNames:
    def test_round_trip(self):
        assert [str(parse_estimator(name)) for name in NAMES] == list(NAMES)
        assert (
            len({parse_estimator(f"bv:{g}") for g in ("0.1", ".1", "0.10", "1e-1")})
            == 1
        )
        assert parse_estimator("BV:0.1 ") == parse_estimator("bv:0.1")
        assert parse_estimator("Rank_Estimate") == parse_estimator("rank-estimate")

    @pytest.mark.parametrize(
        "name",
        [
            *(
                "",
                "bv",
                "bv:",
                "bv:x",
                "bv:1.1",
                "bv:-0.1",
                "bv:nan",
                "bv:inf",
                "bv: 0.1",
            ),
            *(
                "bv:1_0",
                "bv:0.1:2",
                "cls:0.1",
                "bv:\u0660",
                "sampled:",
                "rank-estimates",
            ),
            *("em", "em:0", "em:2.5", "em:1001"),
        ],
    )
    def test_unknown(self, name):
        with pytest.raises(InputError) as caught:
            parse_estimator(name)
        assert str(caught.value).startswith(f"unknown estimator {name!r};")
        assert "rank-estimate" in str(caught.value)


class TestSampledAndRankEstimate:
    def test_by_hand(self):
        ap, auc = MEASURES[2:]
        both = matrix(["sampled"], [ap, auc], 8, 3)[:, 0]
        np.testing.assert_allclose(
            both, [[1, 1 / 2, 1 / 3, 1 / 4], [1, 2 / 3, 1 / 3, 0]]
        )
        # n = 8, m = 2: ranks 1, 1 + 7/2, 1 + 7 and, divided by m + 1, 1, 1 + 7/3, 1 + 14/3
        for rounding, divisor, expected in (
            ("floor", "m", [1, 1 / 4, 1 / 8]),
            ("floor", "m+1", [1, 1 / 3, 1 / 5]),
            ("linear", "m", [1, (1 / 4 + 1 / 5) / 2, 1 / 8]),
            (
                "linear",
                "m+1",
                [1, 1 / 3 - (1 / 3 - 1 / 4) / 3, 1 / 5 - (1 / 5 - 1 / 6) * 2 / 3],
            ),
        ):
            found = matrix(
                ["rank-estimate"], [ap], 8, 2, rounding=rounding, divisor=divisor
            )
            np.testing.assert_allclose(found[0, 0], expected)

    @settings(derandomize=True, deadline=None)
    @given(st.integers(2, 10**6), st.integers(1, 200), st.sampled_from(["m", "m+1"]))
    def test_floor_is_exact(self, n, m, divisor):
        bottom = m if divisor == "m" else m + 1
        ranks = np.array(
            [1 + floor(Fraction((n - 1) * i, bottom)) for i in range(m + 1)]
        )
        ours = matrix(["rank-estimate"], MEASURES[2:3], n, m, divisor=divisor)[0, 0]
        assert np.array_equal(ours, 1.0 / ranks)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_eq_20_leaves_auc_unbiased(self, sampling):
        options = {"rounding": "linear", "divisor": "m"}
        vector = matrix(["rank-estimate"], MEASURES[3:], 40, 7, **options)[0, 0]
        found = grid(40, 7, sampling) @ vector
        np.testing.assert_allclose(found, exact(MEASURES[3:], 40)[:, 0], atol=1e-13)


def rational_bv(n, m, sampling, values, gamma):
    """Eq. 25 as printed, for uniform ranks, solved in rational numbers."""

    def cell(r, i):
        if sampling == WITH:
            return Fraction(
                comb(m, i) * (r - 1) ** i * (n - r) ** (m - i), (n - 1) ** m
            )
        return Fraction(comb(r - 1, i) * comb(n - r, m - i), comb(n - 1, m))

    rows = [[cell(r, i) for i in range(m + 1)] for r in range(1, n + 1)]
    size, equations = range(m + 1), []
    for i in size:
        weighted = [row[i] / n for row in rows]
        left = [
            (1 - gamma)
            * sum(w * row[j] for w, row in zip(weighted, rows, strict=True))
            + (gamma * sum(weighted) if i == j else 0)
            for j in size
        ]
        equations.append(
            [*left, sum(w * v for w, v in zip(weighted, values, strict=True))]
        )
    for pivot in size:
        row = [value / equations[pivot][pivot] for value in equations[pivot]]
        equations = [
            row
            if i == pivot
            else [a - other[pivot] * b for a, b in zip(other, row, strict=True)]
            for i, other in enumerate(equations)
        ]
    return np.array([float(row[-1]) for row in equations])


class TestBiasVariance:
    @pytest.mark.parametrize(("n", "m"), [(5, 2), (9, 4), (14, 7)])
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_eq_25_in_rational_numbers(self, n, m, sampling):
        system = reduce_system(MEASURES, n, m, sampling)
        for gamma in map(Fraction, ("0", "1/1000", "1/10", "9/10", "1")):
            for ours, target in zip(
                solve_bias_variance(system, float(gamma)),
                exact(MEASURES, n).T.tolist(),
                strict=True,
            ):
                theirs = rational_bv(
                    n, m, sampling, [Fraction(v) for v in target], gamma
                )
                np.testing.assert_allclose(
                    ours, theirs, rtol=0, atol=1e-11 * abs(theirs).max()
                )

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_gamma_0_is_eq_22_and_gamma_1_eq_26(self, sampling):
        n, m = 300, 8
        given, b = grid(n, m, sampling), exact(MEASURES, n)
        system = reduce_system(MEASURES, n, m, sampling)
        solution = np.linalg.lstsq(given, b, rcond=None)[0]
        np.testing.assert_allclose(
            solve_bias_variance(system, 0.0).T, solution, rtol=1e-9, atol=1e-10
        )
        posterior = given / given.sum(axis=0)
        ours = solve_bias_variance(system, 1.0)
        np.testing.assert_allclose(ours.T, posterior.T @ b, rtol=1e-10, atol=1e-13)
        once = matrix(
            ["em:1"], MEASURES, n, m, sampling=sampling, histogram=np.ones(m + 1)
        )
        np.testing.assert_allclose(
            ours, once[:, 0], atol=1e-12
        )  # one step from uniform ranks

    def test_recall_of_the_study(self):
        # solved in 260 digits, uniform prior, n = 3541, m = 100: recall@10 at sampled rank 1
        system = reduce_system(MEASURES[:1], 3541, 100, WITH)
        expected = {
            1.0: 0.24849263,
            0.1: 0.56540931,
            0.01: 0.88357203,
            0.001: 1.11109776,
        }
        for gamma, head in expected.items():
            assert solve_bias_variance(system, gamma)[0, 0] == pytest.approx(
                head, abs=5e-9
            )
        few = reduce_system(MEASURES[:1], 3541, 20, WITH)
        assert np.abs(solve_bias_variance(few, 0.0)).max() == pytest.approx(
            10718.43, abs=0.01
        )
        assert np.isfinite(solve_bias_variance(system, 1e-9)).all()
        for refused in (
            system,
            reduce_system(MEASURES, 5, 9, WITH),
        ):  # fewer ranks than unknowns
            m = refused.marginal.size - 1
            with pytest.raises(ConditioningError, match=f"gamma 0 with {m} "):
                solve_bias_variance(refused, 0.0)

    def test_several_blocks_of_rows_give_the_triangle_of_one(self):
        system = reduce_system(MEASURES, 5000, 6, WITH)
        a = grid(5000, 6, WITH) / np.sqrt(5000)
        np.testing.assert_allclose(
            system.triangle.T @ system.triangle, a.T @ a, atol=1e-14
        )
        assert np.array_equal(system.triangle, np.triu(system.triangle))

    @pytest.mark.parametrize("m", [10, 100])
    def test_a_million_ranks_are_summed_at_a_few_places(self, m):
        ranks, weights = rank_rule(MEASURES, 10**6, m)
        assert ranks.size < 1000
        assert weights @ ranks == pytest.approx(sum(range(1, 10**6 + 1)), rel=1e-12)
        # without replacement, no position among m negatives is likelier than another
        marginal = reduce_system(MEASURES, 10**6, m, WITHOUT).marginal
        np.testing.assert_allclose(marginal, np.full(m + 1, 1 / (m + 1)), rtol=1e-12)


class TestMonotone:
    @pytest.mark.parametrize("nonnegative", [True, False])
    @pytest.mark.parametrize(
        ("n", "m", "sampling"),
        [(3541, 100, WITH), (1200, 60, WITHOUT), (60, 20, WITH), (60, 20, WITHOUT)],
    )
    def test_optimality_conditions(self, n, m, sampling, nonnegative):
        measures = [*MEASURES, parse_measure("ndcg"), parse_measure("recall@500")]
        a, b = grid(n, m, sampling) / np.sqrt(n), exact(measures, n) / np.sqrt(n)
        solutions = solve_monotone(
            reduce_system(measures, n, m, sampling), nonnegative
        )
        for x, target in zip(solutions, b.T, strict=True):
            steps = np.append(x[:-1] - x[1:], x[-1])
            free = steps[: None if nonnegative else -1]
            assert free.min() >= -1e-14
            # gradient in the steps: at least 0, and 0 wherever the step may go either way
            gradient = np.cumsum(a.T @ (a @ x - target))
            assert gradient[: len(free)].min() >= -1e-11
            assert np.abs(gradient * np.where(steps > 1e-12, 1, 0)).max() <= 1e-11
            assert nonnegative or abs(gradient[-1]) <= 1e-11

    def test_recall_of_the_study_by_hand(self):
        # recall@10 with one step x_1 = h: h = sum_r p(1|r) M(r) / sum_r p(1|r)^2
        system = reduce_system(MEASURES[:1], 3541, 100, WITH)
        first = (1 - np.arange(3541) / 3540) ** 100
        (vector,) = solve_monotone(system)
        assert vector[0] == pytest.approx(
            first[:10].sum() / (first**2).sum(), rel=1e-11
        )
        assert vector[0] == pytest.approx(0.48764, abs=5e-6)
        assert np.abs(vector[1:]).max() <= 1e-15
        (free,) = solve_monotone(system, nonnegative=False)
        assert free[1:] == pytest.approx(np.full(100, -0.0021), abs=5e-5)


class TestFitted:
    N, M, HISTOGRAM = 12, 4, np.array([30.0, 12, 9, 5, 4])
    MEASURES = (
        *map(parse_measure, ("recall@2", "ndcg@3", "ap", "auc", "recall@12")),
    )

    def vectors(self, name, histogram=HISTOGRAM, sampling=WITHOUT):
        options = {"sampling": sampling, "histogram": histogram}
        return matrix([name], self.MEASURES, self.N, self.M, **options)[:, 0]

    def value(self, name, histogram=HISTOGRAM, sampling=WITHOUT):
        return self.vectors(name, histogram, sampling) @ histogram / np.sum(histogram)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("iterations", [1, 7, 50])
    def test_mean_under_the_distribution_that_loops_find(self, sampling, iterations):
        given, shares = (
            grid(self.N, self.M, sampling),
            self.HISTOGRAM / self.HISTOGRAM.sum(),
        )
        p = [1 / self.N] * self.N
        for _ in range(iterations):
            marginal = [
                sum(map(float.__mul__, p, column)) for column in given.T.tolist()
            ]
            p = [
                sum(
                    f * q * g / c
                    for f, g, c in zip(shares, row, marginal, strict=True)
                )
                for q, row in zip(p, given.tolist(), strict=True)
            ]
        found = self.value(f"em:{iterations}", sampling=sampling)
        np.testing.assert_allclose(
            found, p @ exact(self.MEASURES, self.N), rtol=0, atol=1e-12
        )
        assert found[-1] == pytest.approx(1, abs=1e-10)  # recall at n

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("name", ["em:1", "em:30", "likely"])
    def test_vectors_are_derivatives_of_the_estimate(self, name, sampling):
        """x_i - g is the slope of g towards all users at sampled rank i; numerical derivative."""
        ours = self.vectors(name, sampling=sampling)
        ours -= self.value(name, sampling=sampling)[:, None]
        for i, all_there in enumerate(self.HISTOGRAM.sum() * np.eye(self.M + 1)):
            ends = [
                self.value(
                    name, (1 - step) * self.HISTOGRAM + step * all_there, sampling
                )
                for step in (1e-4, -1e-4)
            ]
            numerical = (ends[0] - ends[1]) / 2e-4
            np.testing.assert_allclose(ours[:, i], numerical, rtol=1e-4, atol=1e-5)

    def test_sampled_ranks_that_cannot_occur_count_for_nothing(self):
        """Four draws from two items: one distinct with probability 1/8, never more than two.

        Given sampled rank 1, true rank 1 is 16 times as probable as 2; given 2, rank 2 is 15/2
        times as probable as 3. The AUC of true ranks 1, 2, 3 is 1, 1/2, 0.
        """
        found = matrix(
            ["em:1"], MEASURES[3:], 3, 4, sampling="distinct", histogram=[1] * 5
        )
        assert found[0, 0] == pytest.approx(
            [(16 + 1 / 2) / 17, 7.5 / 2 / 8.5, 0, 0, 0]
        )

    def test_many_candidates_are_summed_by_rule(self):
        """Beyond 16,384 candidates, nodes stand for several ranks each."""
        n, m, measures = (
            20_000,
            20,
            [parse_measure("recall@100"), parse_measure("auc")],
        )
        histogram = np.array([50.0, *np.linspace(12, 1, m)])
        p = np.full(n, 1 / n)
        for _ in range(30):
            p = em_step(grid(n, m, WITH), p, histogram / histogram.sum())
        ours = (
            matrix(["em:30"], measures, n, m, histogram=histogram)[:, 0] @ histogram
        )
        np.testing.assert_allclose(
            ours / histogram.sum(), p @ exact(measures, n), rtol=1e-9
        )


class TestMatrix:
    def test_axes_and_options(self):
        together = matrix(NAMES, MEASURES, 500, 40)
        assert together.shape == (4, 7, 41)
        for i, measure in enumerate(MEASURES):
            for j, name in enumerate(NAMES):
                alone = matrix([name], [measure], 500, 40)[0, 0]
                np.testing.assert_allclose(together[i, j], alone, atol=1e-9)
        for options, expected in (
            ({"sampling": WITHOUT}, {2, 3, 4, 5, 6}),
            ({"cls_nonnegative": False}, {2}),
            ({"rounding": "linear"}, {1}),
            ({"divisor": "m"}, {1}),
        ):
            other = matrix(NAMES, MEASURES, 500, 40, **options)
            differing = np.abs(other - together).max(axis=(0, 2)) > 1e-6
            assert set(np.flatnonzero(differing)) == expected
        assert np.array_equal(together, matrix(NAMES, MEASURES, 500, 40))
        assert matrix([], MEASURES, 50, 4).shape == (4, 0, 5)
        assert matrix(NAMES, [], 50, 4).shape == (0, 7, 5)

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"n": 2, "m": 4, "sampling": "distinct"}, "sampled rank 3 of 5"),
            ({"n": 2, "sampling": WITHOUT}, "n is 2"),
            ({"m": 0}, "m is 0"),
            ({"n": 10**6, "m": 20_000}, "10,000 negatives"),
            ({"rounding": "up"}, "up"),
            ({"names": ["em:5"]}, "em:5"),
            ({"names": ["em:5"], "histogram": np.zeros(3)}, "sum 0"),
        ],
    )
    def test_refuses(self, options, word):
        with pytest.raises(InputError, match=word):
            matrix(
                **({"names": NAMES, "measures": MEASURES, "n": 5, "m": 2} | options)
            )


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_constrained_vectors_never_rise(sampling):
    """Also where steps are 0 but for rounding, as of recall at n, which is 1 at every rank."""
    measures = [*MEASURES, parse_measure("recall@12"), parse_measure("recall@11")]
    for nonnegative in (True, False):
        (found,) = np.moveaxis(
            matrix(
                ["cls"],
                measures,
                12,
                5,
                sampling=sampling,
                cls_nonnegative=nonnegative,
            ),
            1,
            0,
        )
        assert (np.diff(found) <= 0.0).all()
        assert not nonnegative or (found >= 0.0).all()
        np.testing.assert_allclose(found[4], 1.0, rtol=1e-10)


def test_constrained_vectors_of_many_negatives():
    """More unknowns than the solver of this package takes, against bounded least squares."""
    n, m, measures = 400, 140, [parse_measure("recall@10"), parse_measure("rr@3")]
    solutions = solve_monotone(reduce_system(measures, n, m, WITH))
    steps = np.cumsum(grid(n, m, WITH), axis=1)
    for found, wanted in zip(solutions, exact(measures, n).T, strict=True):
        expected = lsq_linear(steps, wanted, (0, np.inf), "bvls", tol=1e-15)
        distance = np.sum((grid(n, m, WITH) @ found - wanted) ** 2)
        assert distance == pytest.approx(2 * expected.cost, rel=1e-9)


@pytest.mark.parametrize("n", [50, 3541, 1 << 14])
def test_ranks_are_taken_one_by_one(n):
    ranks, weights = rank_rule(MEASURES, n, 20)
    assert ranks.tolist() == list(range(1, n + 1))
    assert set(weights) == {1.0}


@pytest.mark.parametrize("m", [3, 20, 300])
@pytest.mark.parametrize("n", [(1 << 14) + 1, 10**5])
def test_sums_over_ranks_are_exact_up_to_degree_39(n, m):
    """Also those that end at a cut-off, which ends a block."""
    measures = [parse_measure("recall@1000"), parse_measure("ndcg@17")]
    ranks, weights = rank_rule(measures, n, m)
    assert ranks.size < n
    whole = np.arange(1, n + 1)
    for degree in (0, 1, 2, 17, 39):
        expected = ((whole / n) ** degree).sum()
        assert weights @ (ranks / n) ** degree == pytest.approx(expected, rel=1e-12)
    for cutoff in (17, 1000):
        below = ranks <= cutoff
        assert weights[below].sum() == pytest.approx(cutoff, rel=1e-12)
        total = weights[below] @ ranks[below]
        assert total == pytest.approx(cutoff * (cutoff + 1) / 2, rel=1e-12)
    assert (ranks[:128] == whole[:128]).all()
    assert (ranks[-128:] == whole[-128:]).all()
    assert (np.diff(ranks) > 0).all()


@pytest.mark.parametrize(("n", "m"), [(17_000, 300), (10**6, 400)])
def test_every_sampled_rank_is_as_probable_if_every_rank_is(n, m):
    """Without replacement, the probabilities of a sampled rank given all true ranks add up to
    n/(m + 1), since the ranks of m + 1 items of n are those of any other sample of that size."""
    ranks, weights = rank_rule([], n, m)
    np.testing.assert_allclose(
        weights @ pmf_at(ranks, n, m, WITHOUT), n / (m + 1), rtol=1e-12
    )


@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.integers(0, 39))
def test_sums_up_to_any_ends(steps, degree):
    ends = np.cumsum(steps) + 1
    found = sums_up_to(ends, lambda ranks: (ranks / 100.0) ** degree)
    powers = np.cumsum((np.arange(1, ends[-1] + 1) / 100.0) ** degree)
    np.testing.assert_allclose(found, powers[ends - 1], rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clss", "did you mean cls"),
        (
            "bv:2",
            "GAMMA a number from 0 to 1, ITERATIONS a whole number from 1 to 1000",
        ),
    ],
)
def test_known_estimators_and_what_may_have_been_meant(name, words):
    with pytest.raises(InputError, match=words):
        parse_estimator(name)


@pytest.mark.parametrize(
    ("name", "label", "printed"),
    [
        ("bv:1", "BV 1", "bv:1"),
        ("bv:0", "BV 0", "bv:0"),
        ("bv:0.001", "BV 0.001", "bv:0.001"),
        ("em:1000", "EM 1000", "em:1000"),
        ("em:1", "EM 1", "em:1"),
        ("rank-estimate", "Rank Estimate", "rank-estimate"),
    ],
)
def test_labels_and_names_at_the_bounds(name, label, printed):
    estimator = parse_estimator(name)
    assert (estimator.label, str(estimator)) == (label, printed)


@pytest.mark.parametrize("gap", [1, 2, 3, 7, 400])
def test_sums_up_to_ends_are_those_of_single_ranks(gap):
    rng = np.random.default_rng(gap)
    ends = np.cumsum(rng.integers(0, gap + 1, 30)) + 1
    wanted = [sum(1 / rank for rank in range(1, end + 1)) for end in ends]
    # A gap is close where 1 / rank changes little within it.
    if gap == 400:
        ends = np.concatenate([np.arange(1, 500), 499 + ends])
        wanted = [sum(1 / rank for rank in range(1, end + 1)) for end in ends]
    assert sums_up_to(ends, lambda ranks: 1 / ranks) == pytest.approx(
        wanted, rel=1e-10
    )


@pytest.mark.parametrize("histogram", [np.ones(4), np.ones(6), np.zeros(5)])
def test_a_histogram_has_a_count_for_each_sampled_rank(histogram):
    with pytest.raises(InputError, match=r"histogram has .*expected 5 counts"):
        estimator_matrix(
            [parse_estimator("em:5")],
            [parse_measure("recall@1")],
            n=9,
            m=4,
            sampling="without-replacement",
            histogram=histogram,
        )


def test_a_name_without_its_number_is_not_suggested_instead_of_itself():
    with pytest.raises(
        InputError, match=r"unknown estimator 'em'(?!.*did you mean em).*em:ITER"
    ):
        parse_estimator("em")


def test_least_squares_that_do_not_settle_ask_for_fewer_negatives(monkeypatch):
    def never(*_, **__):
        raise RuntimeError("more turns than allowed")

    monkeypatch.setattr("scipy.optimize.nnls", never)
    chosen = [parse_estimator("cls")]
    with pytest.raises(ConditioningError, match="fewer negatives"):
        estimator_matrix(
            chosen,
            [parse_measure("ndcg@10")],
            5000,
            100,
            sampling="without-replacement",
        )
