"""Estimates of metrics and of their differences, from the model and its audit.

The sum over phases of the change in a user's value, divided by the probability of reaching the
phase, is an unbiased estimate of the model's error whatever the model says, and so is its estimated
variance. To allow for rare errors that the audit missed, the variance is at least what the model,
with a floor, expects of the users drawn, and at least what one more user with the worst possible
error would add.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics.budget.audit import Audit

LEAST_SHARE = 0.5  # of the errors assumed for two recommenders, in their difference
RESOLUTION = 0.3  # users; standard deviation added, as an audit cannot see a fraction of one
DISAGREEMENT = 1.0 / 3.0  # of half an interval, between audit and model
LEAST_FREEDOM = 3.0
MOST_FREEDOM = 1e6
SMALLEST = 1e-30  # that a sum of variances is divided by


class Estimate(NamedTuple):
    """Estimate of a metric, or of the difference of two recommenders.

    Attributes
    ----------
    value
        To rank by: the model's mean, moved by its estimated error beyond one standard deviation;
        but `centre`, within the interval, if audit and model of a recommender disagree.
    low, high
        Interval around `centre`, widened by what is unknown of audited users that cost too much.
    centre
        The model's mean plus its estimated error; unbiased where no audited user cost too much.
    std_error, freedom
        Standard deviation of `centre`, and its degrees of freedom by Satterthwaite.
    model
        Posterior mean.
    """

    value: float
    low: float
    high: float
    centre: float
    std_error: float
    freedom: float
    model: float

    @property
    def disagrees(self) -> bool:
        """Whether audit and model differ by more than a share of the interval's half-width."""
        distance = abs(self.centre - self.model)
        return distance > DISAGREEMENT * (self.high - self.low) / 2.0


@dataclass
class Correction:
    """A model's means and estimates of their errors, or those of a difference of two."""

    mean: Float  # by the model; this and the next two have shape (metrics, users)
    shift: Float  # estimated error
    variance: Float  # of the estimated error
    assumed: Float  # least variances of the sum over users; shape (2, metrics)
    slack: Float  # possible error of users that cost too much, below and above; (2, metrics)
    bounds: Float  # of the values that the scores allow; shape (2, metrics)

    def estimates(self, confidence: float) -> list[Estimate]:
        """Estimate each metric."""
        n_users = self.variance.shape[1]
        largest = np.max([self.variance.sum(1), *self.assumed], axis=0)
        total = largest + RESOLUTION**2
        squares = np.maximum((self.variance**2).sum(1), SMALLEST)
        freedom = np.clip(total**2 / squares, LEAST_FREEDOM, MOST_FREEDOM)
        deviation = np.sqrt(total) / n_users
        half = stdtrit(freedom, 0.5 + confidence / 2.0) * deviation
        below, above = self.slack / n_users
        model = self.mean.sum(1) / n_users
        error = self.shift.sum(1) / n_users
        centre = model + error
        low = np.clip(centre - half - below, *self.bounds)
        high = np.clip(centre + half + above, *self.bounds)
        surely_up = np.maximum(error - deviation - below, 0.0)
        surely_down = np.minimum(error + deviation + above, 0.0)
        value = np.clip(model + surely_up + surely_down, low, high)
        columns = (value, low, high, centre, deviation, freedom, model)
        return [Estimate(*row) for row in np.transpose(columns).tolist()]


class Errors(Correction):
    """Estimated errors of a model, and what is assumed of their variance, summed over users.

    Phases are rows: `change` has shape (phases, metrics, users), probabilities (phases, users),
    with 1 for users that are not in a phase.
    """

    def __init__(self, audit: Audit, n_phases: int) -> None:
        self.mean = audit.before.mean
        self.slack = audit.slack
        self.bounds = np.mean([audit.now.least, audit.now.top], axis=-1)
        n_metrics, n_users = self.mean.shape
        self.change = np.zeros((n_phases, n_metrics, n_users))
        self.noise = np.zeros((n_metrics, n_users))  # of random draws, not part of the design
        self.drawn = np.ones((n_phases, n_users))
        self.reached = np.ones((n_phases, n_users))
        self.assumed = np.zeros((2, n_metrics))  # by the model; for one more of the worst errors
        sums = audit.model.sums
        for number, phase in enumerate(audit.phases):
            users = phase.users
            self.change[number][:, users] = phase.change
            self.drawn[number, users] = phase.drawn
            self.reached[number, users] = phase.reached
            noise = phase.change[sums] / np.sqrt(phase.reached) * phase.random
            self.noise[np.ix_(sums, users)] += noise
            self.assumed[0] += (phase.variance * phase.spread).sum(1)
        for first in audit.phases[:1]:
            mean = self.mean[:, first.users]
            worst = np.maximum(mean, audit.before.top[:, first.users] - mean)
            self.assumed[1] = (worst**2 * first.spread).mean(1)
        self.shift = (self.change / self.reached[:, np.newaxis]).sum(0)
        self.variance = covariance(self, self) + self.noise**2


def covariance(a: Errors, b: Errors) -> Float:
    """Unbiased covariance of the sums of two recommenders, by user; shape (metrics, users)."""
    n_phases = len(a.change)
    total = np.zeros(a.mean.shape)
    joint = np.ones(a.mean.shape[1])  # probability of both having reached a phase
    for phase in range(n_phases):
        joint = joint * np.minimum(a.drawn[phase], b.drawn[phase])
        later_of_b = [(a, b, later) for later in range(phase, n_phases)]
        later_of_a = [(b, a, later) for later in range(phase + 1, n_phases)]
        for first, second, later in later_of_b + later_of_a:
            p = first.reached[phase]
            q = second.reached[later]
            further = q / second.reached[phase]
            weight = 1.0 / (p * q) - 1.0 / (joint * further)
            total += first.change[phase] * second.change[later] * weight
    return total


def _difference(a: Errors, b: Errors) -> Correction:
    """Errors of the difference b - a."""
    separate = a.variance + b.variance
    variance = separate - 2.0 * (covariance(a, b) + a.noise * b.noise)
    # Errors that the audit did not see are assumed to cancel as far as those that it saw.
    seen = variance.sum(1) / np.maximum(separate.sum(1), SMALLEST)
    return Correction(
        mean=b.mean - a.mean,
        shift=b.shift - a.shift,
        variance=variance,
        assumed=np.clip(seen, LEAST_SHARE, 1.0) * (a.assumed + b.assumed),
        slack=b.slack + a.slack[::-1],
        bounds=b.bounds - a.bounds[::-1],
    )


def estimates(
    audits: Sequence[Audit], confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimate the metrics of recommenders, and the differences b - a of all pairs (a, b).

    Intervals do not go beyond what the scores allow. Where an audit disagrees with a recommender's
    model in any metric, its values are taken.
    """
    n_phases = max(len(audit.phases) for audit in audits)
    errors = [Errors(audit, n_phases) for audit in audits]
    single = []
    for error in errors:
        rows = error.estimates(confidence)
        if any(x.disagrees for x in rows):
            rows = [x._replace(value=min(max(x.centre, x.low), x.high)) for x in rows]
        single.append(rows)
    pairs = {}
    for a, b in combinations(range(len(errors)), 2):
        pairs[a, b] = _difference(errors[a], errors[b]).estimates(confidence)
    return single, pairs
