"""Distributions of the true rank that give printed means of sampled metrics.

Each mean is linear in the distribution of true ranks, and so are the second moments T about the
printed numbers v. A distribution is compatible with v if the expected means mu differ from v by
rounding e and by delta = v + e - mu, with

    D delta' S^-1 delta <= z^2,   S = T - delta delta',

where S is the covariance of the metrics of a user, of which there are D, and z the quantile of the
confidence: a score test, which for one hit rate is Wilson's interval and for several Pearson's
chi-square. It is the same as delta' T^-1 delta <= z^2/(D + z^2), a linear matrix inequality, and a
printed number more never weakens it. (T is about v rather than v + e, which differ by a rounding.)
Covariances of hit rates follow from the numbers, because the hits are nested.

The least mean of a function over these distributions is then a semidefinite programme with a column
for each extreme point of the class (see `kernels`). It is solved on some dozen columns; those
whose reduced cost shows that they would lower the mean are added, with some beside them, until none
is left. Without users, delta is 0, and the programme is linear.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.cones import cone_programme
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import clarabel
from sampled_metrics.inference.kernels import Extremes

_SPREADS = 40, 200  # columns to start with; more where those allow no distribution
_ADDED, _ROUNDS = 20, 150  # best columns at most in each round; rounds
_BESIDE = 0.94, 0.98, 1.02, 1.06  # points beside a best one, which may be columns as well
_FIRST = 9  # points that are columns from the start
_ACCURACY, _PRICE = 1e-10, 1e-8  # of the solver, and of reduced costs
_SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")


class Means(NamedTuple):
    """Printed means of functions of the sampled rank, and what is known of the true ranks."""

    values: Float  # as printed; shape (means,)
    halves: Float  # half of the last digit
    moments: Float  # printed number less mean, by extreme point; shape (means, points)
    seconds: Float  # second moments about the printed numbers; shape (means, means, points)
    extremes: Extremes  # of the class of distributions
    last: tuple[Float, Float]  # both kinds of moments at the last rank, alone
    error: float  # z^2 by the number of users; 0 if means are expectations
    apart: float = 0.0  # share of users at most whose held-out item is the last, besides the class

    def without(self, place: int) -> "Means":
        """Leave out one of the printed numbers."""
        rest = np.arange(self.values.size) != place
        return self._replace(
            values=self.values[rest],
            halves=self.halves[rest],
            moments=self.moments[rest],
            seconds=self.seconds[np.ix_(rest, rest)],
            last=(self.last[0][rest], self.last[1][np.ix_(rest, rest)]),
        )


class Least(NamedTuple):
    """The least mean of a cost."""

    value: float
    weights: Float  # of the listed extreme points, if all of them are; shape (points,)
    apart: float  # weight of the last rank alone
    of_error: float  # what the value falls by as the error/(1 + error) doubles, at most

    def at_error(self, error: float, other: float) -> float:
        """Bound the value at another error from below: it is convex in error/(1 + error)."""
        if error == 0.0:
            return self.value
        growth = other * (1.0 + error) / (error * (1.0 + other)) - 1.0
        return self.value - growth * self.of_error


class _Solution(NamedTuple):
    """Of the programme for some columns."""

    value: float
    weights: Float  # of the columns, and of the last rank if it may be apart
    prices: Float  # part of a reduced cost by each row of the condition
    of_one: float  # the same for every column


class _UnsolvedError(InputError):
    """There is no distribution of some columns, or none that is found."""


def least(means: Means, cost: Float | None, cost_of_last: float = 0.0) -> Least:
    """Find the least mean of a cost by extreme point, a bound from below where it is not exact.

    Without a cost, the least violation of the printed numbers, see `conflict`.
    """
    few, many = _SPREADS
    try:
        return _least(means, cost, cost_of_last, few)
    except _UnsolvedError:
        return _least(means, cost, cost_of_last, many)


def _least(means: Means, cost: Float | None, cost_of_last: float, spread: int) -> Least:
    is_violable = cost is None
    by_point = np.zeros(means.extremes.points.size) if cost is None else cost
    condition = _condition(means, means.moments, means.seconds)
    of_last = _condition(means, means.last[0][:, None], means.last[1][..., None])
    rows = _spread(means.extremes.points.size, spread)
    columns = condition[:, rows]
    costs = by_point[rows]
    rounds = 0
    while True:
        found = _solve(means, columns, costs, of_last, cost_of_last, is_violable)
        price = by_point + found.prices @ condition + found.of_one
        reduced, added = _best(price, means.extremes)
        if means.extremes.is_complete:
            added = np.setdiff1d(added, rows)
        rounds += 1
        if not added.size or rounds > _ROUNDS:
            break
        rows = np.append(rows, added)
        both = np.column_stack([condition.T, by_point])
        joined = means.extremes.at_heaviest(added, -price, both)
        columns = np.concatenate([columns, joined[:, :-1].T], axis=1)
        costs = np.append(costs, joined[:, -1])
    weights = np.zeros(by_point.size)
    np.add.at(weights, rows, found.weights[: rows.size])
    apart = float(found.weights[rows.size :].sum())
    of_error = 0.0
    if means.error > 0.0 and not is_violable:
        of_error = -float(found.prices[-1])
    return Least(found.value + min(reduced, 0.0), weights, apart, of_error)


def conflict(means: Means) -> float:
    """How far the printed numbers are from those of any distribution.

    The least delta' S^-1 delta; without users, the least sum of what they differ by.
    """
    found = max(least(means, None).value, 0.0)
    if means.error == 0.0:
        return found
    found *= means.error / (1.0 + means.error)
    return found / max(1.0 - found, _ACCURACY)


def conflict_with(means: Means, point: int) -> float:
    """How far the printed numbers are from those of one extreme point: delta' S^-1 delta."""
    away = means.moments[:, point]
    covariance = means.seconds[..., point] - np.outer(away, away)
    delta = away - np.clip(away, -means.halves, means.halves)
    return float(delta @ np.linalg.pinv(covariance, hermitian=True) @ delta)


