"""Weights of a user's held-out items in its metrics."""

from collections.abc import Sequence

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.values import Metric


def offsets(frame: Frame, held_scores: Float) -> Int:
    """Number of held-out items of the same user that score higher, ties in the order given.

    Examples
    --------
    >>> class OneUser:
    ...     owner, one_each = np.array([0, 0, 0]), False
    >>> offsets(OneUser, np.array([1.0, 3.0, 1.0]))
    array([1, 0, 2])
    """
    above = np.zeros(held_scores.size, np.int64)
    if not frame.one_each:
        order = np.lexsort((-held_scores, frame.owner))
        owner = frame.owner[order]
        above[order] = np.arange(owner.size) - np.searchsorted(owner, owner)
    return above


def weights(frame: Frame, metrics: Sequence[Metric], offset: Int) -> Float:
    """Factor of the metric of each held-out row in that of its user, shape (metrics, rows).

    With R held-out items, recall@k is the mean of their recalls, ndcg@k the sum of their discounts
    over that of min(R, k) items on top, and the average precision the mean over the held-out
    items of their precision, whose numerator counts the better held-out items too.
    """
    count = np.bincount(frame.owner)[frame.owner].astype(np.float64)
    factors = np.empty((len(metrics), offset.size))
    for index, metric in enumerate(metrics):
        if metric.kind == "recall":
            factors[index] = 1.0 / count
        elif metric.kind == "ndcg":
            ideal = np.cumsum(1.0 / np.log2(np.arange(2, int(count.max()) + 2)))
            factors[index] = (
                1.0 / ideal[np.minimum(count, metric.cutoff or np.inf).astype(np.int64) - 1]
            )
        else:
            factors[index] = (offset + 1.0) / count
    return factors
