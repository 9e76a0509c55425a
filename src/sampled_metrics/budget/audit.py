"""Audit of the model on users drawn with known probabilities, scored in phases.

In each phase some of the users still in the audit are drawn, and the next part of their candidates
is scored: in the proxy's order until enough better ones are known, and from there on in random
order, for the average precision. The last phase scores all remaining candidates. The cost of a
phase is known in advance, so the scores left decide how many users are drawn.
"""

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.budget.model import Model
from sampled_metrics.budget.strata import Counts

FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
SCANNING_PHASES = 4  # that follow the proxy's order
FIRST = 16  # least number of scores of a user in the first phase
SHARES = (0.3, 0.4, 0.5, 1.0)  # largest part of the scores left that each phase may spend
ALONE = (0.5, 0.6, 0.6, 1.0)  # the same where the proxy does not help
EVEN = 0.5  # weight of the mean over users in a user's worth, where the proxy does not help
LEAST_RATE = 1e-9  # share of better candidates in a stratum, to divide by
FOUND = 3.0  # better candidates expected in the random draws of a first turn
GROWTH = 8.0  # factor on the number of draws, from turn to turn
TURNS = 3  # the last one draws all remaining candidates
NEGLIGIBLE = 1e-15  # probability below which further draws are not followed


class Phase(NamedTuple):
    """Outcome of one audit phase, per user; users not drawn have change 0 and probability 1."""

    change: Float  # new value minus old; shape (metrics, users)
    drawn: Float  # probability of being drawn in this phase, for users still in the audit
    reached: Float  # probability of having been drawn in this phase and all before

    @property
    def spread(self) -> Float:
        """Variance that drawing a user adds, per squared change."""
        return (1.0 - self.drawn) / self.reached**2


