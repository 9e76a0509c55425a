"""Scores asked so far: how many of each user and stratum, and how many were better or tied."""

from copy import copy
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.shuffle import hashed, permuted, stream
from sampled_metrics.inference.budget.strata import edges, sizes


class Frame:
    """Strata of all users, the random order inside them, and the held-out rows.

    Shared by all recommenders that are compared, so that what they have in common cancels.

    Attributes
    ----------
    n
        Candidates of each user in each stratum, shape (users, strata).
    owner
        User of each held-out row; shape (rows,).
    labels
        Numbers of the users in random keys, so that a part of the users has the same order.
    own
        Place of each held-out item in the proxy's order, from 0 to 1.
    """

    def __init__(self, order: Order, owner: Int, seed: int, labels: Int | None = None) -> None:
        self.order, self.owner, self.own, self.seed = order, owner, order.own, seed
        self.labels = np.arange(order.n.size) if labels is None else labels
        self.edges = edges(int(order.n.max()))
        self.n = sizes(order.n, self.edges)
        self._key = stream(seed, "order within strata")
        self.one_each = bool(owner.size == order.n.size)
        self.first_row = np.searchsorted(owner, np.arange(order.n.size + 1))

    def items(self, user: Int, stratum: Int, index: Int) -> Int:
        """Items by their place in the random order within a stratum."""
        place = permuted(
            index, self.n[user, stratum], hashed(self._key, self.labels[user], stratum)
        )
        return self.order.items(user, self.edges[stratum] + place)

    def rows_of(self, user: Int) -> tuple[Int, Int]:
        """Pairs (place within `user`, held-out row) for the rows of some users."""
        if self.one_each:
            return np.arange(user.size), user
        count = self.first_row[user + 1] - self.first_row[user]
        place = np.repeat(np.arange(user.size), count)
        shift = np.arange(place.size) - np.repeat(np.cumsum(count) - count, count)
        return place, self.first_row[user][place] + shift

    def take(self, users: Int) -> "Frame":
        """Frame of some users, in ascending order, whose random order stays the same."""
        other = copy(self)
        rows = self.rows_of(users)[1]
        other.n, other.labels, other.own = self.n[users], self.labels[users], self.own[rows]
        other.owner = np.searchsorted(users, self.owner[rows])
        other.first_row = np.searchsorted(other.owner, np.arange(users.size + 1))
        return other

    def by_user(self, rows: Float) -> Float:
        """Sum over the held-out rows of each user; rows are the last axis."""
        return rows if self.one_each else np.add.reduceat(rows, self.first_row[:-1], axis=-1)


class Asked(NamedTuple):
    """Pairs to be scored, in the order of users, strata and places."""

    recommender: int
    user: Int
    stratum: Int
    place: Int
    item: Int


class Counts:
    """Outcomes of the recommender with a running number.

    Attributes
    ----------
    m
        Scores asked, shape (users, strata): the first so many of the random order.
    better, tied
        How many of them were better than, or equal to, the held-out score; shape (rows, strata).
    """

    def __init__(self, frame: Frame, held_scores: Float, number: int = 0) -> None:
        self.frame, self.held_scores, self.number = frame, held_scores, number
        self.m: Int = np.zeros(frame.n.shape, np.int64)
        self.better: Int = np.zeros((frame.owner.size, frame.n.shape[1]), np.int64)
        self.tied: Int = np.zeros_like(self.better)

    def request(self, more: Int) -> Asked:
        """List the next `more` pairs, shape (users, strata), of each user and stratum."""
        user, stratum = np.nonzero(more)
        count = more[user, stratum]
        start = np.repeat(self.m[user, stratum] - (np.cumsum(count) - count), count)
        user, stratum = np.repeat(user, count), np.repeat(stratum, count)
        place = start + np.arange(user.size)
        return Asked(self.number, user, stratum, place, self.frame.items(user, stratum, place))

    def add(self, asked: Asked, scores: Float) -> None:
        """Count the scores of requested pairs."""
        n_strata = self.better.shape[1]
        self.m += np.bincount(asked.user * n_strata + asked.stratum, minlength=self.m.size).reshape(
            self.m.shape
        )
        place, row = self.frame.rows_of(asked.user)
        cell = row * n_strata + asked.stratum[place]
        value, held = scores[place], self.held_scores[row]
        for total, hit in ((self.better, value > held), (self.tied, value == held)):
            total += np.bincount(cell[hit], minlength=total.size).reshape(total.shape)

    @property
    def left(self) -> Int:
        """Scores not asked yet, shape (users, strata)."""
        return self.frame.n - self.m

    def take(self, users: Int) -> "Counts":
        """Copy of the counts of some users, in ascending order, to look at but not to ask for."""
        rows = self.frame.rows_of(users)[1]
        other = Counts(self.frame.take(users), self.held_scores[rows], self.number)
        other.m, other.better, other.tied = self.m[users], self.better[rows], self.tied[rows]
        return other
