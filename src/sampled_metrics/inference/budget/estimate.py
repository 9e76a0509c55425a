"""Model-assisted estimates: the mean of the model plus the weighted errors the audit found.

The estimate is unbiased whatever the model, and so is its variance, which is the design's. The
value to rank by is the model's, moved only as far as the audit insists.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.budget.audit import Audited

LEAST_SHARE = 0.5  # of the errors of two recommenders, expected but not seen, in their difference
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


class Contributions:
    """What an audited recommender's users add to its estimates, by phase.

    `change` and `noise` have shape (phases, metrics, users), `drawn` and `reached`
    (phases, users), with 1 for users that are not in a phase.
    """

    def __init__(self, audited: Audited, sums: list[int], n_phases: int) -> None:
        n_metrics, n_users = audited.view.mean.shape
        self.mean = audited.view.mean
        self.change = np.zeros((n_phases, n_metrics, n_users))
        self.noise = np.zeros((n_metrics, n_users))
        self.inside = np.zeros((n_phases, n_users), bool)
        self.drawn, self.reached = np.ones((2, n_phases, n_users))
        for phase in audited.phases:
            at = phase.number, phase.users
            self.change[phase.number][:, phase.users] = phase.change
            self.inside[at], self.drawn[at], self.reached[at] = True, phase.drawn, phase.reached
            noise = phase.change[sums] / np.sqrt(phase.reached) * phase.noise
            self.noise[np.ix_(np.array(sums, np.int64), phase.users)] += noise
        self.shift = (self.change / self.reached[:, np.newaxis]).sum(0)
        self.expected, self.unseen = np.zeros((2, n_metrics))
        for phase in audited.phases:
            factor = (1.0 - phase.drawn) / phase.reached**2
            self.expected += (phase.variance * factor).sum(1)
            if phase.number == 0 and phase.users.size:
                mean, top = (
                    array[:, phase.users] for array in (audited.view.mean, audited.view.top)
                )
                self.unseen += (np.maximum(mean, top - mean) ** 2 * factor).mean(1)
        self.slack = audited.slack


def covariance(a: Contributions, b: Contributions) -> Float:
    """Unbiased covariance of two recommenders' sums, users in columns; (metrics, users)."""
    total = np.zeros(a.mean.shape)
    joint = np.ones(a.mean.shape[1])
    for phase in range(len(a.inside)):
        joint = joint * np.minimum(a.drawn[phase], b.drawn[phase])
        # The later phase is that of b, then that of a.
        for first, second, start in ((a, b, phase), (b, a, phase + 1)):
            for later in range(start, len(a.inside)):
                both = np.flatnonzero(first.inside[phase] & second.inside[later])
                further = second.reached[later, both] / second.reached[phase, both]
                p, q = first.reached[phase, both], second.reached[later, both]
                change = first.change[phase][:, both] * second.change[later][:, both]
                total[:, both] += change * (1.0 / (p * q) - 1.0 / (joint[both] * further))
    return total


def estimates(
    audited: list[Audited], bounds: Float, sums: list[int], confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimates of recommenders and metrics, and of the differences b - a of pairs (a, b).

    Parameters
    ----------
    audited
        One audit per recommender.
    bounds
        Least and greatest values that the scores allow, shape (2, recommenders, metrics);
        intervals do not go beyond them.
    sums
        Metrics without a cutoff, whose values may depend on random draws.
    confidence
        Coverage of the intervals.
    """
    n_phases = 1 + max((phase.number for one in audited for phase in one.phases), default=-1)
    parts = [Contributions(one, sums, n_phases) for one in audited]
    spread = [covariance(part, part) for part in parts]

    def one(
        model: Float,
        shift: Float,
        variance: Float,
        expected: Float,
        unseen: Float,
        slack: Float,
        least: Float,
        greatest: Float,
    ) -> list[Estimate]:
        n_users = variance.shape[1]
        total = np.max([variance.sum(1), expected, unseen], axis=0) + RESOLUTION**2
        deviation = np.sqrt(total) / n_users
        freedom = np.clip(
            total**2 / np.maximum((variance**2).sum(1), 1e-30), LEAST_FREEDOM, MOST_FREEDOM
        )
        slack = slack / n_users
        moved = np.sign(shift) * np.maximum(np.abs(shift) - deviation - slack, 0.0)
        half = stdtrit(freedom, 0.5 + confidence / 2.0) * deviation + slack
        centre = model + shift
        low, high = np.clip([centre - half, centre + half], least, greatest)
        columns = (np.clip(model + moved, low, high), low, high, centre, deviation, freedom, model)
        return [Estimate(*map(float, row)) for row in np.transpose(columns)]

    noisy = [spread[a] + parts[a].noise ** 2 for a in range(len(parts))]
    single = [
        one(
            part.mean.mean(1),
            part.shift.mean(1),
            noisy[a],
            part.expected,
            part.unseen,
            part.slack,
            *bounds[:, a],
        )
        for a, part in enumerate(parts)
    ]
    pairs = {}
    for a, b in combinations(range(len(parts)), 2):
        first, second = parts[a], parts[b]
        variance = spread[a] + spread[b] - 2.0 * covariance(first, second)
        variance += (first.noise - second.noise) ** 2
        # Errors that the audit did not see cancel as far as those that it saw.
        shared = variance.sum(1) / np.maximum((noisy[a] + noisy[b]).sum(1), 1e-30)
        share = np.clip(shared, LEAST_SHARE, 1.0)
        pairs[a, b] = one(
            (second.mean - first.mean).mean(1),
            (second.shift - first.shift).mean(1),
            variance,
            share * (first.expected + second.expected),
            share * (first.unseen + second.unseen),
            first.slack + second.slack,
            bounds[0, b] - bounds[1, a],
            bounds[1, b] - bounds[0, a],
        )
    return single, pairs
