"""Estimates of metrics and of their differences, from the model and its audit.

The model gives each user's metric a posterior mean, and the audit finds by how much it is off for
users drawn with known probabilities. The estimated error of the model,

    sum over phases and users drawn of (change of the user's value) / P(reaching the phase),

is unbiased whatever the model says (Horvitz and Thompson, 1952), and so is its estimated variance.
In each phase of an audit (`audit.Phase`), some of the users drawn in all phases before are drawn
again, and more of their candidates are scored. `change` is how much that moves a user's metric, and
0 for users who are not drawn. `reach_probability` is the probability of being drawn in a phase and
in all before.

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
from sampled_metrics.budget.audit import Audit, Phase

# These make intervals a little wider, so that they cover with useless and misleading proxies as
# well (make measure PAGE=proxies), and with models that are wrong on purpose (tests of audits).
LEAST_SHARED_ERROR = 0.5  # least part of two recommenders' assumed errors in their difference
UNSEEN_USERS = 0.3  # standard deviation added, in users: an audit cannot see a fraction of one
DISAGREEMENT = 1.0 / 3.0  # audit and model disagree beyond this part of half an interval
LEAST_FREEDOM = 3.0  # few users drawn leave Satterthwaite's degrees of freedom uncertain
MOST_FREEDOM = 1e6
LEAST_DIVISOR = 1e-30  # replaces variances of 0, to divide by
EMPTY_PHASE = Phase(np.zeros(1), np.ones(1), np.ones(1))  # nobody was drawn


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
        Possible errors of users who cost too much, below and above; shape (2, metrics).
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
        """Estimate the mean of each metric over users."""
        n_users = self.variance.shape[1]
        largest = np.max([self.variance.sum(1), *self.assumed], axis=0)
        total = largest + UNSEEN_USERS**2
        squares = np.maximum((self.variance**2).sum(1), LEAST_DIVISOR)
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


def estimate_errors(audit: Audit) -> ModelErrors:
    """Estimate the errors of a recommender's model from its audit."""
    shift = np.zeros(audit.noise.shape)
    for phase in audit.phases:
        shift += phase.change / phase.reach_probability
    return ModelErrors(
        mean=audit.view_before.mean,
        shift=shift,
        variance=covariance(audit, audit) + audit.noise**2,
        assumed=audit.assumed,
        slack=audit.slack,
        bounds=np.mean([audit.view.least, audit.view.greatest], axis=-1),
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
    p_both = np.ones(total.shape[1])  # probability that both audits have reached a phase
    phases = list(zip_longest(a.phases, b.phases, fillvalue=EMPTY_PHASE))
    for number, (phase_a, phase_b) in enumerate(phases):
        p_both = p_both * np.minimum(phase_a.draw_probability, phase_b.draw_probability)
        # Each triple has a phase i of one audit, phase i of the other one, and a phase j >= i of
        # that other one. The pair i = j occurs in the first list only.
        triples = [(phase_a, phase_b, later_b) for _, later_b in phases[number:]]
        triples += [(phase_b, phase_a, later_a) for later_a, _ in phases[number + 1 :]]
        for early, simultaneous, late in triples:
            # P_ij: both audits reach phase i, and one goes on from there to phase j.
            p_further = late.reach_probability / simultaneous.reach_probability
            p_early_late = early.reach_probability * late.reach_probability
            weight = 1.0 / p_early_late - 1.0 / (p_both * p_further)
            total += early.change * late.change * weight  # a change is 0 unless the user is drawn
    return total


def _errors_of_difference(a: ModelErrors, b: ModelErrors, shared: Float) -> ModelErrors:
    """Return the errors of the difference b - a; `shared` is the covariance of both errors."""
    separate = a.variance + b.variance
    variance = separate - 2.0 * shared
    # Errors that the audit did not see are assumed to cancel as far as those that it saw.
    uncancelled = variance.sum(1) / np.maximum(separate.sum(1), LEAST_DIVISOR)
    return ModelErrors(
        mean=b.mean - a.mean,
        shift=b.shift - a.shift,
        variance=variance,
        assumed=np.clip(uncancelled, LEAST_SHARED_ERROR, 1.0) * (a.assumed + b.assumed),
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
    errors_by_recommender = [estimate_errors(audit) for audit in audits]
    by_recommender = []
    for errors in errors_by_recommender:
        row = errors.estimate_metrics(confidence)
        if any(x.disagrees for x in row):
            row = [x._replace(value=min(max(x.centre, x.low), x.high)) for x in row]
        by_recommender.append(row)
    by_pair = {}
    for a, b in combinations(range(len(audits)), 2):
        shared = covariance(audits[a], audits[b]) + audits[a].noise * audits[b].noise
        difference = _errors_of_difference(
            errors_by_recommender[a], errors_by_recommender[b], shared
        )
        by_pair[a, b] = difference.estimate_metrics(confidence)
    return by_recommender, by_pair
