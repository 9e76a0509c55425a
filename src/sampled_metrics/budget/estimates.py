"""Estimates of metrics and of their differences, from the model and its audit.

The sum over phases of the change in a user's value, divided by the probability of reaching the
phase, is an unbiased estimate of the model's error whatever the model says, and so is its estimated
variance. To allow for rare errors that the audit missed, the variance is at least the variance
that the model, with a floor, expects of the users drawn, and at least the amount that one more user
with the worst possible error would add.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float
from sampled_metrics.budget.audit import Audit, Phase

LEAST_SHARE = 0.5  # least part of two recommenders' assumed errors in their difference
RESOLUTION = 0.3  # users; standard deviation added, as an audit cannot see a fraction of one
DISAGREEMENT = 1.0 / 3.0  # distance of audit and model, by half an interval
LEAST_FREEDOM = 3.0
MOST_FREEDOM = 1e6
SMALLEST = 1e-30  # sum of variances, to divide by
NOBODY = Phase(np.zeros(1), np.ones(1), np.ones(1))  # was drawn


class Estimate(NamedTuple):
    """Estimate of a metric, or of the difference of two recommenders.

    Attributes
    ----------
    value
        To rank by: the model's mean, moved by its estimated error beyond one standard deviation;
        but `centre`, within the interval, if audit and model of a recommender disagree.
    low, high
        Interval around `centre`, widened by the possible error of audited users who cost too much.
    centre
        The model's mean plus its estimated error; unbiased if no audited user cost too much.
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
    """A model's means with estimates of their errors, or for a difference of two models."""

    mean: Float  # by the model; this and the next two have shape (metrics, users)
    shift: Float  # estimated error
    variance: Float  # the estimated error's
    assumed: Float  # least variances of the sum over users; shape (2, metrics)
    slack: Float  # possible error of users who cost too much, below and above; (2, metrics)
    bounds: Float  # values that the scores allow; shape (2, metrics)

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


def corrected(audit: Audit) -> Correction:
    """Errors of a recommender's model."""
    now = audit.now
    shift = np.zeros(audit.noise.shape)
    for phase in audit.phases:
        shift += phase.change / phase.reached
    return Correction(
        mean=audit.before.mean,
        shift=shift,
        variance=covariance(audit, audit) + audit.noise**2,
        assumed=audit.assumed,
        slack=audit.slack,
        bounds=np.mean([now.least, now.top], axis=-1),
    )


def covariance(a: Audit, b: Audit) -> Float:
    """Unbiased covariance of the sums of two recommenders, by user; shape (metrics, users)."""
    total = np.zeros(a.noise.shape)
    joint = np.ones(total.shape[1])  # probability of both having reached a phase
    phases = list(zip_longest(a.phases, b.phases, fillvalue=NOBODY))
    for number, (of_a, of_b) in enumerate(phases):
        joint = joint * np.minimum(of_a.drawn, of_b.drawn)
        pairs = [(of_a, of_b, late_b) for _, late_b in phases[number:]]
        pairs += [(of_b, of_a, late_a) for late_a, _ in phases[number + 1 :]]
        for early, beside, late in pairs:
            further = late.reached / beside.reached
            weight = 1.0 / (early.reached * late.reached) - 1.0 / (joint * further)
            total += early.change * late.change * weight
    return total


def _difference(a: Correction, b: Correction, shared: Float) -> Correction:
    """Errors of the difference b - a of two recommenders, whose sums have a covariance."""
    separate = a.variance + b.variance
    variance = separate - 2.0 * shared
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

    Intervals stay within the values that the scores allow. Where an audit disagrees with a
    recommender's model in any metric, its values are taken.
    """
    corrections = [corrected(audit) for audit in audits]
    single = []
    for correction in corrections:
        rows = correction.estimates(confidence)
        if any(x.disagrees for x in rows):
            rows = [x._replace(value=min(max(x.centre, x.low), x.high)) for x in rows]
        single.append(rows)
    pairs = {}
    for a, b in combinations(range(len(audits)), 2):
        shared = covariance(audits[a], audits[b]) + audits[a].noise * audits[b].noise
        difference = _difference(corrections[a], corrections[b], shared)
        pairs[a, b] = difference.estimates(confidence)
    return single, pairs
