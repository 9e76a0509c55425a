"""Estimates of metrics and of their differences, from the model and its audit.

The model gives each user's metric a posterior mean, and the audit finds by how much it is off for
users drawn with known probabilities. The estimated error of the model,

    sum over phases and users drawn of (change of the user's value) / P(reaching the phase),

is unbiased whatever the model says (Horvitz and Thompson, 1952), and so is its estimated variance.
In each phase of an audit (`user_audit.Phase`), some of the users drawn in all phases before are
drawn again, and more of their candidates are scored. `change` is how much that moves a user's
metric, and 0 for users who are not drawn. `reach_probability` is the probability of being drawn in
a phase and in all before.

To allow for rare errors that the audit missed, the variance is at least the variance that the
model, with a floor, expects of the users drawn, and at least what one more user with the worst
possible error would add. Quantiles are Student's, with Satterthwaite's degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float
from sampled_metrics.budget.constants import (
    DISAGREEMENT,
    LEAST_DIVISOR,
    LEAST_FREEDOM,
    LEAST_SHARED_ERROR,
    MOST_FREEDOM,
    UNSEEN_USERS,
)
from sampled_metrics.budget.user_audit import Audit, Phase

_EMPTY_PHASE = Phase(np.zeros(1), np.ones(1), np.ones(1))  # nobody was drawn


class Estimate(NamedTuple):
    """Estimate of a metric, or of a difference between two recommenders.

    Attributes
    ----------
    value
        Value to rank by: the model's mean, moved as far as its estimated error exceeds one standard
        deviation; or `centre`, within the interval, if a recommender's audit and model disagree.
    low, high
        Interval around `centre`, widened by the possible errors of audited users who cost too much.
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
        """Whether audit and model differ by more than a third of the interval's half-width."""
        distance = abs(self.centre - self.model)
        return distance > DISAGREEMENT * (self.high - self.low) / 2.0


@dataclass
class ModelErrors:
    """Means by a model with estimates of their errors, or those of a difference of two models.

    Attributes
    ----------
    mean, shift, variance
        Posterior means, their estimated errors, and the variances of these; shape
        (metrics, users).
    assumed
        Least variances of the sum over users; shape (2, metrics), see `Audit`.
    slack
        Possible errors of users who cost too much, downward and upward; shape (2, metrics).
    bounds
        Least and greatest values that the scores allow; shape (2, metrics).
    """

    mean: Float
    shift: Float
    variance: Float
    assumed: Float
    slack: Float
    bounds: Float

    def estimate_metrics(self, confidence: float) -> list[Estimate]:
        """Estimate the mean of each metric over users.

        With m the model's mean, e its estimated error, s the standard deviation of e, and the slack
        d downward and u upward, the interval is

            m + e - t s - d   to   m + e + t s + u,

        where t is the quantile of Student's distribution. The value to rank by moves from m only by
        the part of e that exceeds s and the slack, so that noise does not reorder recommenders.
        """
        n_users = self.variance.shape[1]
        std_error_of_sum, freedom = self._errors_of_sums()
        std_error = std_error_of_sum / n_users
        half_width = stdtrit(freedom, 0.5 + confidence / 2.0) * std_error
        slack_down, slack_up = self.slack / n_users
        model = self.mean.sum(1) / n_users
        error = self.shift.sum(1) / n_users
        centre = model + error
        low = np.clip(centre - half_width - slack_down, *self.bounds)
        high = np.clip(centre + half_width + slack_up, *self.bounds)
        sure_rise = np.maximum(error - std_error - slack_down, 0.0)
        sure_fall = np.minimum(error + std_error + slack_up, 0.0)
        value = np.clip(model + sure_rise + sure_fall, low, high)
        fields = (value, low, high, centre, std_error, freedom, model)  # in order of `Estimate`
        return [Estimate(*of_metric) for of_metric in np.transpose(fields).tolist()]

    def _errors_of_sums(self) -> tuple[Float, Float]:
        """Return standard deviations of sums over users, and their degrees of freedom.

        The variance V of a sum is that of the estimated errors, sum_u v_u, or the larger one that
        is assumed at least, plus that of a user whom an audit cannot see. Satterthwaite's degrees
        of freedom are V^2 / sum_u v_u^2. Both results have the shape (metrics,).
        """
        largest_variance = np.max([self.variance.sum(1), *self.assumed], axis=0)
        total_variance = largest_variance + UNSEEN_USERS**2
        sum_of_squares = np.maximum((self.variance**2).sum(1), LEAST_DIVISOR)
        freedom = np.clip(total_variance**2 / sum_of_squares, LEAST_FREEDOM, MOST_FREEDOM)
        return np.sqrt(total_variance), freedom


