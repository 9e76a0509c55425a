"""Sums over millions of ranks from a few thousand places.

Given a sampled rank, the probability of section 4.3 is a polynomial of degree m in the true rank,
and a metric without its cut-off is smooth. So a block of neighbouring ranks is summed by the
Gauss rule for equally spaced points: its nodes, which are not whole ranks, and weights give the
sum of every polynomial of degree 39 exactly.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.linalg import eigh_tridiagonal

from sampled_metrics._base.arrays import Float, Int

ONE_BY_ONE = 1 << 14  # up to so many ranks, each is taken by itself; those of the paper are
_NODES = 20
_EDGE = 128  # ranks taken one by one at both ends
_MANY = 0.25  # of the candidates drawn: more negatives determine true ranks too well for blocks
_RELATIVE_WIDTH = 1.0  # of a block, to its distance from the nearer end
_DEVIATIONS = 3.0  # of the sampled rank, that a block moves it at most


def rank_rule(n: int, m: int, cutoffs: Sequence[int]) -> tuple[Float, Float]:
    """Nodes and weights for sums over the ranks 1 ... n.

    Parameters
    ----------
    n, m
        Number of candidates and of negatives, which say how fast the summands change.
    cutoffs
        Ranks after which a summand jumps; no block crosses one.

    Returns
    -------
    float64, shape (nodes,): ranks in increasing order, not necessarily whole, and their weights.
    Whole ranks with weight 1 where n is at most 16,384. Beyond, bias-variance estimators differ
    by less than 1e-12 of their largest entry from those of the sum over all ranks, unless the
    largest sampled ranks are next to impossible (distinct negatives, m near n / 4).

    Examples
    --------
    >>> ranks, weights = rank_rule(10**6, 100, [])
    >>> ranks.size, round(float(weights.sum()), 6), round(float(weights @ ranks), 3)
    (596, 1000000.0, 500000500000.0)
    """
    if n <= ONE_BY_ONE:
        return np.arange(1.0, n + 1.0), np.ones(n)
    rules = [_rule(first, count) for first, count in _blocks(n, m, sorted(set(cutoffs)))]
    ranks, weights = zip(*rules, strict=True)
    return np.concatenate(ranks), np.concatenate(weights)


def sums_up_to(ends: Int, values: Callable[[Float], Float]) -> Float:
    """Sum a smooth function over the ranks up to each of some ends, in non-decreasing order.

    Ranks between two ends are summed by one rule, so ends must be close where values change fast.

    Examples
    --------
    >>> sums_up_to(np.array([1, 2, 2, 4, 1000]), np.square).round().astype(int)
    array([        1,         5,         5,        30, 333833500])
    """
    counts = np.diff(ends, prepend=0)
    single = counts == 1
    sums = np.zeros(ends.size)
    sums[single] = values(ends[single])
    for place in np.flatnonzero(counts > 1):
        ranks, weights = _rule(int(ends[place] - counts[place]) + 1, int(counts[place]))
        sums[place] = weights @ values(ranks)
    return np.cumsum(sums)


def _blocks(n: int, m: int, cutoffs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First rank and number of ranks of every block."""
    edge = n if m >= _MANY * n else _EDGE
    first = 1
    while first <= n:
        beyond = n + 1
        if first <= edge or first > n - edge:
            count = 1
        else:
            share = first / n
            deviation = n * np.sqrt(share * (1.0 - share) / m)
            width = min(_RELATIVE_WIDTH * min(first, n - first), _DEVIATIONS * deviation)
            count = max(1, int(width))
            beyond = n - edge + 1
        jumps = [k + 1 for k in cutoffs if k >= first]
        count = min(count, beyond - first, *(jump - first for jump in jumps[:1]))
        yield first, count
        first += count


def _rule(first: int, count: int) -> tuple[Float, Float]:
    """Gauss rule for the sum over `count` whole numbers from `first` on.

    From the three-term recurrence of the discrete Chebyshev polynomials (Golub and Welsch 1969).
    """
    if count <= _NODES:
        return np.arange(first, first + count, dtype=np.float64), np.ones(count)
    k = np.arange(1.0, _NODES)
    middle = np.full(_NODES, first + (count - 1.0) / 2.0)
    beside = np.sqrt(k**2 * (count**2 - k**2) / (4.0 * (4.0 * k**2 - 1.0)))
    nodes, vectors = eigh_tridiagonal(middle, beside)
    return nodes, count * np.square(vectors[0])