class Audit:
    """An audit of a recommender.

    Attributes
    ----------
    model, before, now
        The recommender's model; its view before the audit and after the last phase.
    phases, users
        Outcomes so far; the users drawn in the first phase. Later phases draw among them.
    reached
        Probability of having been drawn as often as a user was.
    noise
        Error of random draws in the sum over users, not part of the design; shape (metrics, users).
    assumed
        Variance of the sum by the model, and the variance that one more user with the worst
        possible error adds; shape (2, metrics).
    slack
        Possible error of users that cost too much, below and above; shape (2, metrics).
    """

    def __init__(self, model: Model, scores_left: int) -> None:
        seed = model.frame.seed
        self.model = model
        self.before = model.view()
        self.now = self.before
        self.phases: list[Phase] = []
        n_metrics, n_users = self.now.mean.shape
        self.users = np.arange(0)
        self.reached = np.ones(n_users)
        self.noise = np.zeros((n_metrics, n_users))
        self.assumed = np.zeros((2, n_metrics))
        self.slack = np.zeros((2, n_metrics))
        self._value = self.now.mean
        self._counts = model.counts
        self._scores_left = scores_left
        self._rng = generator(seed, "budget", "users")  # the same for all recommenders
        self._first_places = FirstPlaces(model.counts, generator(seed, "budget", "draws"))
        rates = model.posterior @ model.share  # better candidates by stratum, before the audit
        self._rates = model.frame.by_user(rates.T, np.minimum).T

    def run(self) -> "Audit":
        """Ask for scores phase by phase, as far as there are any left."""
        users = np.arange(self.reached.size)
        while True:
            users = self.open_users(users)
            random = ~self.model.live  # users whose metrics with a cut-off are settled
            scores = self._plan(users, random[users])
            fits = scores.sum(1) <= self._scores_left
            self._leave(users[~fits])
            users = users[fits]
            if not users.size:
                return self
            scores = scores[fits]
            cost = scores.sum(1)
            expected = self.now.variance + FLOOR * self.now.top**2
            taken, drawn = self._draw(users, cost, expected, random)
            users = users[taken]
            more = np.zeros_like(self._counts.m)
            more[users] = scores[taken]
            self._scores_left -= int(more.sum())
            before = (self._counts.known, self._counts.n_tied)
            self._counts.ask(more)
            at_random = users[random[users]]
            self._first_places.update(at_random, more.sum(1)[at_random], *before)
            self.now = self.model.view()
            self.note(users, drawn, self._values(), expected, at_random)

    def note(
        self,
        users: Int,
        drawn: Float,
        values: Float,
        expected: Float,
        at_random: Int,
    ) -> None:
        """Note the new values of users drawn, and the variance that the model expected.

        Metrics without a cut-off rest on random draws for the users `at_random`.
        """
        value = self._value.copy()
        value[:, users] = values[:, users]
        phase = Phase(value - self._value, np.ones(self.reached.size), self.reached.copy())
        phase.drawn[users] = drawn
        phase.reached[users] *= drawn
        spread = phase.spread[users]
        self.assumed[0] += (expected[:, users] * spread).sum(1)
        if not self.phases:
            self.users = users
            mean = self.before.mean[:, users]
            worst = np.maximum(mean, self.before.top[:, users] - mean)
            self.assumed[1] = (worst**2 * spread).mean(1)
        noisy = np.ix_(self.model.sums, at_random)
        self.noise[noisy] += phase.change[noisy] / np.sqrt(phase.reached[at_random])
        self.phases.append(phase)
        self.reached = phase.reached
        self._value = value

    def open_users(self, users: Int) -> Int:
        """Select the users with a metric that scores may still change.

        A metric without a cut-off is open until all candidates are scored or a better one is drawn
        at random; random draws begin when the metrics with a cut-off are settled.
        """
        is_open = self.model.live
        if self.model.sums.size:
            n_open = self.model.frame.by_user(self._first_places.factor > 0)
            is_open = (n_open > 0) & (self._counts.left.sum(1) > 0)
        return users[is_open[users]]

    def _plan(self, users: Int, random: Bool) -> Int:
        """Number of scores to ask next in each stratum, in the proxy's order or at random."""
        number = len(self.phases)
        scores = self._counts.left[users]
        if number < SCANNING_PHASES - 1:
            scores = self._scan(users, number / (SCANNING_PHASES - 1.0))
        if random.any():
            mean = self.now.row_mean[self.model.sums[0]]
            scores[random] = self._first_places.next(users[random], mean)
        return scores

    def _scan(self, users: Int, progress: float) -> Int:
        """Number of scores in each stratum, in the proxy's order, to find enough better ones."""
        left = self._counts.left[users]
        known = self.model.frame.by_user(self._counts.known, np.minimum)[users]
        missing = self.model.depth - known + 1  # one more than is needed
        length = _scan_length(left, self._rates[users], missing[:, np.newaxis])
        n_most = max(int(self.model.frame.n_candidates.max()), FIRST + 1)
        length = np.ceil(np.maximum(length, FIRST * (n_most / FIRST) ** progress))
        ahead = np.cumsum(left, axis=1) - left
        return np.clip(length - ahead, 0, left).astype(np.int64)

    def _leave(self, users: Int) -> None:
        """Note the possible error of users who cost more than the scores left."""
        value = self._value[:, users]
        below = value - self.now.least[:, users]
        above = self.now.top[:, users] - value
        distance = np.maximum([below, above], 0.0)
        self.slack += (distance / self.reached[users]).sum(2)

    def _draw(
        self,
        users: Int,
        cost: Int,
        expected: Float,
        random: Bool,
    ) -> tuple[Int, Float]:
        """Draw users whose values vary much per score; return their places and probabilities."""
        number = len(self.phases)
        sums = self.model.sums
        worth = expected.copy()
        worth[sums] += self.now.mean[sums] ** 2 * random  # random draws determine 1 / rank roughly
        of_user = self.model.priority @ worth[:, users]
        shares = SHARES
        if not self.model.proxy_helps:
            # A few scores tell little about a user, so that users are drawn more evenly.
            of_user = (1.0 - EVEN) * of_user + EVEN * of_user.mean()
            shares = ALONE
        weight = np.sqrt(of_user / cost) / self.reached[users]
        limit = int(shares[min(number, len(shares) - 1)] * self._scores_left)
        at = self._rng.random(self.reached.size)[users] / weight
        order = np.argsort(at, kind="stable")
        total = np.cumsum(cost[order])
        count = np.searchsorted(total, max(limit, cost.max()), side="right")
        taken = np.sort(order[:count])
        threshold = np.append(at[order], np.inf)[count]  # the first that does not fit
        return taken, np.minimum(1.0, weight[taken] * threshold)

    def _values(self) -> Float:
        """Metrics of all users: without a cut-off by random draws, the rest by the model."""
        values = self.now.mean.copy()
        for index in self.model.sums:
            row_mean = self.now.row_mean[index]
            rows = self._first_places.known + self._first_places.factor * row_mean
            values[index] = self.model.frame.by_user(rows * self.model.scale[index])
        return values


