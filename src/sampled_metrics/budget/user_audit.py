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
        """Draw users and score their candidates phase by phase, as long as scores are left."""
        users = np.arange(self.reach_probability.size)
        while True:
            users = self.open_users(users)
            is_settled = ~self.model.is_open  # only metrics without a cut-off are open
            n_scores = self._plan_scores(users, is_settled[users])
            is_affordable = n_scores.sum(1) <= self._scores_left
            self._record_unaffordable(users[~is_affordable])
            users, n_scores = users[is_affordable], n_scores[is_affordable]
            if not users.size:
                return self
            expected = self.now.variance + VARIANCE_FLOOR * self.now.greatest**2
            drawn, probability = self._draw_users(users, n_scores.sum(1), expected, is_settled)
            users, n_scores = users[drawn], n_scores[drawn]
            self._score(users, n_scores, is_settled[users])
            self.now = self.model.metric_posterior()
            self.record_phase(
                users=users,
                probability=probability,
                values=self._current_values(),
                expected_variance=expected,
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
        change = new_values - self._values
        phase = Phase(change, np.ones(self.reach_probability.size), self.reach_probability.copy())
        phase.draw_probability[users] = probability
        phase.reach_probability[users] *= probability
        factor = phase.variance_factor[users]
        self.assumed[0] += (expected_variance[:, users] * factor).sum(1)
        if not self.phases:
            self.users = users
            mean = self.before.mean[:, users]
            worst_error = np.maximum(mean, self.before.greatest[:, users] - mean)
            self.assumed[1] = (worst_error**2 * factor).mean(1)
        noisy = np.ix_(self.model.uncut, at_random)
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

        In the proxy's order, or at random for users whose metrics with a cut-off are settled.
        """
        phase = len(self.phases)
        n_scores = self._counts.n_left[users]
        if phase < SCANNING_PHASES - 1:
            n_scores = self._plan_scan(users, phase / (SCANNING_PHASES - 1.0))
        if is_settled.any():
            expected = self.now.row_mean[self.model.uncut[0]]
            n_scores[is_settled] = self._reciprocal_ranks.plan_draws(users[is_settled], expected)
        return n_scores

    def _plan_scan(self, users: Int, progress: float) -> Int:
        """Return how many candidates of each stratum to score, to find enough better ones.

        `progress` is 0 in the first phase and 1 in the last that scans. A scan is at least as long
        as a length that grows geometrically with it, from `FIRST_SCORES` to all candidates.

        Returns
        -------
        ndarray
            Shape (users, strata).
        """
        n_left = self._counts.n_left[users]
        n_known = self.model.strata.reduce_by_user(self._counts.known_better, np.minimum)[users]
        missing = self.model.depth - n_known + 1  # one more than is needed
        length = _scan_length(n_left, self._better_share[users], missing[:, np.newaxis])
        n_most = max(int(self.model.strata.n_candidates.max()), FIRST_SCORES + 1)
        least_length = FIRST_SCORES * (n_most / FIRST_SCORES) ** progress
        length = np.ceil(np.maximum(length, least_length))
        n_before = np.cumsum(n_left, axis=1) - n_left
        return np.clip(length - n_before, 0, n_left).astype(np.int64)

    def _record_unaffordable(self, users: Int) -> None:
        """Record the possible errors of users who cost more than the scores left."""
        values = self._values[:, users]
        downward = values - self.now.least[:, users]
        upward = self.now.greatest[:, users] - values
        errors = np.maximum([downward, upward], 0.0)
        self.slack += (errors / self.reach_probability[users]).sum(2)

    def _draw_users(
        self, users: Int, cost: Int, expected: Float, is_settled: Bool
    ) -> tuple[Int, Float]:
        """Draw users with values that vary much per score, as many as this phase may pay for.

        Priority sampling: users are taken in ascending order of a random number divided by their
        weight. The first that does not fit is a threshold, and given the threshold a user is drawn
        with probability min(1, weight * threshold). The weights are optimal for sums: standard
        deviation divided by the square root of the cost.

        Parameters
        ----------
        users, cost
            Users to draw from, and how many scores each costs; shape (users to draw from,).
        expected
            Expected variance of each metric; shape (metrics, users).
        is_settled
            Whether only metrics without a cut-off are open; shape (users,).

        Returns
        -------
        drawn, probability
            Indices into `users` of those drawn, and their probabilities.
        """
        weight = np.sqrt(self._worth(users, expected, is_settled) / cost)
        weight = weight / self.reach_probability[users]
        draw_key = self._rng.random(self.reach_probability.size)[users] / weight
        by_key = np.argsort(draw_key, kind="stable")
        total_cost = np.cumsum(cost[by_key])
        limit = max(self._phase_limit(), cost.max())  # pays for one user at least
        n_drawn = np.searchsorted(total_cost, limit, side="right")
        drawn = np.sort(by_key[:n_drawn])
        is_all = n_drawn == users.size
        threshold = np.inf if is_all else draw_key[by_key[n_drawn]]
        return drawn, np.minimum(1.0, weight[drawn] * threshold)

    def _worth(self, users: Int, expected: Float, is_settled: Bool) -> Float:
        """Return how much the metrics of some users vary, see `_draw_users`; shape (users,)."""
        uncut = self.model.uncut
        worth = expected.copy()
        # Random draws determine 1 / rank only roughly.
        worth[uncut] += self.now.mean[uncut] ** 2 * is_settled
        worth_of_user = self.model.metric_weights @ worth[:, users]
        if self.model.proxy_helps:
            return worth_of_user
        # A few scores tell little about a user, so users are drawn more evenly.
        return (1.0 - EVEN_WEIGHT) * worth_of_user + EVEN_WEIGHT * worth_of_user.mean()

    def _phase_limit(self) -> int:
        """Return how many scores the next phase may spend."""
        shares = PHASE_SHARES if self.model.proxy_helps else PHASE_SHARES_WITHOUT_PROXY
        phase = min(len(self.phases), len(shares) - 1)
        return int(shares[phase] * self._scores_left)

    def _current_values(self) -> Float:
        """Return the metrics of all users: without a cut-off by random draws, else by the model.

        Shape (metrics, users).
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

    It is 0 where fewer are expected among all remaining candidates.

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
    expected = n_left * better_share
    expected_up_to = np.cumsum(expected, axis=1)
    n_before = np.cumsum(n_left, axis=1) - n_left
    # The stratum in which the last of the missing ones is expected.
    last_stratum = (expected_up_to >= missing).argmax(1)[:, np.newaxis]

    def at_last(by_stratum: Array) -> Array:
        return np.take_along_axis(by_stratum, last_stratum, axis=1)

    still_missing = missing - at_last(expected_up_to - expected)
    n_in_last = np.ceil(still_missing / np.maximum(at_last(better_share), LEAST_RATE))
    length = at_last(n_before) + n_in_last
    return np.where(expected_up_to[:, -1:] < missing, 0.0, length)
