"""Audit of a model on users drawn with known probabilities, scored in phases.

Question: by how much is the model wrong, whatever it says?

In each phase some of the users still in the audit are drawn, and the next part of their candidates
is scored: in the proxy's order until enough better ones are known, which settles metrics with a
cut-off; from there on in random order, for the average precision (`reciprocal_ranks`). The last
phase scores all remaining candidates. The cost of a phase is known in advance, so the scores left
decide how many users are drawn. What the audit finds is turned into estimates in `estimates`.
"""

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Array, Bool, Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.budget.constants import (
    EVEN_WEIGHT,
    FIRST_SCORES,
    LEAST_RATE,
    PHASE_SHARES,
    PHASE_SHARES_WITHOUT_PROXY,
    SCANNING_PHASES,
    VARIANCE_FLOOR,
)
from sampled_metrics.budget.model import Model
from sampled_metrics.budget.reciprocal_ranks import ReciprocalRankDraws


class Phase(NamedTuple):
    """Outcome of one audit phase, per user; users not drawn have change 0 and probability 1.

    Attributes
    ----------
    change
        New value of each metric minus the old one; shape (metrics, users).
    draw_probability
        Probability of being drawn in this phase, for users still in the audit; shape (users,).
    reach_probability
        Probability of having been drawn in this phase and all before; shape (users,).
    """

    change: Float
    draw_probability: Float
    reach_probability: Float

    @property
    def variance_factor(self) -> Float:
        """Variance that drawing a user adds to the sum over users, per squared change."""
        return (1.0 - self.draw_probability) / self.reach_probability**2


