"""Expected sampled metrics without the sum of eq. 16 (sections 4.4.1 to 4.4.3)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from sampled_metrics._base.arrays import Float
from sampled_metrics.metrics import formulas as metrics
from sampled_metrics.sampling.distinct import parts
from sampled_metrics.sampling.noise import checked


def expected_auc(rank: ArrayLike, n: ArrayLike) -> Float:
    """Return the expected sampled AUC, eq. 17: (n - r)/(n - 1) for any m.

    That is the exact AUC: sampling leaves it unbiased, with replacement or without. (Where
    duplicates collapse, fewer than m + 1 items are ranked, and the AUC of m + 1 is too large.)

    >>> expected_auc([1, 2, 3], 3)
    array([1. , 0.5, 0. ])
    """
    return metrics.auc(rank, n)


def expected_recall(
    rank: ArrayLike, n: ArrayLike, m: int, k: int, noise: str = "binomial"
) -> Float:
    """Return the expected sampled recall at k, eq. 18: the distribution function at k - 1.

    That of B(m, (r - 1)/(n - 1)), without replacement that of the hypergeometric distribution, or
    for distinct items the mean of the latter over their number. Divided by k it is the expected
    precision. Parameters and errors are those of `noise.pmf`.

    Returns
    -------
    float64, shape (ranks,), as fractions.

    >>> expected_recall([1, 2, 3], 3, m=2, k=1)
    array([1.  , 0.25, 0.  ])
    """
    ranks, candidates = checked(rank, n, m, noise)
    if noise == "binomial":
        return _float(bdtr(min(k - 1, m), m, (ranks - 1) / (candidates - 1)))
    from scipy import stats  # takes as long to import as most of what is done here

    everyone = np.arange(ranks.size)
    sizes = [(m, everyone, 1.0)] if noise == "hypergeometric" else parts(candidates, m)
    recall = np.zeros(ranks.size)
    for size, rows, probability in sizes:
        others, better = candidates[rows] - 1, ranks[rows] - 1
        recall[rows] += probability * stats.hypergeom.cdf(k - 1, others, better, size)
    return recall


def expected_ap(rank: ArrayLike, n: ArrayLike, m: int) -> Float:
    """Return the expected sampled average precision with replacement, eq. 19.

    (1 - (1 - p)^(m + 1)) / (p (m + 1)) with p = (r - 1)/(n - 1), and 1 where r = 1.
    Parameters and errors are those of `noise.pmf`.

    Returns
    -------
    float64, shape (ranks,), as fractions.

    >>> expected_ap([1, 2, 3], 3, m=1)
    array([1.  , 0.75, 0.5 ])
    """
    ranks, candidates = checked(rank, n, m, "binomial")
    first, last = ranks == 1, ranks == candidates
    above = np.where(first | last, 0.5, (ranks - 1) / (candidates - 1))
    missed_all = -np.expm1((m + 1) * np.log1p(-above))
    return np.select([first, last], [1.0, 1.0 / (m + 1)], missed_all / (above * (m + 1)))


def _float(values: ArrayLike) -> Float:
    return np.asarray(values, dtype=np.float64)
