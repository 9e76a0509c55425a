"""Probabilities and metrics that estimators use, from scipy, and vectors by name."""

from functools import cache

import numpy as np
from scipy import stats

from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics import parse_measure

ESTIMATOR_NAMES = (
    *("sampled", "rank-estimate", "cls"),
    *("bv:1", "bv:0.1", "bv:0.01", "bv:0.001"),
)
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
WITH, WITHOUT = SAMPLINGS = ("with-replacement", "without-replacement")


@cache
def sampled_rank_pmf(n, m, sampling):
    """Return p(sampled rank | rank) from scipy, shape (n, m + 1)."""
    rank, i = np.arange(1, n + 1)[:, None], np.arange(m + 1)
    if sampling == WITH:
        return stats.binom.pmf(i, m, (rank - 1) / (n - 1))
    return stats.hypergeom.pmf(i, n - 1, rank - 1, m)


def exact_values(measures, n):
    """Return metrics at all ranks, shape (n, measures)."""
    ranks = np.arange(1, n + 1)
    return np.column_stack([measure.value_at(ranks, n) for measure in measures])


def estimator_vectors(names, measures, n, m, **options):
    """Return the vectors of estimators by name, with replacement by default."""
    estimators = [parse_estimator(name) for name in names]
    return estimator_matrix(estimators, measures, n, m, **({"sampling": WITH} | options))
