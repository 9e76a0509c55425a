"""Metrics of held-out items that a Poisson number of further candidates outranks."""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.metrics import Measure

SMALLEST = 1e-4  # mean in the tables
STEP = 0.068  # of the logarithm of the mean
EXACT_BELOW = 600.0  # means, or 3 times the depth; larger ones by expansion


class PoissonMeans:
    """Mean and variance of metrics of r + X better ones, X Poisson, by interpolation in log E X.

    From r = `depth` on metrics with a cutoff are zero, and ap is expanded, as for large means.
    """

    def __init__(self, measures: Sequence[Measure], depth: int, n_largest: int) -> None:
        self._measures = measures
        self._depth = depth
        low = np.log(SMALLEST)
        high = np.log(max(1.1 * n_largest, 10.0))
        n_steps = int(np.ceil((high - low) / STEP))
        grid = np.linspace(low, high, n_steps + 1)
        self._low = low
        self._size = grid.size
        self._scale = n_steps / (high - low)
        # Of powers 1 and 2 of each metric, the expectation for each r and mean of X.
        tables = np.zeros((2, len(measures), depth, grid.size))
        means = np.exp(grid)
        is_small = means <= max(EXACT_BELOW, 3.0 * depth)
        small = means[is_small]
        support, law = _law(small, depth)
        better = np.arange(depth)[:, np.newaxis]
        for place, measure in enumerate(measures):
            values = measure.at(better + support + 1, n_largest)
            for power in (1, 2):
                table = tables[power - 1, place]
                table[:, is_small] = values**power @ law.T
                if measure.cutoff is None:
                    table[:, ~is_small] = _expansion(better, means[~is_small], power)
        self._tables = tables.reshape(2, len(measures), -1)

    def moments(self, share: Float, better: Int, mean: Float) -> tuple[Float, Float]:
        """Mean and variance of the metrics of held-out rows, shape (metrics, rows).

        Besides `better` known ones, `mean` are expected in classes of probability `share`.
        """
        powers = np.zeros((2, len(self._measures), better.size))
        near = np.flatnonzero(better < self._depth)
        far = np.flatnonzero(better >= self._depth)
        logs = np.log(np.maximum(mean[near], SMALLEST))
        place = (logs - self._low) * self._scale
        np.clip(place, 0.0, self._size - 1.001, out=place)
        column = place.astype(np.int64)
        right = share[near] * (place - column)
        left = share[near] - right
        column += (better[near] * self._size)[:, np.newaxis]
        for power, index in np.ndindex(powers.shape[:2]):
            table = self._tables[power, index]
            found = powers[power, index]
            found[near] = np.einsum("ug,ug->u", left, table[column])
            found[near] += np.einsum("ug,ug->u", right, table[column + 1])
            if self._measures[index].cutoff is None:
                known = better[far, np.newaxis]
                values = _expansion(known, mean[far], power + 1)
                found[far] = (share[far] * values).sum(axis=1)
        first, second = powers
        return first, np.maximum(second - first**2, 0.0)


def _law(means: Float, depth: int) -> tuple[Int, Float]:
    """Numbers that a Poisson variable takes, and their probabilities for each mean."""
    largest = means[-1]
    size = int(largest + 12.0 * np.sqrt(largest) + 30.0)
    support = np.arange(max(depth, size))
    logs = np.outer(np.log(means), support)
    logs -= means[:, np.newaxis]
    logs -= gammaln(support + 1.0)
    return support, np.exp(logs)


def _expansion(better: Int, mean: Float, power: int) -> Float:
    """Mean of 1/(better + X + 1)^power, X Poisson of a large mean."""
    total = better + 1.0 + mean
    spread = (2 * power - 1) * mean / total**2
    return (1.0 + spread) / total**power
