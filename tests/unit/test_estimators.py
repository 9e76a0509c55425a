"""Estimators: names, exact rational solutions, identities, optimality, the paper's constants."""

from fractions import Fraction
from functools import cache
from math import comb, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import beta

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    ConditioningError,
    Estimator,
    bias_variance,
    estimator_matrix,
    monotone,
    parse_estimator,
    rank_estimate,
    reduced,
    sampled,
)
from sampled_metrics.estimators.bias_variance import well_conditioned
from sampled_metrics.estimators.system import normal_equations
from sampled_metrics.metrics.measures import parse_measure

NAMES = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
ESTIMATORS = [parse_estimator(name) for name in NAMES]
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
SAMPLINGS = ("with-replacement", "without-replacement")


@cache
def grid(n, m, sampling):
    """p(sampled rank | rank) from scipy."""
    rank, i = np.arange(1, n + 1)[:, None], np.arange(m + 1)
    if sampling == "with-replacement":
        return stats.binom.pmf(i, m, (rank - 1) / (n - 1))
    return stats.hypergeom.pmf(i, n - 1, rank - 1, m)


def rational_grid(n, m, sampling):
    def cell(r, i):
        if sampling == "with-replacement":
            return Fraction(comb(m, i) * (r - 1) ** i * (n - r) ** (m - i), (n - 1) ** m)
        return Fraction(comb(r - 1, i) * comb(n - r, m - i), comb(n - 1, m))

    return [[cell(r, i) for i in range(m + 1)] for r in range(1, n + 1)]


def rational_bv(rows, prior, values, gamma):
    """Eq. 25 as printed, solved in rational numbers."""
    size = range(len(rows[0]))
    equations = []
    for i in size:
        weighted = [p * row[i] for p, row in zip(prior, rows, strict=True)]
        left = [
            (1 - gamma) * sum(w * row[j] for w, row in zip(weighted, rows, strict=True))
            + (gamma * sum(weighted) if i == j else 0)
            for j in size
        ]
        equations.append([*left, sum(w * v for w, v in zip(weighted, values, strict=True))])
    for pivot in size:
        row = [value / equations[pivot][pivot] for value in equations[pivot]]
        equations = [
            row if i == pivot else [a - other[pivot] * b for a, b in zip(other, row, strict=True)]
            for i, other in enumerate(equations)
        ]
    return np.array([float(row[-1]) for row in equations])


class TestNames:
    def test_round_trip(self):
        assert [str(parse_estimator(name)) for name in NAMES] == list(NAMES)

    @settings(derandomize=True, deadline=None)
    @given(st.floats(0, 1))
    def test_gamma_round_trips(self, gamma):
        assert parse_estimator(str(Estimator("bv", gamma))) == Estimator("bv", gamma)

    def test_spellings_of_one_number_are_equal(self):
        assert len({parse_estimator(f"bv:{g}") for g in ("0.1", ".1", "0.10", "1e-1")}) == 1

    def test_case_and_underscores_do_not_matter(self):
        assert parse_estimator("BV:0.1 ") == parse_estimator("bv:0.1")
        assert parse_estimator("Rank_Estimate") == parse_estimator("rank-estimate")
        with pytest.raises(InputError, match=r"did you mean rank-estimate\?"):
            parse_estimator("rank-estimates")

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "bv",
            "bv:",
            "bv:x",
            "bv:1.1",
            "bv:-0.1",
            "bv:nan",
            "bv:inf",
            "bv: 0.1",
            "bv:1_0",
            "bv:0.1:2",
            "cls:0.1",
            "bv:\u0660",
            "sampled:",
        ],
    )
    def test_unknown(self, name):
        with pytest.raises(InputError) as caught:
            parse_estimator(name)
        assert str(caught.value).startswith(f"unknown estimator {name!r};")
        assert "sampled, rank-estimate, cls, bv:GAMMA" in str(caught.value)


