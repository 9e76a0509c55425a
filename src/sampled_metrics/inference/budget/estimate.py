"""Model-assisted estimates: the mean of the model plus the weighted errors that the audit found.

The estimate is unbiased whatever the model, and so is the variance that the audited users give.
Where the audit may have missed rare errors, more is assumed: at least what the model, with a
floor, expects of the users that were drawn, and at least what one more user would add who is
surprised as badly as can be. The value to rank by is the model's, moved only as far as the audit
insists.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.budget.audit import Audited

LEAST_SHARE = 0.5  # of the errors assumed for two recommenders, in their difference
RESOLUTION = 0.3  # users; standard deviation added, since an audit cannot see a fraction of one
LEAST_FREEDOM, MOST_FREEDOM = 3.0, 1e6


class Estimate(NamedTuple):
    """Estimate of a metric, or of a difference of two recommenders.

    Attributes
    ----------
    value
        To rank by: the model's mean, moved by its estimated error beyond one standard deviation.
    low, high
        Interval of the design, around `centre`; with the whole range that their scores allow for
        users drawn that could not be finished.
    centre
        Model's mean plus its estimated error; unbiased where all users drawn could be finished.
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
    """What the users of an audited recommender add to its estimates.

    `change` has shape (phases, metrics, users); `inside`, `drawn` and `reached` have shape
    (phases, users), with a probability of 1 for users that are not in a phase.
    """

    def __init__(self, audited: Audited, sums: list[int], n_phases: int) -> None:
        self.mean = audited.view.mean
        n_metrics, n_users = self.mean.shape
        self.change = np.zeros((n_phases, n_metrics, n_users))
        self.noise = np.zeros((n_metrics, n_users))  # of random draws, not part of the design
        self.inside = np.zeros((n_phases, n_users), bool)
        self.drawn, self.reached = np.ones((2, n_phases, n_users))
        self.expected, self.unseen = np.zeros((2, n_metrics))
        self.slack = audited.slack
        for phase in audited.phases:
            at = phase.number, phase.users
            self.change[phase.number][:, phase.users] = phase.change
            self.inside[at], self.drawn[at], self.reached[at] = True, phase.drawn, phase.reached
            noise = phase.change[sums] / np.sqrt(phase.reached) * phase.noise
            self.noise[np.ix_(np.array(sums, np.int64), phase.users)] += noise
            factor = (1.0 - phase.drawn) / phase.reached**2
            self.expected += (phase.variance * factor).sum(1)
            if phase.number == 0 and phase.users.size:
                mean, top = audited.view.mean[:, phase.users], audited.view.top[:, phase.users]
                self.unseen += (np.maximum(mean, top - mean) ** 2 * factor).mean(1)
        self.shift = (self.change / self.reached[:, np.newaxis]).sum(0)
        self.variance = covariance(self, self) + self.noise**2


def covariance(a: Contributions, b: Contributions) -> Float:
    """Unbiased covariance of the sums of two recommenders, by user; shape (metrics, users)."""
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


class _Sum(NamedTuple):
    """Sums over users per metric: model, its error, and what is assumed of the error's variance."""

    model: Float
    shift: Float
    variance: Float  # per user, shape (metrics, users)
    expected: Float
    unseen: Float
    slack: Float  # below and above, shape (2, metrics)


def _of_one(a: Contributions) -> _Sum:
    return _Sum(a.mean.sum(1), a.shift.sum(1), a.variance, a.expected, a.unseen, a.slack)


def _of_pair(a: Contributions, b: Contributions) -> _Sum:
    variance = a.variance + b.variance - 2.0 * (covariance(a, b) + a.noise * b.noise)
    # Errors that the audit did not see are assumed to cancel as far as those that it saw.
    seen = variance.sum(1) / np.maximum((a.variance + b.variance).sum(1), 1e-30)
    share = np.clip(seen, LEAST_SHARE, 1.0)
    return _Sum(
        (b.mean - a.mean).sum(1),
        (b.shift - a.shift).sum(1),
        variance,
        share * (a.expected + b.expected),
        share * (a.unseen + b.unseen),
        b.slack + a.slack[::-1],
    )


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
    least, greatest = bounds
    single = [
        _estimates(_of_one(part), least[a], greatest[a], confidence) for a, part in enumerate(parts)
    ]
    pairs = {
        (a, b): _estimates(
            _of_pair(parts[a], parts[b]),
            least[b] - greatest[a],
            greatest[b] - least[a],
            confidence,
        )
        for a, b in combinations(range(len(parts)), 2)
    }
    return single, pairs


def _estimates(sums: _Sum, least: Float, greatest: Float, confidence: float) -> list[Estimate]:
    n_users = sums.variance.shape[1]
    assumed = [sums.variance.sum(1), sums.expected, sums.unseen]
    total = np.max(assumed, axis=0) + RESOLUTION**2
    squares = np.maximum((sums.variance**2).sum(1), 1e-30)
    freedom = np.clip(total**2 / squares, LEAST_FREEDOM, MOST_FREEDOM)
    deviation = np.sqrt(total) / n_users
    model, shift, (below, above) = sums.model / n_users, sums.shift / n_users, sums.slack / n_users
    up, down = shift - deviation - below, shift + deviation + above
    moved = np.maximum(up, 0.0) + np.minimum(down, 0.0)
    half = stdtrit(freedom, 0.5 + confidence / 2.0) * deviation
    centre = model + shift
    low, high = np.clip([centre - half - below, centre + half + above], least, greatest)
    value = np.clip(model + moved, low, high)
    columns = (value, low, high, centre, deviation, freedom, model)
    return [Estimate(*map(float, row)) for row in np.transpose(columns)]
