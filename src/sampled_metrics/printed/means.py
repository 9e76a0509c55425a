"""Distributions of the true rank that give printed means of sampled metrics.

Each mean is linear in the distribution of true ranks, and so are the second moments T about the
printed numbers v. A distribution is compatible with v if the expected means mu differ from v by
rounding e and by delta = v + e - mu, with

    D delta' S^-1 delta <= z^2,   S = T - delta delta',

where S is the covariance of the metrics of a user, D the number of users, and z the quantile of the
confidence: a score test, which for one hit rate is Wilson's interval and for several Pearson's
chi-square. It is the same as delta' T^-1 delta <= z^2/(D + z^2), a linear matrix inequality, and a
printed number more never weakens it. (T is about v rather than v + e, which differ by a rounding.)
Covariances of hit rates follow from the numbers, because the hits are nested.

The least mean of a function over these distributions is then a semidefinite programme with a column
for each extreme point of the class (see `kernels`). It is solved on some dozen columns; columns
whose reduced cost shows that they would lower the mean are added, with some beside them, until none
is left. Without users, delta is 0, and the programme is linear.
"""

from functools import partial
from typing import Any, NamedTuple, Self

import clarabel
import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.intervals.kernels import Extremes, peaks, spread

_SPREADS = 40, 200  # columns at the start; more where these allow no distribution
_ADDED, _ROUNDS = 20, 150  # best columns at most in each round; rounds
_BESIDE = 0.94, 0.98, 1.02, 1.06  # points beside a best one, which may be columns as well
_FIRST = 9  # points that are columns from the start
_ACCURACY, _PRICE = 1e-10, 1e-8  # solver's, and least reduced cost
_SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")


class Means(NamedTuple):
    """Printed means of functions of the sampled rank, and moments by true rank."""

    values: Float  # as printed; shape (means,)
    halves: Float  # half of the last digit
    moments: Float  # printed number less mean, by extreme point; shape (means, points)
    seconds: Float  # second moments about the printed numbers; shape (means, means, points)
    extremes: Extremes  # the class of distributions
    last: tuple[Float, Float]  # both kinds of moments at the last rank, alone
    error: float  # z^2 by the number of users; 0 if means are expectations
    apart: float = 0.0  # share of users at most whose held-out item is the last, besides the class

    @classmethod
    def of_any_rank(cls, values: Float, halves: Float, ranks: Int, credit: Float) -> Self:
        """State that one distribution of a rank has the printed numbers; no shape is assumed.

        `credit` has a value for each rank, shape (means, ranks).
        """
        moments = values[:, None] - credit
        seconds = np.zeros((values.size, values.size, ranks.size))
        return cls(
            values=values,
            halves=halves,
            moments=moments,
            seconds=seconds,
            extremes=Extremes(factor=np.inf, last=0, points=ranks),
            last=(moments[:, -1], seconds[..., -1]),
            error=0.0,
        )

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


class _UnsolvedError(InputError):
    """There is no distribution of some columns, or none that is found."""


def least(means: Means, cost: Float | None, cost_of_last: float = 0.0) -> float:
    """Find the least mean of a cost by extreme point, a bound from below where it is not exact.

    Without a cost, the least violation of the printed numbers, see `conflict`.
    """
    programme = _Programme(means, cost, cost_of_last)
    few, many = _SPREADS
    try:
        return programme.least(few)
    except _UnsolvedError:
        return programme.least(many)


def conflict(means: Means) -> float:
    """Distance of the printed numbers from the nearest distribution.

    The least delta' S^-1 delta; without users, the least sum of differences.
    """
    found = max(least(means, None), 0.0)
    if means.error == 0.0:
        return found
    found *= means.error / (1.0 + means.error)
    return found / max(1.0 - found, _ACCURACY)


def conflict_with(means: Means, point: int) -> float:
    """Distance of the printed numbers from one extreme point: delta' S^-1 delta."""
    away = means.moments[:, point]
    covariance = means.seconds[..., point] - np.outer(away, away)
    delta = away - np.clip(away, -means.halves, means.halves)
    return float(delta @ np.linalg.pinv(covariance, hermitian=True) @ delta)


