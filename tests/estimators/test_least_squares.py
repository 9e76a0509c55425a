"""Least squares of `cls` and `bv`: rational solutions, optimality, other solvers, priors."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    estimator_matrix,
    parse_estimator,
    reduce_system,
    solve_bias_variance,
    solve_monotone,
)
from sampled_metrics.estimators.least_squares import ConditioningError, rank_rule, sums_up_to
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.estimation import (
    MEASURES,
    SAMPLINGS,
    WITH,
    WITHOUT,
    estimator_vectors,
    exact_values,
    sampled_rank_pmf,
)


def rational_bv(n, m, sampling, values, gamma):
    """Solve eq. 25 in rational numbers, for uniform ranks."""

    def cell(r, i):
        if sampling == WITH:
            return Fraction(comb(m, i) * (r - 1) ** i * (n - r) ** (m - i), (n - 1) ** m)
        return Fraction(comb(r - 1, i) * comb(n - r, m - i), comb(n - 1, m))

    rows = [[cell(r, i) for i in range(m + 1)] for r in range(1, n + 1)]
    size, equations = range(m + 1), []
    for i in size:
        weighted = [row[i] / n for row in rows]
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


class TestBiasVariance:
    @pytest.mark.parametrize(("n", "m"), [(5, 2), (9, 4), (14, 7)])
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_solution_matches_rational_numbers(self, n, m, sampling):
        system = reduce_system(MEASURES, n, m, sampling)
        for gamma in map(Fraction, ("0", "1/1000", "1/10", "9/10", "1")):
            for ours, target in zip(
                solve_bias_variance(system, float(gamma)),
                exact_values(MEASURES, n).T.tolist(),
                strict=True,
            ):
                theirs = rational_bv(n, m, sampling, [Fraction(v) for v in target], gamma)
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * abs(theirs).max())

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_gamma_0_and_1_are_closed_forms(self, sampling):
        n, m = 300, 8
        pmf, b = sampled_rank_pmf(n, m, sampling), exact_values(MEASURES, n)
        system = reduce_system(MEASURES, n, m, sampling)
        solution = np.linalg.lstsq(pmf, b, rcond=None)[0]
        np.testing.assert_allclose(
            solve_bias_variance(system, 0.0).T, solution, rtol=1e-9, atol=1e-10
        )
        posterior = pmf / pmf.sum(axis=0)
        ours = solve_bias_variance(system, 1.0)
        np.testing.assert_allclose(ours.T, posterior.T @ b, rtol=1e-10, atol=1e-13)
        once = estimator_vectors(
            ["em:1"], MEASURES, n, m, sampling=sampling, histogram=np.ones(m + 1)
        )
        np.testing.assert_allclose(ours, once[:, 0], atol=1e-12)  # one step from uniform ranks

    def test_recall_matches_260_digits(self):
        # solved in 260 digits, uniform prior, n = 3541, m = 100: recall@10 at sampled rank 1
        system = reduce_system(MEASURES[:1], 3541, 100, WITH)
        expected = {1.0: 0.24849263, 0.1: 0.56540931, 0.01: 0.88357203, 0.001: 1.11109776}
        for gamma, head in expected.items():
            assert solve_bias_variance(system, gamma)[0, 0] == pytest.approx(head, abs=5e-9)
        few = reduce_system(MEASURES[:1], 3541, 20, WITH)
        assert np.abs(solve_bias_variance(few, 0.0)).max() == pytest.approx(10718.43, abs=0.01)
        assert np.isfinite(solve_bias_variance(system, 1e-9)).all()
        for refused in (system, reduce_system(MEASURES, 5, 9, WITH)):  # fewer ranks than unknowns
            m = refused.marginal.size - 1
            with pytest.raises(ConditioningError, match=f"gamma 0 with {m} "):
                solve_bias_variance(refused, 0.0)

    def test_triangle_does_not_depend_on_blocks(self):
        system = reduce_system(MEASURES, 5000, 6, WITH)
        a = sampled_rank_pmf(5000, 6, WITH) / np.sqrt(5000)
        np.testing.assert_allclose(system.triangle.T @ system.triangle, a.T @ a, atol=1e-14)
        assert np.array_equal(system.triangle, np.triu(system.triangle))

    @pytest.mark.parametrize("m", [10, 100])
    def test_rank_rule_of_a_million_ranks_is_short(self, m):
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
    def test_solution_meets_optimality_conditions(self, n, m, sampling, nonnegative):
        measures = [*MEASURES, parse_measure("ndcg"), parse_measure("recall@500")]
        a, b = (
            sampled_rank_pmf(n, m, sampling) / np.sqrt(n),
            exact_values(measures, n) / np.sqrt(n),
        )
        solutions = solve_monotone(reduce_system(measures, n, m, sampling), nonnegative)
        for x, target in zip(solutions, b.T, strict=True):
            steps = np.append(x[:-1] - x[1:], x[-1])
            free = steps[: None if nonnegative else -1]
            assert free.min() >= -1e-14
            # derivative by the steps: at least 0, and 0 where a step may change in both directions
            gradient = np.cumsum(a.T @ (a @ x - target))
            assert gradient[: len(free)].min() >= -1e-11
            assert np.abs(gradient * np.where(steps > 1e-12, 1, 0)).max() <= 1e-11
            assert nonnegative or abs(gradient[-1]) <= 1e-11

    def test_recall_by_hand(self):
        # recall@10 with one step x_1 = h: h = sum_r p(1|r) M(r) / sum_r p(1|r)^2
        system = reduce_system(MEASURES[:1], 3541, 100, WITH)
        first = (1 - np.arange(3541) / 3540) ** 100
        (vector,) = solve_monotone(system)
        assert vector[0] == pytest.approx(first[:10].sum() / (first**2).sum(), rel=1e-11)
        assert vector[0] == pytest.approx(0.48764, abs=5e-6)
        assert np.abs(vector[1:]).max() <= 1e-15
        (free,) = solve_monotone(system, nonnegative=False)
        assert free[1:] == pytest.approx(np.full(100, -0.0021), abs=5e-5)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_monotone_vectors_never_rise(sampling):
    """Also for recall at n, which is 1 at each rank, so that steps are rounding errors."""
    measures = [*MEASURES, parse_measure("recall@12"), parse_measure("recall@11")]
    for nonnegative in (True, False):
        (vectors,) = np.moveaxis(
            estimator_vectors(
                ["cls"], measures, 12, 5, sampling=sampling, cls_nonnegative=nonnegative
            ),
            1,
            0,
        )
        assert (np.diff(vectors) <= 0.0).all()
        assert not nonnegative or (vectors >= 0.0).all()
        np.testing.assert_allclose(vectors[4], 1.0, rtol=1e-10)


def test_monotone_vectors_of_many_negatives_match_bvls():
    """Many unknowns, against bounded least squares of scipy."""
    n, m, measures = 400, 140, [parse_measure("recall@10"), parse_measure("rr@3")]
    solutions = solve_monotone(reduce_system(measures, n, m, WITH))
    steps = np.cumsum(sampled_rank_pmf(n, m, WITH), axis=1)
    for vector, target in zip(solutions, exact_values(measures, n).T, strict=True):
        expected = lsq_linear(steps, target, (0, np.inf), "bvls", tol=1e-15)
        distance = np.sum((sampled_rank_pmf(n, m, WITH) @ vector - target) ** 2)
        assert distance == pytest.approx(2 * expected.cost, rel=1e-9)


def test_monotone_that_does_not_converge_is_refused(monkeypatch):
    def never(*_, **__):
        raise RuntimeError("more turns than allowed")

    monkeypatch.setattr("scipy.optimize.nnls", never)
    chosen = [parse_estimator("cls")]
    with pytest.raises(ConditioningError, match="fewer negatives"):
        estimator_matrix(
            chosen, [parse_measure("ndcg@10")], 5000, 100, sampling="without-replacement"
        )


@pytest.mark.parametrize("n", [50, 3541, 1 << 14])
def test_rank_rule_of_few_ranks_has_all(n):
    ranks, weights = rank_rule(MEASURES, n, 20)
    assert ranks.tolist() == list(range(1, n + 1))
    assert set(weights) == {1.0}


@pytest.mark.parametrize("m", [3, 20, 300])
@pytest.mark.parametrize("n", [(1 << 14) + 1, 10**5])
def test_rank_rule_is_exact_up_to_degree_39(n, m):
    """Also for sums up to a cut-off, where a block ends."""
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
def test_rank_rule_sums_hypergeometric_probabilities(n, m):
    """Without replacement, the sum of p(sampled rank | rank) over the ranks is n/(m + 1).

    If each true rank is equally likely, so is each sampled rank.
    """
    ranks, weights = rank_rule([], n, m)
    np.testing.assert_allclose(weights @ pmf_at(ranks, n, m, WITHOUT), n / (m + 1), rtol=1e-12)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.integers(0, 39))
def test_sums_up_to_any_ends(steps, degree):
    ends = np.cumsum(steps) + 1
    sums = sums_up_to(ends, lambda ranks: (ranks / 100.0) ** degree)
    powers = np.cumsum((np.arange(1, ends[-1] + 1) / 100.0) ** degree)
    np.testing.assert_allclose(sums, powers[ends - 1], rtol=1e-11)


@pytest.mark.parametrize("gap", [1, 2, 3, 7, 400])
def test_sums_up_to_match_single_ranks(gap):
    rng = np.random.default_rng(gap)
    ends = np.cumsum(rng.integers(0, gap + 1, 30)) + 1
    wanted = [sum(1 / rank for rank in range(1, end + 1)) for end in ends]
    # Gaps must be small where 1 / rank changes fast.
    if gap == 400:
        ends = np.concatenate([np.arange(1, 500), 499 + ends])
        wanted = [sum(1 / rank for rank in range(1, end + 1)) for end in ends]
    assert sums_up_to(ends, lambda ranks: 1 / ranks) == pytest.approx(wanted, rel=1e-10)


def vector_with_prior(name, measure, n, m, prior, sampling="without-replacement"):
    estimators, measures = [parse_estimator(name)], [parse_measure(measure)]
    return estimator_matrix(estimators, measures, n, m, sampling=sampling, prior=prior)[0, 0]


# n = 3, one negative: rank 1 is first, rank 2 first half the time, rank 3 last. With
# p = (1/2, 1/4, 1/4) and recall@1 = (1, 0, 0):
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # eq. 26, the mean at each sampled rank: (1/2) / (1/2 + 1/8) at the first
        ("bv:1", [4 / 5, 0]),
        # least squares: (x - 1) + (x + y)/8 = 0 and (x + y)/8 + y/2 = 0
        ("bv:0", [10 / 11, -2 / 11]),
        # the same with y = 0, its least value: (x - 1) + x/8 = 0
        ("cls", [8 / 9, 0]),
    ],
)
@pytest.mark.parametrize("scale", [1, 40])
def test_prior_by_hand(name, expected, scale):
    prior = np.array([2, 1, 1]) * scale  # weights need not sum to 1
    vector = vector_with_prior(name, "recall@1", 3, 1, prior)
    np.testing.assert_allclose(vector, expected, atol=1e-10)


@pytest.mark.parametrize("sampling", ["with-replacement", "without-replacement"])
@pytest.mark.parametrize("seed", range(10))
def test_prior_matches_brute_force(seed, sampling):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 40)), int(rng.integers(1, 7))
    prior = rng.gamma(0.5, size=n) * (rng.random(n) < 0.8) + (np.arange(n) % 7 == 0) / 50
    share = prior / prior.sum()
    pmf = sampled_rank_pmf(n, m, sampling)
    marginal = share @ pmf
    for name, target in {
        "recall@3": np.arange(1, n + 1) <= 3,
        "rr": 1 / np.arange(1, n + 1),
    }.items():
        gamma = 0.05
        left = (1 - gamma) * pmf.T @ (share[:, None] * pmf) + gamma * np.diag(marginal)
        expected = np.linalg.solve(left, pmf.T @ (share * target))  # eq. 25
        vector = vector_with_prior(f"bv:{gamma}", name, n, m, prior, sampling)
        np.testing.assert_allclose(vector, expected, rtol=1e-9, atol=1e-11)
        # eq. 21 in steps down, each at least 0
        steps = np.sqrt(share)[:, None] * np.cumsum(pmf, axis=1)
        solved = lsq_linear(steps, np.sqrt(share) * target, (0, np.inf), "bvls", tol=1e-15)
        fitted = vector_with_prior("cls", name, n, m, prior, sampling)
        assert (np.diff(fitted) <= 0).all()
        assert fitted[-1] >= 0
        bias = share @ (pmf @ fitted - target) ** 2
        assert bias == pytest.approx(2 * solved.cost, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("name", ["cls", "bv:0.1"])
def test_prior_is_uniform_by_default(name):
    ours = vector_with_prior(name, "ndcg@10", 500, 20, np.full(500, 7))
    np.testing.assert_allclose(
        ours, vector_with_prior(name, "ndcg@10", 500, 20, None), rtol=1e-9, atol=1e-12
    )


def test_prior_of_users_leaves_no_bias():
    # With gamma = 1 the estimate is the posterior mean: unbiased if ranks follow the prior.
    n, m = 200, 10
    prior = 1 / np.arange(1, n + 1) ** 2
    pmf = sampled_rank_pmf(n, m, "without-replacement")
    shares = prior / prior.sum() @ pmf
    vector = vector_with_prior("bv:1", "recall@5", n, m, prior)
    by_hand = (prior[:5] / prior.sum()) @ pmf[:5] / shares
    assert vector == pytest.approx(by_hand, rel=1e-9)
    assert shares @ vector == pytest.approx(prior[:5].sum() / prior.sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (np.ones(8), "9 ranks"),
        (np.ones((9, 1)), "9 ranks"),
        (["a"] * 9, "9 ranks"),
        ([1] * 8 + [-1], "negative"),
        ([1] * 8 + [np.nan], "finite"),
        ([1] * 8 + [np.inf], "finite"),
        (np.zeros(9), "zeros"),
        ([1] + [0] * 8, "sampled rank 2 of 5 has probability 0 .*prior"),
    ],
)
def test_wrong_prior_is_refused(prior, message):
    with pytest.raises(InputError, match=message):
        vector_with_prior("cls", "recall@1", 9, 4, prior)


def test_error_without_prior_does_not_name_it():
    # With replacement, 2,000 negatives are almost never all better than the middle one of 3 items.
    with pytest.raises(InputError, match="probability") as refusal:
        vector_with_prior("cls", "recall@1", 3, 2000, None, "with-replacement")
    assert "prior" not in str(refusal.value)