class Audit:
    """An audit of a recommender.

    Attributes
    ----------
    model
        The recommender's model.
    before, now
        The model's posterior of the metrics before the audit, and after the last phase.
    phases
        Outcomes so far.
    users
        Users drawn in the first phase; later phases draw among them.
    reach_probability
        Probability of having been drawn as often as a user was; shape (users,).
    noise
        Error of random draws in the sum over users, in addition to that of drawing users; shape
        (metrics, users).
    assumed
        Variance of the sum by the model, and the variance that one more user with the worst
        possible error adds; shape (2, metrics).
    slack
        Possible errors of users who cost too much, downward and upward; shape (2, metrics).
    """

    def __init__(self, model: Model, scores_left: int) -> None:
        seed = model.strata.seed
        self.model = model
        self.before = model.metric_posterior()
        self.now = self.before
        self.phases: list[Phase] = []
        n_metrics, n_users = self.now.mean.shape
        self.users = np.arange(0)
        self.reach_probability = np.ones(n_users)
        self.noise = np.zeros((n_metrics, n_users))
        self.assumed = np.zeros((2, n_metrics))
        self.slack = np.zeros((2, n_metrics))
        self._values = self.now.mean
        self._counts = model.counts
        self._scores_left = scores_left
        self._rng = generator(seed, "budget", "users")  # the same for all recommenders
        self._reciprocal_ranks = ReciprocalRankDraws(
            model.counts, generator(seed, "budget", "draws")
        )
        # Share of better candidates expected in each stratum, before the audit: of the user's
        # held-out row with the smallest one; shape (users, strata).
        share_of_row = model.posterior @ model.share
        self._better_share = model.strata.reduce_by_user(share_of_row.T, np.minimum).T

    def run(self) -> "Audit":
        """Draw users and score their candidates phase by phase, as long as scores are left.

        Each phase plans the next scores of the users who are open and affordable, draws some of
        these users, scores the candidates planned, and records how the users' metrics changed. The
        next phase draws among the users drawn.
        """
        users = np.arange(self.reach_probability.size)
        while True:
            users = self.open_users(users)
            is_settled = ~self.model.is_open  # only metrics without a cut-off are open
            n_scores = self._plan_scores(users, is_settled[users])  # shape (users, strata)
            is_affordable = n_scores.sum(1) <= self._scores_left
            self._record_unaffordable(users[~is_affordable])
            users, n_scores = users[is_affordable], n_scores[is_affordable]
            if not users.size:
                return self
            expected_variance = self.now.variance + VARIANCE_FLOOR * self.now.greatest**2
            drawn, probability = self._draw_users(
                users, n_scores.sum(1), expected_variance, is_settled
            )
            users, n_scores = users[drawn], n_scores[drawn]
            self._score(users, n_scores, is_settled[users])
            self.now = self.model.metric_posterior()
            self.record_phase(
                users=users,
                probability=probability,
                values=self._current_values(),
                expected_variance=expected_variance,
                at_random=users[is_settled[users]],
            )

    def _score(self, users: Int, n_scores: Int, is_at_random: Bool) -> None:
        """Score the next candidates of some users, and count those drawn at random.

        Parameters
        ----------
        users, is_at_random
            Users, and whether their candidates are a random draw; shape (users,).
        n_scores
            Number of candidates to score; shape (users, strata).
        """
        n_more = np.zeros_like(self._counts.n_scored)
        n_more[users] = n_scores
        self._scores_left -= int(n_more.sum())
        better_before = self._counts.known_better
        tied_before = self._counts.n_tied
        self._counts.score_next(n_more)
        n_draws = n_scores.sum(1)[is_at_random]
        self._reciprocal_ranks.update(users[is_at_random], n_draws, better_before, tied_before)

    def record_phase(
        self,
        *,
        users: Int,
        probability: Float,
        values: Float,
        expected_variance: Float,
        at_random: Int,
    ) -> None:
        """Record the new values of users drawn, and the variance that the model expected.

        A user drawn with probability p adds change / P to the estimated sum over users, where P is
        the probability of reaching the phase, and change^2 (1 - p) / P^2 to its variance. `assumed`
        has the sum of these variances with the change^2 that the model expected, and, from the
        first phase, their mean with the square of a user's worst possible error. `noise` takes a
        change that rests on random draws of candidates as the standard deviation of its own error,
        divided by sqrt(P), so that its square stands for the users not drawn as well.

        Parameters
        ----------
        users, probability
            Users drawn in this phase, and their probabilities.
        values, expected_variance
            New values of all users, and the variance that the model expected before; shape
            (metrics, users).
        at_random
            Those of the users whose metrics without a cut-off rest on random draws.
        """
        new_values = self._values.copy()
        new_values[:, users] = values[:, users]
        draw_probability = np.ones(self.reach_probability.size)
        draw_probability[users] = probability
        phase = Phase(
            change=new_values - self._values,
            draw_probability=draw_probability,
            reach_probability=self.reach_probability * draw_probability,
        )
        variance_factor = phase.variance_factor[users]
        self.assumed[0] += (expected_variance[:, users] * variance_factor).sum(1)
        is_first_phase = not self.phases
        if is_first_phase:
            self.users = users
            mean = self.before.mean[:, users]
            worst_error = np.maximum(mean, self.before.greatest[:, users] - mean)
            self.assumed[1] = (worst_error**2 * variance_factor).mean(1)
        noisy = np.ix_(self.model.uncut, at_random)  # (metrics without a cut-off, users)
        self.noise[noisy] += phase.change[noisy] / np.sqrt(phase.reach_probability[at_random])
        self.phases.append(phase)
        self.reach_probability = phase.reach_probability
        self._values = new_values

    def open_users(self, users: Int) -> Int:
        """Select the users with a metric that scores may still change.

        A metric without a cut-off is open until all candidates are scored or a better one is drawn
        at random; random draws begin when the metrics with a cut-off are settled.
        """
        is_open = self.model.is_open
        if self.model.uncut.size:
            n_open = self.model.strata.reduce_by_user(self._reciprocal_ranks.factor > 0)
            is_open = (n_open > 0) & (self._counts.n_left.sum(1) > 0)
        return users[is_open[users]]

    def _plan_scores(self, users: Int, is_settled: Bool) -> Int:
        """Return how many candidates to score next in each stratum; shape (users, strata).

        In the first phases, the next part of the proxy's order; in later ones all that are left.
        For users whose metrics with a cut-off are settled, a random draw instead.
        """
        phase = len(self.phases)
        last_scan = SCANNING_PHASES - 1
        if phase < last_scan:
            n_scores = self._plan_scan(users, progress=phase / float(last_scan))
        else:
            n_scores = self._counts.n_left[users]
        if is_settled.any():
            expected_reciprocal_rank = self.now.row_mean[self.model.uncut[0]]
            n_scores[is_settled] = self._reciprocal_ranks.plan_draws(
                users[is_settled], expected_reciprocal_rank
            )
        return n_scores

    def _plan_scan(self, users: Int, progress: float) -> Int:
        """Return how many candidates of each stratum to score, in the proxy's order.

        As many as are expected to contain the better candidates that settle metrics with a cut-off,
        and at least FIRST_SCORES^(1 - progress) * (largest number of candidates)^progress.

        Parameters
        ----------
        users
            Users to plan for; shape (users,).
        progress
            From 0 in the first phase to 1 in the last phase that scans.

        Returns
        -------
        ndarray
            Shape (users, strata).
        """
        n_left = self._counts.n_left[users]
        n_known = self.model.strata.reduce_by_user(self._counts.known_better, np.minimum)[users]
        missing = self.model.depth - n_known + 1  # one more than is needed
        expected_length = _scan_length(n_left, self._better_share[users], missing[:, np.newaxis])
        n_most = max(int(self.model.strata.n_candidates.max()), FIRST_SCORES + 1)
        least_length = FIRST_SCORES * (n_most / FIRST_SCORES) ** progress
        length = np.ceil(np.maximum(expected_length, least_length))
        # The first `length` candidates: what exceeds the strata before, up to the stratum's own.
        n_in_strata_before = np.cumsum(n_left, axis=1) - n_left
        return np.clip(length - n_in_strata_before, 0, n_left).astype(np.int64)

    def _record_unaffordable(self, users: Int) -> None:
        """Add to `slack` how far metrics of users may move who cost more than the scores left."""
        values = self._values[:, users]
        downward = values - self.now.least[:, users]
        upward = self.now.greatest[:, users] - values
        errors = np.maximum([downward, upward], 0.0)  # shape (2, metrics, users)
        self.slack += (errors / self.reach_probability[users]).sum(2)

    def _draw_users(
        self, users: Int, cost: Int, expected_variance: Float, is_settled: Bool
    ) -> tuple[Int, Float]:
        """Draw users with values that vary much per score, as many as this phase may pay for.

        Priority sampling: users are taken in ascending order of a key, a uniform random number
        divided by their weight, until the next user costs too much. The key of that user is the
        threshold, and given the threshold a user is drawn with probability
        min(1, weight * threshold). The weights are optimal for sums of changes, each divided by its
        probability P of having reached this phase: sqrt(expected variance / cost) / P.

        Parameters
        ----------
        users, cost
            Users to draw from, and how many scores each costs; shape (users to draw from,).
        expected_variance
            Expected variance of each metric; shape (metrics, all users).
        is_settled
            Whether only metrics without a cut-off are open; shape (all users,).

        Returns
        -------
        drawn, probability
            Indices into `users` of those drawn, and their probabilities.
        """
        variance = self._variance_for_draws(users, expected_variance, is_settled)
        weight = np.sqrt(variance / cost) / self.reach_probability[users]
        # One random number for each of all users, so that recommenders share them.
        key = self._rng.random(self.reach_probability.size)[users] / weight
        by_key = np.argsort(key, kind="stable")
        total_cost = np.cumsum(cost[by_key])
        limit = max(self._phase_limit(), cost.max())  # pays for one user at least
        n_drawn = np.searchsorted(total_cost, limit, side="right")  # first users within the limit
        drawn = np.sort(by_key[:n_drawn])
        are_all_drawn = n_drawn == users.size
        threshold = np.inf if are_all_drawn else key[by_key[n_drawn]]
        return drawn, np.minimum(1.0, weight[drawn] * threshold)

    def _variance_for_draws(self, users: Int, expected_variance: Float, is_settled: Bool) -> Float:
        """Return the variance of each user's metrics by which `_draw_users` weights the user.

        It is a weighted sum over metrics. Users whose candidates are drawn at random have an
        uncertain 1 / rank, so the squares of metrics without a cut-off are added for them.
        Arguments are as in `_draw_users`; shape (users,).
        """
        uncut = self.model.uncut
        variance = expected_variance.copy()  # shape (metrics, all users)
        variance[uncut] += self.now.mean[uncut] ** 2 * is_settled
        variance_of_user = self.model.metric_weights @ variance[:, users]
        if self.model.proxy_helps:
            return variance_of_user
        # A few scores tell little about a user, so users are drawn more evenly.
        return (1.0 - EVEN_WEIGHT) * variance_of_user + EVEN_WEIGHT * variance_of_user.mean()

    def _phase_limit(self) -> int:
        """Return how many scores the next phase may spend."""
        shares = PHASE_SHARES if self.model.proxy_helps else PHASE_SHARES_WITHOUT_PROXY
        phase = min(len(self.phases), len(shares) - 1)
        return int(shares[phase] * self._scores_left)

    def _current_values(self) -> Float:
        """Return the metrics of all users: without a cut-off by random draws, else by the model.

        Draws give known_part + factor * E[1 / rank] for each held-out row, with the model's
        expectation for the part that is still unknown. Shape (metrics, users).
        """
        values = self.now.mean.copy()
        draws = self._reciprocal_ranks
        for metric in self.model.uncut:
            value_of_row = draws.known_part + draws.factor * self.now.row_mean[metric]
            value_of_row = value_of_row * self.model.row_weights[metric]
            values[metric] = self.model.strata.reduce_by_user(value_of_row)
        return values