class TestSampledAndRankEstimate:
    def test_sampled_by_hand(self):
        assert sampled(parse_measure("ap"), 3) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
        assert sampled(parse_measure("auc"), 3) == pytest.approx([1, 2 / 3, 1 / 3, 0])

    def test_rank_estimate_by_hand(self):
        ap = parse_measure("ap")
        # n = 8, m = 2: ranks 1, 1 + 7/2, 1 + 7 and, divided by m + 1, 1, 1 + 7/3, 1 + 14/3
        assert rank_estimate(ap, 8, 2, "floor", "m") == pytest.approx([1, 1 / 4, 1 / 8])
        assert rank_estimate(ap, 8, 2, "floor", "m+1") == pytest.approx([1, 1 / 3, 1 / 5])
        assert rank_estimate(ap, 8, 2, "linear", "m") == pytest.approx(
            [1, (1 / 4 + 1 / 5) / 2, 1 / 8]
        )
        assert rank_estimate(ap, 8, 2, "linear", "m+1") == pytest.approx(
            [1, 1 / 3 + (1 / 4 - 1 / 3) / 3, 1 / 5 + (1 / 6 - 1 / 5) * 2 / 3]
        )

    @settings(derandomize=True, deadline=None)
    @given(st.integers(2, 10**6), st.integers(1, 200), st.sampled_from(["m", "m+1"]))
    def test_floor_is_exact(self, n, m, divisor):
        bottom = m if divisor == "m" else m + 1
        ranks = np.array([1 + floor(Fraction((n - 1) * i, bottom)) for i in range(m + 1)])
        ours = rank_estimate(parse_measure("ap"), n, m, "floor", divisor)
        assert np.array_equal(ours, 1.0 / ranks)

    def test_eq_20_leaves_auc_unbiased(self):
        for sampling in SAMPLINGS:
            vector = rank_estimate(parse_measure("auc"), 40, 7, "linear", "m")
            exact = parse_measure("auc").at(np.arange(1, 41), 40)
            np.testing.assert_allclose(grid(40, 7, sampling) @ vector, exact, atol=1e-13)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((8, 2, "up"), "unknown rounding 'up'; known: floor, linear"),
            ((8, 2, "floor", "n"), r"unknown divisor 'n'; known: m, m\+1"),
            ((1, 2), "n is 1; it must be at least 2"),
            ((8, 0), "m is 0; it must be at least 1"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(InputError, match=message):
            rank_estimate(parse_measure("ap"), *arguments)


class TestBiasVariance:
    @pytest.mark.parametrize(("n", "m"), [(5, 2), (9, 4), (14, 7)])
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("given_prior", [False, True])
    def test_eq_25_in_rational_numbers(self, n, m, sampling, given_prior):
        weights = [Fraction(1 + (7 * r) % 5, 1) if given_prior else Fraction(1) for r in range(n)]
        prior = [weight / sum(weights) for weight in weights]
        as_floats = [float(p) for p in prior] if given_prior else None
        problem = (MEASURES, n, m, sampling, as_floats)
        rows, system = rational_grid(n, m, sampling), reduced(*problem)
        for gamma in map(Fraction, ("0", "1/1000", "1/10", "9/10", "1")):
            ours = bias_variance(system, float(gamma))
            if gamma >= Fraction("0.1"):
                fast = well_conditioned(normal_equations(*problem), float(gamma))
                np.testing.assert_allclose(fast, ours, rtol=0, atol=1e-13 * np.abs(ours).max())
            for row, measure in zip(ours, MEASURES, strict=True):
                values = [Fraction(v) for v in measure.at(np.arange(1, n + 1), n).tolist()]
                exact = rational_bv(rows, prior, values, gamma)
                np.testing.assert_allclose(row, exact, rtol=0, atol=1e-11 * np.abs(exact).max())

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_gamma_0_is_least_squares_eq_22(self, sampling):
        n, m = 300, 8
        b = np.column_stack([measure.at(np.arange(1, n + 1), n) for measure in MEASURES])
        solution = np.linalg.lstsq(grid(n, m, sampling), b, rcond=None)[0]
        ours = bias_variance(reduced(MEASURES, n, m, sampling, None), 0.0)
        np.testing.assert_allclose(ours.T, solution, rtol=1e-9, atol=1e-10)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_gamma_1_is_eq_26(self, sampling):
        n, m = 1000, 60
        joint = grid(n, m, sampling) / n
        posterior = joint / joint.sum(axis=0)
        b = np.column_stack([measure.at(np.arange(1, n + 1), n) for measure in MEASURES])
        ours = bias_variance(reduced(MEASURES, n, m, sampling, None), 1.0)
        np.testing.assert_allclose(ours.T, posterior.T @ b, rtol=1e-10, atol=1e-13)

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(
        n=st.integers(3, 60),
        m=st.integers(1, 30),
        gamma=st.floats(1e-4, 1),
        seed=st.integers(0, 10**6),
    )
    def test_minimises_bias_and_variance_eq_24(self, n, m, gamma, seed):
        rng = np.random.default_rng(seed)
        prior = rng.dirichlet(np.ones(n))
        sampling = "with-replacement" if seed % 2 or m >= n else "without-replacement"
        (x,) = bias_variance(reduced(MEASURES[1:2], n, m, sampling, prior), gamma)
        p, exact = grid(n, m, sampling), MEASURES[1].at(np.arange(1, n + 1), n)

        def criterion(vector):
            variance = p @ vector**2 - (p @ vector) ** 2
            return prior @ ((p @ vector - exact) ** 2 + gamma * variance)

        for _ in range(5):
            step = rng.standard_normal(m + 1) * 0.01
            assert criterion(x) <= criterion(x + step) + 1e-14

    def test_sampling_everything_leaves_nothing_to_correct(self):
        system = reduced(MEASURES, 30, 29, "without-replacement", None)
        exact = [measure.at(np.arange(1, 31), 30) for measure in MEASURES]
        for gamma in (0.0, 0.1, 1.0):
            np.testing.assert_allclose(bias_variance(system, gamma), exact, atol=1e-13)

    @pytest.mark.parametrize(
        ("gamma", "head"),
        # solved in 260 digits, uniform prior, n = 3541, m = 100: recall@10 at sampled rank 1
        [(1.0, 0.24849263), (0.1, 0.56540931), (0.01, 0.88357203), (0.001, 1.11109776)],
    )
    def test_recall_of_the_study(self, gamma, head):
        (vector,) = bias_variance(reduced(MEASURES[:1], 3541, 100, "with-replacement", None), gamma)
        assert vector[0] == pytest.approx(head, abs=5e-9)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_many_negatives_by_normal_equations(self, sampling):
        names = ["bv:1", "bv:0.1", "bv:0.01"]
        estimators = [parse_estimator(name) for name in names]
        found = estimator_matrix(estimators, MEASURES, 900, 300, sampling=sampling)
        system = reduced(MEASURES, 900, 300, sampling, None)
        for column, estimator in enumerate(estimators):
            exact = bias_variance(system, estimator.parameter)
            np.testing.assert_allclose(found[:, column], exact, atol=1e-13 * np.abs(exact).max())

    def test_gamma_near_0_is_solved_or_refused(self):
        few, many = (reduced(MEASURES, 3541, m, "with-replacement", None) for m in (20, 100))
        assert np.abs(bias_variance(few, 0.0)[0]).max() == pytest.approx(10718.43, abs=0.01)
        assert np.isfinite(bias_variance(many, 1e-9)).all()
        message = r"gamma 0 with 100 negatives .* above 1e\+08; use fewer negatives"
        with pytest.raises(ConditioningError, match=message):
            bias_variance(many, 0.0)
        with pytest.raises(ConditioningError):  # fewer ranks than unknowns
            bias_variance(reduced(MEASURES, 5, 9, "with-replacement", None), 0.0)

    def test_one_equation_more_or_less(self):
        # several blocks of rows give the triangle of one block
        system = reduced(MEASURES, 5000, 6, "with-replacement", None)
        a = grid(5000, 6, "with-replacement") / np.sqrt(5000)
        np.testing.assert_allclose(system.triangle.T @ system.triangle, a.T @ a, atol=1e-14)
        assert np.array_equal(system.triangle, np.triu(system.triangle))

    def test_gram_matrix_of_many_items_findings_section_9(self):
        m, i = 10, np.arange(11)
        choose = np.array([comb(m, k) for k in i])
        total = i[:, None] + i
        limit = np.outer(choose, choose) * beta(total + 1, 2 * m - total + 1)
        triangle = reduced(MEASURES[:1], 20_000, m, "with-replacement", None).triangle
        np.testing.assert_allclose(triangle.T @ triangle, limit, atol=1e-4)


class TestMonotone:
    @pytest.mark.parametrize("nonnegative", [True, False])
    @pytest.mark.parametrize(
        ("n", "m", "sampling"),
        [
            (3541, 100, "with-replacement"),  # as in the study
            (1200, 60, "without-replacement"),
            *((n, m, sampling) for n, m in ((60, 20), (2000, 30)) for sampling in SAMPLINGS),
        ],
    )
    def test_optimality_conditions(self, n, m, sampling, nonnegative):
        measures = [*MEASURES, parse_measure("ndcg"), parse_measure("recall@500")]
        a = grid(n, m, sampling) / np.sqrt(n)
        b = np.column_stack([x.at(np.arange(1, n + 1), n) for x in measures]) / np.sqrt(n)
        for x, target in zip(
            monotone(reduced(measures, n, m, sampling, None), nonnegative), b.T, strict=True
        ):
            steps = np.append(x[:-1] - x[1:], x[-1])
            free = steps[: None if nonnegative else -1]
            assert free.min() >= -1e-14
            # gradient in the steps: at least 0, and 0 wherever the step may go either way
            gradient = np.cumsum(a.T @ (a @ x - target))
            assert gradient[: len(free)].min() >= -1e-11
            assert np.abs(gradient * np.where(steps > 1e-12, 1, 0)).max() <= 1e-11
            if not nonnegative:
                assert abs(gradient[-1]) <= 1e-11

    def test_recall_of_the_study_findings_section_7(self):
        system = reduced(MEASURES[:1], 3541, 100, "with-replacement", None)
        (vector,) = monotone(system)
        assert vector[0] == pytest.approx(0.48764, abs=5e-6)
        assert np.abs(vector[1:]).max() <= 1e-15
        (free,) = monotone(system, nonnegative=False)
        assert free[1:] == pytest.approx(np.full(100, -0.0021), abs=5e-5)

    def test_one_step_by_hand(self):
        # recall@10 with one step x_1 = h: h = sum_r p(1|r) M(r) / sum_r p(1|r)^2
        first = (1 - np.arange(3541) / 3540) ** 100
        (vector,) = monotone(reduced(MEASURES[:1], 3541, 100, "with-replacement", None))
        assert vector[0] == pytest.approx(first[:10].sum() / (first**2).sum(), rel=1e-11)

    @pytest.mark.parametrize("nonnegative", [True, False])
    def test_auc_needs_no_correction(self, nonnegative):
        # the sampled AUC is monotone and unbiased, so it is the solution
        system = reduced(MEASURES[3:], 3541, 100, "with-replacement", None)
        (vector,) = monotone(system, nonnegative)
        np.testing.assert_allclose(vector, 1 - np.arange(101) / 100, atol=1e-8)

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(st.integers(3, 40), st.integers(1, 12), st.integers(0, 10**6))
    def test_no_feasible_vector_is_better(self, n, m, seed):
        rng = np.random.default_rng(seed)
        prior = rng.dirichlet(np.ones(n))
        a, b = grid(n, m, "with-replacement"), MEASURES[1].at(np.arange(1, n + 1), n)
        (x,) = monotone(reduced(MEASURES[1:2], n, m, "with-replacement", prior))

        def bias(vector):
            return prior @ (a @ vector - b) ** 2

        for scale in (1.0, 0.1, 0.01):
            other = np.sort(rng.random(m + 1))[::-1]
            assert bias(x) <= bias((1 - scale) * x + scale * other) + 1e-11


def matrix(estimators, measures, n, m, **options):
    return estimator_matrix(
        estimators, measures, n, m, **({"sampling": "with-replacement"} | options)
    )


class TestMatrix:
    def test_axes_and_shared_work(self):
        together = matrix(ESTIMATORS, MEASURES, 500, 40)
        assert together.shape == (4, 7, 41)
        assert together.dtype == np.float64
        for i, measure in enumerate(MEASURES):
            for j, estimator in enumerate(ESTIMATORS):
                alone = matrix([estimator], [measure], 500, 40)[0, 0]
                np.testing.assert_allclose(together[i, j], alone, atol=1e-9)

    def test_options_reach_their_estimators(self):
        prior = np.arange(1, 501) / np.arange(1, 501).sum()
        plain = matrix(ESTIMATORS, MEASURES, 500, 40)
        changed = {
            "sampling": ({"sampling": "without-replacement"}, {2, 3, 4, 5, 6}),
            "prior": ({"prior": prior}, {2, 3, 4, 5, 6}),
            "cls": ({"cls_nonnegative": False}, {2}),
            "rounding": ({"rounding": "linear"}, {1}),
            "divisor": ({"divisor": "m"}, {1}),
        }
        for options, expected in changed.values():
            other = matrix(ESTIMATORS, MEASURES, 500, 40, **options)
            differing = np.abs(other - plain).max(axis=(0, 2)) > 1e-6
            assert set(np.flatnonzero(differing)) == expected

    def test_same_arguments_same_bits(self):
        first, second = (matrix(ESTIMATORS, MEASURES, 800, 60) for _ in range(2))
        assert np.array_equal(first, second)

    def test_nothing_asked(self):
        assert matrix([], MEASURES, 50, 4).shape == (4, 0, 5)
        assert matrix(ESTIMATORS, [], 50, 4).shape == (0, 7, 5)

    def test_bias_falls_with_gamma_and_correction(self):
        values = matrix(ESTIMATORS, MEASURES[:1], 3541, 100)[0]
        exact = MEASURES[0].at(np.arange(1, 3542), 3541)
        bias = np.mean(
            (grid(3541, 100, "with-replacement") @ values.T - exact[:, None]) ** 2, axis=0
        )
        by_name = dict(zip(NAMES, bias, strict=True))
        order = ["bv:0.001", "bv:0.01", "bv:0.1", "bv:1", "sampled"]
        assert [by_name[name] for name in order] == sorted(by_name[name] for name in order)
        assert by_name["bv:0.001"] <= by_name["cls"] <= by_name["rank-estimate"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"prior": np.ones(4) / 4}, r"prior has shape \(4,\); .* shape \(5,\)"),
            ({"prior": np.ones(5)}, "prior sums to 5 .*; it must consist of probabilities"),
            ({"prior": [0.5, 0.7, -0.2, 0, 0]}, "least value -0.2;"),
            ({"prior": [1, 0, 0, 0, np.nan]}, "prior sums to nan"),
            ({"prior": [1, 0, 0, 0, 0]}, "prior gives sampled rank 2 of 3 probability 0"),
            ({"sampling": "normal"}, "unknown sampling 'normal'"),
            ({"n": 2, "sampling": "without-replacement"}, "n is 2; it must be above m = 2"),
            ({"m": 0}, "m is 0;"),
            ({"n": 10**6, "m": 20_000}, "at most 10,000 negatives, not 20,000"),
        ],
    )
    def test_refuses(self, options, message):
        with pytest.raises(InputError, match=message):
            matrix(ESTIMATORS, MEASURES, **({"n": 5, "m": 2} | options))
