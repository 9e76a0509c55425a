"""Averages of functions of the true rank under the extreme points of a class.

The class is as in `kernels`, with its shape at all ranks: the ranks 1 ... k, equally likely, or
rank k alone. Among more than 200,000 candidates, ranks further than 100,000 from both ends are
taken in steps of a 50,000th of that distance.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.intervals.kernels import ALL_POINTS
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

_EDGE = 512  # single ranks at both ends
_RATIO = 1.25  # growth of panels
_NODES = 40  # in each panel
_EULER_MACLAURIN = ((1, 1 / 12), (3, -1 / 720), (5, 1 / 30240))  # derivatives and their factors
_FINE = 50_000  # steps in the distance of a rank from the nearer end, at least


@lru_cache(maxsize=2)  # often the same for all rows of a table
def sampled_moments(
    measures: tuple[Measure, ...], n: int, m: int, kind: Sampling, alone: bool, runs: int = 1
) -> tuple[Float, Float]:
    """Expected sampled metrics (eq. 16) and products of each two, under each extreme point."""
    return moments(measures, (), n, m, kind, alone, last_ranks(n), runs)


def moments(
    sampled: Sequence[Measure],
    exact: Sequence[Measure],
    n: int,
    m: int,
    kind: Sampling,
    alone: bool,
    points: Int,
    runs: int = 1,
) -> tuple[Float, Float]:
    """Expected sampled metrics, then exact ones, and products of each two, under extreme points.

    A user's metrics are means over `runs`, each with negatives of its own. `points` are k of the
    extreme points. Shapes (metrics, points) and (metrics, metrics, points). For large n by
    Chebyshev interpolation, to about 1e-12.
    """
    credit = np.stack([measure.in_sample(m) for measure in sampled], axis=1)
    k = len(sampled) + len(exact)
    first, second = np.triu_indices(k)
    vary = second < len(sampled)
    squares = credit[:, first[vary]] * credit[:, second[vary]]

    def values(ranks: Any) -> Float:
        chances = pmf_at(ranks, n, m, kind)
        metrics = [measure.at(ranks, n) for measure in exact]
        means = np.column_stack([chances @ credit, *metrics])
        products = means[:, first] * means[:, second]
        variance = chances @ squares - products[:, vary]
        products[:, vary] += variance / runs
        return np.hstack([means, products])

    found = _of_points(values, n, max(m + 2, _edge(exact)), alone, points)
    products = np.empty((k, k, points.size))
    products[first, second] = found[k:]
    products[second, first] = found[k:]
    return found[:k], products


def exact_metric(measure: Measure, n: int, alone: bool) -> Float:
    """Exact metric under each extreme point; shape (points,)."""
    edge = _edge([measure])

    def values(ranks: Any) -> Float:
        return measure.at(ranks, n)[:, None]

    return _of_points(values, n, edge, alone, last_ranks(n))[0]


def _edge(exact: Sequence[Measure]) -> int:
    """Ranks up to which exact metrics are taken singly; beyond a cut-off they are 0."""
    return max([_EDGE, *(measure.cutoff + 1 for measure in exact if measure.cutoff)])


def _of_points(
    values: Callable[[Any], Float], n: int, edge: int, alone: bool, points: Int
) -> Float:
    """Mean of some functions of the rank under extreme points; shape (functions, points).

    `values` returns a row for each rank, which need not be whole. For large n, the ranks between
    the first and last `edge` ones are cut into panels where values are polynomials.
    """
    panels = _panels(n, edge)
    found = []
    total: Any = 0.0  # over all ranks before a panel
    for first, last in panels:
        begin, end = np.searchsorted(points, [first + 1, last + 1])
        chosen = points[begin:end]
        is_smooth = edge <= first and last <= n - edge and len(panels) > 1
        of_panel = _of_polynomials if is_smooth else _of_single_ranks
        means, sums = of_panel(values, first, last, chosen)
        if not alone:
            means = (total + sums[:, :-1]) / chosen
            total = total + sums[:, -1:]
        found.append(means)
    return np.hstack(found)


def _panels(n: int, edge: int) -> list[tuple[int, int]]:
    """Cut the ranks 1 ... n into panels, each from the rank after the first of a pair on."""
    if n <= max(ALL_POINTS, 4 * edge):
        return [(0, n)]
    number = int(np.log(n / edge) / np.log(_RATIO)) + 1
    ends = np.geomspace(edge, n - edge, number + 1).round()
    return [*pairwise([0, *ends.astype(np.int64).tolist(), n])]


def _of_single_ranks(
    values: Callable[[Any], Float], first: int, last: int, chosen: Int
) -> tuple[Float, Float]:
    """Values at some ranks of a panel, and their sums from its first rank to each, and to its last.

    The panel begins at the rank after `first`.
    """
    of_all = values(np.arange(first + 1, last + 1)).T
    sums = np.cumsum(of_all, axis=1)
    places = chosen - first - 1
    return of_all[:, places], sums[:, np.append(places, -1)]


def _of_polynomials(
    values: Callable[[Any], Float], first: int, last: int, chosen: Int
) -> tuple[Float, Float]:
    """Values and sums as by `_of_single_ranks`, where the values are smooth.

    A polynomial interpolates them; its sums are by the formula of Euler and Maclaurin.
    """
    middle = (first + last) / 2.0
    half = (last - first) / 2.0
    nodes = chebyshev.chebpts1(_NODES)
    at_nodes = values(middle + half * nodes)
    fitted = chebyshev.chebfit(nodes, at_nodes, _NODES - 1)
    terms = [chebyshev.chebint(fitted) * half, fitted / 2.0]
    for order, factor in _EULER_MACLAURIN:
        terms.append(chebyshev.chebder(fitted, order) * (factor / half**order))
    sums = np.zeros_like(terms[0])
    for term in terms:
        sums[: len(term)] += term
    sums[0] -= chebyshev.chebval(-1.0, sums)
    places = (np.append(chosen, last) - middle) / half
    means = np.asarray(chebyshev.chebval(places[:-1], fitted), np.float64)
    totals = np.asarray(chebyshev.chebval(places, sums), np.float64)
    return means, totals


def last_ranks(n: int) -> Int:
    """Ranks k of the extreme points: all near both ends, and some far from them."""
    half = (n + 1) // 2
    near = [np.arange(1, min(_FINE, half) + 1)]
    for step in range(1, half // _FINE + 1):
        first = step * _FINE
        end = min(first + _FINE, half + 1)
        near.append(np.arange(first, end, step))
    ranks = np.concatenate(near)
    both = np.concatenate([ranks, n + 1 - ranks[::-1]])
    again = np.diff(both, prepend=0) == 0  # the rank in the middle
    return both[~again]
