"""Audit of the model: users drawn with known probabilities, of whom more and more is scored.

In each phase some of the users still in the audit are drawn, and the next part of their candidates
is scored: in the proxy's order until enough better ones are known, and from there on in random
order, for the average precision. The last phase scores all that is left. The cost of a phase is
known in advance, so the scores left decide how many users are drawn.
"""

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.budget.first_places import FirstPlaces
from sampled_metrics.budget.keyed import stream, uniform
from sampled_metrics.budget.model import Model, View
from sampled_metrics.budget.strata import Asked, Asking

FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
PHASES = 4  # of scanning in the proxy's order
FIRST = 16  # least number of scores of a user in the first phase
SHARES = (0.3, 0.4, 0.5)  # of the scores left that the first phases may spend
ALONE = (0.5, 0.6, 0.6)  # the same where the proxy does not help
EVEN = 0.5  # share of a user's worth that is the mean of all, where the proxy does not help
LEAST_RATE = 1e-9  # of better ones in a stratum, to divide by


class Phase(NamedTuple):
    """Users drawn in a phase; arrays of shape (users,) or (metrics, users)."""

    users: Int
    change: Float  # of the value
    variance: Float  # that the model expects, with a floor
    drawn: Float  # probability of being drawn in this phase, for those still in the audit
    reached: Float  # probability of having been drawn in this phase and all before
    random: NDArray[np.bool_]  # whether the value of a metric without cutoff rests on random draws

    @property
    def spread(self) -> Float:
        """Variance that drawing a user adds, per squared change."""
        return (1.0 - self.drawn) / self.reached**2


class Audited(NamedTuple):
    """What the audit of a recommender found."""

    before: View
    phases: list[Phase]  # empty ones included
    slack: Float  # possible error of users that cost too much, below and above; (2, metrics)
    sums: list[int]  # metrics without a cutoff


def audit(model: Model, scores_left: int, look: int) -> Generator[Asked, Float, Audited]:
    """Ask for at most `scores_left` scores phase by phase, and return what was found.

    `look` numbers the audits of an evaluation that may stop early; each draws users anew.
    """
    run = _Audit(model, scores_left, look)
    users = run.unfinished(np.arange(run.n_users))
    while users.size:
        plans = run.affordable(run.plans(users))
        if not plans.users.size:
            break
        users = yield from run.phase(plans)
        users = run.unfinished(users)
    return Audited(run.before, run.phases, run.slack, model.sums)


class _Plans(NamedTuple):
    """Scores that users would be asked for in the next phase."""

    users: Int
    scores: Int  # of each stratum, shape (users, strata)
    random: NDArray[np.bool_]  # whether they are asked in random order

    @property
    def cost(self) -> Int:
        return self.scores.sum(1)

    def take(self, which: Int | NDArray[np.bool_]) -> "_Plans":
        return _Plans(self.users[which], self.scores[which], self.random[which])


