"""Recommenders before the audit, with their posterior frozen, and what the audit adds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts
from sampled_metrics.inference.budget.values import Moments, Tables, over_ties


@dataclass
class Run:
    """One recommender: outcomes, model and frozen posterior; `top` is the largest value possible.

    Attributes
    ----------
    mean, variance, top
        Of the metrics, shape (metrics, users).
    inside
        Probability that some row of a user has fewer than `depth` better candidates.
    """

    counts: Counts
    classes: Classes
    posterior: Moments
    mean: Float
    variance: Float
    top: Float
    inside: Float
    live: NDArray[np.bool_]
    open: NDArray[np.bool_]


@dataclass
class Audited:
    """What an audit found; axes are recommenders, metrics and users as far as they apply.

    Attributes
    ----------
    error
        Value minus posterior mean of audited users, 0 of others; (recommenders, metrics, users).
    probability
        With which a user was drawn for a metric, 1 where it was not; shaped like `error`.
    noise
        Variance of unbiased values, weighted by the inverse probability; (recommenders, users).
    pseudo
        Variance that one more user, surprised as badly as can be, would add;
        (recommenders, metrics).
    slack
        Half the range, weighted by the inverse probability, of what the scores allow for drawn
        users that the budget did not suffice to finish; (recommenders, metrics).
    users
        Users drawn, in order.
    """

    error: Float
    probability: Float
    noise: Float
    pseudo: Float
    slack: Float
    users: Int


def start_run(
    counts: Counts, classes: Classes, posterior: Moments, scale: Float, offset: Int, tables: Tables
) -> Run:
    """Freeze the posterior per user; `scale` is the weight of the rows, shape (metrics, rows)."""
    frame = counts.frame
    better, tied = counts.better.sum(1) + offset, counts.tied.sum(1)
    live_rows = better < tables.depth
    top = np.stack([over_ties(metric, better, tied) for metric in tables.metrics])
    unfinished = counts.left.sum(1) > 0
    miss = frame.by_user(np.log1p(-np.minimum(posterior.inside, 1 - 1e-9)))
    return Run(
        counts,
        classes,
        posterior,
        frame.by_user(posterior.mean * scale),
        frame.by_user(posterior.variance * scale**2),
        frame.by_user(top * scale * live_rows),
        1.0 - np.exp(miss),
        (frame.by_user(live_rows.astype(np.int64)) > 0) & unfinished,
        unfinished,
    )


def limits(counts: Counts, scale: Float, offset: Int, tables: Tables) -> Float:
    """Least and largest metrics of each user that the scores allow; (2, metrics, users).

    No model is behind them: all unscored candidates of a user may be better, or none.
    """
    frame = counts.frame
    better, tied = counts.better.sum(1) + offset, counts.tied.sum(1)
    left = counts.left.sum(1)[frame.owner]
    rows = np.stack(
        [
            [over_ties(metric, better + left, tied), over_ties(metric, better, tied)]
            for metric in tables.metrics
        ],
        axis=1,
    )
    return frame.by_user(rows * scale)
