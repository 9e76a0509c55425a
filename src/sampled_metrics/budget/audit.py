"""Audit of a model on users drawn with known probabilities, scored in phases.

Question: by how much is the model wrong, whatever it says?

In each phase some of the users still in the audit are drawn, and the next part of their candidates
is scored: in the proxy's order until enough better ones are known, which settles metrics with a
cut-off; from there on in random order, for the average precision. The last phase scores all
remaining candidates. The cost of a phase is known in advance, so the scores left decide how many
users are drawn. What the audit finds is turned into estimates in `estimates`.
"""

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.budget.model import Model

# The design of the phases: chosen on recommenders for MovieLens 1M other than those of the study.
# Any choice leaves the estimates unbiased; it changes the width of intervals.
SCANNING_PHASES = 4  # phases that follow the proxy's order
FIRST_SCORES = 16  # least number of scores of a user in the first phase
PHASE_SHARES = (0.3, 0.4, 0.5, 1.0)  # largest part of the scores left that each phase may spend
# The same without a proxy that helps, with less left for later phases, in which the choice of users
# cannot be much better.
PHASE_SHARES_WITHOUT_PROXY = (0.5, 0.6, 0.6, 1.0)
EVEN_WEIGHT = 0.5  # weight of the mean over users in a user's worth, without a proxy that helps
VARIANCE_FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
LEAST_RATE = 1e-9  # share of better candidates in a stratum, to divide by
# Random draws in turns: few at first, because one better candidate ends them.
FIRST_TURN_BETTER = 3.0  # better candidates expected in the first turn
TURN_GROWTH = 8.0  # factor on the number of draws, from turn to turn
TURNS = 3  # the last one draws all remaining candidates
NEGLIGIBLE_PROBABILITY = 1e-15  # further draws are not followed below


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
    view_before, view
        The model's view before the audit, and after the last phase.
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
        Possible errors of users who cost too much, below and above; shape (2, metrics).
    """

    def __init__(self, model: Model, scores_left: int) -> None:
        seed = model.strata.seed
        self.model = model
        self.view_before = model.view()
        self.view = self.view_before
        self.phases: list[Phase] = []
        n_metrics, n_users = self.view.mean.shape
        self.users = np.arange(0)
        self.reach_probability = np.ones(n_users)
        self.noise = np.zeros((n_metrics, n_users))
        self.assumed = np.zeros((2, n_metrics))
        self.slack = np.zeros((2, n_metrics))
        self._values = self.view.mean
        self._counts = model.counts
        self._scores_left = scores_left
        self._rng = generator(seed, "budget", "users")  # the same for all recommenders
        self._reciprocal_ranks = ReciprocalRankDraws(
            model.counts, generator(seed, "budget", "draws")
        )
        # Share of better candidates expected in each stratum, before the audit.
        rates = model.posterior @ model.share
        self._rates = model.strata.reduce_by_user(rates.T, np.minimum).T

    def run(self) -> "Audit":
        """Draw users and score their candidates phase by phase, as long as scores are left."""
        users = np.arange(self.reach_probability.size)
        while True:
            users = self.open_users(users)
            is_settled = ~self.model.is_open  # only metrics without a cut-off are open
            n_scores = self._plan_scores(users, is_settled[users])
            is_affordable = n_scores.sum(1) <= self._scores_left
            self._leave_out(users[~is_affordable])
            users = users[is_affordable]
            if not users.size:
                return self
            n_scores = n_scores[is_affordable]
            cost = n_scores.sum(1)
            expected = self.view.variance + VARIANCE_FLOOR * self.view.greatest**2
            chosen, probability = self._draw_users(users, cost, expected, is_settled)
            users = users[chosen]
            n_more = np.zeros_like(self._counts.n_scored)
            n_more[users] = n_scores[chosen]
            self._scores_left -= int(n_more.sum())
            better_before = self._counts.known_better
            tied_before = self._counts.n_tied
            self._counts.score_next(n_more)
            at_random = users[is_settled[users]]
            n_draws = n_more.sum(1)[at_random]
            self._reciprocal_ranks.update(at_random, n_draws, better_before, tied_before)
            self.view = self.model.view()
            self.record_phase(
                users=users,
                probability=probability,
                values=self._current_values(),
                expected_variance=expected,
                at_random=at_random,
            )

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
            mean = self.view_before.mean[:, users]
            worst_error = np.maximum(mean, self.view_before.greatest[:, users] - mean)
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
        number = len(self.phases)
        n_scores = self._counts.n_left[users]
        if number < SCANNING_PHASES - 1:
            n_scores = self._plan_scan(users, number / (SCANNING_PHASES - 1.0))
        if is_settled.any():
            expected = self.view.row_mean[self.model.uncut[0]]
            n_scores[is_settled] = self._reciprocal_ranks.plan_draws(users[is_settled], expected)
        return n_scores

    def _plan_scan(self, users: Int, progress: float) -> Int:
        """Return how many candidates of each stratum to score, to find enough better ones.

        `progress` is 0 in the first phase and 1 in the last that scans.
        """
        n_left = self._counts.n_left[users]
        n_known = self.model.strata.reduce_by_user(self._counts.known_better, np.minimum)[users]
        missing = self.model.depth - n_known + 1  # one more than is needed
        length = _scan_length(n_left, self._rates[users], missing[:, np.newaxis])
        n_most = max(int(self.model.strata.n_candidates.max()), FIRST_SCORES + 1)
        least_length = FIRST_SCORES * (n_most / FIRST_SCORES) ** progress
        length = np.ceil(np.maximum(length, least_length))
        n_before = np.cumsum(n_left, axis=1) - n_left
        return np.clip(length - n_before, 0, n_left).astype(np.int64)

    def _leave_out(self, users: Int) -> None:
        """Record the possible errors of users who cost more than the scores left."""
        values = self._values[:, users]
        below = values - self.view.least[:, users]
        above = self.view.greatest[:, users] - values
        errors = np.maximum([below, above], 0.0)
        self.slack += (errors / self.reach_probability[users]).sum(2)

    def _draw_users(
        self, users: Int, cost: Int, expected: Float, is_settled: Bool
    ) -> tuple[Int, Float]:
        """Draw users with values that vary much per score, as many as this phase may pay for.

        Priority sampling: users are taken in ascending order of a random number divided by their
        weight. The first that does not fit is a threshold, and given the threshold a user is drawn
        with probability min(1, weight * threshold). The weights are optimal for sums: standard
        deviation divided by the square root of the cost.

        Returns
        -------
        chosen, probability
            Indices into `users` of those drawn, and their probabilities.
        """
        uncut = self.model.uncut
        worth = expected.copy()
        # Random draws determine 1 / rank only roughly.
        worth[uncut] += self.view.mean[uncut] ** 2 * is_settled
        worth_of_user = self.model.metric_weights @ worth[:, users]
        shares = PHASE_SHARES
        if not self.model.proxy_helps:
            # A few scores tell little about a user, so users are drawn more evenly.
            even = EVEN_WEIGHT * worth_of_user.mean()
            worth_of_user = (1.0 - EVEN_WEIGHT) * worth_of_user + even
            shares = PHASE_SHARES_WITHOUT_PROXY
        weight = np.sqrt(worth_of_user / cost) / self.reach_probability[users]
        number = len(self.phases)
        limit = int(shares[min(number, len(shares) - 1)] * self._scores_left)
        draw_key = self._rng.random(self.reach_probability.size)[users] / weight
        order = np.argsort(draw_key, kind="stable")
        total_cost = np.cumsum(cost[order])
        n_drawn = np.searchsorted(total_cost, max(limit, cost.max()), side="right")
        chosen = np.sort(order[:n_drawn])
        threshold = np.append(draw_key[order], np.inf)[n_drawn]
        return chosen, np.minimum(1.0, weight[chosen] * threshold)

    def _current_values(self) -> Float:
        """Return the metrics of all users: without a cut-off by random draws, else by the model."""
        values = self.view.mean.copy()
        draws = self._reciprocal_ranks
        for index in self.model.uncut:
            rows = draws.known_part + draws.factor * self.view.row_mean[index]
            values[index] = self.model.strata.reduce_by_user(rows * self.model.scale[index])
        return values


def _scan_length(n_left: Int, rate: Float, missing: Int) -> Float:
    """Return how many candidates to scan until enough better ones are expected; shape (users, 1).

    It is 0 where fewer are expected among all remaining candidates.

    Parameters
    ----------
    n_left, rate
        Candidates left in each stratum, and the share of better ones expected; shape
        (users, strata).
    missing
        Better candidates still needed; shape (users, 1).
    """
    expected = n_left * rate
    expected_up_to = np.cumsum(expected, axis=1)
    n_before = np.cumsum(n_left, axis=1) - n_left
    # The stratum in which the last of the missing ones is expected.
    stratum = (expected_up_to >= missing).argmax(1)[:, np.newaxis]
    start = np.take_along_axis(n_before, stratum, axis=1)
    expected_before = np.take_along_axis(expected_up_to - expected, stratum, axis=1)
    rate_there = np.take_along_axis(rate, stratum, axis=1)
    length = start + np.ceil((missing - expected_before) / np.maximum(rate_there, LEAST_RATE))
    return np.where(expected_up_to[:, -1:] < missing, 0.0, length)


class ReciprocalRankDraws:
    """Estimates of 1 / rank from random draws, for users with enough better candidates known.

    Put the unscored candidates and the known better ones into a random order. The place of the
    first better one, divided by one more than their number, is unbiased for 1 / rank. Only unscored
    candidates cost scores; over the places of the known ones the mean is taken. After some draws
    the estimate is `known_part + factor * (1 / rank)`: `factor` is 0 once a better candidate was
    drawn, and before that further draws may follow.

    Attributes
    ----------
    known_part, factor
        Known part of 1 / rank, and factor of the unknown part; shape (rows,).
    """

    def __init__(self, counts: StratumCounts, rng: np.random.Generator) -> None:
        n_rows = counts.above.size
        self.known_part = np.zeros(n_rows)
        self.factor = np.ones(n_rows)
        self._counts = counts
        self._rng = rng
        self._better_at_start = np.zeros(n_rows, np.int64)  # known before the first draws
        self._turns = np.zeros(len(counts.n_scored), np.int64)
        self._tie_probability = rng.random(n_rows)  # probability that a tied candidate is better

    def plan_draws(self, users: Int, expected_reciprocal_rank: Float) -> Int:
        """Return how many candidates to draw next from each stratum; shape (users, strata).

        `expected_reciprocal_rank` is the expected 1 / rank of all held-out rows.
        """
        strata = self._counts.strata
        least_expected = strata.reduce_by_user(expected_reciprocal_rank, np.minimum)[users]
        n_left = self._counts.n_left[users]
        total_left = n_left.sum(1)
        turn = self._turns[users]
        n_draws = np.ceil(FIRST_TURN_BETTER * TURN_GROWTH**turn * least_expected * total_left)
        n_draws = np.clip(n_draws, 1, total_left)
        n_draws = np.where(turn < TURNS - 1, n_draws, total_left)
        return draw_from_strata(n_left, n_draws.astype(np.int64), self._rng)

    def update(self, users: Int, n_draws: Int, better_before: Int, tied_before: Int) -> None:
        """Count the draws of some users.

        Parameters
        ----------
        users, n_draws
            Users, and how many candidates were drawn for each.
        better_before, tied_before
            Better and tied candidates known before the draws, of all held-out rows.
        """
        place, row = self._counts.strata.rows_of_users(users)
        turn = self._turns[users][place]
        better = better_before[row] + self._draw_better_of_tied(row, tied_before[row])
        self._better_at_start[row] = np.where(turn == 0, better, self._better_at_start[row])
        n_found = (self._counts.known_better - better_before)[row]
        n_found += self._draw_better_of_tied(row, (self._counts.n_tied - tied_before)[row])
        n_left = self._counts.n_left.sum(1)[users] + n_draws
        known_part, factor = split_reciprocal_rank(
            n_left[place], self._better_at_start[row], n_draws[place], n_found
        )
        self.known_part[row] += self.factor[row] * known_part
        self.factor[row] *= factor
        self._turns[users] += 1

    def _draw_better_of_tied(self, row: Int, n_tied: Int) -> Int:
        """Draw how many of the tied candidates are better."""
        return self._rng.binomial(n_tied, self._tie_probability[row])


def split_reciprocal_rank(
    n_left: Int, n_better: Int, n_draws: Int, n_found: Int
) -> tuple[Float, Float]:
    """Return the known part of 1 / rank and the factor of the rest, see `ReciprocalRankDraws`.

    Parameters
    ----------
    n_left, n_better
        Candidates unscored before the draws, and better ones known before; shape (rows,).
    n_draws, n_found
        Candidates drawn, and better ones among them.

    Examples
    --------
    >>> split_reciprocal_rank(np.array([3]), np.array([0]), np.array([3]), np.array([1]))[0]
    array([0.5])
    """
    n = n_left + n_better + 1.0
    expected_place = np.ones(n.size)
    probability = np.ones(n.size)  # that no better candidate, known or new, comes before
    rows = np.arange(n.size)
    for n_before in range(int(n_draws.max(initial=0))):
        is_open = (n_draws[rows] > n_before) & (probability[rows] > NEGLIGIBLE_PROBABILITY)
        rows = rows[is_open]
        still_left = n_left[rows] - n_before
        still_drawn = n_draws[rows] - n_before
        probability[rows] *= still_left / (still_left + n_better[rows])
        probability[rows] *= (still_drawn - n_found[rows]) / still_drawn
        expected_place[rows] += probability[rows]
    probability_of_none = np.where(n_found == 0, probability, 0.0)
    known_part = (expected_place - probability_of_none) / n
    factor = probability_of_none * (n - n_draws) / n
    return known_part, factor


def draw_from_strata(n_left: Int, n_draws: Int, rng: np.random.Generator) -> Int:
    """Draw without replacement from all unscored candidates, and count the draws by stratum."""
    counts = np.zeros_like(n_left)
    n_further = n_left.sum(1)
    for stratum in range(n_left.shape[1]):
        n_further = n_further - n_left[:, stratum]
        counts[:, stratum] = rng.hypergeometric(n_left[:, stratum], n_further, n_draws)
        n_draws = n_draws - counts[:, stratum]
    return counts
