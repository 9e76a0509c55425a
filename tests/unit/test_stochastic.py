"""BPR and LMF are those of `implicit`, with one thread and settings that are checked."""

import numpy as np
import pytest
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics.recommenders import create

TRAIN = (np.random.default_rng(0).random((40, 25)) < 0.2).astype(np.float32)
PLAIN = {"bpr": BayesianPersonalizedRanking, "lmf": LogisticMatrixFactorization}
SETTINGS = {"learning_rate": 0.2, "regularization": 0.05, "iterations": 7}


@pytest.fixture(params=PLAIN)
def kind(request):
    return request.param


def test_scores_are_those_of_the_plain_library(kind):
    plain = PLAIN[kind](factors=3, random_state=5, num_threads=1, **SETTINGS)
    plain.fit(csr_matrix(TRAIN), show_progress=False)
    ours = create(kind, {"d": 3, "seed": 5, **SETTINGS}).fit(csr_array(TRAIN), threads=2)
    expected = plain.user_factors.astype(float) @ plain.item_factors.astype(float).T
    np.testing.assert_allclose(ours.score(np.arange(40)), expected, rtol=1e-12, atol=1e-14)


def test_defaults_are_those_of_the_library(kind):
    ours, plain = create(kind, {}).settings, PLAIN[kind]()
    assert (ours.d, ours.learning_rate) == (plain.factors, plain.learning_rate)
    assert (ours.regularization, ours.iterations) == (plain.regularization, plain.iterations)


def test_lmf_of_the_library_does_not_look_at_its_share_of_negatives():
    """Why `neg_prop` is no setting; a release that mends it fails here."""

    def vectors(neg_prop):
        model = LogisticMatrixFactorization(
            factors=3, iterations=2, neg_prop=neg_prop, num_threads=1, random_state=1
        )
        model.fit(csr_matrix(np.ones((8, 12), np.float32)), show_progress=False)
        return model.item_factors

    np.testing.assert_array_equal(vectors(1), vectors(100))


def test_vectors_beyond_all_numbers_are_refused():
    message = "bpr: vectors are not finite"
    with pytest.raises(InputError, match=message):
        create("bpr", {"d": 4, "learning_rate": 1000000}).fit(csr_array(TRAIN))
