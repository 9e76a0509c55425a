"""Scoring in random order until so many better candidates are found: what the draw says."""

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int, integers
from sampled_metrics._base.errors import InputError


def reciprocal_rank(
    draws: ArrayLike, better: ArrayLike, n_candidates: ArrayLike, stop_at: int = 1
) -> Float:
    """Estimate 1 / rank of held-out items from scores asked in random order, without bias.

    The other candidates of a user are scored in a random order, without replacement, until
    `stop_at` of them have scored better than the held-out item. If that takes T of n candidates,
    the mean of T / (stop_at n) is 1 / rank. Where all are scored before, 1 / rank is known.

    Parameters
    ----------
    draws
        Candidates scored for each user, the held-out item not counted.
    better
        How many of them are better.
    n_candidates
        Candidates of each user, the held-out item included.
    stop_at
        Number of better candidates that ends the scoring. From 10 on, Recall@10 and NDCG@10 are
        known for each user as well.

    Examples
    --------
    >>> reciprocal_rank([12, 99], [1, 0], [100, 100])
    array([0.12, 1.  ])
    """
    t, k, n = (
        integers(name, values)
        for name, values in (("draws", draws), ("better", better), ("n_candidates", n_candidates))
    )
    if stop_at < 1:
        raise InputError(f"stop_at is {stop_at}; expected at least 1")
    _require(t, k, n, stop_at)
    values: Float = np.where(k == stop_at, t / (stop_at * n), 1.0 / (k + 1.0))
    return values


def _require(t: Int, k: Int, n: Int, stop_at: int) -> None:
    problems = {
        "expected fewer draws than n_candidates": (t < 0) | (t >= n),
        f"expected 0 to {stop_at} better among the draws": (k < 0) | (k > np.minimum(t, stop_at)),
        "candidates are left to draw, and too few better ones found": (k < stop_at) & (t < n - 1),
    }
    for problem, wrong in problems.items():
        if np.any(wrong):
            raise InputError(problem, row=1 + int(np.argmax(wrong)))
