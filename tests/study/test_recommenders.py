"""ALS, compared with the paper's loss; popularity, random order, BM25 and BPR by hand."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from implicit.cpu.bpr import BayesianPersonalizedRanking
from scipy import stats
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.rank import rank
from sampled_metrics_study.data.split import Split
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.recommenders.factors import ALS, ALSSettings
from sampled_metrics_study.recommenders.neighbours import ItemKNN, ItemKNNSettings, Tiles
from sampled_metrics_study.recommenders.ranking import rank_piece
from tests.conftest import ROOT

TRAIN = (np.random.default_rng(0).random((40, 25)) < 0.2).astype(float)
SETTINGS = {"d": 4, "lambda_": 0.7, "alpha": 0.3}


def paper_loss(model, lambda_, alpha):
    """sum_H (y - 1)^2 + alpha sum_UxI y^2 + lambda ||V||^2, section 9, and its gradient."""
    users, items = model.user_vectors, model.item_vectors
    y = users @ items.T
    loss = (TRAIN * (y - 1) ** 2).sum() + alpha * (y**2).sum()
    loss += lambda_ * ((users**2).sum() + (items**2).sum())
    by_score = 2 * TRAIN * (y - 1) + 2 * alpha * y
    gradient = [by_score @ items + 2 * lambda_ * users, by_score.T @ users + 2 * lambda_ * items]
    return loss, np.concatenate(gradient)


def fitted(**settings):
    return ALS(ALSSettings(**{**SETTINGS, **settings})).fit(csr_array(TRAIN))


def test_als_sweeps_lower_papers_loss():
    losses = [paper_loss(fitted(iterations=sweeps), 0.7, 0.3)[0] for sweeps in range(1, 30)]
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
def test_als_start_in_papers_terms(start):
    rng = np.random.default_rng(np.random.SeedSequence(5))
    items = rng.uniform(0, start, (TRAIN.shape[1], 4)) / np.sqrt(1 + 0.3)
    users = solve(items, TRAIN, 0.7, 0.3)
    model = fitted(iterations=1, start=start, seed=5)
    np.testing.assert_allclose(model.user_vectors, users, rtol=1e-5)
    np.testing.assert_allclose(model.item_vectors, solve(users, TRAIN.T, 0.7, 0.3), rtol=1e-5)


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
        create("random", {"seed": 3}).fit(csr_array((5, 300))).score(np.array([4, 0])),
        scores[[4, 0]],
    )


def weight(user, item, k1, b):
    """BM25 weight of a user and an item, 0 without an event."""
    of_item, mean = EVENTS[:, item].sum(), EVENTS.sum() / EVENTS.shape[1]
    saturation = (k1 + 1) / (k1 * (1 - b + b * of_item / mean) + 1)
    return EVENTS[user, item] * saturation * math.log(EVENTS.shape[1] / (1 + EVENTS[user].sum()))


@pytest.mark.parametrize(("k", "k1", "b"), [(14, 1.2, 0.75), (14, 3.0, 0.0), (4, 1.2, 1.0)])
def test_bm25_by_hand(k, k1, b):
    weights = np.array([[weight(u, i, k1, b) for i in range(14)] for u in range(30)])
    nearest = np.zeros((14, 14))
    for item, row in enumerate(weights.T @ weights):
        most = np.argsort(-row, kind="stable")[:k]
        nearest[item, most] = row[most]
    scores = create("bm25", {"k": k, "k1": k1, "b": b}).fit(csr_array(EVENTS)).score(np.arange(30))
    np.testing.assert_allclose(scores, EVENTS @ nearest, rtol=1e-12)


def test_bpr_matches_implicit():
    plain = BayesianPersonalizedRanking(factors=3, random_state=5, num_threads=1, **BPR)
    plain.fit(csr_matrix(EVENTS, dtype=np.float32), show_progress=False)
    ours = create("bpr", {"d": 3, "seed": 5, **BPR}).fit(csr_array(EVENTS), threads=2)
    expected = plain.user_factors.astype(float) @ plain.item_factors.astype(float).T
    np.testing.assert_allclose(ours.score(np.arange(30)), expected, rtol=1e-12, atol=1e-14)


def test_bm25_and_bpr_have_the_defaults_of_implicit():
    assert create("bm25", {}).settings.model_dump() == {"k": 20, "k1": 1.2, "b": 0.75}
    ours, plain = create("bpr", {}).settings, BayesianPersonalizedRanking()
    assert (ours.d, ours.learning_rate) == (plain.factors, plain.learning_rate)
    assert (ours.regularization, ours.iterations) == (plain.regularization, plain.iterations)


def test_bpr_infinite_vectors_are_refused():
    with pytest.raises(InputError, match="vectors"):
        create("bpr", {"d": 4, "learning_rate": 1000000}).fit(csr_array(EVENTS))


# Item neighbours, compared with loops written from eq. 27 to 30.


def nearest(row, k):
    """The k largest entries of a row; of equal entries the earlier comes first."""
    order = sorted(range(len(row)), key=lambda j: (-row[j], j))
    return set(order[: len(row) if k is None else k])


def scores_by_loops(train, settings):
    histories = [set(np.flatnonzero(column)) for column in train.T]
    n = len(histories)
    cosine = np.zeros((n, n))
    for i, j in itertools.product(range(n), repeat=2):
        if histories[i] and histories[j] and (i != j or settings.self_similarity):
            common = len(histories[i] & histories[j])
            cosine[i, j] = np.sqrt(common**2 / (len(histories[i]) * len(histories[j])))
    k, k_prime = settings.k, settings.k_prime
    if settings.neighbour_axis == "column":
        k, k_prime = k_prime, k
    powers = np.zeros((n, n))
    for i, j in itertools.product(range(n), repeat=2):  # eq. 28
        if i in nearest(cosine[:, j], k) and j in nearest(cosine[i], k_prime):
            powers[i, j] = cosine[i, j] ** settings.q
    scores = np.zeros(train.shape)
    for u, i in itertools.product(*map(range, train.shape)):
        norm = np.sqrt(sum(powers[i, j] ** 2 for j in range(n)))  # eq. 29
        row = powers[i] / norm if norm else powers[i]
        numerator = sum(row[j] for j in range(n) if train[u, j])  # eq. 30
        denominator = sum(row) if settings.normalise_scores else 1.0
        scores[u, i] = numerator / denominator if denominator else 0.0
    return scores


def random_train(seed):
    rng = np.random.default_rng(seed)
    train = (rng.random((14, 11)) < 0.3).astype(float)
    train[:, 4] = 0  # an item without training events
    return train


@pytest.mark.parametrize("self_similarity", [True, False])
@pytest.mark.parametrize("neighbour_axis", ["row", "column"])
@pytest.mark.parametrize(
    ("q", "k", "k_prime"), [(3, None, None), (1, None, 3), (0.5, 4, 2), (1, 99, 1)]
)
def test_itemknn_matches_loops(q, k, k_prime, neighbour_axis, self_similarity):
    for seed, normalise_scores in itertools.product(range(3), [True, False]):
        settings = ItemKNNSettings(
            q=q, k=k, k_prime=k_prime, neighbour_axis=neighbour_axis,
            self_similarity=self_similarity, normalise_scores=normalise_scores,
        )  # fmt: skip
        train = random_train(seed)
        actual = ItemKNN(settings).fit(csr_array(train)).score(np.arange(14))
        expected = scores_by_loops(train, settings)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15, err_msg=f"seed {seed}")


def test_equal_similarities_are_equal_in_floats():
    # c^2 / (n_0 n_i) of items 1 and 2 with item 0 is 6^2 / (12 * 27) = 4^2 / (12 * 12) = 1/9
    train = np.zeros((60, 3))
    train[:12, 0] = train[6:33, 1] = train[[*range(4), *range(40, 48)], 2] = 1
    settings = ItemKNNSettings(k_prime=1, self_similarity=False)
    weights = ItemKNN(settings).fit(csr_array(train)).weights.toarray()
    # of equal similarities, the smaller index is nearer
    assert (weights[:, 0] > 0).tolist() == [False, True, False]


def split_of(train, held_out):
    """A split whose last user only trains."""
    n_users, n_items = train.shape
    return Split(train, held_out[:-1], np.arange(n_users), np.arange(n_items), 0)


def all_weights(model):
    if model.weights is not None:
        return model.weights.toarray()
    return np.hstack([columns for _, columns in model.tiles.columns()])


NEIGHBOURS = [{}, {"k": 2}, {"k_prime": 2}, {"k": 3, "k_prime": 2}]
# Items of a slab, gain that makes a product sparse, and most items of which all weights and
# counts are stored. Slabs of 5 or 10 of 11 items would leave one item for the last slab.
LIMITS = [(3, 1e9, 99), (3, 0, 99), (256, 0, 2), (5, 1e9, 2), (10, 0, 2)]


def set_limits(monkeypatch, slab, gain, most_items):
    module = "sampled_metrics_study.recommenders.neighbours"
    monkeypatch.setattr(f"{module}._SLAB_ROWS", slab)
    monkeypatch.setattr(f"{module}._SPARSE_COST", gain)
    monkeypatch.setattr(f"{module}.MOST_DENSE_ITEMS", most_items)
    monkeypatch.setattr(f"{module}._MOST_COUNTED_ITEMS", most_items)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("self_similarity", [True, False])
def test_weights_and_scores_do_not_depend_on_slabs(
    monkeypatch, limits, neighbours, self_similarity
):
    train, users = csr_array(random_train(1)), np.arange(14)
    settings = ItemKNNSettings(q=1.5, **neighbours, self_similarity=self_similarity)
    whole = ItemKNN(settings).fit(train)
    set_limits(monkeypatch, *limits)
    again = ItemKNN(settings).fit(train)
    np.testing.assert_array_equal(all_weights(again), all_weights(whole))
    np.testing.assert_array_equal(again.score(users), whole.score(users))


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("self_similarity", [True, False])
def test_ranks_do_not_depend_on_slabs_and_pieces(monkeypatch, limits, neighbours, self_similarity):
    """Item 4 has no events, and so ties with others; it is held out for the last users."""
    train = random_train(1)
    held_out = np.full(14, 4)
    held_out[:9] = [np.flatnonzero(row == 0)[-1] for row in train[:9]]
    split = split_of(csr_array(train), held_out)
    settings = ItemKNNSettings(q=1.5, **neighbours, self_similarity=self_similarity)
    whole = rank(ItemKNN(settings).fit(split.train).score, split.seen, split.held_out)
    assert whole.n_tied.any()
    set_limits(monkeypatch, *limits)
    model = ItemKNN(settings).fit(split.train)
    pieces = [rank_piece(model.scorer, split, piece) for piece in ("1-of-2", "2-of-2")]
    assert np.concatenate([piece.users for piece in pieces]).tolist() == list(range(13))
    for name in ("n_candidates", "n_better", "n_tied"):
        of_pieces = np.concatenate([getattr(piece, name) for piece in pieces])
        assert of_pieces.tolist() == getattr(whole, name).tolist()


@pytest.mark.parametrize("limits", LIMITS)
def test_tiles_of_all_neighbours_follow_each_other(monkeypatch, limits):
    set_limits(monkeypatch, *limits)
    model = ItemKNN(ItemKNNSettings()).fit(csr_array(random_train(1)))
    assert isinstance(model.scorer, Tiles)
    tiles = [(first, columns.shape[1]) for first, columns in model.tiles.columns()]
    ends = np.cumsum([size for _, size in tiles]).tolist()
    assert [first for first, _ in tiles] == [0, *ends[:-1]]
    assert ends[-1] == 11  # items


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-42, 1e-200])
def test_tiles_rank_in_double_precision(scale):
    """Columns equal the first one up to relative differences of 1e-12, 1e-9 or 1e-6, or exactly."""
    rng = np.random.default_rng(3)
    histories = (rng.random((40, 6)) < 0.5).astype(np.float64)
    differences = rng.choice([-1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e-9, 1e-6], (1, 30))
    weights = scale * (1.0 + rng.random((6, 1))) * (1.0 + differences)
    scores = sum(histories[:, [i]] * weights[i] for i in range(6))
    held_out = rng.integers(0, 30, 40)
    split = split_of(csr_array((40, 30)), held_out)

    tiles = [(0, weights[:, :13].copy()), (13, weights[:, 13:].copy())]
    ranks = rank_piece(Tiles(csr_array(histories), lambda: tiles), split)
    held_out_scores = scores[np.arange(40), held_out][:, np.newaxis]
    assert ranks.n_better.tolist() == (scores > held_out_scores).sum(axis=1)[:-1].tolist()
    assert ranks.n_tied.tolist() == ((scores == held_out_scores).sum(axis=1) - 1)[:-1].tolist()
    assert 0 < ranks.n_tied.sum() < ranks.n_better.sum()


def test_common_users_beyond_int16():
    """The similarities of two items are 1, and a column of two is divided by its norm."""
    all_events = csr_array(np.ones((40_000, 2)))  # int16 ends at 32,767
    model = ItemKNN(ItemKNNSettings(normalise_scores=False)).fit(all_events)
    np.testing.assert_allclose(all_weights(model), np.full((2, 2), 1 / np.sqrt(1 + 1)))


MEMORY = """
import resource
import sys
import numpy as np
from scipy.sparse import csr_array
from sampled_metrics_study.data.split import Split
from sampled_metrics_study.recommenders.ranking import rank_piece
from sampled_metrics_study.recommenders import neighbours, save_recommender

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

items, neighbours.MOST_DENSE_ITEMS = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
events = rng.random((300, items)) < 0.002
events[:, 0] = False  # held out
train = csr_array(events.astype(float))
del events
ids = np.arange(300), np.arange(items)
split = Split(train, np.zeros(300, np.int64), *ids, 0)
before = peak()
model = neighbours.ItemKNN(neighbours.ItemKNNSettings(q=2.0)).fit(train)
rank_piece(model.scorer, split)
print((peak() - before) / items**2)
"""


@pytest.mark.long
@pytest.mark.parametrize(("most_dense_items", "bytes_of_a_pair"), [(6000, 10), (5999, 4)])
def test_itemknn_memory_per_pair(most_dense_items, bytes_of_a_pair):
    """Up to the limit, 8 bytes per pair are stored; beyond the limit, slabs are not stored."""
    command = [sys.executable, "-c", MEMORY, "6000", str(most_dense_items)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) < bytes_of_a_pair