def _spread(points: int, number: int) -> Int:
    """Some rows of extreme points, in equal proportions."""
    rows = np.geomspace(1, points, number).round().astype(np.int64)
    return np.unique(np.concatenate([rows, np.arange(1, min(points, _FIRST) + 1)])) - 1


def _best(price: Float, extremes: Extremes) -> tuple[float, Int]:
    """Least mean price of an extreme point, and the points that lower the mean most.

    Those are cheaper than both neighbours; the next solution has a point near each, so that some
    points beside them spare a round.
    """
    prices = -extremes.heaviest(-price)
    beside = np.pad(prices, 1, constant_values=np.inf)
    better = (prices < -_PRICE) & (prices <= beside[:-2]) & (prices <= beside[2:])
    found = np.flatnonzero(better)
    found = found[np.argsort(prices[found])[:_ADDED]]
    points = extremes.points[found]
    near = np.outer(_BESIDE, points).round().astype(np.int64)
    rows = np.searchsorted(extremes.points, [*near, points - 1, points + 1])
    rows = rows[rows < prices.size]
    return float(prices.min()), np.union1d(found, rows[prices[rows] < -_PRICE])


def _scales(means: Means) -> tuple[Float, float]:
    """Scales of the numbers, for unit variances, and of the last row of the matrix."""
    variances = np.maximum(means.values * (1.0 - means.values), means.error)
    return 1.0 / np.sqrt(variances), float(np.sqrt((1.0 + means.error) / means.error))


def _condition(means: Means, moments: Float, seconds: Float) -> Float:
    """State what is linear in a distribution, by its columns; shape (rows, columns).

    That delta = 0, or that the matrix [[T, delta], [delta', error/(1 + error)]] is positive: of its
    upper triangle, scaled, the columns one after another; the last entry is constant.
    """
    if means.error == 0.0:
        return moments
    scale, of_last = _scales(means)
    rows = []
    for j in range(scale.size):
        for i in range(j):
            rows.append(np.sqrt(2.0) * scale[i] * scale[j] * seconds[i, j])
        rows.append(scale[j] ** 2 * seconds[j, j])
    of_delta = np.sqrt(2.0) * of_last * scale[:, None] * moments
    return np.concatenate([rows, of_delta, np.zeros((1, moments.shape[1]))])


def _free(means: Means, is_violable: bool) -> tuple[Float, Any]:
    """Columns of the condition for rounding, in units of half a digit, and for violations.

    Also the cone in which the condition lies.
    """
    k = means.values.size
    if means.error == 0.0:
        either = [np.eye(k), -np.eye(k)] if is_violable else []
        return np.concatenate([np.diag(means.halves), *either], axis=1), clarabel.ZeroConeT(k)
    scale, of_last = _scales(means)
    size = k * (k + 1) // 2 + k + 1
    rounding = np.zeros((size, k))
    rounding[-k - 1 : -1] = np.diag(np.sqrt(2.0) * of_last * scale * means.halves)
    cone = clarabel.PSDTriangleConeT(k + 1)
    if not is_violable:
        return rounding, cone
    last = np.zeros((size, 1))
    last[-1] = 1.0
    return np.concatenate([rounding, last], axis=1), cone


def _solve(
    means: Means,
    columns: Float,
    costs: Float,
    of_last: Float,
    cost_of_last: float,
    is_violable: bool,
) -> _Solution:
    """Solve the programme for some columns; violations of the printed numbers may have a cost."""
    k = means.values.size
    if means.apart > 0.0:
        columns = np.concatenate([columns, of_last], axis=1)
        costs = np.append(costs, cost_of_last)
    n_columns = costs.size
    free, cone = _free(means, is_violable)
    violations = np.ones(free.shape[1] - k)
    costs = np.concatenate([costs, np.zeros(k), violations])
    eye = np.eye(costs.size)
    total = (np.arange(costs.size) < n_columns).astype(float)
    rounding = eye[n_columns : n_columns + k]
    positive = np.delete(eye, np.arange(n_columns, n_columns + k), axis=0)
    below = [-positive, rounding, -rounding]
    limits = [np.zeros(len(positive)), np.ones(2 * k)]
    if means.apart > 0.0:
        below.append(eye[n_columns - 1 : n_columns])
        limits.append(np.array([means.apart]))
    bounds = np.concatenate(below)
    near = -np.concatenate([columns, free], axis=1)
    constant = np.zeros(len(near))
    if means.error > 0.0 and not is_violable:
        constant[-1] = 1.0
    programme = partial(
        cone_programme,
        costs,
        np.concatenate([total[None], near, bounds]),
        np.concatenate([[1.0], constant, *limits]),
        [clarabel.ZeroConeT(1), cone, clarabel.NonnegativeConeT(len(bounds))],
        _ACCURACY,
    )
    found = programme(refinements=0)
    if str(found.status) not in _SOLVED or found.obj_val - found.obj_val_dual > _PRICE:
        found = programme()
    if str(found.status) not in _SOLVED:
        raise _UnsolvedError(f"the programme was not solved: {found.status}")
    dual = np.array(found.z)
    prices = -dual[1 : 1 + len(near)]
    return _Solution(found.obj_val_dual, np.array(found.x)[:n_columns], prices, float(dual[0]))
