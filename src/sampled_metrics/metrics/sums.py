"""Sums over the places of a level, each exact in expectation over the order within the level.

With h of the s candidates of a level relevant, any of its places holds a relevant item with
probability h/s, and two of its places do with probability h(h - 1) / (s(s - 1)); McSherry and
Najork, "Computing information retrieval performance measures efficiently in the presence of tied
scores", ECIR 2008.
"""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics.metrics.levels import Levels

_NEAR = 64
_HARMONIC = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _NEAR + 1))])


def reciprocals(above: Int, places: Int) -> Float:
    """Sum 1/p over p = above + 1 ... above + places, whatever the shape.

    The relative error is small also far down the ranking, unlike that of a difference of two
    harmonic numbers, and no table as long as the ranking is needed.

    Examples
    --------
    >>> reciprocals(np.array([0, 9]), np.array([4, 1]))  # 1 + 1/2 + 1/3 + 1/4 and 1/10
    array([2.08333333, 0.1       ])
    """
    end = above + places
    near = _HARMONIC[np.minimum(end, _NEAR)] - _HARMONIC[np.minimum(above, _NEAR)]
    lower, upper = np.maximum(above, _NEAR) + 0.5, np.maximum(end, _NEAR) + 0.5
    far = np.log1p((upper - lower) / lower) + _beyond_log(upper) - _beyond_log(lower)
    return np.where(places == 1, 1.0 / (above + 1), near + far)


def gains(
    levels: Levels, k: int, gain: Callable[[Int], Float], weight: Float | Int | None = None
) -> Float:
    """Expected sum of `gain(place)` over a level's relevant items among the first k places.

    `weight` is the sum over a level of what the items' gains are multiplied by; default 1 each.

    Examples
    --------
    >>> from sampled_metrics.ranks import Ranks
    >>> levels = Levels.of(Ranks([9], [1, 1], [2, 2], n_found=[2]))
    >>> gains(levels, 3, lambda place: 1.0 / place)  # 2/3 at each of the places 2 and 3
    array([0.55555556])
    """
    start, places = np.minimum(levels.above, k), levels.places(k)
    values = np.where(places == 1, gain(levels.above + 1), 0.0)
    # A single term is exact, so only several come from differences of a cumulative sum.
    several = places > 1
    start, end = start[several], (start + places)[several]
    terms = gain(np.arange(1, int(end.max(initial=0)) + 1))
    table = np.concatenate([[0.0], np.cumsum(terms)])
    values[several] = table[end] - table[start]
    return (levels.hits if weight is None else weight) / levels.size * values


def precisions(above: Int, hits_above: Int, size: Int, hits: Int, places: Int) -> Float:
    """Expected sum of the precision at the relevant items in the first places of a level.

    The i-th place of a level, p = above + i, is relevant with probability h/s; then it has
    hits_above relevant items above the level, itself, and (i - 1)(h - 1)/(s - 1) expected in
    between. So the sum over i of h/s (hits_above + 1 + (i - 1)(h - 1)/(s - 1)) / p is

        h/s [(hits_above + 1) S + (h - 1)/(s - 1) (m - (above + 1) S)],  S = sum of the 1/p

    for m places. The arguments broadcast.

    Examples
    --------
    >>> one = np.array([1])
    >>> precisions(one, one, 2 * one, one, 2 * one)  # half of 2/2 and half of 2/3
    array([0.83333333])
    """
    inverse = reciprocals(above, places)
    density = (hits - 1) / np.maximum(size - 1, 1)
    between = density * (places - (above + 1) * inverse)
    return hits / size * ((hits_above + 1) * inverse + between)


def first_reciprocals(levels: Levels, k: int) -> Float:
    """Expected 1/p at the first relevant item of a level, 0 where that is beyond place k.

    The first is the i-th candidate of the level with probability C(s - i, h - 1)/C(s, h): h/s for
    i = 1, then times (s - h - i + 1)/(s - i) at each step. Closed forms where h is 1 or s; other
    levels are summed in a loop over the distinct ones.
    """
    places = levels.places(k)
    values = reciprocals(levels.above, places) / levels.size
    full = levels.hits == levels.size
    values[full] = (places[full] > 0) / (levels.above[full] + 1)
    mixed = (levels.hits > 1) & ~full & (places > 0)
    columns = np.stack([levels.above[mixed], levels.size[mixed], levels.hits[mixed]])
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    terms = [_first_reciprocal(above, size, hits, k) for above, size, hits in distinct.T]
    values[mixed] = np.array(terms, dtype=np.float64)[which.ravel()]
    return values


def any_relevant(levels: Levels, k: int) -> Float:
    """Probability that a level has a relevant item among the first k places.

    If m of its places are among them, it is 1 - C(s - m, h)/C(s, h), where the quotient is the
    product over j = 0 ... h - 1 of 1 - m/(s - j).
    """
    level = levels.of_item
    left = levels.size[level] - ranges(0, levels.hits)
    share = np.minimum(levels.places(k)[level] / left, 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-share)
    return -np.expm1(np.bincount(level, logs, levels.user.size))


def hit_chances(size: Int, places: Int, hits: int) -> Float:
    """Probability of 0 ... `hits` relevant items in the first places of levels with `hits`.

    The hypergeometric distribution, C(m, x) C(s - m, h - x) / C(s, h) for m places of s. float64,
    shape (levels, hits + 1).

    Examples
    --------
    >>> hit_chances(np.array([4]), np.array([2]), 2)  # of 6 pairs 1, 4 and 1
    array([[0.16666667, 0.66666667, 0.16666667]])
    """
    logs = _log_choose(places, hits) + _log_choose(size - places, hits)[:, ::-1]
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _beyond_log(y: Float) -> Float:
    """Difference of the digamma function at y + 1/2 and log y; within 1e-16 from y = 64 on."""
    square = 1.0 / (y * y)
    return square * (1 / 24 - square * (7 / 960 - square * (31 / 8064)))


def _first_reciprocal(above: int, size: int, hits: int, k: int) -> float:
    place = np.arange(1, min(size - hits + 1, k - above) + 1)
    factors = (size - hits - place + 1) / (size - place)
    chance = hits / size * np.concatenate([[1.0], np.cumprod(factors[:-1])])
    return float(chance @ (1.0 / (above + place)))


def _log_choose(n: Int, most: int) -> Float:
    """Log of n over 0 ... most; minus infinity where there is nothing to choose."""
    taken = np.arange(most)
    with np.errstate(divide="ignore"):
        factors = np.log(np.maximum(n[:, None] - taken, 0) / (taken + 1))
    return np.concatenate([np.zeros((n.size, 1)), np.cumsum(factors, axis=1)], axis=1)
