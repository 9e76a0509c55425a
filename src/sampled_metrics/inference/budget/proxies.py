"""Cheap scores whose order tells from which candidates the recommender's scores are asked first."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError

NAMES = ("popularity", "als")
FACTORS = 8  # of the ALS proxy
# Settings of the loss in section 9 of the paper, as the recommender `als` of this package.
LAMBDA, ALPHA, SWEEPS = 10.0, 0.2, 15


class Proxy(Protocol):
    """Scores of all items for some users; larger means asked earlier."""

    name: str

    def __call__(self, users: Int) -> NDArray[np.floating[Any]]:
        """Scores of shape (users, items)."""
        ...


def make_proxy(proxy: Any, seen: csr_array | None, shape: tuple[int, int], seed: int) -> Proxy:
    """Make a proxy from its name, a matrix of scores or a function of users and items.

    Parameters
    ----------
    proxy
        `popularity` (events per item) or `als` (8 factors, trained on what was seen); a matrix of
        shape (users, items); or a function that scores arrays of pairs, as `score` does.
    seen
        Training events, which the named proxies need.
    shape
        Numbers of users and items.
    seed
        Of the training of `als`.
    """
    if isinstance(proxy, str):
        if proxy not in NAMES:
            raise InputError(f"unknown proxy {proxy!r}; known: {', '.join(NAMES)}")
        if seen is None:
            raise InputError(f"proxy {proxy!r} needs a matrix of what was seen")
        return Popularity(seen) if proxy == "popularity" else _als(seen, seed)
    if callable(proxy):
        return Function(proxy, shape[1])
    if not issparse(proxy):
        proxy = np.asarray(proxy)
    if tuple(proxy.shape) != shape:
        raise InputError(f"the proxy's scores have shape {tuple(proxy.shape)}, expected {shape}")
    return Matrix(proxy)


class Part:
    """A proxy of which only some users are numbered."""

    def __init__(self, proxy: Proxy, users: Int) -> None:
        self.name = proxy.name
        self._proxy, self._users = proxy, users

    def __call__(self, users: Int) -> NDArray[np.floating[Any]]:
        """Scores of shape (users, items)."""
        return self._proxy(self._users[users])


class Popularity:
    """Number of events per item, the same for all users."""

    name = "popularity"

    def __init__(self, seen: csr_array) -> None:
        self.events: Float = np.bincount(seen.indices, minlength=seen.shape[1]).astype(np.float64)

    def __call__(self, users: Int) -> Float:
        """Scores of shape (users, items)."""
        return np.broadcast_to(self.events, (users.size, self.events.size))


class Matrix:
    """Rows of a dense or sparse matrix of scores."""

    name = "matrix"

    def __init__(self, scores: Any) -> None:
        self._scores = csr_array(scores) if issparse(scores) else scores

    def __call__(self, users: Int) -> NDArray[np.floating[Any]]:
        """Scores of shape (users, items)."""
        rows = self._scores[users]
        return rows.toarray() if issparse(rows) else np.asarray(rows)


class Function:
    """A function that scores arrays of pairs."""

    name = "function"

    def __init__(self, score: Callable[[Int, Int], Any], n_items: int) -> None:
        self._score, self._n_items = score, n_items

    def __call__(self, users: Int) -> Float:
        """Scores of shape (users, items)."""
        items = np.tile(np.arange(self._n_items), users.size)
        scores = np.asarray(self._score(np.repeat(users, self._n_items), items), dtype=np.float64)
        return scores.reshape(users.size, self._n_items)


class Factors:
    """Inner products of vectors of users and items."""

    name = "als"

    def __init__(self, user_vectors: Float, item_vectors: Float) -> None:
        self.user_vectors, self.item_vectors = user_vectors, item_vectors

    def __call__(self, users: Int) -> Float:
        """Scores of shape (users, items)."""
        return np.einsum("uf,if->ui", self.user_vectors[users], self.item_vectors)


def _als(seen: csr_array, seed: int) -> Factors:
    """Factorise what was seen by implicit alternating least squares."""
    from implicit.cpu.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(np.random.SeedSequence(seed))
    with threadpool_limits(1, user_api="blas"):
        model = AlternatingLeastSquares(
            factors=FACTORS,
            regularization=LAMBDA * (1 + ALPHA) / ALPHA,
            alpha=1.0,
            dtype=np.float64,
            use_cg=False,
            iterations=SWEEPS,
            num_threads=1,
        )
        model.user_factors = np.zeros((seen.shape[0], FACTORS))
        model.item_factors = rng.uniform(0.0, 0.01, (seen.shape[1], FACTORS))
        confidence = csr_matrix(seen, dtype=np.float32)
        confidence.data[:] = 1 + 1 / ALPHA
        model.fit(confidence, show_progress=False)
    return Factors(model.user_factors, model.item_factors)