def _scan_length(
    left: Int,
    rate: Float,
    missing: Int,
) -> Float:
    """Number of candidates to scan until `missing` better ones are expected, shape (users, 1).

    It is 0 where all remaining candidates are expected to have fewer.
    """
    expected = left * rate
    found = np.cumsum(expected, axis=1)
    ahead = np.cumsum(left, axis=1) - left
    stratum = (found >= missing).argmax(1)[:, np.newaxis]
    start, found_before, rate_there = (
        np.take_along_axis(values, stratum, axis=1) for values in (ahead, found - expected, rate)
    )
    length = start + np.ceil((missing - found_before) / np.maximum(rate_there, LEAST_RATE))
    return np.where(found[:, -1:] < missing, 0.0, length)


class FirstPlaces:
    """Estimates of 1 / rank from random draws, for users with enough better candidates known.

    Put the unscored candidates and the known better ones into a random order. The place of the
    first better one, divided by one more than their number, is unbiased for 1 / rank. Only the
    unscored ones cost scores; over the places of the known ones the mean is taken. After some
    draws the expectation is `known + factor * (1 / rank)`; `factor` is 0 where a better one was
    drawn, elsewhere the draws may go on.
    """

    def __init__(self, counts: Counts, rng: np.random.Generator) -> None:
        n_rows = counts.above.size
        self.known = np.zeros(n_rows)
        self.factor = np.ones(n_rows)
        self._counts = counts
        self._rng = rng
        self._better = np.zeros(n_rows, np.int64)  # known before the first draws
        self._turns = np.zeros(len(counts.m), np.int64)
        self._coin = rng.random(n_rows)  # probability that a tied one is better

    def next(self, users: Int, mean: Float) -> Int:
        """Number of scores to ask next in each stratum; `mean` is the expected 1 / rank by row."""
        least = self._counts.frame.by_user(mean, np.minimum)[users]
        left = self._counts.left[users]
        n_left = left.sum(1)
        turn = self._turns[users]
        draws = np.clip(np.ceil(FOUND * GROWTH**turn * least * n_left), 1, n_left)
        draws = np.where(turn < TURNS - 1, draws, n_left)
        return random_draws(left, draws.astype(np.int64), self._rng)

    def update(self, users: Int, draws: Int, known: Int, tied: Int) -> None:
        """Count draws; `known` and `tied` are the numbers of all rows before them."""
        place, row = self._counts.frame.rows_of(users)
        turn = self._turns[users][place]
        before = known[row] + self._better_tied(row, tied[row])
        self._better[row] = np.where(turn == 0, before, self._better[row])
        found = (self._counts.known - known)[row]
        found += self._better_tied(row, (self._counts.n_tied - tied)[row])
        n_left = self._counts.left.sum(1)[users] + draws
        value, factor = after_draws(n_left[place], self._better[row], draws[place], found)
        self.known[row] += self.factor[row] * value
        self.factor[row] *= factor
        self._turns[users] += 1

    def _better_tied(self, row: Int, n_tied: Int) -> Int:
        """Numbers of tied candidates that are better."""
        return self._rng.binomial(n_tied, self._coin[row])


def after_draws(left: Int, better: Int, draws: Int, found: Int) -> tuple[Float, Float]:
    """Known part and factor of 1 / rank, given how many draws are better; see `FirstPlaces`.

    Examples
    --------
    >>> after_draws(np.array([3]), np.array([0]), np.array([3]), np.array([1]))[0]
    array([0.5])
    """
    n = left + better + 1.0
    total = np.ones(n.size)
    product = np.ones(n.size)
    rows = np.arange(n.size)
    for drawn in range(int(draws.max(initial=0))):
        is_open = (draws[rows] > drawn) & (product[rows] > NEGLIGIBLE)
        rows = rows[is_open]
        still_left = left[rows] - drawn
        still_drawn = draws[rows] - drawn
        # Probability that no better candidate, known or new, comes before the next draw.
        product[rows] *= still_left / (still_left + better[rows])
        product[rows] *= (still_drawn - found[rows]) / still_drawn
        total[rows] += product[rows]
    none_found = found == 0
    beyond = np.where(none_found, product, 0.0)
    known = (total - beyond) / n
    factor = beyond * (n - draws) / n
    return known, factor


def random_draws(left: Int, draws: Int, rng: np.random.Generator) -> Int:
    """Number of draws from each stratum, without replacement from all unscored candidates."""
    found = np.zeros_like(left)
    rest = left.sum(1)
    for stratum in range(left.shape[1]):
        rest = rest - left[:, stratum]
        found[:, stratum] = rng.hypergeometric(left[:, stratum], rest, draws)
        draws = draws - found[:, stratum]
    return found