class _Programme:
    """The programme of the least mean cost, in which each unknown has a column.

    A column holds the unknown's share of the sum of weights, which is 1, its negative part of the
    condition that the printed numbers state (see `_condition`), and its cost. Unknowns are the
    weights of extreme points, the weight of the last rank alone, the rounding of each number in
    units of half a digit, and violations of the numbers, which have a cost if nothing else has.
    """

    def __init__(self, means: Means, cost: Float | None, cost_of_last: float) -> None:
        moments, seconds = means.last
        self.extremes = means.extremes
        points = _condition(means, means.moments, means.seconds)
        last = _condition(means, moments[:, None], seconds[..., None])
        rounding = _condition(means, np.diag(means.halves), np.zeros(3 * moments.shape))
        eye = np.eye(len(points))
        violations = np.hstack([eye, -eye])
        self.cone = clarabel.ZeroConeT(len(points))
        if means.error > 0.0:
            violations = eye[:, -1:]
            self.cone = clarabel.PSDTriangleConeT(moments.size + 1)
        most_violated = 0.0
        self.constant = float(means.error > 0.0)  # last entry of the condition
        if cost is None:
            cost = np.zeros(points.shape[1])
            most_violated = np.inf
            self.constant = 0.0
        self.of_points = _columns(points, 1.0, cost)
        others = [
            _columns(last, 1.0, cost_of_last),
            _columns(rounding),
            _columns(violations, 0.0, 1.0),
        ]
        sizes = [other.shape[1] for other in others]
        highest = np.repeat([means.apart, 1.0, most_violated], sizes)
        is_free = highest > 0.0
        self.others = np.hstack(others)[:, is_free]
        self.highest = highest[is_free]
        self.lowest = np.repeat([0.0, -1.0, 0.0], sizes)[is_free]

    def least(self, number: int) -> float:
        """Solve for the columns of some extreme points, and add columns until none is cheaper."""
        size = self.extremes.points.size
        rows = np.union1d(spread(size, 1, number), spread(size, _FIRST, 1)) - 1
        columns = self.of_points[:, rows]
        for _ in range(_ROUNDS):
            found = self._solve(columns)
            prices = np.append(found.z[: len(columns) - 1], 1.0)
            price = prices @ self.of_points
            reductions = self.extremes.heaviest(-price)
            added = _cheapest(reductions, self.extremes.points)
            if self.extremes.is_complete:
                added = np.setdiff1d(added, rows)
            if not added.size:
                break
            rows = np.append(rows, added)
            joined = self.extremes.heaviest(-price, self.of_points.T)[added]
            columns = np.hstack([columns, joined.T])
        value: float = found.obj_val_dual - max(float(reductions.max()), 0.0)
        return value

    def _solve(self, columns: Float) -> Any:
        """Solve for some columns; a mean of the dual prices is the reduced cost of a column."""
        n_columns = columns.shape[1]
        unknowns = np.hstack([columns, self.others])
        lowest = np.append(np.zeros(n_columns), self.lowest)
        highest = np.append(np.full(n_columns, np.inf), self.highest)
        is_limited = np.isfinite(highest)
        eye = np.eye(lowest.size)
        bounds = np.vstack([-eye, eye[is_limited]])
        condition = np.zeros(len(columns) - 2)
        condition[-1] = self.constant
        programme = partial(
            solve_cone_programme,
            unknowns[-1],
            np.vstack([unknowns[:-1], bounds]),
            np.concatenate([[1.0], condition, -lowest, highest[is_limited]]),
            [clarabel.ZeroConeT(1), self.cone, clarabel.NonnegativeConeT(len(bounds))],
            _ACCURACY,
        )
        found = programme(refinements=0)
        if str(found.status) not in _SOLVED or found.obj_val - found.obj_val_dual > _PRICE:
            found = programme()
        if str(found.status) not in _SOLVED:
            raise _UnsolvedError(f"the programme was not solved: {found.status}")
        return found


def _columns(condition: Float, share: float = 0.0, cost: Float | float = 0.0) -> Float:
    """Columns of the programme, by their condition."""
    ones = np.ones((1, condition.shape[1]))
    return np.vstack([share * ones, -condition, cost * ones])


def _condition(means: Means, moments: Float, seconds: Float) -> Float:
    """State the quantities that are linear in a distribution, by its columns.

    They say that delta = 0, or that the matrix [[T, delta], [delta', error/(1 + error)]] is
    positive: of its upper triangle, scaled to unit variances, the columns one after another; the
    last entry is constant.
    """
    if means.error == 0.0:
        return moments
    variances = np.maximum(means.values * (1.0 - means.values), means.error)
    scale = 1.0 / np.sqrt(np.append(variances, means.error / (1.0 + means.error)))
    matrix = np.zeros((scale.size, scale.size, moments.shape[1]))
    matrix[:-1, :-1] = seconds
    matrix[:-1, -1] = moments
    column, row = np.tril_indices(scale.size)
    scales = scale[row] * scale[column] * np.where(row == column, 1.0, np.sqrt(2.0))
    return scales[:, None] * matrix[row, column]


def _cheapest(reductions: Float, points: Int) -> Int:
    """Rows of the extreme points that lower the mean most, by reduced cost.

    They are cheaper than both neighbours; the next solution has a point near each, so that some
    points beside them spare a round.
    """
    found = peaks(reductions, _PRICE)
    found = found[np.argsort(-reductions[found])[:_ADDED]]
    best = points[found]
    near = np.outer(_BESIDE, best).round().astype(np.int64)
    rows = np.searchsorted(points, [*near, best - 1, best + 1])
    rows = rows[rows < points.size]
    return np.union1d(found, rows[reductions[rows] > _PRICE])
