"""Eq. 27-30 against loops written from the printed equations."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import rank
from sampled_metrics.recommenders import load_recommender, save_recommender
from sampled_metrics.recommenders.itemknn import ItemKNN, ItemKNNSettings, cosine_similarity


def nearest(row, k):
    """The k largest entries of a row, the earlier one first where two are equal."""
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
    kept = np.zeros((n, n))
    for i, j in itertools.product(range(n), repeat=2):  # eq. 28
        if i in nearest(cosine[:, j], k) and j in nearest(cosine[i], k_prime):
            kept[i, j] = cosine[i, j] ** settings.q
    scores = np.zeros(train.shape)
    for u, i in itertools.product(*map(range, train.shape)):
        norm = np.sqrt(sum(kept[i, j] ** 2 for j in range(n)))  # eq. 29
        row = kept[i] / norm if norm else kept[i]
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
@pytest.mark.parametrize(("q", "k", "k_prime"), [(3, None, None), (1, None, 3), (0.5, 4, 2)])
def test_every_reading_agrees_with_loops(q, k, k_prime, neighbour_axis, self_similarity):
    for seed, normalise_scores in itertools.product(range(3), [True, False]):
        settings = ItemKNNSettings(
            q=q,
            k=k,
            k_prime=k_prime,
            neighbour_axis=neighbour_axis,
            self_similarity=self_similarity,
            normalise_scores=normalise_scores,
        )
        train = random_train(seed)
        found = ItemKNN(settings).fit(csr_array(train)).score(np.arange(14))
        expected = scores_by_loops(train, settings)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15, err_msg=f"seed {seed}")


def test_axes_differ_and_agree_with_k_and_k_prime_exchanged():
    train = csr_array(random_train(0))

    def scores(**settings):
        return ItemKNN(ItemKNNSettings(**settings)).fit(train).score(np.arange(14))

    row = scores(k_prime=3, neighbour_axis="row")
    column = scores(k_prime=3, neighbour_axis="column")
    assert abs(row - column).max() > 0.01
    np.testing.assert_array_equal(column, scores(k=3, neighbour_axis="row"))


def test_cosine_by_hand():
    # item 0 with users {0, 1}, item 1 with {1}, item 2 with nobody
    train = csr_array(np.array([[1.0, 0, 0], [1, 1, 0]]))
    half = 1 / np.sqrt(2 * 1)
    np.testing.assert_allclose(
        cosine_similarity(train), [[1, half, 0], [half, 1, 0], [0, 0, 0]], rtol=1e-15
    )


def test_similarities_equal_on_paper_are_equal_in_the_machine():
    # c^2 / (n_i n_j) = 36/(12 * 27) = 4/(4 * 9) = 1/9 for the pairs (0, 1) and (2, 3)
    columns = np.zeros((60, 4))
    columns[:12, 0] = columns[6:33, 1] = 1
    columns[:4, 2] = columns[2:11, 3] = 1
    similarity = cosine_similarity(csr_array(columns))
    assert similarity[0, 1] == similarity[2, 3] == pytest.approx(1 / 3)


def test_similarity_in_slabs_is_whole(monkeypatch):
    train = csr_array(random_train(1))
    whole = cosine_similarity(train)
    monkeypatch.setattr("sampled_metrics.recommenders.itemknn._SLAB", 3)
    np.testing.assert_array_equal(cosine_similarity(train), whole)


@pytest.mark.parametrize("neighbours", [{"k": 2}, {"k_prime": 2}, {"k": 3, "k_prime": 2}])
@pytest.mark.parametrize("self_similarity", [True, False])
def test_nearest_in_slabs_are_those_of_the_whole(monkeypatch, neighbours, self_similarity):
    train = csr_array(random_train(1))
    settings = ItemKNNSettings(**neighbours, self_similarity=self_similarity)
    whole = ItemKNN(settings).fit(train).state()
    monkeypatch.setattr("sampled_metrics.recommenders.itemknn._SLAB", 3)
    for name, array in ItemKNN(settings).fit(train).state().items():
        np.testing.assert_array_equal(array, whole[name])


def test_keeping_at_least_all_neighbours_is_keeping_all():
    train = csr_array(random_train(1))
    whole = ItemKNN(ItemKNNSettings(q=2.0)).fit(train)
    for most in (train.shape[1], 1000):
        settings = ItemKNNSettings(q=2.0, k=most, k_prime=most)
        weights = ItemKNN(settings).fit(train).weights
        np.testing.assert_array_equal(weights.toarray(), whole.weights)


def test_similarity_of_few_events_is_that_of_many(monkeypatch):
    train = csr_array(random_train(3))
    similarity = cosine_similarity(train)
    for gain in (0, np.inf):
        monkeypatch.setattr("sampled_metrics.recommenders.itemknn._GAIN", gain)
        np.testing.assert_array_equal(cosine_similarity(train), similarity)


@pytest.fixture
def in_tiles(monkeypatch):
    """The weights of all pairs are not kept but made in tiles of a width."""

    def limit(width):
        monkeypatch.setattr("sampled_metrics.recommenders.itemknn.MOST_KEPT", 5)
        monkeypatch.setattr("sampled_metrics.recommenders.neighbours._COLUMNS", width)

    return limit


@pytest.mark.parametrize("width", [1, 2, 5, 10, 256])
@pytest.mark.parametrize("self_similarity", [True, False])
@pytest.mark.parametrize("normalise_scores", [True, False])
def test_scores_and_ranks_in_tiles_are_those_of_the_whole(
    in_tiles, width, self_similarity, normalise_scores, tmp_path
):
    train = csr_array(random_train(2))
    settings = ItemKNNSettings(
        q=3.0, self_similarity=self_similarity, normalise_scores=normalise_scores
    )
    seen = train.toarray() > 0
    held_out = np.argmin(seen, axis=1)
    several = (np.random.default_rng(0).random(seen.shape) < 0.3) & ~seen
    whole = ItemKNN(settings).fit(train)
    by_scores = [rank(whole.score, train, relevant) for relevant in (held_out, several)]
    in_tiles(width)
    tiled = ItemKNN(settings).fit(train)
    save_recommender(tmp_path / "tiled.npz", tiled)
    tiled = load_recommender(tmp_path / "tiled.npz")
    assert tiled.weights is None
    np.testing.assert_array_equal(tiled.score(np.arange(14)), whole.score(np.arange(14)))
    for relevant, expected in zip((held_out, several), by_scores, strict=True):
        found = rank(tiled.scorer, train, relevant)
        for name in ("n_candidates", "n_better", "n_tied", "users"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    some = np.zeros(seen.shape)
    some[np.arange(3, 9), held_out[3:9]] = 1
    part = rank(tiled.scorer, train, csr_array(some))
    np.testing.assert_array_equal(part.n_better, by_scores[0].n_better[3:9])


@pytest.mark.parametrize("q", [0.01, 1.0, 60.0, 300.0])
def test_ranks_in_tiles_with_scores_that_float32_cannot_tell_or_hold(in_tiles, q):
    rng = np.random.default_rng(3)
    popular = rng.random((80, 40)) < 0.02 + 0.5 * (np.arange(40) % 8 == 0)
    popular[0], popular[:, 39] = False, False  # a user and an item without events
    train = csr_array(popular.astype(float))
    # Few users have two items in common, so that many similarities are equal.
    held_out = (1 - popular + rng.random(popular.shape)).argmax(axis=1)
    model = ItemKNN(ItemKNNSettings(q=q, normalise_scores=False)).fit(train)
    in_tiles(7)
    by_scores, found = (rank(scorer, train, held_out) for scorer in (model.score, model.scorer))
    np.testing.assert_array_equal(found.n_better, by_scores.n_better)
    np.testing.assert_array_equal(found.n_tied, by_scores.n_tied)
    assert found.n_tied.any()


def test_an_item_of_the_history_is_not_ranked_in_tiles(in_tiles):
    train = csr_array(random_train(2))
    in_tiles(4)
    with pytest.raises(InputError, match="of user 0 is among the seen items"):
        rank(ItemKNN(ItemKNNSettings()).fit(train).scorer, train, train.toarray().argmax(axis=1))
