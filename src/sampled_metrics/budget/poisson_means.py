"""Means and variances of metrics if the number of better candidates is partly Poisson."""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.budget.constants import (
    EXACT_BELOW,
    EXACT_BELOW_DEPTHS,
    LEAST_LARGEST_MEAN,
    LOG_STEP,
    MEAN_MARGIN,
    SMALLEST_MEAN,
    SUPPORT_DEVIATIONS,
    SUPPORT_EXTRA,
)
from sampled_metrics.metrics import Measure


class PoissonMeans:
    """Mean and variance of metrics with r + X better candidates, r known and X Poisson.

    For each metric, r < `depth` and power 1 and 2, a table has the expectation of the metric to
    this power at means E X with equal steps of log E X; between them it is interpolated. From
    r = `depth` on, metrics with a cut-off are zero, and others come from an expansion, as for large
    means.

    Parameters
    ----------
    measures
        The metrics. They must not depend on the number of candidates.
    depth
        Number of better candidates from which on all metrics with a cut-off are 0.
    n_largest
        Largest number of candidates of a user.

    Examples
    --------
    Recall@1 is 1 if no candidate is better, which has the probability exp(-E X).

    >>> means = PoissonMeans([Measure("recall", 1)], depth=1, n_largest=100)
    >>> certain_class = np.ones((1, 1))
    >>> mean, variance = means.moments(certain_class, np.array([0]), np.full((1, 1), 0.5))
    >>> mean.round(2), round(float(np.exp(-0.5)), 2)
    (array([[0.61]]), 0.61)
    """

    def __init__(self, measures: Sequence[Measure], depth: int, n_largest: int) -> None:
        self._measures = measures
        self._depth = depth
        # The means E X of the tables have equal steps of their logs.
        self._lowest_log = np.log(SMALLEST_MEAN)
        highest_log = np.log(max(MEAN_MARGIN * n_largest, LEAST_LARGEST_MEAN))
        span = highest_log - self._lowest_log
        n_steps = int(np.ceil(span / LOG_STEP))
        self._steps_per_log = n_steps / span
        means = np.exp(np.linspace(self._lowest_log, highest_log, n_steps + 1))
        self._tables = self._tabulate(means, n_largest)  # shape (2, metrics, depth, means)

    def _tabulate(self, means: Float, n_largest: int) -> Float:
        """Return E[metric^power] for powers 1 and 2; shape (2, metrics, depth, means).

        The held-out item has the rank r + X + 1, with r = 0, ..., `depth` - 1 and X Poisson. Where
        E X is small, the expectation is sum_x P(X = x) metric(r + x + 1)^power; where it is large,
        metrics with a cut-off are 0, and the others come from an expansion.
        """
        is_small = means <= max(EXACT_BELOW, EXACT_BELOW_DEPTHS * self._depth)
        probability_of_x = _poisson_distributions(means[is_small], least_size=self._depth)
        r = np.arange(self._depth)[:, np.newaxis]
        x = np.arange(probability_of_x.shape[1])
        tables = np.zeros((2, len(self._measures), self._depth, means.size))
        for metric, measure in enumerate(self._measures):
            values = measure.value_at(r + x + 1, n_largest)
            for power in (1, 2):
                table = tables[power - 1, metric]  # a view, filled here
                table[:, is_small] = values**power @ probability_of_x.T
                if measure.cutoff is None:
                    table[:, ~is_small] = _mean_by_expansion(r, means[~is_small], power)
        return tables

    def moments(self, class_probability: Float, n_known: Int, expected_unknown: Float) -> Float:
        """Return mean and variance of the metrics of held-out rows; shape (2, metrics, rows).

        Rows with r < `depth` are interpolated in the tables. For others, metrics with a cut-off are
        0 and those without come from the expansion.

        Parameters
        ----------
        class_probability, expected_unknown
            Probability of each class, and E X in it; shape (rows, classes).
        n_known
            Better candidates known, r; shape (rows,).
        """
        n_metrics = len(self._measures)
        in_tables = n_known < self._depth
        expectations = np.zeros((2, n_metrics, n_known.size))  # of powers 1 and 2
        expectations[:, :, in_tables] = self._interpolate(
            class_probability[in_tables], n_known[in_tables], expected_unknown[in_tables]
        )
        beyond = ~in_tables
        for metric, measure in enumerate(self._measures):
            if measure.cutoff is None:
                for power in (1, 2):
                    expectations[power - 1, metric, beyond] = _average_by_expansion(
                        class_probability[beyond], n_known[beyond], expected_unknown[beyond], power
                    )
        return mean_and_variance(expectations)

    def _interpolate(
        self, class_probability: Float, n_known: Int, expected_unknown: Float
    ) -> Float:
        """Interpolate the tables linearly in log E X, averaged over classes.

        Arguments are as in `moments`, for r < `depth`. Each pair of a held-out row and a class
        falls between two columns, `left` and `left` + 1, of row r of a table:

            sum over classes of P(class) ((1 - d) table[r, left] + d table[r, left + 1]),

        with d from 0 to 1 the distance from the left column.

        Returns
        -------
        ndarray
            Shape (2, metrics, rows).
        """
        n_means = self._tables.shape[-1]
        logs = np.log(np.maximum(expected_unknown, SMALLEST_MEAN))
        # The upper limit leaves a column to the right of the last position.
        position = np.clip((logs - self._lowest_log) * self._steps_per_log, 0.0, n_means - 1.001)
        left = position.astype(np.int64)  # column, shape (rows, classes)
        weight_right = class_probability * (position - left)
        weight_left = class_probability - weight_right
        flat_left = left + (n_known * n_means)[:, np.newaxis]  # index of [r, left] in a flat table
        expectations = np.empty((*self._tables.shape[:2], n_known.size))
        for power_and_metric in np.ndindex(self._tables.shape[:2]):
            flat_table = self._tables[power_and_metric].ravel()
            mean = np.einsum("rc,rc->r", weight_left, flat_table[flat_left])
            mean += np.einsum("rc,rc->r", weight_right, flat_table[flat_left + 1])
            expectations[power_and_metric] = mean
        return expectations


