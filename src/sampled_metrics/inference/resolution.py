"""Resolution of an estimate: the rank down to which it gives credit."""

import numpy as np

from sampled_metrics._base.arrays import CACHE, Float, Int, blocks
from sampled_metrics.inference.kernels import given_rank, rank_grid
from sampled_metrics.ranks.sampling import Sampling

_ROUNDING = 1e-12


def behaves_like(vector: Float, n: int, sampling: str = Sampling.WITHOUT_REPLACEMENT) -> int | None:
    """Find the first true rank whose expected credit is at most half of that of rank 1.

    Parameters
    ----------
    vector
        The estimator: credit for each sampled rank; float64, shape (m + 1,).
    n
        Candidates, the relevant item included.
    sampling
        How the negatives were drawn.

    Returns
    -------
    A rank of 2 to n; None where rank 1 gets no credit, or no rank as little as half of its.

    Examples
    --------
    >>> behaves_like(np.array([1.0, 0.75, 0.5, 0.25, 0.0]), 101)  # falls by 1/100 per rank
    51
    """
    m, kind = vector.size - 1, Sampling(sampling)
    half = (0.5 + _ROUNDING) * float(vector[0])
    if half <= 0.0:
        return None

    def first_fallen(ranks: Int) -> int | None:
        for rows in blocks(ranks.size, m + 1, CACHE):
            fallen = given_rank(ranks[rows], n, m, kind) @ vector <= half
            if fallen.any():
                return rows.start + int(np.argmax(fallen))
        return None

    ranks = rank_grid(n)
    place = first_fallen(ranks)
    while place is not None and ranks[place] - ranks[place - 1] > 1:
        steps = np.linspace(ranks[place - 1], ranks[place], 17)
        ranks = np.unique(steps.round().astype(np.int64))
        place = first_fallen(ranks)
    return None if place is None else int(ranks[place])
