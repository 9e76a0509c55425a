"""Mean, standard deviation and ordering probability of an estimate.

An estimate is the mean over users of one vector's value at each user's sampled rank. Users are
sampled independently, so expectation and variance follow from the users' distributions of
sampled ranks without simulation; repeated experiments give the same quantities as a check.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sampled_metrics._base.arrays import CACHE, Float, Int, blocks
from sampled_metrics._base.errors import InputError

ROUNDING = 1e-13  # a spread or difference of means below this fraction of the values is noise


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation over sampling, arrays of one shape.

    Attributes
    ----------
    mean
        Expectation of the estimate; float64, as fractions.
    sd
        Standard deviation of the estimate over repeated sampling; float64, same shape and unit.
    """

    mean: Float
    sd: Float


def expected_moments(distribution: Float, vectors: Float) -> Moments:
    """Calculate mean and standard deviation of estimates, without simulation.

    mean = sum over u of E[v | u] / U, sd^2 = sum over u of Var[v | u] / U^2 for U users.

    Parameters
    ----------
    distribution
        Probability of every sampled rank of every user; shape (users, m + 1), at least one user.
    vectors
        Estimators, shape (..., m + 1).

    Returns
    -------
    Moments of shape (...). `sd` is that of the distribution itself, so no degrees of freedom are
    subtracted. One below 1e-13 of the largest entry of its vector is rounding and returned as 0.

    Examples
    --------
    >>> expected_moments(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[1.0, 0.0]]))
    Moments(mean=array([0.75]), sd=array([0.25]))
    """
    flat = _rows(distribution, vectors)
    mean, sd = np.empty(len(flat)), np.empty(len(flat))
    for place, vector in enumerate(flat):
        by_user = distribution @ vector
        mean[place] = by_user.mean()
        sd[place] = np.sqrt(_variance(distribution, vector, by_user)) / len(distribution)
    shape = np.shape(vectors)[:-1]
    return Moments(mean.reshape(shape), sd.reshape(shape))


def estimates(histograms: ArrayLike, vectors: Float) -> Float:
    """Calculate the estimates of repeated experiments: histogram @ vector / users.

    Parameters
    ----------
    histograms
        Users at every sampled rank, shape (repetitions, m + 1), each row with the same positive
        sum.
    vectors
        Estimators, shape (..., m + 1).

    Returns
    -------
    float64, shape (..., repetitions), as fractions.

    Examples
    --------
    >>> estimates([[3, 1], [2, 2]], np.array([1.0, 0.0]))
    array([0.75, 0.5 ])
    """
    counts = np.asarray(histograms, dtype=np.float64)
    flat = _rows(counts, vectors)
    users = counts.sum(axis=1)
    if users.min() != users.max() or users.min() <= 0.0:
        raise InputError(
            f"histograms of {users.min():g} to {users.max():g} users; all must count the same "
            "users, at least one"
        )
    means: Float = flat @ counts.T / users
    return means.reshape((*np.shape(vectors)[:-1], len(counts)))


def simulated_moments(values: Float) -> Moments:
    """Calculate mean and standard deviation over repetitions, the last axis.

    `sd` divides by repetitions - 1 (ddof = 1), so that its square is an unbiased estimate of the
    variance of `expected_moments`; at least two repetitions are needed.

    Examples
    --------
    >>> simulated_moments(np.array([0.25, 0.75])).mean
    array(0.5)
    """
    repetitions = values.shape[-1]
    if repetitions <= 1:
        raise InputError(f"{repetitions} repetitions; a standard deviation needs at least 2")
    return Moments(np.asarray(values.mean(axis=-1)), np.asarray(values.std(axis=-1, ddof=1)))


def probability_less(a: Moments, b: Moments) -> Float:
    """Approximate the probability that A's estimate comes out below B's.

    Both are sampled independently, and the difference of their means over users is taken to be
    normal: ndtr((mean_b - mean_a) / sqrt(sd_a^2 + sd_b^2)). The probability that A comes out
    above is that with `a` and `b` exchanged, and the two sum to 1: equal outcomes count half.
    The error of the normal approximation falls as 1/sqrt(users). `count_less` counts only
    outcomes strictly below, so it differs by half the probability of equal ones.

    Returns
    -------
    float64 of the shape of the means. Where neither varies: 1, 0, or 0.5 for means that are equal
    to within rounding (1e-13 of the larger).

    Examples
    --------
    >>> still = np.zeros(3)
    >>> probability_less(Moments(np.array([1.0, 2.0, 3.0]), still), Moments(np.full(3, 2.0), still))
    array([1. , 0.5, 0. ])
    """
    difference = np.asarray(b.mean - a.mean, dtype=np.float64)
    scale = np.maximum(np.abs(a.mean), np.abs(b.mean))
    difference = np.where(np.abs(difference) <= ROUNDING * scale, 0.0, difference)
    return order_probability(deviations(difference, np.hypot(a.sd, b.sd)))


def deviations(difference: ArrayLike, sd: ArrayLike) -> Float:
    """Divide differences by their standard deviations; 0 / 0 is 0.

    Examples
    --------
    >>> deviations([1.0, -1.0, 0.0], [2.0, 0.0, 0.0])
    array([ 0.5, -inf,  0. ])
    """
    difference, sd = np.broadcast_arrays(np.asarray(difference, float), np.asarray(sd, float))
    certain = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    return np.divide(difference, sd, out=certain, where=(sd != 0.0) & (difference != 0.0))


def order_probability(deviations: ArrayLike) -> Float:
    """Probability that a normal difference so many deviations above 0 is positive.

    Examples
    --------
    >>> order_probability([0.0, 1.96]).round(3)
    array([0.5  , 0.975])
    """
    return np.asarray(ndtr(deviations), dtype=np.float64)


def count_less(a: Float, b: Float) -> Int:
    """Count the repetitions, the last axis, in which A's estimate is strictly below B's.

    Repetition i of A is compared to repetition i of B.

    Returns
    -------
    int64, shape of the other axes.

    Examples
    --------
    >>> count_less(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.2, 0.2]))
    array(1)
    """
    if np.shape(a) != np.shape(b):
        raise InputError(
            f"estimates of shapes {np.shape(a)} and {np.shape(b)}; expected equal ones"
        )
    return np.asarray((a < b).sum(axis=-1), dtype=np.int64)


def _variance(distribution: Float, vector: Float, by_user: Float) -> float:
    """Sum over users of Var[v | u], from deviations, or 0 if that is rounding."""
    scale = np.abs(vector).max()
    if scale == 0.0:
        return 0.0
    total = 0.0
    for rows in blocks(len(distribution), vector.size, CACHE):
        deviation = (vector - by_user[rows, None]) / scale
        total += float(np.vdot(distribution[rows], np.square(deviation)))
    return total * scale**2 if total > ROUNDING**2 * len(distribution) else 0.0


def _rows(per_row: Float, vectors: Float) -> Float:
    """Return vectors as rows, after checking that they fit a table of shape (rows, m + 1)."""
    if not len(per_row) or per_row.shape != (len(per_row), *np.shape(vectors)[-1:]):
        raise InputError(
            f"table of shape {per_row.shape} and vectors of shape {np.shape(vectors)}; expected "
            "(at least one row, m + 1) and (..., m + 1)"
        )
    return np.reshape(vectors, (-1, per_row.shape[1]))
