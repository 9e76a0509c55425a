"""Roots of functions and least squares with signs, without the import of scipy.optimize.

That import takes longer than most of what a command computes.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float

_ABSOLUTE = 2e-12  # accuracy of a root
_ROUNDING = float(np.finfo(np.float64).eps)
_RELATIVE = 4.0 * _ROUNDING
_MOST_STEPS = 200


class _Point(NamedTuple):
    """A place, and the value of a function there."""

    x: float
    value: float


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Find a root of a continuous function between two places where its signs differ.

    By the method of Brent (1973), chapter 4: inverse quadratic interpolation, or bisection where
    that does not shrink the bracket fast enough.

    Examples
    --------
    >>> round(root_between(lambda x: x**3 - 2.0, 0.0, 2.0), 9)
    1.25992105
    """
    before = _Point(low, function(low))
    current = _Point(high, function(high))
    if before.value == 0.0:
        return low
    opposite = before  # the other end of the bracket
    step = last_step = high - low
    for _ in range(_MOST_STEPS):
        if current.value != 0.0 and (before.value < 0.0) != (current.value < 0.0):
            opposite = before
            step = last_step = current.x - before.x
        if abs(opposite.value) < abs(current.value):
            before = current
            current = opposite
            opposite = before
        accuracy = (_ABSOLUTE + _RELATIVE * abs(current.x)) / 2.0
        half = (opposite.x - current.x) / 2.0
        if current.value == 0.0 or abs(half) < accuracy:
            return current.x
        wanted = half
        if abs(last_step) > accuracy and abs(current.value) < abs(before.value):
            wanted = _interpolated(before, current, opposite)
        if 2.0 * abs(wanted) < min(abs(last_step), 3.0 * abs(half) - accuracy):
            last_step = step
            step = wanted
        else:
            last_step = step = half
        before = current
        taken = step if abs(step) > accuracy else math.copysign(accuracy, half)
        current = _Point(before.x + taken, function(before.x + taken))
    return current.x


def _interpolated(before: _Point, current: _Point, opposite: _Point) -> float:
    """Step from the current place to the root of the curve, or line, through these points."""
    if before.x == opposite.x:
        slope = current.value - before.value
        return -current.value * (current.x - before.x) / slope
    of_before = (before.value - current.value) / (before.x - current.x)
    of_opposite = (opposite.value - current.value) / (opposite.x - current.x)
    numerator = opposite.value * of_opposite - before.value * of_before
    denominator = of_opposite * of_before * (opposite.value - before.value)
    return -current.value * numerator / denominator


def nearest_weights(matrix: Float, target: Float, turns: int) -> Float:
    """Minimise |A x - b| over x >= 0, also where active sets do not settle.

    There by the bounded least squares of scipy, whose unknowns at the bound are exactly 0 as well.

    Examples
    --------
    >>> nearest_weights(np.eye(3), np.array([2.0, -1.0, 3.0]), 1)
    array([2., 0., 3.])
    """
    try:
        return nonnegative_least_squares(matrix, target, turns)
    except RuntimeError:
        from scipy.optimize import lsq_linear  # takes long to import

        most = _MOST_STEPS * target.size
        found = lsq_linear(matrix, target, (0.0, np.inf), method="bvls", max_iter=most)
        return np.maximum(found.x, 0.0)


def nonnegative_least_squares(matrix: Float, target: Float, turns: int) -> Float:
    """Minimise |A x - b| over x >= 0 by active sets (Lawson and Hanson 1974, chapter 23).

    `matrix` is A, shape (rows, unknowns); `target` is b. Raises RuntimeError where the set of
    positive unknowns has not settled after `turns` changes. Where columns nearly depend on each
    other, rounding may change the set for ever; it ends if nothing is gained by `unknowns` turns.

    Examples
    --------
    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    ...                           np.array([2.0, 1.0, -1.0]), 10)
    array([1.5, 0. ])
    """
    unknowns = matrix.shape[1]
    positive: list[int] = []
    solution = np.zeros(unknowns)
    nearest = np.inf
    stalled = 0  # turns since the last that came nearer
    for _ in range(turns):
        fitted = matrix[:, positive] @ solution[positive]
        residual = target - fitted
        distance = float(residual @ residual)
        stalled += 1
        if distance < nearest:
            nearest = distance
            stalled = 0
        if stalled > unknowns:
            return solution
        entering, found = _entering(matrix, target, positive, residual @ matrix)
        if entering is None:
            return solution
        positive.append(entering)
        while found is None or found.min() <= 0.0:
            if found is None:
                raise RuntimeError("the columns depend on each other")
            current = solution[positive]
            falling = found <= 0.0
            heights = current[falling]
            shares = heights / (heights - found[falling])
            share = float(shares.min())
            step = found - current
            current += share * step
            first_at_0 = shares == share
            places = np.flatnonzero(falling)
            current[places[first_at_0]] = 0.0
            np.maximum(current, 0.0, out=current)
            solution[positive] = current
            positive = [place for place in positive if solution[place] > 0.0]
            found = _fit(matrix, target, positive)
        solution[:] = 0.0
        solution[positive] = found
    raise RuntimeError("the positive unknowns do not settle")


def _entering(
    matrix: Float, target: Float, positive: list[int], gradient: Float
) -> tuple[int | None, Float | None]:
    """Find the unknown at 0 that lessens the distance most, and the fit with it; None if none."""
    gradient[positive] = 0.0
    while True:
        entering = int(np.argmax(gradient))
        if gradient[entering] <= 0.0:
            return None, None
        found = _fit(matrix, target, [*positive, entering])
        if found is not None and found[-1] > 0.0:  # else by rounding only
            return entering, found
        gradient[entering] = 0.0


def _fit(matrix: Float, target: Float, chosen: list[int]) -> Float | None:
    """Least squares with some columns only; None where they depend on each other."""
    if not chosen:
        return np.ones(0)
    columns = np.column_stack([matrix[:, chosen], target])
    triangle = np.asarray(np.linalg.qr(columns, mode="r"))
    size = len(chosen)
    if len(triangle) < size:
        return None
    left = triangle[:size, :size]
    right = triangle[:size, size]
    diagonal = np.abs(np.diagonal(left))
    negligible = _ROUNDING * diagonal.max()
    if diagonal.min() <= negligible:
        return None
    return np.asarray(np.linalg.solve(left, right))
