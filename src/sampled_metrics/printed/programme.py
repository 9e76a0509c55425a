"""Distributions of the true rank that give printed means of sampled metrics.

Question: which distributions of a class are compatible with the printed numbers v, and how small
can the mean of a function (an exact metric, say) be among them?

With weights w of the extreme points (see `intervals.kernels`), the expected means mu and the second
moments T about v are linear in w. A distribution is compatible with v if mu differs from v by the
rounding e of each number and by delta = v + e - mu, with

    D delta' S^-1 delta <= z^2,   S = T - delta delta',                                 (1)

where S is the covariance of the metrics of a user, D the number of users and z a quantile. This is
a score test: for one hit rate Wilson's interval, for several Pearson's chi-square. (T is about v
rather than v + e, which differ by a rounding.) By the formula of Sherman and Morrison,

    delta' S^-1 delta = q / (1 - q),   q = delta' T^-1 delta,                           (2)

so (1) is q <= z^2 / (D + z^2), or: the matrix [[T, delta], [delta', z^2 / (D + z^2)]] is positive
semidefinite. That is linear in w and e, and another printed number never weakens it. Covariances of
hit rates need no assumption, because the hits are nested. If D is not known, delta is 0.

The least mean of a function is then a semidefinite programme (a linear one without D) with a column
for each extreme point. It is solved on some dozen columns; columns with a positive reduced cost
join until none is left, so the result is that of all columns.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import clarabel
import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.intervals.kernels import ExtremePoints, local_maxima, spread_ranks

# Which columns are tried, and when, changes the time and not the result.
_START_COLUMNS, _MORE_START_COLUMNS = 40, 200  # more where the first allow no distribution
_FIRST_COLUMNS = 9  # the first points are columns from the start
_MOST_JOINING_COLUMNS = 20  # best columns in each round, their neighbours not counted
_MOST_PRICING_ROUNDS = 150
# Neighbours of a best point k, which may join as well, are the points at these multiples of k.
_NEIGHBOUR_FACTORS = 0.94, 0.98, 1.02, 1.06
_PROGRAMME_ACCURACY = 1e-10
_LEAST_REDUCED_COST = 1e-8  # smaller ones do not join; the bound allows for them
_SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
_INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")


class MeanConstraints(NamedTuple):
    """Printed means of functions of the sampled rank, and their moments by true rank.

    Attributes
    ----------
    values, half_units
        Printed numbers v, and half a unit of their last digits; shape (means,).
    deviations
        Printed number less expected mean, v - mu, under each extreme point; shape (means, points).
    second_moments
        Second moments T about the printed numbers; shape (means, means, points).
    extreme_points
        The class of distributions.
    last_deviations, last_second_moments
        The same moments at the last rank alone; shapes (means,) and (means, means).
    max_distance
        Largest delta' S^-1 delta, z^2 / D; 0 if the printed means are taken as expectations.
    max_unscored
        Largest share of users with a held-out item that is last of all; they are not part of the
        class.
    """

    values: Float
    half_units: Float
    deviations: Float
    second_moments: Float
    extreme_points: ExtremePoints
    last_deviations: Float
    last_second_moments: Float
    max_distance: float
    max_unscored: float = 0.0

    @classmethod
    def from_ranks(cls, values: Float, half_units: Float, ranks: Int, credit: Float) -> Self:
        """State that some distribution of a rank gives the printed numbers; no shape is assumed.

        `credit` is the value of each metric at each rank; shape (means, ranks).
        """
        deviations = values[:, None] - credit
        second_moments = np.zeros((values.size, values.size, ranks.size))
        return cls(
            values=values,
            half_units=half_units,
            deviations=deviations,
            second_moments=second_moments,
            extreme_points=ExtremePoints(factor=np.inf, last_shaped=0, points=ranks),
            last_deviations=deviations[:, -1],
            last_second_moments=second_moments[..., -1],
            max_distance=0.0,
        )

    def without(self, index: int) -> "MeanConstraints":
        """Return the constraints without one of the printed numbers, given by its position."""
        others = np.arange(self.values.size) != index
        pairs = np.ix_(others, others)
        return self._replace(
            values=self.values[others],
            half_units=self.half_units[others],
            deviations=self.deviations[others],
            second_moments=self.second_moments[pairs],
            last_deviations=self.last_deviations[others],
            last_second_moments=self.last_second_moments[pairs],
        )


class _UnsolvedError(InputError):
    """No distribution of these columns is compatible, or none was found."""


def least_mean(constraints: MeanConstraints, cost: Float, cost_of_last: float = 0.0) -> float:
    """Return the least mean of a function among the compatible distributions.

    Where the programme is not solved exactly, a bound from below.

    Parameters
    ----------
    constraints
        The printed means.
    cost
        The function under each extreme point; shape (points,).
    cost_of_last
        The function at the last rank.

    Examples
    --------
    HR@1 is 0.30 to two digits. The least MRR of three ranks puts 0.295 on rank 1 and the rest on
    rank 3.

    >>> printed = MeanConstraints.from_ranks(
    ...     np.array([0.3]), np.array([0.005]), np.array([1, 2, 3]), np.array([[1.0, 0.0, 0.0]])
    ... )
    >>> round(least_mean(printed, cost=np.array([1.0, 1 / 2, 1 / 3])), 6)
    0.53
    """
    return _solve_with_columns(_state_least_mean(constraints, cost, cost_of_last))


def distance_to_class(constraints: MeanConstraints) -> float:
    """Return the distance of the printed numbers from the nearest distribution of the class.

    It is the least delta' S^-1 delta; without a number of users the least sum of differences.
    """
    violation = max(_solve_with_columns(_state_least_violation(constraints)), 0.0)
    if constraints.max_distance == 0.0:
        return violation
    # The violation is q in units of z^2 / (D + z^2); see (2).
    q = violation * (constraints.max_distance / (1.0 + constraints.max_distance))
    return q / max(1.0 - q, _PROGRAMME_ACCURACY)


def distance_to_point(constraints: MeanConstraints, index: int) -> float:
    """Return the distance of the printed numbers from one extreme point: delta' S^-1 delta.

    delta is what rounding does not explain of the deviations, and S = T - deviations deviations'.
    """
    deviations = constraints.deviations[:, index]
    covariance = constraints.second_moments[..., index] - np.outer(deviations, deviations)
    half_units = constraints.half_units
    rounding = np.clip(deviations, -half_units, half_units)
    delta = deviations - rounding
    return float(delta @ np.linalg.pinv(covariance, hermitian=True) @ delta)


def _solve_with_columns(programme: "_Programme") -> float:
    """Solve with few columns at the start, and with more if these allow no distribution."""
    try:
        return programme.solve(_START_COLUMNS)
    except _UnsolvedError:
        return programme.solve(_MORE_START_COLUMNS, seek_feasible=True)


class _Unknowns(NamedTuple):
    """Columns of unknowns, and their bounds."""

    columns: Float  # shape (rows, unknowns)
    lowest: Float  # shape (unknowns,)
    highest: Float

    @classmethod
    def with_bounds(cls, columns: Float, lowest: float, highest: float) -> "_Unknowns":
        """Give all columns the same bounds."""
        n = columns.shape[1]
        return cls(columns, np.full(n, lowest), np.full(n, highest))


@dataclass(frozen=True, eq=False)
class _Programme:
    """The programme of a least mean or a least violation, in which each unknown has a column.

    The unknowns are the weights of extreme points, the weight of the last rank alone, the rounding
    of each number in units of half a digit, and violations of the numbers.

    A column contains the unknown's part of the sum of weights, which is 1; the negative of its part
    of the condition that the printed numbers state (see `_printed_condition`); and its cost.

    Attributes
    ----------
    extreme_points, columns_of_points
        The class of distributions, and a column for each of its points; shape (rows, points).
    others
        All other unknowns.
    cone
        Cone of the solver in which the condition lies.
    constant
        Last entry of the condition less what the unknowns add to it.
    """

    extreme_points: ExtremePoints
    columns_of_points: Float
    others: list[_Unknowns]
    cone: Any
    constant: float

    def solve(self, n_spread: int, *, seek_feasible: bool = False) -> float:
        """Solve for some spread-out extreme points, and add columns until none is cheaper.

        This is column generation: the dual prices of a solution show by how much each point would
        lower the cost, and the best points join as columns. If no distribution of the columns is
        compatible, raise an error or, with `seek_feasible`, add columns that refute the solver's
        proof of this.

        Returns
        -------
        float
            The least cost, less what the solver's error may hide: a bound from below.
        """
        size = self.extreme_points.points.size
        first = spread_ranks(size, _FIRST_COLUMNS, 1)
        chosen = np.union1d(spread_ranks(size, 1, n_spread), first) - 1
        columns = self.columns_of_points[:, chosen]
        for _ in range(_MOST_PRICING_ROUNDS):
            solution = self._solve_columns(columns)
            status = str(solution.status)
            is_infeasible = status in _INFEASIBLE
            if status not in _SOLVED and not (is_infeasible and seek_feasible):
                break
            # By how much a unit of weight on each point lowers the cost at the dual prices.
            prices = _dual_prices(solution, len(columns), is_infeasible)
            gains = -(prices @ self.columns_of_points)
            reductions = self.extreme_points.weighted_means(gains, gains)
            joining = _joining_points(reductions, self.extreme_points.points)
            if self.extreme_points.is_complete:
                joining = np.setdiff1d(joining, chosen)
            if not joining.size:
                break
            chosen = np.append(chosen, joining)
            weighted = self.extreme_points.weighted_means(self.columns_of_points.T, gains)
            columns = np.hstack([columns, weighted[joining].T])
        if status not in _SOLVED:
            raise _UnsolvedError(f"the programme was not solved: {status}")
        value: float = solution.obj_val_dual - max(float(reductions.max()), 0.0)
        return value

    def _solve_columns(self, columns: Float) -> Any:
        """Solve for some columns of extreme points, and return the solver's solution.

        The solver minimises cost @ x with limits - matrix @ x in the cones: the sum of weights is
        1, the condition of the printed numbers holds, and unknowns are within their bounds.
        """
        weights = _Unknowns.with_bounds(columns, 0.0, np.inf)
        unknowns, lowest, highest = map(np.hstack, zip(weights, *self.others, strict=True))
        *sum_and_condition, cost = unknowns
        has_highest = np.isfinite(highest)
        eye = np.eye(lowest.size)
        bounds = np.vstack([-eye, eye[has_highest]])
        condition = np.zeros(len(columns) - 2)  # without the rows of the sum and the cost
        condition[-1] = self.constant
        solve = partial(
            solve_cone_programme,
            cost,
            np.vstack([*sum_and_condition, bounds]),
            np.concatenate([[1.0], condition, -lowest, highest[has_highest]]),
            [clarabel.ZeroConeT(1), self.cone, clarabel.NonnegativeConeT(len(bounds))],
            _PROGRAMME_ACCURACY,
        )
        solution = solve(refinements=0)  # fast, and mostly accurate enough
        gap = solution.obj_val - solution.obj_val_dual
        if str(solution.status) not in _SOLVED or gap > _LEAST_REDUCED_COST:
            solution = solve()
        return solution


def _state_least_mean(constraints: MeanConstraints, cost: Float, cost_of_last: float) -> _Programme:
    """State the programme of the least mean of a function, without violations."""
    constant = float(constraints.max_distance > 0.0)
    return _state_programme(constraints, cost, cost_of_last, [], constant)


def _state_least_violation(constraints: MeanConstraints) -> _Programme:
    """State the programme of the least sum of violations, the only unknowns that cost something.

    Without a number of users, delta = 0 may be violated in each number upward or downward, by two
    unknowns. With it, there is one unknown: the last entry of the matrix instead of a constant. Its
    least value is q of (2) in units of z^2 / (D + z^2).
    """
    n_means = constraints.values.size
    has_users = constraints.max_distance > 0.0
    if has_users:
        n_entries = (n_means + 1) * (n_means + 2) // 2  # of the upper triangle
        parts_of_condition = np.eye(n_entries)[:, -1:]
    else:
        eye = np.eye(n_means)
        parts_of_condition = np.hstack([eye, -eye])
    violations = _columns(parts_of_condition, cost=1.0)
    no_cost = np.zeros(constraints.extreme_points.points.size)
    return _state_programme(
        constraints, no_cost, 0.0, [_Unknowns.with_bounds(violations, 0.0, np.inf)], constant=0.0
    )


def _state_programme(
    constraints: MeanConstraints,
    cost: Float,
    cost_of_last: float,
    violations: list[_Unknowns],
    constant: float,
) -> _Programme:
    """State the programme of a least mean, or of a least violation of the printed numbers.

    With the weights w of the extreme points and u of the last rank, and the rounding r of each
    number in units of half a digit, the condition of the module is linear:

        delta = sum_k w_k deviations_k + u last_deviations + r half_units, and T alike,

    without a part of r. If the number of users is not known, delta is 0, an equation for each
    number; else the matrix of T and delta is positive semidefinite.

    Parameters
    ----------
    constraints
        The printed means.
    cost, cost_of_last
        What w and u cost, see `least_mean`.
    violations
        More unknowns, which the condition may be violated by.
    constant
        See `_Programme`.
    """
    n_means = constraints.values.size
    of_points = _printed_condition(constraints, constraints.deviations, constraints.second_moments)
    no_second_moments = np.zeros((n_means, n_means, n_means))
    of_rounding = _printed_condition(
        constraints, np.diag(constraints.half_units), no_second_moments
    )
    others = [_Unknowns.with_bounds(_columns(of_rounding), lowest=-1.0, highest=1.0), *violations]
    if constraints.max_unscored > 0.0:
        of_last = _printed_condition(
            constraints,
            constraints.last_deviations[:, None],
            constraints.last_second_moments[..., None],
        )
        columns = _columns(of_last, share=1.0, cost=cost_of_last)
        weight_of_last = _Unknowns.with_bounds(
            columns, lowest=0.0, highest=constraints.max_unscored
        )
        others = [weight_of_last, *others]
    has_users = constraints.max_distance > 0.0
    return _Programme(
        extreme_points=constraints.extreme_points,
        columns_of_points=_columns(of_points, share=1.0, cost=cost),
        others=others,
        cone=clarabel.PSDTriangleConeT(n_means + 1) if has_users else clarabel.ZeroConeT(n_means),
        constant=constant,
    )


def _dual_prices(solution: Any, n_rows: int, is_infeasible: bool) -> Float:
    """Return a price for each row of the columns, of which that of the cost is 1.

    The columns at these prices are reduced costs. If the programme is infeasible, the prices prove
    that no distribution is compatible, whatever the cost, which then has the price 0.
    """
    prices = np.append(solution.z[: n_rows - 1], 1.0)
    if is_infeasible:
        prices[-1] = 0.0
        prices /= np.abs(prices).max()
    return prices


def _columns(condition: Float, share: float = 0.0, cost: Float | float = 0.0) -> Float:
    """Return columns of the programme, from their parts of the condition.

    `share` is their part of the sum of weights. Shape (entries + 2, columns).
    """
    ones = np.ones((1, condition.shape[1]))
    return np.vstack([share * ones, -condition, cost * ones])


def _printed_condition(
    constraints: MeanConstraints, deviations: Float, second_moments: Float
) -> Float:
    """Return the entries of the condition that are linear in a distribution, by its columns.

    Without a number of users, that is delta. Else the upper triangle of the matrix of the docstring
    above, scaled to unit variances, column by column, with off-diagonal entries times sqrt(2), as
    the solver expects; its last entry is a constant.
    """
    if constraints.max_distance == 0.0:
        return deviations
    values = constraints.values
    distance = constraints.max_distance
    # Rows and columns of the matrix are scaled to entries of about 1 on its diagonal.
    variances = np.maximum(values * (1.0 - values), distance)
    scale = 1.0 / np.sqrt(np.append(variances, distance / (1.0 + distance)))
    matrix = np.zeros((scale.size, scale.size, deviations.shape[1]))
    matrix[:-1, :-1] = second_moments
    matrix[:-1, -1] = deviations
    # The solver wants the upper triangle column by column, which is the lower one row by row with
    # rows and columns exchanged, and entries beside the diagonal times sqrt(2).
    column, row = np.tril_indices(scale.size)
    factor_of_solver = np.where(row == column, 1.0, np.sqrt(2.0))
    scales = scale[row] * scale[column] * factor_of_solver
    return scales[:, None] * matrix[row, column]


def _joining_points(reductions: Float, points: Int) -> Int:
    """Return positions of the extreme points that join the programme; none at its solution.

    These are the local maxima of `reductions`, at most `_MOST_JOINING_COLUMNS` of them. The next
    solution has a point near each, so some neighbours join as well, which spares a round.

    Parameters
    ----------
    reductions
        By how much a unit of weight on each extreme point lowers the mean, the negative of its
        reduced cost; shape (points,).
    points
        k of each extreme point, a distribution on the ranks 1 ... k, or on rank k alone; in
        ascending order.
    """
    maxima = local_maxima(reductions, _LEAST_REDUCED_COST)
    best_first = np.argsort(-reductions[maxima])
    best = maxima[best_first[:_MOST_JOINING_COLUMNS]]
    best_points = points[best]
    near_points = np.outer(_NEIGHBOUR_FACTORS, best_points).round().astype(np.int64)
    # The positions of these points, or of the next larger ones that are extreme points.
    neighbours = np.searchsorted(points, [*near_points, best_points - 1, best_points + 1])
    neighbours = neighbours[neighbours < points.size]
    return np.union1d(best, neighbours[reductions[neighbours] > _LEAST_REDUCED_COST])