class _Audit:
    """An audit between its phases."""

    def __init__(self, model: Model, scores_left: int, look: int) -> None:
        seed = model.counts.frame.seed
        self.n_users = model.counts.m.shape[0]
        self.before = model.view()
        self.phases: list[Phase] = []
        self.slack = np.zeros((2, len(model.measures)))
        self._model = model
        self._counts = model.counts
        self._frame = model.counts.frame
        self._scores_left = scores_left
        self._key = stream(seed, f"audit {look} users")
        self._first_places = FirstPlaces(model.counts, stream(seed, f"audit {look} draws"))
        self._rates = model.posterior @ model.share  # of better ones in each stratum, before
        self._now = self.before
        self._value = self.before.mean.copy()
        self._reached = np.ones(self.n_users)

    def unfinished(self, users: Int) -> Int:
        """Users of whom some metric is not known."""
        if not self._model.sums:
            return users[self._model.live[users]]
        is_open = self._first_places.factor > 0
        n_open = self._frame.by_user(is_open.astype(np.float64))
        n_left = self._counts.left.sum(1)
        is_unfinished = (n_open > 0) & (n_left > 0)
        return users[is_unfinished[users]]

    def plans(self, users: Int) -> _Plans:
        """Scores to ask next: by the proxy while a metric with a cutoff is open, then at random."""
        random = ~self._model.live[users]
        scores = self._scan(users)
        if random.any():
            mean = self._now.row_mean[self._model.sums[0]]
            number = len(self.phases)
            scores[random] = self._first_places.next(users[random], mean, number)
        return _Plans(users, scores, random)

    def affordable(self, plans: _Plans) -> _Plans:
        """Drop users that cost more than is left, and note how far off their values may be."""
        fits = plans.cost <= self._scores_left
        users = plans.users[~fits]
        least, most = self._model.limits()[:, :, users]
        value = self._value[:, users]
        distance = np.maximum([value - least, most - value], 0.0)
        self.slack += (distance / self._reached[users]).sum(2)
        return plans.take(fits)

    def phase(self, plans: _Plans) -> Generator[Asked, Float, Int]:
        """Draw users, ask for their scores, and return the users drawn."""
        expected = self._now.variance[:, plans.users]
        expected += FLOOR * self._now.top[:, plans.users] ** 2
        taken, drawn = self._draw(plans, expected)
        plans = plans.take(taken)
        users = plans.users
        yield from self._ask(plans)
        self._now = self._model.view()
        value = self._values(users)
        self._reached[users] *= drawn
        phase = Phase(
            users=users,
            change=value - self._value[:, users],
            variance=expected[:, taken],
            drawn=drawn,
            reached=self._reached[users],
            random=plans.random,
        )
        self.phases.append(phase)
        self._value[:, users] = value
        return users

    def _draw(self, plans: _Plans, expected: Float) -> tuple[Int, Float]:
        """Draw users whose values vary much per score; return their places and probabilities."""
        number = len(self.phases)
        sums = self._model.sums
        worth = expected.copy()
        mean = self._now.mean[sums][:, plans.users]
        worth[sums] += mean**2 * plans.random  # draws tell 1 / rank roughly
        cost = plans.cost
        of_user = self._model.priority @ worth
        shares = SHARES
        if not self._model.proxy_helps:
            # A few scores say little of a user, so that all are drawn more evenly.
            of_user = (1.0 - EVEN) * of_user + EVEN * of_user.mean()
            shares = ALONE
        weight = np.sqrt(of_user / cost) / self._reached[plans.users]
        share = 1.0
        if number < len(shares):
            share = shares[number]
        limit = max(int(share * self._scores_left), int(cost.max()))
        at = uniform(self._key, plans.users, number)
        return _drawn(at, weight, cost, limit)

    def _ask(self, plans: _Plans) -> Asking:
        known = self._counts.known
        tied = self._counts.tied.sum(1)
        more = np.zeros_like(self._counts.m)
        more[plans.users] = plans.scores
        self._scores_left -= int(plans.cost.sum())
        yield from self._counts.ask(more)
        at_random = plans.take(plans.random)
        self._first_places.update(at_random.users, at_random.cost, known, tied)

    def _values(self, users: Int) -> Float:
        """Metrics of users: without a cutoff by random draws, the rest by the model."""
        values = self._now.mean[:, users]
        for index in self._model.sums:
            row_mean = self._now.row_mean[index]
            rows = self._first_places.known + self._first_places.factor * row_mean
            scaled = rows * self._model.scale[index]
            values[index] = self._frame.by_user(scaled)[users]
        return values

    def _scan(self, users: Int) -> Int:
        """Scores of each stratum, in the proxy's order, until enough better ones are expected."""
        number = len(self.phases)
        left = self._counts.left[users]
        if number >= PHASES - 1:
            return left
        known, rate = self._least_known(users)
        missing = (self._model.depth - known + 1)[:, np.newaxis]  # one more than is needed
        length = _scan_length(left, rate, missing)
        n_most = max(int(self._frame.order.n.max()), FIRST + 1)
        fewest = FIRST * (n_most / FIRST) ** (number / (PHASES - 1.0))
        length = np.ceil(np.maximum(length, fewest))
        ahead = np.cumsum(left, axis=1) - left
        return np.clip(length - ahead, 0, left).astype(np.int64)

    def _least_known(self, users: Int) -> tuple[Int, Float]:
        """Better ones known, and rate of them by stratum, of the row of each user with fewest."""
        place, row = self._frame.rows_of(users)
        known = np.full(users.size, self._model.depth)
        rate = np.ones((users.size, self._rates.shape[1]))
        np.minimum.at(known, place, self._counts.known[row])
        np.minimum.at(rate, place, self._rates[row])
        return known, rate


def _scan_length(left: Int, rate: Float, missing: Int) -> Float:
    """Candidates to scan until `missing` better ones are expected, shape (users, 1).

    It is 0 where so many are not expected in all that is left.
    """
    expected = left * rate
    found = np.cumsum(expected, axis=1)
    stratum = (found >= missing).argmax(1)[:, np.newaxis]
    found_before = np.take_along_axis(found - expected, stratum, axis=1)
    rate_there = np.take_along_axis(rate, stratum, axis=1)
    ahead = np.cumsum(left, axis=1) - left
    start = np.take_along_axis(ahead, stratum, axis=1)
    further: Float = np.ceil((missing - found_before) / np.maximum(rate_there, LEAST_RATE))
    length = start + further
    length[found[:, -1:] < missing] = 0
    return length


def _drawn(at: Float, weight: Float, cost: Int, limit: int) -> tuple[Int, Float]:
    """Draw users, with weights, until their cost reaches a limit; their places, probabilities."""
    at = at / weight  # the first that does not fit gives the threshold of the others
    order = np.argsort(at, kind="stable")
    total = np.cumsum(cost[order])
    count = int(np.searchsorted(total, limit, side="right"))
    taken = np.sort(order[:count])
    if count == at.size:
        return taken, np.ones(count)
    threshold = at[order[count]]
    return taken, np.minimum(1.0, weight[taken] * threshold)
