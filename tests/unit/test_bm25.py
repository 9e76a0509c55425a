"""The formula of BM25, written out by item and user, under what `implicit` does."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.recommenders import create
from sampled_metrics.recommenders.bm25 import BM25, BM25Settings

TRAIN = (np.random.default_rng(2).random((30, 14)) < 0.3).astype(float)


def weight(user, item, k1, b):
    """Event of a user and an item, 0 where there is none."""
    of_item, mean = TRAIN[:, item].sum(), TRAIN.sum() / TRAIN.shape[1]
    of_user, items = TRAIN[user].sum(), TRAIN.shape[1]
    saturation = (k1 + 1) / (k1 * (1 - b + b * of_item / mean) + 1)
    return TRAIN[user, item] * saturation * math.log(items / (1 + of_user))


def similarity(k1, b):
    users, items = (range(size) for size in TRAIN.shape)
    weights = [[weight(user, item, k1, b) for item in items] for user in users]
    return [[sum(row[i] * row[j] for row in weights) for j in items] for i in items]


@pytest.mark.parametrize(("k", "k1", "b"), [(14, 1.2, 0.75), (14, 3.0, 0.0), (4, 1.2, 1.0)])
def test_scores_add_up_the_nearest_of_the_history(k, k1, b):
    model = BM25(BM25Settings(k=k, k1=k1, b=b)).fit(csr_array(TRAIN))
    nearest = np.zeros((14, 14))
    for item, row in enumerate(similarity(k1, b)):
        for other in sorted(range(14), key=lambda other: -row[other])[:k]:
            nearest[item, other] = row[other]
    np.testing.assert_allclose(model.score(np.arange(30)), TRAIN @ nearest, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"), [("k", 0), ("k", 2.0), ("k1", 0), ("b", -0.1), ("b", 1.5), ("b", np.nan)]
)
def test_settings_out_of_range(name, value):
    with pytest.raises(InputError, match=f"^bm25: {name} must be "):
        create("bm25", {name: value})
