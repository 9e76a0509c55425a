"""Eq. 27-30 against loops written from the printed equations."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.ranks import rank
from sampled_metrics.study.recommenders.neighbours import ItemKNN, ItemKNNSettings


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
            q=q, k=k, k_prime=k_prime, neighbour_axis=neighbour_axis,
            self_similarity=self_similarity, normalise_scores=normalise_scores,
        )  # fmt: skip
        train = random_train(seed)
        found = ItemKNN(settings).fit(csr_array(train)).score(np.arange(14))
        expected = scores_by_loops(train, settings)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15, err_msg=f"seed {seed}")


def test_similarities_equal_on_paper_are_equal_in_the_machine():
    # c^2 / (n_0 n_i) of items 1 and 2 with item 0 is 6^2 / (12 * 27) = 4^2 / (12 * 12) = 1/9
    train = np.zeros((60, 3))
    train[:12, 0] = train[6:33, 1] = train[[*range(4), *range(40, 48)], 2] = 1
    settings = ItemKNNSettings(k_prime=1, self_similarity=False)
    weights = ItemKNN(settings).fit(csr_array(train)).weights.toarray()
    assert (weights[:, 0] > 0).tolist() == [False, True, False]  # the smaller number is nearer


@pytest.mark.parametrize("neighbours", [{}, {"k": 2}, {"k_prime": 2}, {"k": 3, "k_prime": 2}])
@pytest.mark.parametrize("self_similarity", [True, False])
def test_slabs_and_kind_of_product_make_no_difference(monkeypatch, neighbours, self_similarity):
    train, module = csr_array(random_train(1)), "sampled_metrics.study.recommenders.neighbours"
    settings = ItemKNNSettings(**neighbours, self_similarity=self_similarity)
    whole = ItemKNN(settings).fit(train)
    ranks = rank(whole.scorer, train, np.full(14, 4))
    for slab, gain in ((3, 1e9), (3, 0), (256, 0)):
        monkeypatch.setattr(f"{module}._SLAB", slab)
        monkeypatch.setattr(f"{module}._GAIN", gain)
        again = ItemKNN(settings).fit(train)
        for name, array in again.state().items():
            np.testing.assert_array_equal(array, whole.state()[name])
        for found in (again.scorer, again.score):
            assert rank(found, train, np.full(14, 4)).n_better.tolist() == ranks.n_better.tolist()


def test_more_common_users_than_an_int16_holds():
    model = ItemKNN(ItemKNNSettings(normalise_scores=False)).fit(csr_array(np.ones((40_000, 2))))
    np.testing.assert_allclose(model.weights, np.full((2, 2), np.sqrt(0.5)))
