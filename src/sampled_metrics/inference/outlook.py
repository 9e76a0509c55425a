"""Moments of the estimate of one user."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, blocks
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution


class KindMoments(NamedTuple):
    """Moments over negatives of the estimate of each kind of user; shape (..., kinds)."""

    expected: Float
    square: Float


def kind_moments(
    ranks: Ranks,
    vectors: Float,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> KindMoments:
    """Calculate the expectations of estimates and of their squares for each kind of user.

    They do not depend on the shares, so that populations of the same kinds have them in common.
    """
    flat = np.reshape(vectors, (-1, np.shape(vectors)[-1]))
    expected, square = np.empty((2, len(flat), len(ranks)))
    for rows in blocks(len(ranks), flat.shape[1]):
        given = sampled_rank_distribution(ranks.take(rows), flat.shape[1] - 1, sampling, ties)
        for place, vector in enumerate(flat):
            expected[place, rows] = given @ vector
            square[place, rows] = given @ np.square(vector)
    shape = (*np.shape(vectors)[:-1], len(ranks))
    return KindMoments(expected.reshape(shape), square.reshape(shape))


@dataclass(frozen=True)
class Outlook:
    """Moments of the estimate of one user drawn from a population; arrays of one shape.

    Attributes
    ----------
    mean
        Expectation over users and negatives, as a fraction.
    within
        Variance over negatives, averaged over users: the variance for fixed users.
    total
        Variance over users and negatives.
    by_kind
        Expectation over negatives for each kind of user; one axis more.
    """

    mean: Float
    within: Float
    total: Float
    by_kind: Float
