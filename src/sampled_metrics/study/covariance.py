"""Covariance of all estimates of an experiment, in closed form.

Estimators that share samples rise and fall together. Users are sampled independently, so the
covariance of two means is the sum over users of that of the users' values, over U^2.
"""

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.sampling.shared import expected_better_and_tied
from sampled_metrics.study.experiment import corrected_items, estimator_vectors
from sampled_metrics.study.settings import ExperimentSettings


def mean_and_covariance(ranks: Ranks, settings: ExperimentSettings) -> tuple[Float, Float]:
    """Mean of every estimate and covariance of every pair over sampling, as fractions.

    Metrics of one estimator always share their samples and ties; estimators do as the settings
    say.

    Returns
    -------
    float64, shapes (measures, estimators) and (measures, estimators, measures, estimators); the
    diagonal of the latter holds the variances of `expected_estimates`.
    """
    vectors = estimator_vectors(corrected_items(ranks, settings), settings)
    flat = vectors.reshape(-1, vectors.shape[-1])
    m, sampling, ties = settings.n_negatives, settings.sampling, settings.ties
    distribution = sampled_rank_distribution(ranks, m, sampling, ties)
    means = distribution @ flat.T
    product = means.T @ means
    users = len(ranks)
    within = (flat * distribution.sum(axis=0)) @ flat.T - product
    if not settings.shared_samples:
        across = np.zeros_like(within)
    elif settings.shared_ties:
        across = within
    else:
        joint = expected_better_and_tied(ranks, m, sampling).ravel()
        conditional = mean_over_places(flat, ties).reshape(len(flat), -1)
        across = (conditional * joint) @ conditional.T - product
    shape = (*vectors.shape[:2], *vectors.shape[:2])
    same = np.eye(vectors.shape[1], dtype=bool)[None, :, None, :]
    covariance = np.where(same, within.reshape(shape), across.reshape(shape)) / users**2
    return means.mean(axis=0).reshape(vectors.shape[:2]), covariance


def mean_over_places(vectors: Float, ties: str) -> Float:
    """Mean of each vector over the places that a held-out item takes among its sampled ties.

    Parameters
    ----------
    vectors
        Shape (vectors, m + 1).
    ties
        Tie policy of `sampled_rank_distribution`.

    Returns
    -------
    float64, shape (vectors, m + 1, m + 1): entry s, t is for s better and t tied negatives, and 0
    where s + t > m.

    Examples
    --------
    >>> mean_over_places(np.array([[4.0, 2.0, 0.0]]), "random")
    array([[[4., 3., 2.],
            [2., 1., 0.],
            [0., 0., 0.]]])
    """
    size = vectors.shape[1]
    sums = np.hstack([np.zeros((len(vectors), 1)), np.cumsum(vectors, axis=1)])
    means = np.zeros((len(vectors), size, size))
    for t in range(size):
        first = np.arange(size - t)
        if ties in ("optimistic", "pessimistic"):
            means[:, first, t] = vectors[:, first + t * (ties == "pessimistic")]
            continue
        width = t + 1 if ties == "random" else max(t, 1)
        means[:, first, t] = (sums[:, first + width] - sums[:, first]) / width
    return means
