"""Estimators fitted to sampled ranks: loops, hand arithmetic, other optimisers, derivatives."""

from math import comb

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_path, estimator_matrix, parse_estimator, true_ranks
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.plan import plan
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks, Sampling

MEASURES = [parse_measure(name) for name in ("recall@2", "ndcg@3", "ap", "auc")]
SAMPLINGS = ("with-replacement", "without-replacement")
FITTED = ("em:1", "em:30", "mes:0.01", "mes:1", "bv-em:0.01", "bv-em:1", "mn:1", "mn:40")
N, M, HISTOGRAM = 12, 4, np.array([30.0, 12, 9, 5, 4])


def grid(n, m, sampling):
    """P(i | r) from scipy, shape (n, m + 1)."""
    rank, i = np.arange(1, n + 1)[:, None], np.arange(m + 1)
    if sampling == "with-replacement":
        return stats.binom.pmf(i, m, (rank - 1) / (n - 1))
    return stats.hypergeom.pmf(i, n - 1, rank - 1, m)


def exact(measures, n):
    return np.column_stack([one.at(np.arange(1, n + 1), n) for one in measures])


def vectors(name, histogram=HISTOGRAM, sampling=SAMPLINGS[1], n=N, measures=MEASURES):
    m = M if histogram is None else len(histogram) - 1
    return estimator_matrix(
        [parse_estimator(name)], measures, n, m, sampling=sampling, histogram=histogram
    )[:, 0]


def value(name, histogram=HISTOGRAM, **options):
    return vectors(name, histogram, **options) @ histogram / np.sum(histogram)


def em_by_loops(given, shares, iterations):
    n, columns = given.shape
    p = [1 / n] * n
    for _ in range(iterations):
        marginal = [sum(p[r] * given[r][i] for r in range(n)) for i in range(columns)]
        p = [
            sum(shares[i] * p[r] * given[r][i] / marginal[i] for i in range(columns))
            for r in range(n)
        ]
    return np.array(p)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("iterations", [1, 7, 50])
