"""Metrics as functions of the number of better candidates, and their means under a Poisson law."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError

DEEPEST = 10  # better candidates that end a scan where no metric has a cutoff
_WEIGHTS = {"recall": 0.25, "ndcg": 1.0, "ap": 1.0}
_SMALLEST, _STEP = 1e-4, 0.068  # least mean of the grid; distance of its logarithms
_EXACT_BELOW = 600.0  # the least mean for which two terms of an expansion do


class Metric(NamedTuple):
    """A metric of the rank of one held-out item: recall@k, ndcg@k or ap.

    Examples
    --------
    >>> Metric("ndcg", 10)([0, 2, 10])
    array([1. , 0.5, 0. ])
    """

    kind: str
    cutoff: int | None

    def __call__(self, better: ArrayLike) -> Float:
        """Value with so many candidates ranked above the held-out item."""
        above = np.asarray(better, dtype=np.float64)
        if self.kind == "ap":
            return 1.0 / (above + 1.0)
        inside = above < (self.cutoff or np.inf)
        return np.where(inside, 1.0 if self.kind == "recall" else 1.0 / np.log2(above + 2.0), 0.0)

    def __str__(self) -> str:
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"

    @property
    def weight(self) -> float:
        """Share of the metric in what the allocation of scores minimises."""
        return _WEIGHTS[self.kind]


def parse_metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    """Read names such as `recall@10`, `ndcg@5` and `ap`.

    Examples
    --------
    >>> parse_metrics(["recall@20", "ap"])
    (Metric(kind='recall', cutoff=20), Metric(kind='ap', cutoff=None))
    """
    if isinstance(names, str) or not names:
        raise InputError(f"metrics is {names!r}; expected a list such as ['recall@10', 'ap']")
    return tuple(_parsed(name) for name in names)


def _parsed(name: str) -> Metric:
    match = re.fullmatch(r"(recall|ndcg)@([1-9][0-9]{0,3})|(ap)", name)
    if match is None:
        raise InputError(f"unknown metric {name!r}; known: recall@k, ndcg@k, ap")
    return Metric("ap", None) if match[3] else Metric(match[1], int(match[2]))


def depth(metrics: Sequence[Metric]) -> int:
    """Number of better candidates from which on every metric with a cutoff is zero."""
    return max((metric.cutoff for metric in metrics if metric.cutoff), default=DEEPEST)


def over_ties(metric: Metric, better: Int, tied: Int) -> Float:
    """Mean of a metric over all orders of the tied candidates and the held-out item.

    Examples
    --------
    >>> over_ties(Metric("ap", None), np.array([0]), np.array([1]))
    array([0.75])
    """
    values = metric(better)
    rows = np.flatnonzero(tied)
    if rows.size:
        sums = np.cumsum(np.append(0.0, metric(np.arange((better + tied)[rows].max() + 1))))
        first, last = better[rows], (better + tied)[rows] + 1
        values[rows] = (sums[last] - sums[first]) / (last - first)
    return values


class Moments(NamedTuple):
    """Posterior of held-out rows.

    Attributes
    ----------
    mean, variance
        Of the metrics, shape (metrics, rows).
    """

    mean: Float
    variance: Float


class Tables:
    """Mean and mean square of metrics of r + X, with X Poisson, by interpolation in log E X.

    `r` runs from 0 to the scan depth; from there on metrics with a cutoff are zero and the
    average precision has an expansion.
    """

    def __init__(self, metrics: Sequence[Metric], n_largest: int) -> None:
        self.metrics = tuple(metrics)
        self.depth = depth(metrics)
        top = np.log(max(1.1 * n_largest, 10.0))
        self._low = np.log(_SMALLEST)
        self._grid = np.linspace(self._low, top, int(np.ceil((top - self._low) / _STEP)) + 1)
        self._scale = (self._grid.size - 1) / (top - self._low)
        means = np.exp(self._grid)
        self._table = _poisson_means(self.metrics, means, self.depth)

    def moments(self, share: Float, better: Int, mean: Float) -> Moments:
        """Posterior moments of the metrics of held-out rows.

        Parameters
        ----------
        share
            Posterior probability of each class, shape (rows, classes).
        better
            Better candidates known, shape (rows,).
        mean
            Expected number of further ones in each class, shape (rows, classes).
        """
        first = np.zeros((len(self.metrics), better.size))
        second = np.zeros_like(first)
        near = better < self.depth
        if near.any():
            values = self._interpolated(share[near], better[near], mean[near])
            first[:, near], second[:, near] = np.split(values, 2)
        far = ~near
        if far.any():
            total = better[far, np.newaxis] + 1.0 + mean[far]
            ratio = mean[far] / total**2
            for index, metric in enumerate(self.metrics):
                if metric.kind == "ap":
                    first[index, far] = (share[far] * (1.0 + ratio) / total).sum(axis=1)
                    second[index, far] = (share[far] * (1.0 + 3.0 * ratio) / total**2).sum(axis=1)
        return Moments(first, np.maximum(second - first**2, 0.0))

    def _interpolated(self, share: Float, better: Int, mean: Float) -> Float:
        place = (np.log(np.maximum(mean, _SMALLEST)) - self._low) * self._scale
        np.clip(place, 0.0, self._grid.size - 1.001, out=place)
        column = place.astype(np.int64)
        right = share * (place - column)
        left = share - right
        column += (better * self._grid.size)[:, np.newaxis]
        values = np.empty((len(self._table), better.size))
        for row, table in enumerate(self._table):
            flat = table.ravel()
            values[row] = np.einsum("ug,ug->u", left, flat[column])
            values[row] += np.einsum("ug,ug->u", right, flat[column + 1])
        return values


def _poisson_means(functions: Sequence[Metric], means: Float, depth: int) -> Float:
    """E f(r + X) of each function f, then E f(r + X)^2, for X Poisson.

    Shape (2 functions, depth, means), r running from 0 to depth - 1.
    """
    small = means[means <= max(_EXACT_BELOW, 3.0 * depth)]
    support = np.arange(max(depth, int(small[-1] + 12.0 * np.sqrt(small[-1]) + 30.0)))
    means_of_rows = small[:, np.newaxis]
    law = np.exp(support * np.log(means_of_rows) - means_of_rows - gammaln(support + 1.0))
    table = np.zeros((2, len(functions), depth, means.size))
    rows = np.arange(depth)[:, np.newaxis]
    total = rows + 1.0 + means[small.size :]
    spread = means[small.size :] / total**2
    for place, function in enumerate(functions):
        values = function(rows + support)
        for power in (1, 2):
            table[power - 1, place, :, : small.size] = values**power @ law.T
            if function.kind == "ap":
                expansion = (1.0 + (2 * power - 1) * spread) / total**power
                table[power - 1, place, :, small.size :] = expansion
    return table.reshape(-1, depth, means.size)