def _poisson_distributions(means: Float, least_size: int) -> Float:
    """Return Poisson probabilities of 0, 1, ...; shape (means, numbers).

    `means` ascend, and there are at least `least_size` numbers.
    """
    largest = means[-1]
    size = int(largest + SUPPORT_DEVIATIONS * np.sqrt(largest) + SUPPORT_EXTRA)
    numbers = np.arange(max(least_size, size))
    logs = np.outer(np.log(means), numbers) - means[:, np.newaxis]
    return np.exp(logs - gammaln(numbers + 1.0))


def _average_by_expansion(
    class_probability: Float, n_known: Int, expected_unknown: Float, power: int
) -> Float:
    """Average the expansion over classes, for the arguments of `moments`; shape (rows,)."""
    by_class = _mean_by_expansion(n_known[:, np.newaxis], expected_unknown, power)
    return (class_probability * by_class).sum(axis=1)


def _mean_by_expansion(n_known: Int, mean: Float, power: int) -> Float:
    """Return the mean of 1 / (r + X + 1)^power, X Poisson with a large mean.

    With m = E X = Var X and t = r + 1 + m, the expansion of (t + X - m)^-p to second order is
    t^-p (1 + p (p + 1) / 2 m / t^2), where p (p + 1) / 2 is 1 or 3, that is 2 p - 1, for p = 1, 2.
    """
    total = n_known + 1.0 + mean
    spread = (2 * power - 1) * mean / total**2
    return (1.0 + spread) / total**power


def mean_and_variance(expectations: Float) -> Float:
    """Return mean and variance, from the expectations of powers 1 and 2; shape (2, ...)."""
    first, second = expectations
    return np.stack([first, np.maximum(second - first**2, 0.0)])
