"""What the scores so far say of each user, by the model and without it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts
from sampled_metrics.inference.budget.relevance import weights
from sampled_metrics.inference.budget.rounds import posterior
from sampled_metrics.inference.budget.values import Tables, over_ties


class Run(NamedTuple):
    """One recommender: its scores, its model, and better held-out items of the same user."""

    counts: Counts
    classes: Classes
    tables: Tables
    offset: Int

    def take(self, users: Int) -> "Run":
        """Look at some users only, in ascending order; their scores are copied."""
        rows = self.counts.frame.rows_of(users)[1]
        return Run(self.counts.take(users), self.classes.take(rows), self.tables, self.offset[rows])

    @property
    def scale(self) -> Float:
        """Weights of held-out rows in the metrics of their users, shape (metrics, rows)."""
        return weights(self.counts.frame, self.tables.metrics, self.offset)

    @property
    def better(self) -> Int:
        """Better candidates known of each held-out row, held-out ones included."""
        return self.counts.better.sum(1) + self.offset

    @property
    def live(self) -> NDArray[np.bool_]:
        """Whether a metric with a cutoff is open for some held-out row of a user."""
        rows = (self.better < self.tables.depth).astype(np.float64)
        return (self.counts.frame.by_user(rows) > 0) & (self.counts.left.sum(1) > 0)


class View(NamedTuple):
    """Metrics of users by the model; mean, variance and greatest value, (metrics, users) each.

    `row_mean` is the mean for held-out rows, not weighted; shape (metrics, rows).
    """

    mean: Float
    variance: Float
    top: Float
    row_mean: Float


def view(run: Run) -> View:
    """Look at a recommender through its classes, which stay as they are."""
    run.classes.update(run.counts, 0)
    moments = posterior(run.counts, run.classes, run.tables, run.offset)
    frame, scale = run.counts.frame, run.scale
    top = np.stack(
        [over_ties(metric, run.better, run.counts.tied.sum(1)) for metric in run.tables.metrics]
    )
    return View(
        frame.by_user(moments.mean * scale),
        frame.by_user(moments.variance * scale**2),
        frame.by_user(top * scale),
        moments.mean,
    )


def limits(run: Run) -> Float:
    """Least and greatest metrics of each user that the scores allow; (2, metrics, users).

    No model is behind them: all unscored candidates of a user may be better, or none.
    """
    frame = run.counts.frame
    tied = run.counts.tied.sum(1)
    left = run.counts.left.sum(1)[frame.owner]
    rows = np.stack(
        [
            [over_ties(metric, run.better + left, tied), over_ties(metric, run.better, tied)]
            for metric in run.tables.metrics
        ],
        axis=1,
    )
    return frame.by_user(rows * run.scale)
