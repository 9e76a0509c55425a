"""Vectors of users and items for measurements of ranking, and lower bounds to compare with."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sampled_metrics_study.data.events import read_ratings

ARCHIVE = "MOVIELENS_ARCHIVE"
USERS_AT_A_TIME, ITEMS_AT_A_TIME = 1024, 8192
LENGTHS = ("lognormal", "equal")  # of the vectors of items
SIGMA = 0.8  # of lognormal lengths
# The rank of held-out items: SHARES of the users have ranks up to PLACES, of which the last two are
# shares of the items; ranks between are log-uniform. This gives HR@10 = .05 and a median rank of 3
# %.
SHARES = (0.0, 0.01, 0.05, 0.5, 1.0)
PLACES = (1, 1, 10, 0.03, 1.0)


class Vectors(NamedTuple):
    """Vectors of a model of inner products, and the held-out and seen items."""

    users: np.ndarray
    items: np.ndarray
    held_out: np.ndarray
    seen: sparse.csr_array | None = None


def movielens(dimensions: int) -> Vectors:
    """Train ALS by implicit on MovieLens 1M without the last event of each user."""
    from implicit.cpu.als import AlternatingLeastSquares

    events = read_ratings(Path(os.environ[ARCHIVE]))
    user, item = (np.unique(ids, return_inverse=True)[1] for ids in (events.user, events.item))
    order = np.lexsort((events.times("the last event"), user))
    is_last = np.diff(user[order], append=-1) != 0
    last, rest = order[is_last], order[~is_last]
    shape = user.max() + 1, item.max() + 1
    ones = np.ones(rest.size, np.float32)
    seen = sparse.csr_matrix((ones, (user[rest], item[rest])), shape)
    model = AlternatingLeastSquares(
        factors=dimensions, regularization=0.1, alpha=5.0, random_state=0
    )
    model.fit(seen, show_progress=False)
    factors = map(np.ascontiguousarray, (model.user_factors, model.item_factors))
    return Vectors(*factors, item[last], sparse.csr_array(seen))


def synthetic(n_users: int, n_items: int, lengths: str, d: int = 64) -> Vectors:
    """Make vectors in float32, and held-out items with ranks as in real data.

    All users share one direction, which acts like popularity.
    """
    rng = np.random.default_rng(0)
    users = rng.normal(size=(n_users, d)).astype(np.float32)
    items = rng.normal(size=(n_items, d)).astype(np.float32)
    common = rng.normal(size=d)
    users += (2.0 * common / np.linalg.norm(common)).astype(np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    if lengths == "lognormal":
        items *= rng.lognormal(0.0, SIGMA, (n_items, 1)).astype(np.float32)
    logarithms = np.log([*PLACES[:3], max(20.0, PLACES[3] * n_items), PLACES[4] * n_items])
    places = np.exp(np.interp(rng.random(n_users), SHARES, logarithms)).astype(np.int64) - 1
    held_out = np.empty(n_users, np.int64)
    for first in range(0, n_users, 256):
        scores = users[first : first + 256] @ items.T
        for number, row in enumerate(scores, start=first):
            place = n_items - 1 - min(places[number], n_items - 1)
            held_out[number] = np.argpartition(row, place)[place]
    return Vectors(users, items, held_out)


def product(vectors: Vectors) -> None:
    """Multiply all vectors block by block, reusing memory; the result is discarded."""
    users, items = vectors[:2]
    out = np.empty(USERS_AT_A_TIME * ITEMS_AT_A_TIME, users.dtype)
    for first in range(0, len(users), USERS_AT_A_TIME):
        user_block = users[first : first + USERS_AT_A_TIME]
        for begin in range(0, len(items), ITEMS_AT_A_TIME):
            item_block = items[begin : begin + ITEMS_AT_A_TIME].T
            shape = len(user_block), item_block.shape[1]
            np.matmul(user_block, item_block, out=out[: shape[0] * shape[1]].reshape(shape))


def sampled_hit_rate(vectors: Vectors, m: int = 100, k: int = 10) -> float:
    """Draw m items for each user, score them and the held-out item, and count hits."""
    users, items, held_out, _ = vectors
    rng = np.random.default_rng(0)
    hits = 0
    for first in range(0, len(users), USERS_AT_A_TIME):
        user_block = users[first : first + USERS_AT_A_TIME]
        held_out_items = held_out[first : first + USERS_AT_A_TIME]
        negatives = rng.integers(0, len(items), (len(user_block), m))
        # in less time than by matmul
        scores = np.einsum("uf,umf->um", user_block, items[negatives])
        held_out_scores = np.einsum("uf,uf->u", user_block, items[held_out_items])
        hits += np.count_nonzero((scores > held_out_scores[:, None]).sum(axis=1) < k)
    return hits / len(users)
