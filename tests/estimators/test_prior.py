"""cls and bv for any distribution of true ranks: by hand, and by solvers that do not share code."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.stats import binom, hypergeom

import sampled_metrics as sm
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics import parse_measure


def vectors(name, measure, n, m, prior, sampling="without-replacement"):
    estimators, measures = [parse_estimator(name)], [parse_measure(measure)]
    return estimator_matrix(
        estimators, measures, n, m, sampling=sampling, prior=prior
    )[0, 0]


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
def test_by_hand(name, expected, scale):
    prior = np.array([2, 1, 1]) * scale  # weights need not have the sum 1
    found = vectors(name, "recall@1", 3, 1, prior)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def grid(n, m, sampling):
    """p(sampled rank | rank), shape (n, m + 1), from scipy's distributions."""
    rank, place = np.arange(1, n + 1)[:, None], np.arange(m + 1)
    if sampling == "with-replacement":
        return binom.pmf(place, m, (rank - 1) / (n - 1))
    return hypergeom.pmf(place, n - 1, rank - 1, m)


@pytest.mark.parametrize("sampling", ["with-replacement", "without-replacement"])
@pytest.mark.parametrize("seed", range(10))
def test_brute_force(seed, sampling):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 40)), int(rng.integers(1, 7))
    prior = (
        rng.gamma(0.5, size=n) * (rng.random(n) < 0.8) + (np.arange(n) % 7 == 0) / 50
    )
    share = prior / prior.sum()
    given = grid(n, m, sampling)
    marginal = share @ given
    for name, wanted in {
        "recall@3": np.arange(1, n + 1) <= 3,
        "rr": 1 / np.arange(1, n + 1),
    }.items():
        gamma = 0.05
        left = (1 - gamma) * given.T @ (share[:, None] * given) + gamma * np.diag(
            marginal
        )
        expected = np.linalg.solve(left, given.T @ (share * wanted))  # eq. 25
        found = vectors(f"bv:{gamma}", name, n, m, prior, sampling)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
        # eq. 21 in steps down, each at least 0
        steps = np.sqrt(share)[:, None] * np.cumsum(given, axis=1)
        solved = lsq_linear(
            steps, np.sqrt(share) * wanted, (0, np.inf), "bvls", tol=1e-15
        )
        fitted = vectors("cls", name, n, m, prior, sampling)
        assert (np.diff(fitted) <= 0).all()
        assert fitted[-1] >= 0
        bias = share @ (given @ fitted - wanted) ** 2
        assert bias == pytest.approx(2 * solved.cost, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("name", ["cls", "bv:0.1"])
def test_uniform_prior_is_the_default(name):
    ours = vectors(name, "ndcg@10", 500, 20, np.full(500, 7))
    np.testing.assert_allclose(
        ours, vectors(name, "ndcg@10", 500, 20, None), rtol=1e-9, atol=1e-12
    )


def test_the_right_prior_leaves_no_bias_on_average():
    # With gamma = 1 the estimate is the posterior mean: exact on average if users are as the prior.
    n, m = 200, 10
    prior = 1 / np.arange(1, n + 1) ** 2
    given = grid(n, m, "without-replacement")
    shares = prior / prior.sum() @ given
    found = vectors("bv:1", "recall@5", n, m, prior)
    by_hand = (prior[:5] / prior.sum()) @ given[:5] / shares
    assert found == pytest.approx(by_hand, rel=1e-9)
    assert shares @ found == pytest.approx(prior[:5].sum() / prior.sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (np.ones(8), "expected a weight for each of 9 ranks"),
        (np.ones((9, 1)), "expected a weight"),
        (["a"] * 9, "expected a weight"),
        ([1] * 8 + [-1], "negative or not finite"),
        ([1] * 8 + [np.nan], "negative or not finite"),
        ([1] * 8 + [np.inf], "negative or not finite"),
        (np.zeros(9), "only zeros"),
        ([1] + [0] * 8, "sampled rank 2 of 5 has probability 0 .*prior"),
    ],
)
def test_refused(prior, words):
    with pytest.raises(sm.InputError, match=words):
        vectors("cls", "recall@1", 9, 4, prior)


def test_without_a_prior_none_is_blamed():
    # With replacement, 2,000 negatives are hardly ever all better than the item in the middle of 3.
    with pytest.raises(sm.InputError, match="probability") as refusal:
        vectors("cls", "recall@1", 3, 2000, None, "with-replacement")
    assert "prior" not in str(refusal.value)
