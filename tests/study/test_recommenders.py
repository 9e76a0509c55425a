"""ALS, compared with the paper's loss; popularity, random order, BM25 and BPR by hand."""

import math

import numpy as np
import pytest
from implicit.cpu.bpr import BayesianPersonalizedRanking
from scipy import stats
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.data import rank
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.recommenders.factors import ALS, ALSSettings

TRAIN = (np.random.default_rng(0).random((40, 25)) < 0.2).astype(float)
SETTINGS = {"d": 4, "lambda_": 0.7, "alpha": 0.3}


def paper_loss(model, lambda_, alpha):
    """sum_H (y - 1)^2 + alpha sum_UxI y^2 + lambda ||V||^2, section 9, and its gradient."""
    users, items = model.user_vectors, model.item_vectors
    y = users @ items.T
    loss = (TRAIN * (y - 1) ** 2).sum() + alpha * (y**2).sum()
    loss += lambda_ * ((users**2).sum() + (items**2).sum())
    by_score = 2 * TRAIN * (y - 1) + 2 * alpha * y
    gradient = [
        by_score @ items + 2 * lambda_ * users,
        by_score.T @ users + 2 * lambda_ * items,
    ]
    return loss, np.concatenate(gradient)


def fitted(**settings):
    return ALS(ALSSettings(**{**SETTINGS, **settings})).fit(csr_array(TRAIN))


def test_als_sweeps_lower_papers_loss():
    losses = [
        paper_loss(fitted(iterations=sweeps), 0.7, 0.3)[0] for sweeps in range(1, 30)
    ]
    assert (np.diff(losses) <= 1e-9).all()
    assert losses[0] - losses[-1] > 0.1


@pytest.mark.parametrize(("lambda_", "alpha"), [(0.7, 0.3), (0.2, 0.05), (1.5, 2.0)])
def test_als_gradient_vanishes_at_convergence(lambda_, alpha):
    model = fitted(lambda_=lambda_, alpha=alpha, iterations=4000)
    loss, gradient = paper_loss(model, lambda_, alpha)
    # confidences are float32 in `implicit`: 1 + 1/alpha carries a relative error up to 6e-8
    assert abs(gradient).max() < 1e-5
    # with another mapping, the gradient would not vanish
    for other in ((lambda_ * 1.1, alpha), (lambda_, alpha * 1.1)):
        assert alpha > 1 or abs(paper_loss(model, *other)[1]).max() > 1e-2
    if alpha < 1:  # otherwise all vectors are zero at the minimum
        assert loss < TRAIN.sum()
        assert abs(model.user_vectors).max() > 0.1


def solve(vectors, histories, lambda_, alpha):
    """The vectors that minimise the paper's loss for fixed `vectors` of the other side."""
    solutions = []
    for history in histories:
        history_vectors = vectors[history > 0]
        matrix = (
            history_vectors.T @ history_vectors
            + alpha * vectors.T @ vectors
            + lambda_ * np.eye(vectors.shape[1])
        )
        solutions.append(np.linalg.solve(matrix, history_vectors.sum(axis=0)))
    return np.array(solutions)


@pytest.mark.parametrize("start", [0.01, 0.5])
def test_als_start_in_papers_terms(
    start,
):
    rng = np.random.default_rng(np.random.SeedSequence(5))
    items = rng.uniform(0, start, (TRAIN.shape[1], 4)) / np.sqrt(1 + 0.3)
    users = solve(items, TRAIN, 0.7, 0.3)
    model = fitted(iterations=1, start=start, seed=5)
    np.testing.assert_allclose(model.user_vectors, users, rtol=1e-5)
    np.testing.assert_allclose(
        model.item_vectors, solve(users, TRAIN.T, 0.7, 0.3), rtol=1e-5
    )


def test_als_stages_equal_single_trainings():
    model = ALS(ALSSettings(**SETTINGS))
    stages = model.stages(csr_array(TRAIN), [1, 4, 6])
    for number, (user_vectors, item_vectors) in zip([1, 4, 6], stages, strict=True):
        once = fitted(iterations=number)
        np.testing.assert_array_equal(user_vectors, once.user_vectors)
        np.testing.assert_array_equal(item_vectors, once.item_vectors)


