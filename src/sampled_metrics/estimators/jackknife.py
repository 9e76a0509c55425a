"""Standard errors of estimates from counts by stratum where rows depend on each other.

Rows depend on each other if they share negatives: the held-out items of a batch are the negatives
of its users, or one set of negatives serves all users. Then the estimate stands, but its error is
larger than the curvature of the likelihood tells. The jackknife repeats the estimate without one of
G groups at a time, where the rows of different groups are independent; with v_g the log of the
estimate without group g,

    error^2 = (G - 1) / G sum_g (v_g - mean v)^2.                                            (1)

With many clusters, such as batches, a group is a part of the clusters. With one set of negatives
for all users, a group is a part of the negatives. (1) then has the error of the set, and that of
the users is added in quadrature.

The shape of the distribution of ranks, which the negatives do not tell, is no matter of groups. So
errors by clusters are at least those of the curvature, and errors by negatives contain them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.estimators.tastes import (
    TasteFit,
    fit_tastes,
    log_errors,
    posterior_means,
    refit,
)
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.strata import JACKKNIFE_GROUPS, StratumCounts, deal_in_groups


def jackknife_log_errors(
    counts: StratumCounts,
    clusters: Int,
    measures: Sequence[Measure],
    n: int,
    *,
    weights: Float | None = None,
    groups: int = JACKKNIFE_GROUPS,
    fit: TasteFit | None = None,
) -> Float:
    """Return the standard errors of log estimates from rows that depend within clusters.

    The estimate is repeated without the rows of each group of clusters, see (1).

    Parameters
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    clusters
        Number of the cluster of each row, such as a batch, shape (rows,).
    measures, n
        Metrics of one held-out item, and the number of candidates with it.
    weights, fit
        As for `estimate_by_tastes`.
    groups
        Number of groups of clusters. With fewer clusters use `jackknife_over_negatives`.

    Returns
    -------
    float64, shape (measures,), instead of the `log_errors` of `estimate_by_tastes`.

    Raises
    ------
    ValueError
        With fewer clusters than groups.
    """
    _, cluster_of_row, n_rows = np.unique(clusters, return_inverse=True, return_counts=True)
    if n_rows.size < groups:
        raise ValueError(f"{n_rows.size} clusters make no {groups} groups")
    row_weights = np.ones(len(clusters)) if weights is None else weights
    if fit is None:
        fit = fit_tastes(counts, row_weights)
    group_of_cluster = deal_in_groups(n_rows.astype(np.float64), groups)
    group_of_row = group_of_cluster[cluster_of_row]
    logs_without = []  # log of each estimate without each group
    for group in range(groups):
        weights_without = np.where(group_of_row == group, 0.0, row_weights)
        fit_without = refit(fit, counts, weights_without)
        logs_without.append(np.log(_estimates(counts, fit_without, measures, n)))
    by_groups = _jackknife(np.array(logs_without))
    return log_errors(fit, counts, measures, n, by_groups=by_groups)


def jackknife_over_negatives(
    counts_without: Sequence[StratumCounts],
    full: StratumCounts,
    measures: Sequence[Measure],
    n: int,
    *,
    weights: Float | None = None,
    fit: TasteFit | None = None,
) -> Float:
    """Return the standard errors of log estimates from rows that share negatives.

    The estimate is repeated without each group of the negatives, see (1); the error of the users is
    added in quadrature.

    Parameters
    ----------
    counts_without
        The counts of the same rows without one group of the negatives each. Every negative is in
        one of the groups, see `deal_in_groups`.
    full
        The counts with all negatives.
    measures, n, weights, fit
        As for `estimate_by_tastes`.

    Returns
    -------
    float64, shape (measures,), instead of the `log_errors` of `estimate_by_tastes`.
    """
    row_weights = np.ones(len(full.better)) if weights is None else weights
    if fit is None:
        fit = fit_tastes(full, row_weights)
    logs_without = []  # log of each estimate without each group
    for counts in counts_without:
        fit_without = refit(fit, counts, row_weights)
        logs_without.append(np.log(_estimates(counts, fit_without, measures, n)))
    error_of_negatives = _jackknife(np.array(logs_without))
    error_of_users = log_errors(fit, full, measures, n)
    return np.hypot(error_of_negatives, error_of_users)


def _estimates(counts: StratumCounts, fit: TasteFit, measures: Sequence[Measure], n: int) -> Float:
    """Return the weighted mean of each metric over rows, shape (measures,)."""
    weights = fit.likelihood.weights
    return np.asarray(posterior_means(counts, fit, measures, n) @ weights / weights.sum())


def _jackknife(logs: Float) -> Float:
    """Return the error (1) of each metric; `logs` are v_g of (1), shape (groups, measures)."""
    return np.asarray(np.sqrt((len(logs) - 1) * logs.var(axis=0)))
