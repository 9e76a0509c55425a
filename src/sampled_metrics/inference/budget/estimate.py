"""Model-assisted estimates: the mean of the model plus the weighted errors the audit found.

The estimate is unbiased whatever the model, and so is its variance, which is the design's. The
value to rank by is the model's, moved only as far as the audit insists.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.budget.runs import Audited

RESOLUTION = 0.3  # users; standard deviation added, since an audit cannot see a fraction of one
LEAST_FREEDOM, MOST_FREEDOM = 3.0, 1e6


class Estimate(NamedTuple):
    """Estimate of a metric, or of a difference of two recommenders.

    Attributes
    ----------
    value
        To rank by: the model's mean, moved by its estimated error beyond one standard deviation.
    low, high
        Interval of the design, around `centre`.
    centre
        Model's mean plus its estimated error: unbiased.
    std_error
        Standard deviation of `centre`.
    freedom
        Degrees of freedom of Student's distribution, by Satterthwaite's approximation.
    model
        Mean of the posterior.
    """

    value: float
    low: float
    high: float
    centre: float
    std_error: float
    freedom: float
    model: float

    @property
    def disagreement(self) -> float:
        """Estimated error of the model in standard deviations."""
        return (self.centre - self.model) / self.std_error if self.std_error else 0.0


def estimates(
    mean: Float, audited: Audited, bounds: Float, sums: list[int], confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimates of recommenders and metrics, and of the differences b - a of pairs (a, b).

    Parameters
    ----------
    mean
        Posterior means, shape (recommenders, metrics, users).
    bounds
        Least and largest values that the scores allow, shape (2, recommenders, metrics); intervals
        do not go beyond them.
    sums
        Metrics without a cutoff, to which the noise of the audit belongs.
    """
    n_users = mean.shape[2]
    share = audited.error / audited.probability
    noise = np.zeros(mean.shape)
    noise[:, sums] = audited.noise[:, np.newaxis]

    def one(
        model: Float,
        error: Float,
        probability: Float,
        noise: Float,
        pseudo: Float,
        slack: Float,
        least: Float,
        largest: Float,
    ) -> list[Estimate]:
        variance = error**2 * (1.0 - probability)
        total = variance.sum(1) + noise.sum(1) + pseudo + RESOLUTION**2
        deviation = np.sqrt(total) / n_users
        squares = (variance**2).sum(1) + (noise**2).sum(1)
        freedom = np.clip(total**2 / np.maximum(squares, 1e-30), LEAST_FREEDOM, MOST_FREEDOM)
        shift = error.sum(1) / n_users
        slack = slack / n_users
        moved = np.sign(shift) * np.maximum(np.abs(shift) - deviation - slack, 0.0)
        half = stdtrit(freedom, 0.5 + confidence / 2.0) * deviation + slack
        centre = model + shift
        low, high = np.clip([centre - half, centre + half], least, largest)
        columns = (model + moved, low, high, centre, deviation, freedom, model)
        return [Estimate(*map(float, row)) for row in np.transpose(columns)]

    recommenders = range(len(mean))
    single = [
        one(
            mean[a].mean(1),
            share[a],
            audited.probability[a],
            noise[a],
            audited.pseudo[a],
            audited.slack[a],
            *bounds[:, a],
        )
        for a in recommenders
    ]
    pairs = {
        (a, b): one(
            (mean[b] - mean[a]).mean(1),
            share[b] - share[a],
            np.minimum(audited.probability[a], audited.probability[b]),
            noise[a] + noise[b],
            (audited.pseudo[a] + audited.pseudo[b]) / 2.0,
            audited.slack[a] + audited.slack[b],
            bounds[0, b] - bounds[1, a],
            bounds[1, b] - bounds[0, a],
        )
        for a in recommenders
        for b in range(a + 1, len(mean))
    }
    return single, pairs