def estimate_errors(audit: Audit) -> ModelErrors:
    """Estimate the errors of a recommender's model from its audit.

    `shift` is the estimator of Horvitz and Thompson, by user: the sum over phases of the change of
    the user's metric divided by the probability of reaching the phase.
    """
    shift = np.zeros(audit.noise.shape)
    for phase in audit.phases:
        shift += phase.change / phase.reach_probability
    return ModelErrors(
        mean=audit.before.mean,
        shift=shift,
        variance=covariance(audit, audit) + audit.noise**2,
        assumed=audit.assumed,
        slack=audit.slack,
        bounds=np.mean([audit.now.least, audit.now.greatest], axis=-1),
    )


def covariance(a: Audit, b: Audit) -> Float:
    """Return an unbiased covariance of the estimated errors of two recommenders.

    One random number per user and phase decides for both, so a user is drawn for both with the
    smaller of two probabilities. For changes c in phase i of one recommender and d in phase j >= i
    of the other, the covariance of c / P_i and d / P_j, each 0 if the user is not drawn, is
    c d (P_ij / (P_i P_j) - 1), with P_i and P_j the probabilities of reaching the phases and P_ij
    that of reaching both. Both changes are only known with probability P_ij, so the estimate is
    c d (1 / (P_i P_j) - 1 / P_ij) if they are, and 0 otherwise. It is summed over all pairs of
    phases.

    Returns
    -------
    ndarray
        By user; shape (metrics, users). Of an audit with itself it is the variance.
    """
    total = np.zeros(a.noise.shape)
    p_both_reach_i = np.ones(total.shape[1])
    phases = list(zip_longest(a.phases, b.phases, fillvalue=_EMPTY_PHASE))
    for i, (a_i, b_i) in enumerate(phases):
        p_both_reach_i = p_both_reach_i * np.minimum(a_i.draw_probability, b_i.draw_probability)
        # Phase i of one audit, phase i of the other one, and a phase j >= i of that other one. The
        # pair i = j occurs in the first list only.
        triples = [(a_i, b_i, b_j) for _, b_j in phases[i:]]
        triples += [(b_i, a_i, a_j) for a_j, _ in phases[i + 1 :]]
        for one_i, other_i, other_j in triples:
            p_other_goes_on = other_j.reach_probability / other_i.reach_probability  # from i to j
            p_i_times_p_j = one_i.reach_probability * other_j.reach_probability
            weight = 1.0 / p_i_times_p_j - 1.0 / (p_both_reach_i * p_other_goes_on)
            total += one_i.change * other_j.change * weight  # 0 unless the user is drawn in both
    return total


def _errors_of_difference(a: ModelErrors, b: ModelErrors, shared: Float) -> ModelErrors:
    """Return the errors of the difference b - a of two recommenders.

    `shared` is the covariance of both errors, by metric and user, so that
    Var(b - a) = Var(a) + Var(b) - 2 `shared`; shape (metrics, users).
    """
    variance_if_independent = a.variance + b.variance
    variance = variance_if_independent - 2.0 * shared
    # Errors that the audit did not see are assumed to cancel as far as those that it saw.
    divisor = np.maximum(variance_if_independent.sum(1), LEAST_DIVISOR)
    uncancelled = np.clip(variance.sum(1) / divisor, LEAST_SHARED_ERROR, 1.0)
    # The difference is lowest where b is lowest and a is highest: a's ends change places.
    return ModelErrors(
        mean=b.mean - a.mean,
        shift=b.shift - a.shift,
        variance=variance,
        assumed=uncancelled * (a.assumed + b.assumed),
        slack=b.slack + a.slack[::-1],
        bounds=b.bounds - a.bounds[::-1],
    )


def estimate_recommenders(
    audits: Sequence[Audit], confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimate the metrics of recommenders, and the differences b - a of all pairs (a, b).

    Intervals stay within the values that the scores allow. If an audit disagrees with the
    recommender's model in any metric, the values to rank by are those of the audit.
    """
    errors = [estimate_errors(audit) for audit in audits]
    by_recommender = []
    for errors_of_model in errors:
        estimates = errors_of_model.estimate_metrics(confidence)
        if any(estimate.disagrees for estimate in estimates):
            estimates = [_rank_by_centre(estimate) for estimate in estimates]
        by_recommender.append(estimates)
    by_pair = {}
    for a, b in combinations(range(len(audits)), 2):
        shared = covariance(audits[a], audits[b]) + audits[a].noise * audits[b].noise
        difference = _errors_of_difference(errors[a], errors[b], shared)
        by_pair[a, b] = difference.estimate_metrics(confidence)
    return by_recommender, by_pair


def _rank_by_centre(estimate: Estimate) -> Estimate:
    """Take the audit's estimate, within the interval, as the value to rank by."""
    value = min(max(estimate.centre, estimate.low), estimate.high)
    return estimate._replace(value=value)
