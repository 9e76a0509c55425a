"""Audit of the model: users drawn with known probabilities, of whom more and more is scored.

In each phase some of the users that are still in the audit are drawn, and the next part of their
candidates is scored: in the proxy's order until enough better ones are known, and from there on in
random order, for the average precision. The last phase scores all that is left. What a phase costs
is known before it, so the scores left decide how many users are drawn, and nobody is broken off.

The sum over phases of what changed in the value of a user, divided by the probability of having
come so far, is unbiased for the error of the model whatever the model says.
"""

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Asked
from sampled_metrics.inference.budget.runs import Run, View, limits, view
from sampled_metrics.inference.budget.shuffle import stream, uniform
from sampled_metrics.inference.budget.walk import Walks

FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
PHASES = 4  # of scanning in the proxy's order
FIRST = 16  # scores of a user in the first of them, at least
SHARES = (0.3, 0.4, 0.5)  # of the scores left that the first phases may spend
SURPLUS = 1  # better ones asked for beyond those needed, where the model says how many to expect


class Phase(NamedTuple):
    """Users drawn in a phase, in ascending order.

    Attributes
    ----------
    number
        Of the phase.
    users
        Running numbers.
    change
        Value after the phase minus value before it, shape (metrics, users).
    variance
        Squared distance of the value before from the truth that the model expects, with a floor;
        shape (metrics, users).
    drawn
        Probability of being drawn in this phase, for those still in the audit.
    reached
        Probability of having been drawn in this phase and all before.
    noise
        Whether the value of metrics without a cutoff depends on random draws.
    """

    number: int
    users: Int
    change: Float
    variance: Float
    drawn: Float
    reached: Float
    noise: NDArray[np.bool_]


class Audited(NamedTuple):
    """What the audit of a recommender found.

    Attributes
    ----------
    view
        The model before the audit.
    phases
        In order.
    slack
        How far the values of users that could not be finished may lie below and above what the
        model says, by their scores, weighted by the inverse probability; shape (2, metrics).
    users
        Users that were drawn in the first phase.
    """

    view: View
    phases: list[Phase]
    slack: Float
    users: Int


