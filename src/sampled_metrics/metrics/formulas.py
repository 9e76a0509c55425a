"""Ranking metrics of one relevant item, as functions of its rank (eq. 7-13).

Every function takes 1-based integer ranks of any shape and returns float64 fractions of that
shape. With one relevant item, recall@k is the hit rate, `ap` the reciprocal rank, and recall@1
is accuracy. `ndcg` discounts by log2(rank + 1), so the first rank counts 1. Metrics of several
relevant items are in `sampled_metrics.metrics.values`.
"""

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float


def auc(rank: ArrayLike, n: ArrayLike) -> Float:
    """Area under the ROC curve, eq. 7: (n - r) / (n - 1).

    `n` is the number of candidates, the relevant item included; it broadcasts against `rank`.

    >>> auc([1, 2, 3], 3)
    array([1. , 0.5, 0. ])
    """
    candidates = np.asarray(n, dtype=np.float64)
    return (candidates - np.asarray(rank)) / (candidates - 1.0)


def recall(rank: ArrayLike, k: int) -> Float:
    """Recall at k, eq. 9: 1 where r <= k, else 0. Also called hit rate or success.

    >>> recall([1, 10, 11], 10)
    array([1., 1., 0.])
    """
    return (np.asarray(rank) <= k).astype(np.float64)


def precision(rank: ArrayLike, k: int) -> Float:
    """Precision at k, eq. 8: 1/k where r <= k, else 0.

    >>> precision([1, 10, 11], 10)
    array([0.1, 0.1, 0. ])
    """
    return recall(rank, k) / k


def f1(rank: ArrayLike, k: int) -> Float:
    """Harmonic mean of precision and recall at k: 2/(k + 1) where r <= k, else 0.

    >>> f1([1, 3, 4], 3)
    array([0.5, 0.5, 0. ])
    """
    return f_beta(rank, k, 1.0)


def f_beta(rank: ArrayLike, k: int, beta: float) -> Float:
    """Harmonic mean of precision and recall at k, recall weighing beta^2 times as much.

    (1 + beta^2) P R / (beta^2 P + R), that is (1 + beta^2)/(beta^2 + k) where r <= k, else 0.

    >>> f_beta([1, 3, 4], 3, 2.0)  # P = 1/3, R = 1: 5 * 1/3 / (4/3 + 1)
    array([0.71428571, 0.71428571, 0.        ])
    """
    return (1.0 + beta**2) * recall(rank, k) / (beta**2 + k)


def ap(rank: ArrayLike, k: int | None = None) -> Float:
    """Average precision, eq. 10 (with k) and eq. 12 (without): 1/r, 0 beyond rank k.

    >>> ap([1, 2, 4])
    array([1.  , 0.5 , 0.25])
    >>> ap([1, 2, 4], 3)
    array([1. , 0.5, 0. ])
    """
    return _truncated(1.0 / np.asarray(rank), rank, k)


def ndcg(rank: ArrayLike, k: int | None = None) -> Float:
    """Normalised discounted cumulative gain, eq. 11 and 13: 1/log2(r + 1), 0 beyond rank k.

    >>> ndcg([1, 3, 7])
    array([1.        , 0.5       , 0.33333333])
    >>> ndcg([1, 3, 7], 5)
    array([1. , 0.5, 0. ])
    """
    return _truncated(1.0 / np.log2(np.asarray(rank) + 1.0), rank, k)


def ndcg_by_k(rank: ArrayLike, k: int) -> Float:
    """Eq. 11 divided by the gain of k relevant items in the first k places.

    1 / (log2(r + 1) * sum over i = 1 ... k of 1/log2(i + 1)), 0 beyond rank k. With one relevant
    item it stays below 1 for every k > 1; eq. 6 and 11 take the ideal list from min(|R|, k) items.

    >>> ndcg_by_k([1, 3, 4], 3).round(4)  # 1 + 0.6309 + 0.5 = 2.1309
    array([0.4693, 0.2346, 0.    ])
    """
    return ndcg(rank, k) / discounts(k).sum()


def discounts(places: int) -> Float:
    """Gain of one relevant item at each of the first places: 1/log2(i + 1) at place i.

    >>> discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    """
    return ndcg(np.arange(1, places + 1))


def _truncated(value: Float, rank: ArrayLike, k: int | None) -> Float:
    return value if k is None else value * recall(rank, k)
