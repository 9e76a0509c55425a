"""Test of the relation between a proxy's order and a recommender's, by the first scores."""

import numpy as np

from sampled_metrics.budget.strata import Counts

LEAST_ODDS = 3.0  # ratio of odds from which a model of the proxy's order pays
QUANTILE = 2.326  # of the normal distribution, one-sided, for an error of 1 %


def proxy_helps(counts: Counts) -> bool:
    """Test whether better candidates gather at one end of the proxy's order.

    From one score in every stratum of each user. A pair is a score from the first half of the
    strata and one from the second half of a user, of which one only is better than the held-out
    item. True if the first, or the second, is the better one in more than LEAST_ODDS times as many
    pairs; where the odds are LEAST_ODDS or less, in 1 % of evaluations at most. Users are
    independent, their pairs are not.
    """
    asked = counts.m > 0
    middle = asked.shape[1] // 2
    n_rows = np.maximum(np.bincount(counts.frame.owner), 1)[:, np.newaxis]
    better = counts.frame.by_user(counts.expected_better.T).T / n_rows
    worse = np.where(asked, 1.0 - better, 0.0)
    first = better[:, :middle].sum(1) * worse[:, middle:].sum(1)
    second = worse[:, :middle].sum(1) * better[:, middle:].sum(1)
    n_first = first.sum() + 0.5
    n_second = second.sum() + 0.5
    error = np.sqrt(np.square(first / n_first - second / n_second).sum())
    distance = abs(np.log(n_first / n_second)) - QUANTILE * error
    return bool(distance > np.log(LEAST_ODDS))
