"""Estimates of metrics and of their differences, from the model and its audit.

The sum over phases of the change in a user's value, divided by the probability of reaching the
phase, is an unbiased estimate of the model's error whatever the model says, and so is its estimated
variance. To allow for rare errors that the audit missed, the variance is at least what the model,
with a floor, expects of the users drawn, and at least what one more user with the worst possible
error would add.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics.budget.audit import Audited, Phase

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


class Correction(NamedTuple):
    """Model's means and estimates of their error, of a recommender or of a difference."""

    mean: Float  # by the model; this and the next two have shape (metrics, users)
    shift: Float  # estimated error
    variance: Float  # of the estimated error
    assumed: Float  # least variances of the sum over users; shape (2, metrics)
    slack: Float  # possible error of users that cost too much, below and above; (2, metrics)
    least: Float  # that the scores allow; shape (metrics,)
    most: Float

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
        low = np.clip(centre - half - below, self.least, self.most)
        high = np.clip(centre + half + above, self.least, self.most)
        surely_up = np.maximum(error - deviation - below, 0.0)
        surely_down = np.minimum(error + deviation + above, 0.0)
        value = np.clip(model + surely_up + surely_down, low, high)
        columns = (value, low, high, centre, deviation, freedom, model)
        return [Estimate(*map(float, row)) for row in np.transpose(columns)]


class Errors:
    """Estimated errors of a model, and what is assumed of their variance, summed over users.

    Phases are rows: `change` has shape (phases, metrics, users), probabilities (phases, users),
    with 1 for users that are not in a phase.
    """

    def __init__(self, audited: Audited, n_phases: int) -> None:
        self.mean = audited.before.mean
        self.slack = audited.slack
        n_metrics, n_users = self.mean.shape
        self.change = np.zeros((n_phases, n_metrics, n_users))
        self.noise = np.zeros((n_metrics, n_users))  # of random draws, not part of the design
        self.inside = np.zeros((n_phases, n_users), bool)
        self.drawn = np.ones((n_phases, n_users))
        self.reached = np.ones((n_phases, n_users))
        self.assumed = np.zeros((2, n_metrics))  # by the model; for one more of the worst errors
        for number, phase in enumerate(audited.phases):
            self._add(number, phase, audited.sums)
        if audited.phases and audited.phases[0].users.size:
            first = audited.phases[0]
            self.assumed[1] = self._of_one_more(first, audited.before.top)
        weighted = self.change / self.reached[:, np.newaxis]
        self.shift = weighted.sum(0)
        self.variance = covariance(self, self) + self.noise**2

    def _add(self, number: int, phase: Phase, sums: Sequence[int]) -> None:
        self.change[number][:, phase.users] = phase.change
        self.inside[number, phase.users] = True
        self.drawn[number, phase.users] = phase.drawn
        self.reached[number, phase.users] = phase.reached
        for index in sums:
            noise = phase.change[index] / np.sqrt(phase.reached) * phase.random
            self.noise[index, phase.users] += noise
        self.assumed[0] += (phase.variance * phase.spread).sum(1)

    def _of_one_more(self, phase: Phase, top: Float) -> Float:
        """Variance that one more user with the worst possible error would add."""
        mean = self.mean[:, phase.users]
        worst = np.maximum(mean, top[:, phase.users] - mean)
        return (worst**2 * phase.spread).mean(1)

    def correction(self, least: Float, most: Float) -> Correction:
        """Errors of this recommender."""
        return Correction(
            mean=self.mean,
            shift=self.shift,
            variance=self.variance,
            assumed=self.assumed,
            slack=self.slack,
            least=least,
            most=most,
        )


def covariance(a: Errors, b: Errors) -> Float:
    """Unbiased covariance of the sums of two recommenders, by user; shape (metrics, users)."""
    n_phases = len(a.inside)
    total = np.zeros(a.mean.shape)
    joint = np.ones(a.mean.shape[1])  # probability of both having reached a phase
    for phase in range(n_phases):
        joint = joint * np.minimum(a.drawn[phase], b.drawn[phase])
        for later in range(phase, n_phases):
            _add_covariance(total, joint, (a, phase), (b, later))
        for later in range(phase + 1, n_phases):
            _add_covariance(total, joint, (b, phase), (a, later))
    return total


def _add_covariance(
    total: Float, joint: Float, early: tuple[Errors, int], late: tuple[Errors, int]
) -> None:
    """Add the covariance of an early phase of one recommender and a late one of the other."""
    first, phase = early
    second, later = late
    users = np.flatnonzero(first.inside[phase] & second.inside[later])
    p = first.reached[phase, users]
    q = second.reached[later, users]
    further = q / second.reached[phase, users]
    change = first.change[phase][:, users]
    change_later = second.change[later][:, users]
    weight = 1.0 / (p * q) - 1.0 / (joint[users] * further)
    total[:, users] += change * change_later * weight


def _difference(a: Errors, b: Errors, least: Float, most: Float) -> Correction:
    """Errors of the difference b - a."""
    separate = a.variance + b.variance
    shared = covariance(a, b) + a.noise * b.noise
    variance = separate - 2.0 * shared
    # Errors that the audit did not see are assumed to cancel as far as those that it saw.
    seen = variance.sum(1) / np.maximum(separate.sum(1), SMALLEST)
    seen = np.clip(seen, LEAST_SHARE, 1.0)
    assumed = seen * (a.assumed + b.assumed)
    return Correction(
        mean=b.mean - a.mean,
        shift=b.shift - a.shift,
        variance=variance,
        assumed=assumed,
        slack=b.slack + a.slack[::-1],
        least=least,
        most=most,
    )


def estimates(
    audited: Sequence[Audited], bounds: Float, confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimate the metrics of recommenders, and the differences b - a of all pairs (a, b).

    `bounds` are the least and greatest values that the scores allow, shape (2, recommenders,
    metrics); intervals do not go beyond them.
    """
    n_phases = max(len(result.phases) for result in audited)
    errors = [Errors(result, n_phases) for result in audited]
    least, most = bounds
    single = []
    for i, error in enumerate(errors):
        found = error.correction(least[i], most[i]).estimates(confidence)
        single.append(_settled(found))
    pairs = {}
    for a, b in combinations(range(len(errors)), 2):
        low = least[b] - most[a]
        high = most[b] - least[a]
        pairs[a, b] = _difference(errors[a], errors[b], low, high).estimates(confidence)
    return single, pairs


def _settled(rows: list[Estimate]) -> list[Estimate]:
    """Take the audit's values if it disagrees with a recommender's model in any metric."""
    if not any(x.disagrees for x in rows):
        return rows
    settled = []
    for x in rows:
        value = min(max(x.centre, x.low), x.high)
        settled.append(x._replace(value=value))
    return settled