def test_em_is_the_mean_under_the_distribution_that_loops_find(sampling, iterations):
    p = em_by_loops(grid(N, M, sampling), HISTOGRAM / HISTOGRAM.sum(), iterations)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    found = value(f"em:{iterations}", sampling=sampling)
    np.testing.assert_allclose(found, p @ exact(MEASURES, N), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_bv_with_gamma_1_is_one_step_of_em_from_its_prior(sampling):
    np.testing.assert_allclose(
        value("bv-em:1", sampling=sampling), value("em:101", sampling=sampling), atol=1e-12
    )
    # Likewise with any prior.
    prior = np.random.default_rng(0).dirichlet(np.ones(N))
    shares = HISTOGRAM / HISTOGRAM.sum()
    given = grid(N, M, sampling)
    step = prior * (given @ (shares / (prior @ given)))
    fixed = estimator_matrix(
        [parse_estimator("bv:1")], MEASURES, N, M, sampling=sampling, prior=prior
    )[:, 0]
    np.testing.assert_allclose(fixed @ shares, step @ exact(MEASURES, N), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", FITTED)
def test_probabilities_sum_to_1(name, sampling):
    """Recall at the number of candidates is 1 for every rank."""
    all_of_them = [parse_measure(f"recall@{N}")]
    one = value(name, sampling=sampling, measures=all_of_them)
    np.testing.assert_allclose(one, 1, atol=1e-10)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("gamma", [0.01, 0.3, 1])
def test_maximum_entropy_is_what_another_optimiser_finds(sampling, gamma):
    n, m, histogram = 7, 3, np.array([20.0, 6, 3, 1])
    given, shares = grid(n, m, sampling), histogram / histogram.sum()

    def objective(p):
        misfit = (m + 1) * np.sum(shares * (p @ given - shares) ** 2)
        return misfit + gamma * np.sum(p * np.log(np.maximum(p, 1e-300)))

    found = minimize(
        objective,
        np.full(n, 1 / n),
        method="SLSQP",
        bounds=[(1e-12, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    ours = value(f"mes:{gamma}", histogram, sampling=sampling, n=n)
    np.testing.assert_allclose(ours, found.x @ exact(MEASURES, n), atol=2e-6)


def test_mn_by_hand():
    """n = 4, m = 2 without replacement, 8 users, prior after no more than one step of EM."""
    histogram, users = np.array([4.0, 2, 2]), 8
    # C(r - 1, i) C(4 - r, 2 - i) / C(3, 2)
    given = np.array(
        [[comb(r - 1, i) * comb(4 - r, 2 - i) / 3 for i in range(3)] for r in range(1, 5)]
    )
    np.testing.assert_allclose(given, np.array([[3, 0, 0], [1, 2, 0], [0, 2, 1], [0, 0, 3]]) / 3)
    # Each sampled rank is equally probable, 4/12, under a uniform prior, so one step leads to
    # p(r) = 3/4 (1/2 P(0 | r) + 1/4 P(1 | r) + 1/4 P(2 | r)).
    prior = 3 / 4 * (given @ [1 / 2, 1 / 4, 1 / 4])
    np.testing.assert_allclose(prior, np.array([6, 4, 3, 3]) / 16)
    weighted = given.T @ np.diag(prior)
    system = weighted @ given - given.T @ given / users + np.diag(given.sum(axis=0)) / users
    by_formula = np.linalg.inv(system) @ weighted @ exact(MEASURES, 4)
    ours = value("mn:1", histogram, n=4)
    np.testing.assert_allclose(ours, histogram / users @ by_formula, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", FITTED)
def test_vectors_are_derivatives_of_the_estimate(name, sampling):
    """x_i - g is the slope of g towards all users at sampled rank i; numerical derivative."""
    ours = vectors(name, sampling=sampling) - value(name, sampling=sampling)[:, None]
    users = HISTOGRAM.sum()
    for i, all_there in enumerate(users * np.eye(M + 1)):
        ends = [
            value(name, (1 - step) * HISTOGRAM + step * all_there, sampling=sampling)
            for step in (1e-4, -1e-4)
        ]
        numerical = (ends[0] - ends[1]) / 2e-4
        np.testing.assert_allclose(ours[:, i], numerical, rtol=1e-4, atol=1e-5)


def test_deviation_of_a_fit_is_that_of_a_simulation():
    rng = np.random.default_rng(2)
    users, draws = 4000, 300
    p = np.array([6, 5, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1]) / 31
    shares = p @ grid(N, M, SAMPLINGS[1])
    drawn = rng.multinomial(users, shares, size=draws).astype(float)
    for name in ("em:30", "mes:0.01", "bv-em:0.01", "mn:40"):
        values = np.array([value(name, one) for one in drawn])
        vector = vectors(name, shares * users)
        stated = np.sqrt((shares * (vector - (vector @ shares)[:, None]) ** 2).sum(1) / users)
        # A standard deviation of 300 draws is known to 4 % (one deviation).
        np.testing.assert_allclose(values.std(axis=0, ddof=1), stated, rtol=0.2)


def test_many_candidates_are_summed_by_rule():
    """Beyond 16,384 candidates, nodes stand for several ranks each."""
    n, m, measures = 20_000, 20, [parse_measure("recall@100"), parse_measure("auc")]
    histogram = np.array([50.0, *np.linspace(12, 1, m)])
    ranks, start, _ = true_ranks(n, m, Sampling.WITH_REPLACEMENT, (100,))
    assert ranks.size < n / 4
    assert start.sum() == pytest.approx(1)
    given, shares = grid(n, m, "with-replacement"), histogram / histogram.sum()
    all_ranks = em_path(given, np.full(n, 1 / n), shares, 30)[-1] @ exact(measures, n)
    ours = value("em:30", histogram, sampling="with-replacement", n=n, measures=measures)
    np.testing.assert_allclose(ours, all_ranks, rtol=1e-9)


def test_refuses_more_negatives_than_can_be_solved_for():
    with pytest.raises(InputError, match="at most 10,000 negatives"):
        vectors("em:5", np.ones(20_001), n=10**6)


RANKS = SampledRanks([1, 1, 5, 40, 90, 2, 7], n_items=3541, n_negatives=100)


def test_correct_takes_them_and_rows_of_a_user_have_one_users_weight():
    names = ["em:5", "mn:5"]
    once = correct(RANKS, ["recall@10"], names)
    assert [one.estimator for one in once] == names
    assert all(one.ci_low < one.value < one.ci_high for one in once)
    repeated = SampledRanks(
        np.repeat(RANKS.sampled_ranks, [1, 3, 1, 1, 2, 1, 1]),
        3541,
        100,
        users=np.repeat(np.arange(7), [1, 3, 1, 1, 2, 1, 1]),
    )
    again = correct(repeated, ["recall@10"], names)
    assert [one.value for one in again] == pytest.approx([one.value for one in once])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: vectors("em:5", None), "em:5 is fitted to sampled ranks and has no fixed vector"),
        (lambda: vectors("mes:0"), "gamma above 0"),
        (lambda: vectors("em:5", np.zeros(5)), r"sum 0; expected the users"),
        (
            lambda: plan(
                Pair(Population.power(99, 0.5), Population.power(99, 0.3), 30, drawn=True),
                ["ap"],
                ["em:5"],
            ),
            "no fixed vector",
        ),
        (
            lambda: correct(
                SampledRanks([1, 2], [8, 9], 3, users=[1, 2]), ["ap"], ["mn:5"], per_user=True
            ),
            "cannot correct each for its own n",
        ),
        (
            lambda: correct(RANKS, ["ap"], ["em:5"], population=Population.uniform(3541)),
            "bias of em:5",
        ),
    ],
)
def test_refuses(act, message):
    with pytest.raises(InputError, match=message):
        act()


@pytest.mark.parametrize("name", ["em", "em:0", "em:2.5", "em:1001", "mn:0.5", "mes:2"])
def test_unknown_parameters(name):
    with pytest.raises(InputError, match="ITERATIONS a whole number from 1 to 1000"):
        parse_estimator(name)
