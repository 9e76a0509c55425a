"""Uniform negatives: random items that a user has not seen, to rank the held-out item against."""

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.sparse import canonical


def draw_negatives(excluded: csr_array, m: int, *, seed: int = 0, strata: int = 1) -> Int:
    """Draw negatives for each user, uniformly and without replacement.

    The negatives of a user depend on the seed, the user's row and its excluded items alone (with
    strata also on popularity), so all recommenders can be ranked against the same ones.

    Parameters
    ----------
    excluded
        Nonzero at the items that are no negatives, seen and held-out ones, shape (users, items).
    m
        Negatives per user.
    strata
        Number of groups of equally many candidates, by how many users the items are excluded for,
        which is their popularity; m / strata negatives come from each. Every candidate remains
        equally probable, and ranks vary a little less than the corrections assume.

    Returns
    -------
    Items, int64, shape (users, m), in random order.

    Examples
    --------
    >>> excluded = csr_array(np.array([[1, 0, 0, 1], [0, 0, 1, 0]]))
    >>> np.sort(draw_negatives(excluded, 2), axis=1)
    array([[1, 2],
           [0, 3]])
    """
    n_users, n_items = excluded.shape
    known = canonical(excluded)
    size = n_items - np.diff(known.indptr)
    if n_users and m > size.min():
        user = int(size.argmin())
        raise InputError(f"{m} negatives wanted; user {user} has {size[user]} candidates left")
    order = np.arange(n_items)
    if strata > 1:  # number candidates by popularity, so that strata are sections of the numbers
        order = np.argsort(np.bincount(known.indices, minlength=n_items), kind="stable")
    place = np.empty(n_items, dtype=np.int64)
    place[order] = np.arange(n_items)
    drawn = np.empty((n_users, m), dtype=np.int64)
    for user, count in enumerate(size):
        rng = generator(seed, "negatives", user)
        taken = np.sort(place[known.indices[known.indptr[user] : known.indptr[user + 1]]])
        index = _from_strata(rng, int(count), m, strata)
        # Before the k-th taken place lie its value minus k candidates.
        skipped = np.searchsorted(taken - np.arange(taken.size), index, side="right")
        drawn[user] = order[index + skipped]
    return drawn


def _from_strata(rng: np.random.Generator, size: int, m: int, strata: int) -> Int:
    """Draw m different numbers below `size`, in proportion from sections of equal length."""
    edges = np.arange(strata + 1) * size // strata
    # Counts are rounded on a grid with a random start, so every number has probability m / size.
    counts = np.diff(np.floor(edges * (m / size) + rng.random()).astype(np.int64))
    drawn = [
        first + rng.choice(length, count, replace=False)
        for first, length, count in zip(edges, np.diff(edges), counts, strict=False)
    ]
    return rng.permutation(np.concatenate(drawn))
