"""Vectors of users and of items that measurements rank by, and what ranking is compared with."""

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
# Where held-out items are: a share of users, and the rank up to which theirs are; the third is a
# share of the items. Ranks between are log-uniform. So HR@10 is .05 and the median rank 3 %.
SHARES = (0.0, 0.01, 0.05, 0.5, 1.0)
PLACES = (1, 1, 10, 0.03, 1.0)


class Vectors(NamedTuple):
    """A model of inner products, and items held out and seen."""

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

    Users have a direction in common, as popularity is.
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
    """Multiply all vectors, in memory that is used again, and throw the result away."""
    users, items = vectors[:2]
    out = np.empty(USERS_AT_A_TIME * ITEMS_AT_A_TIME, users.dtype)
    for first in range(0, len(users), USERS_AT_A_TIME):
        some = users[first : first + USERS_AT_A_TIME]
        for begin in range(0, len(items), ITEMS_AT_A_TIME):
            of_items = items[begin : begin + ITEMS_AT_A_TIME].T
            shape = len(some), of_items.shape[1]
            np.matmul(some, of_items, out=out[: shape[0] * shape[1]].reshape(shape))


def sampled_hit_rate(vectors: Vectors, m: int = 100, k: int = 10) -> float:
    """Draw m items for each user, score them and the held-out item, and count hits."""
    users, items, held_out, _ = vectors
    rng = np.random.default_rng(0)
    hits = 0
    for first in range(0, len(users), USERS_AT_A_TIME):
        some = users[first : first + USERS_AT_A_TIME]
        own = held_out[first : first + USERS_AT_A_TIME]
        negatives = rng.integers(0, len(items), (len(some), m))
        scores = np.einsum("uf,umf->um", some, items[negatives])  # in less time than by matmul
        of_own = np.einsum("uf,uf->u", some, items[own])
        hits += np.count_nonzero((scores > of_own[:, None]).sum(axis=1) < k)
    return hits / len(users)
