"""Mean, standard deviation and ordering probability of an estimate.

An estimate is the mean over users of one vector's value at each user's sampled rank. Users are
sampled independently, so expectation and variance follow from the users' distributions of
sampled ranks without simulation; repeated experiments give the same quantities as a check.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sampled_metrics._base.arrays import CACHE, Float, blocks

ROUNDING = 1e-13  # a spread or difference of means below this fraction of the values is noise


class Moments(NamedTuple):
    """Mean and standard deviation of estimates over repeated sampling, as fractions."""

    mean: Float
    sd: Float


def expected_moments(distribution: Float, vectors: Float) -> Moments:
    """Calculate mean and standard deviation of estimates, without simulation.

    mean = sum over u of E[v | u] / U, sd^2 = sum over u of Var[v | u] / U^2 for U users.
    `distribution` has the probability of every sampled rank of every user, shape (users, m + 1),
    and `vectors` the shape (..., m + 1). An sd below 1e-13 of the largest entry of its vector is
    rounding and returned as 0.
    """
    shape = np.shape(vectors)[:-1]
    mean = np.empty(shape)
    sd = np.empty(shape)
    for place in np.ndindex(shape):
        vector = vectors[place]
        by_user = distribution @ vector
        mean[place] = by_user.mean()
        variance = _variance(distribution, vector, by_user)
        sd[place] = np.sqrt(variance) / len(distribution)
    return Moments(mean, sd)


def estimates(histograms: ArrayLike, vectors: Float) -> Float:
    """Calculate the estimates of repeated experiments: histogram @ vector / users.

    `histograms` counts users at every sampled rank, shape (repetitions, m + 1), each row with the
    same positive sum. Returns shape (..., repetitions) for vectors of shape (..., m + 1).
    """
    counts = np.asarray(histograms, dtype=np.float64)
    return vectors @ counts.T / counts.sum(axis=1)


def probability_less(a: Moments, b: Moments) -> Float:
    """Approximate the probability that A's estimate comes out below an independent B's.

    Uses the normal distribution. Equal outcomes, also by rounding, count half.
    """
    difference = b.mean - a.mean
    scale = np.maximum(np.abs(a.mean), np.abs(b.mean))
    is_rounding = np.abs(difference) <= ROUNDING * scale
    difference = np.where(is_rounding, 0.0, difference)
    return ndtr(deviations(difference, np.hypot(a.sd, b.sd)))


def deviations(difference: ArrayLike, sd: ArrayLike) -> Float:
    """Divide differences by their standard deviations; 0 / 0 is 0."""
    difference, sd = np.broadcast_arrays(np.asarray(difference, float), np.asarray(sd, float))
    differs = difference != 0.0
    certain = np.where(differs, np.copysign(np.inf, difference), 0.0)
    return np.divide(difference, sd, out=certain, where=differs & (sd != 0.0))


def _variance(distribution: Float, vector: Float, by_user: Float) -> float:
    """Sum over users of Var[v | u], from deviations, or 0 if that is rounding."""
    scale = np.abs(vector).max() or 1.0
    total = 0.0
    for rows in blocks(len(distribution), vector.size, CACHE):
        deviation = (vector - by_user[rows, None]) / scale
        total += float(np.vdot(distribution[rows], np.square(deviation)))
    if total <= ROUNDING**2 * len(distribution):
        return 0.0
    return total * scale**2