class Audit:
    """Audit of one recommender.

    Parameters
    ----------
    run
        Scores and model.
    money
        Scores that may be asked.
    look
        Number of the audit, if there are several; each draws users anew.
    """

    def __init__(self, run: Run, money: int, look: int) -> None:
        self.run, self.money = run, money
        frame = run.counts.frame
        self._key = stream(frame.seed, f"audit {look} users")
        self._weights = np.array([metric.weight for metric in run.tables.metrics])
        self._sums = [i for i, metric in enumerate(run.tables.metrics) if metric.cutoff is None]
        self.before = view(run)
        self._view = View(*(array.copy() for array in self.before))
        self._walks = Walks(run, stream(frame.seed, f"audit {look} draws"))
        self._reached = np.ones(frame.n.shape[0])
        self._value = self.before.mean.copy()
        self._inside = np.flatnonzero(self._open())
        self.phases: list[Phase] = []
        self.slack = np.zeros((2, self._weights.size))

    def run_all(self) -> Generator[Asked, Float, Audited]:
        """Ask phase by phase, and return what was found."""
        number = 0
        while self._inside.size:
            users, more, walking = self._next(self._inside, number)
            cost = more.sum(1)
            within = cost <= self.money
            self._give_up(users[~within])
            users, more, walking = users[within], more[within], walking[within]
            if not users.size:
                break
            taken, drawn = self._drawn(users, cost[within], number)
            users, more, walking = users[taken], more[taken], walking[taken]
            self.money -= int(more.sum())
            full = np.zeros_like(self.run.counts.m)
            full[users] = more
            better, tied = self.run.better, self.run.counts.tied.sum(1)
            asked = self.run.counts.request(full)
            self.run.counts.add(asked, (yield asked))
            self._walks.update(users[walking], more[walking].sum(1), better, tied)
            self._record(number, users, drawn, walking)
            self._inside = users[self._open()[users]]
            number += 1
        first = [phase.users for phase in self.phases if phase.number == 0]
        users = np.concatenate([np.empty(0, np.int64), *first])
        return Audited(self.before, self.phases, self.slack, users)

    def _open(self) -> NDArray[np.bool_]:
        """Users of whom some metric is not known."""
        scored = self.run.counts.left.sum(1) == 0
        if not self._sums:
            return self.run.live
        return ~scored & ~self._walks.done

    def _next(self, users: Int, number: int) -> tuple[Int, Int, NDArray[np.bool_]]:
        """What each user is asked next: scores per stratum, and whether in random order."""
        counts = self.run.counts
        left = counts.left[users]
        walking = ~self.run.live[users]
        more = np.zeros_like(left)
        scanning = ~walking
        more[scanning] = self._scan(users[scanning], left[scanning], number)
        if walking.any():
            mean = self._view.row_mean[self._sums[0]]
            more[walking] = self._walks.next(users[walking], mean, number)
        return users, more, walking

    def _scan(self, users: Int, left: Int, number: int) -> Int:
        counts, depth = self.run.counts, self.run.tables.depth
        if number >= PHASES - 1:
            return left
        n = max(int(counts.frame.order.n.max()), FIRST + 1)
        turn = FIRST * (n / FIRST) ** (number / (PHASES - 1.0))
        place, row = counts.frame.rows_of(users)
        known = np.full(users.size, depth)
        np.minimum.at(known, place, self.run.better[row])
        fit = self.run.classes.fit
        expected = np.ones_like(left, dtype=np.float64)
        np.minimum.at(expected, place, fit.posterior[row] @ fit.share)
        length = np.maximum(turn, _length(left, expected, depth - known))
        ahead = np.cumsum(left, axis=1) - left
        return np.clip(np.ceil(length)[:, np.newaxis] - ahead, 0, left).astype(np.int64)

    def _drawn(self, users: Int, cost: Int, number: int) -> tuple[Int, Float]:
        """Draw users until the scores of a phase are spent; return their places and probabilities.

        Users are taken in the order of a uniform number divided by a weight, up to the first whose
        cost does not fit: this one's number is the threshold that the others had to be below.
        """
        share = SHARES[number] if number < len(SHARES) else 1.0
        money = max(int(share * self.money), int(cost.max()))
        value = self._expected(users)
        for index in self._sums:  # random draws tell 1 / rank with a relative error
            value[index] += self._view.mean[index, users] ** 2 * ~self.run.live[users]
        worth = self._weights @ value
        weight = np.sqrt(worth / cost) / self._reached[users]
        at = uniform(self._key, self.run.counts.frame.labels[users], number) / weight
        order = np.argsort(at, kind="stable")
        count = int(np.searchsorted(np.cumsum(cost[order]), money, side="right"))
        if count == users.size:
            return np.arange(users.size), np.ones(users.size)
        taken = np.sort(order[:count])
        return taken, np.minimum(1.0, weight[taken] * at[order[count]])

    def _expected(self, users: Int) -> Float:
        """Squared error of the model that is expected, not below a share of the largest."""
        return self._view.variance[:, users] + FLOOR * self._view.top[:, users] ** 2

    def _give_up(self, users: Int) -> None:
        """Leave users that cost more than there is with the range that their scores allow."""
        least, greatest = limits(self.run)[:, :, users]
        value = self._value[:, users]
        distance = np.maximum([value - least, greatest - value], 0.0)
        self.slack += (distance / self._reached[users]).sum(2)

    def _record(self, number: int, users: Int, drawn: Float, walking: NDArray[np.bool_]) -> None:
        expected = self._expected(users)
        part = self.run.take(users)
        after = view(part)
        rows = self.run.counts.frame.rows_of(users)[1]
        places = (users, users, users, rows)
        for old, new, place in zip(self._view, after, places, strict=True):
            old[:, place] = new
        value = after.mean.copy()
        for index in self._sums:
            known = self._walks.known[rows] + self._walks.factor[rows] * after.row_mean[index]
            value[index] = part.counts.frame.by_user(known * part.scale[index])
        self._reached[users] *= drawn
        change = value - self._value[:, users]
        self._value[:, users] = value
        self.phases.append(
            Phase(number, users, change, expected, drawn, self._reached[users], walking)
        )


def _length(left: Int, expected: Float, missing: Int) -> Int:
    """Scores until `missing` better ones are expected; 0 where they never are."""
    missing = missing + SURPLUS
    hits = left * expected
    sums = np.cumsum(hits, axis=1)
    enough = sums >= missing[:, np.newaxis]
    stratum = enough.argmax(1)
    row = np.arange(left.shape[0])
    before = sums[row, stratum] - hits[row, stratum]
    inside = (missing - before) / np.maximum(expected[row, stratum], 1e-9)
    ahead = np.cumsum(left, axis=1)[row, stratum] - left[row, stratum]
    return np.where(enough.any(1), ahead + np.ceil(inside), 0).astype(np.int64)