def _scan_length(n_left: Int, better_share: Float, missing: Int) -> Float:
    """Return how many candidates to scan until enough better ones are expected; shape (users, 1).

    Candidates are scanned stratum by stratum. The result is the size of the strata before the one
    in which the last better candidate is expected, plus the better ones still missing there divided
    by its share of better ones. It is 0 where all remaining candidates have fewer.

    Parameters
    ----------
    n_left, better_share
        Candidates left in each stratum, and the share of better ones expected; shape
        (users, strata).
    missing
        Better candidates still needed; shape (users, 1).

    Examples
    --------
    Of 4 candidates all are expected to be better, and of the next 4 half: 6 candidates for 5.

    >>> _scan_length(np.array([[4, 4]]), np.array([[1.0, 0.5]]), np.array([[5]]))
    array([[6.]])
    """
    n_better = n_left * better_share  # expected in each stratum
    n_better_up_to = np.cumsum(n_better, axis=1)
    n_left_before = np.cumsum(n_left, axis=1) - n_left
    is_enough = n_better_up_to >= missing
    last_stratum = is_enough.argmax(1)[:, np.newaxis]  # the first with enough

    def at_last(by_stratum: Array) -> Array:
        return np.take_along_axis(by_stratum, last_stratum, axis=1)

    still_missing = missing - at_last(n_better_up_to - n_better)
    n_in_last = np.ceil(still_missing / np.maximum(at_last(better_share), LEAST_RATE))
    length = at_last(n_left_before) + n_in_last
    has_too_few = n_better_up_to[:, -1:] < missing
    return np.where(has_too_few, 0.0, length)
