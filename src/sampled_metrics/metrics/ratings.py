"""Errors of predicted ratings, in the unit of the ratings."""

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError


def rmse(true: ArrayLike, predicted: ArrayLike) -> float:
    """Root mean squared error: sqrt of the mean of (r - p)^2 over ratings r and predictions p.

    Both are finite numbers in one order and of one shape.

    Examples
    --------
    >>> rmse([3, 5], [3, 1])  # sqrt((0 + 16) / 2)
    2.8284271247461903
    """
    return float(np.sqrt(np.mean(_errors(true, predicted) ** 2)))


def mae(true: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute error: the mean of |r - p|, which never exceeds `rmse`.

    Examples
    --------
    >>> mae([3, 5], [3, 1])  # (0 + 4) / 2
    2.0
    """
    return float(np.mean(np.abs(_errors(true, predicted))))


def _errors(true: ArrayLike, predicted: ArrayLike) -> Float:
    ratings, predictions = _numbers("ratings", true), _numbers("predictions", predicted)
    if ratings.shape != predictions.shape:
        raise InputError(f"ratings have shape {ratings.shape}, predictions {predictions.shape}")
    if ratings.size == 0:
        raise InputError("no ratings; expected at least one")
    return ratings - predictions


def _numbers(name: str, values: ArrayLike) -> Float:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise InputError(f"{name} have dtype {array.dtype}; expected numbers")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        bad = numbers[~np.isfinite(numbers)]
        raise InputError(f"{bad.size} {name} are not finite, such as {bad.flat[0]}")
    return numbers