EVENTS = (np.random.default_rng(2).random((30, 14)) < 0.3).astype(float)
BPR = {"learning_rate": 0.2, "regularization": 0.05, "iterations": 7}


def test_popularity_by_hand():
    train = csr_array([[1.0, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 0]])
    # events of the items: 3, 1, 0, 1
    records = rank(create("popularity", {}).fit(train).score, train, [2, 1, 3])
    assert records.n_candidates.tolist() == [2, 2, 3]
    # item 3 above item 2; item 1 above item 2; items 1 and 3 tied
    assert records.n_better.tolist() == [1, 0, 0]
    assert records.n_tied.tolist() == [0, 0, 1]


def test_random_scores_are_uniform_and_independent():
    model = create("random", {"seed": 3}).fit(csr_array((200, 300)))
    scores = model.score(np.arange(200))
    assert scores.min() >= 0
    assert scores.max() < 1
    assert np.unique(scores).size == scores.size
    assert stats.kstest(scores.ravel(), "uniform").pvalue > 0.01
    # Correlations of two streams are normal with standard deviation 1/sqrt(300), within 0.01.
    between = np.corrcoef(scores)[np.triu_indices(200, 1)]
    assert abs(between).max() < 5 / np.sqrt(300)
    # those of a user depend only on its number and the seed
    np.testing.assert_array_equal(
        create("random", {"seed": 3})
        .fit(csr_array((5, 300)))
        .score(np.array([4, 0])),
        scores[[4, 0]],
    )


def weight(user, item, k1, b):
    """BM25 weight of a user and an item, 0 without an event."""
    of_item, mean = EVENTS[:, item].sum(), EVENTS.sum() / EVENTS.shape[1]
    saturation = (k1 + 1) / (k1 * (1 - b + b * of_item / mean) + 1)
    return (
        EVENTS[user, item]
        * saturation
        * math.log(EVENTS.shape[1] / (1 + EVENTS[user].sum()))
    )


@pytest.mark.parametrize(
    ("k", "k1", "b"), [(14, 1.2, 0.75), (14, 3.0, 0.0), (4, 1.2, 1.0)]
)
def test_bm25_by_hand(k, k1, b):
    weights = np.array([[weight(u, i, k1, b) for i in range(14)] for u in range(30)])
    nearest = np.zeros((14, 14))
    for item, row in enumerate(weights.T @ weights):
        most = np.argsort(-row, kind="stable")[:k]
        nearest[item, most] = row[most]
    scores = (
        create("bm25", {"k": k, "k1": k1, "b": b})
        .fit(csr_array(EVENTS))
        .score(np.arange(30))
    )
    np.testing.assert_allclose(scores, EVENTS @ nearest, rtol=1e-12)


def test_bpr_matches_implicit():
    plain = BayesianPersonalizedRanking(
        factors=3, random_state=5, num_threads=1, **BPR
    )
    plain.fit(csr_matrix(EVENTS, dtype=np.float32), show_progress=False)
    ours = create("bpr", {"d": 3, "seed": 5, **BPR}).fit(csr_array(EVENTS), threads=2)
    expected = plain.user_factors.astype(float) @ plain.item_factors.astype(float).T
    np.testing.assert_allclose(
        ours.score(np.arange(30)), expected, rtol=1e-12, atol=1e-14
    )
    # likewise
    assert create("bm25", {}).settings.model_dump() == {"k": 20, "k1": 1.2, "b": 0.75}
    ours, plain = create("bpr", {}).settings, BayesianPersonalizedRanking()
    assert (ours.d, ours.learning_rate) == (plain.factors, plain.learning_rate)
    assert (ours.regularization, ours.iterations) == (
        plain.regularization,
        plain.iterations,
    )


def test_bpr_infinite_vectors_are_refused():
    with pytest.raises(InputError, match="vectors"):
        create("bpr", {"d": 4, "learning_rate": 1000000}).fit(csr_array(EVENTS))
