"""Counts of better candidates in strata, and the posterior of metrics under latent classes.

A held-out row of class g has, in stratum s, a share p_gs of better candidates. The number among m
scored ones is binomial, overdispersed as if the share had a beta distribution of concentration
KAPPA. The prior of the classes depends on the held-out item's own place in the proxy's order.
Given the class, the number of better ones among the unscored candidates is taken to be Poisson.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, roots_legendre

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.candidates import Order
from sampled_metrics.budget.keyed import hashed, permuted, stream
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks

# Narrow where a proxy puts the items that outrank the held-out one, wide in the tail.
EDGES, GROWTH, LAST = (0, 5, 15, 40, 100, 250, 600, 1400.0), 2.4, 0.9
KINDS = ("recall", "hit", "ndcg", "rr", "ap")
KAPPA = 30.0
MOST_CLASSES, LEAST_CLASSES, ROWS_PER_CLASS = 40, 20, 20
BINS, HEAD_SHARE, ROWS_PER_BIN = 12, 0.3, 100  # of the own place; half for the best HEAD_SHARE
SMOOTHING = 0.5  # scores that the initial share of a class weighs
DEEPEST = 10  # better candidates that end a scan where no metric has a cutoff
TIE_NODES = roots_legendre(6)  # of the integral over the order of ties


def parse_metrics(names: str | Sequence[str | Measure], single: bool = True) -> tuple[Measure, ...]:
    """Read names such as `recall@10`, `NDCG@5` and `ap`.

    Some add up over the held-out items of a user; others need a `single` one.
    """
    measures = metrics.parse_measures(names)
    for x in measures:
        if not isinstance(x, Measure):
            raise InputError(f"found {x!r}; expected a name")
        if x.kind not in KINDS or (x.kind in ("hit", "recall", "ndcg") and x.cutoff is None):
            known = "recall@k, hr@k, ndcg@k, mrr@k, mrr, map@k, map"
            raise InputError(f"unknown metric {str(x)!r}; known: {known}")
        if not single and (x.kind in ("hit", "rr") or (x.kind == "ap") != (x.cutoff is None)):
            problem = f"{x} of users with several held-out items is not estimated"
            raise InputError(f"metrics: {problem}; take recall@k, ndcg@k or ap")
    return tuple(measures)


def over_ties(measures: Sequence[Measure], better: Int, tied: Int) -> Float:
    """Mean of metrics over all orders of the tied candidates and the held-out item."""
    n = np.full(better.size, int((better + tied).max(initial=0)) + 2)
    ranks = Ranks.trusted(n, better, tied)
    return np.stack([metrics.values(measure, ranks) for measure in measures])


def edges(n_largest: int) -> Int:
    """Edges of the strata of up to `n_largest` candidates.

    Examples
    --------
    >>> edges(3700)
    array([   0,    5,   15,   40,  100,  250,  600, 1400, 3700])
    """
    inner: list[float] = list(EDGES)
    while inner[-1] * GROWTH < LAST * n_largest:
        inner.append(inner[-1] * GROWTH)
    inner = [round(edge) for edge in inner if edge < LAST * n_largest]
    return np.array([*(inner or [0]), max(n_largest, 1)])


class Frame:
    """Strata of all users, the same for all recommenders, so that common errors cancel."""

    def __init__(self, order: Order, seed: int) -> None:
        self.order, self.own, self.seed = order, order.own, seed
        self.owner = owner = order.problem.owner
        self.edges = edges(int(order.n.max()))
        # Candidates of each user in each stratum, shape (users, strata).
        self.n = np.clip(order.n[:, np.newaxis], self.edges[:-1], self.edges[1:]) - self.edges[:-1]
        self._first_row = np.searchsorted(owner, np.arange(order.n.size + 1))
        self._key = stream(seed, "order within strata")

    def items(self, user: Int, stratum: Int, index: Int) -> Int:
        """Items by their place in the random order within a stratum."""
        place = permuted(index, self.n[user, stratum], hashed(self._key, user, stratum))
        return self.order.items(user, self.edges[stratum] + place)

    def rows_of(self, user: Int) -> tuple[Int, Int]:
        """Pairs (place within `user`, held-out row) for the rows of some users."""
        first, count = self._first_row[user], np.diff(self._first_row)[user]
        return np.repeat(np.arange(user.size), count), ranges(first, count)

    def by_user(self, rows: Float) -> Float:
        """Sum over the held-out rows of each user; rows are the last axis."""
        return np.add.reduceat(rows, self._first_row[:-1], axis=-1)


class Asked(NamedTuple):
    """Pairs to be scored, in the order of users, strata and places."""

    user: Int
    item: Int


Asking = Generator[Asked, Float, None]


class Counts:
    """Scores of one recommender, compared with those of the held-out items."""

    def __init__(self, frame: Frame, held_scores: Float) -> None:
        self.frame, self._held_scores = frame, held_scores
        # Scores asked, shape (users, strata): the first so many of the random order. Those of them
        # above, or equal to, the held-out score, shape (rows, strata).
        self.m: Int = np.zeros(frame.n.shape, np.int64)
        self.better: Int = np.zeros((frame.owner.size, frame.n.shape[1]), np.int64)
        self.tied: Int = np.zeros_like(self.better)
        # Held-out items of the same user that score higher, ties in the order given.
        order = np.lexsort((-held_scores, frame.owner))
        self.above: Int = np.empty(order.size, np.int64)
        self.above[order] = np.arange(order.size) - np.searchsorted(frame.owner, frame.owner)

    def ask(self, more: Int) -> Asking:
        """Ask for and count the next `more` scores, shape (users, strata)."""
        user, stratum = np.nonzero(more)
        count = more[user, stratum]
        index = ranges(self.m[user, stratum], count)
        user, stratum = np.repeat(user, count), np.repeat(stratum, count)
        scores = yield Asked(user, self.frame.items(user, stratum, index))
        self.m += more
        place, row = self.frame.rows_of(user)
        cell, value, held = (row, stratum[place]), scores[place], self._held_scores[row]
        np.add.at(self.better, cell, value > held)
        np.add.at(self.tied, cell, value == held)

    @property
    def left(self) -> Int:
        """Scores not asked yet, shape (users, strata)."""
        return self.frame.n - self.m

    @property
    def known(self) -> Int:
        """Better candidates known of each held-out row, held-out ones included."""
        return self.better.sum(1) + self.above


class View(NamedTuple):
    """Metrics of users by the model, shape (metrics, users)."""

    mean: Float
    variance: Float
    top: Float  # greatest possible value
    row_mean: Float  # mean for held-out rows, unscaled; shape (metrics, rows)


class Model:
    """Latent classes fitted to one recommender's counts, and the posterior of its metrics."""

    def __init__(self, counts: Counts, measures: Sequence[Measure]) -> None:
        self.counts, self.measures, frame = counts, tuple(measures), counts.frame
        cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
        self.depth = max(cutoffs, default=DEEPEST)  # better ones after which those are zero
        self.sums = [i for i, measure in enumerate(measures) if measure.cutoff is None]
        self.priority = np.array([0.25 if x.kind in ("recall", "hit") else 1.0 for x in measures])
        self.scale = _scale(counts, measures)
        self._poisson = PoissonMeans(measures, self.depth, int(frame.order.n.max()))
        classes = min(MOST_CLASSES, max(LEAST_CLASSES, frame.owner.size // ROWS_PER_CLASS))
        bins = _bins(frame.own)
        self._in_bin = (bins[:, np.newaxis] == np.arange(bins.max() + 1)).astype(np.float64)
        self._floor = min(0.07 / max(frame.edges[-1], 1), 2e-5)
        self._initial = self.share = initial_shares(frame.edges, classes)
        self._prior = np.full((bins.max() + 1, classes), 1 / classes)
        self.posterior = np.full((bins.size, classes), 1 / classes)

    def fit(self, steps: int) -> None:
        """Take steps of expectation maximisation."""
        m, better = self._tempered()
        data, strata = np.hstack([better, m - better, self._in_bin]), m.shape[1]
        self.posterior = self._expected_classes(data)
        for _ in range(steps):
            sums = self.posterior.T @ data
            hits, misses = sums[:, :strata], sums[:, strata : 2 * strata]
            share = (hits + SMOOTHING * self._initial) / (hits + misses + SMOOTHING)
            self.share = np.clip(share, self._floor, 0.995)
            prior = sums[:, 2 * strata :].T
            prior = prior + prior.sum(0) / prior.sum() + 1e-6
            self._prior = prior / prior.sum(1, keepdims=True)
            self.posterior = self._expected_classes(data)

    def _expected_classes(self, data: Float) -> Float:
        """Probability of each class for each row, shape (rows, classes)."""
        logs = np.vstack([np.log(self.share).T, np.log1p(-self.share).T, np.log(self._prior)])
        likelihood = data @ logs
        likelihood -= likelihood.max(1, keepdims=True)
        np.exp(likelihood, out=likelihood)
        return likelihood / likelihood.sum(1, keepdims=True)

    def gain(self) -> Float:
        """Variance of the metrics per score, for each user and stratum."""
        m, better = self._tempered()
        # A little more than was seen, so that thin strata stay interesting.
        share = (self.posterior.T @ better + 0.3) / (self.posterior.T @ m + 0.3)
        share = np.clip(share, self._floor, 0.995)
        known = self.counts.known + self.counts.tied.sum(1) // 2
        variance = self._poisson.moments(self.posterior, known, self._unscored(share))[1]
        probability = self.posterior @ share
        spread = probability * (1.0 - probability)
        left = self.counts.left[self.counts.frame.owner]
        scale = (self.priority @ variance) / np.maximum((left * spread).sum(1), 1e-9)
        return self.counts.frame.by_user((scale[:, np.newaxis] * spread).T).T

    def view(self) -> View:
        """Metrics of all users by the classes as last fitted."""
        m, better = self._tempered()
        posterior = self._expected_classes(np.hstack([better, m - better, self._in_bin]))
        mean, variance = self._posterior_of_rows(posterior)
        by_user, scale = self.counts.frame.by_user, self.scale
        top = over_ties(self.measures, self.counts.known, self.counts.tied.sum(1))
        return View(by_user(mean * scale), by_user(variance * scale**2), by_user(top * scale), mean)

    def limits(self) -> Float:
        """Least and greatest metrics of each user that the scores allow; (2, metrics, users)."""
        known, tied = self.counts.known, self.counts.tied.sum(1)
        most = known + self.counts.left.sum(1)[self.counts.frame.owner]
        rows = np.stack([over_ties(self.measures, better, tied) for better in (most, known)])
        return self.counts.frame.by_user(rows * self.scale)

    @property
    def live(self) -> NDArray[np.bool_]:
        """Whether a metric with a cutoff is open for some held-out row of a user."""
        rows = (self.counts.known < self.depth).astype(np.float64)
        return (self.counts.frame.by_user(rows) > 0) & (self.counts.left.sum(1) > 0)

    def _tempered(self) -> tuple[Float, Float]:
        """Scored, and better with half of the tied, of each row and stratum, overdispersed."""
        counts, m = self.counts, self.counts.m[self.counts.frame.owner]
        factor = (KAPPA + 1.0) / (KAPPA + np.maximum(m, 1))
        return m * factor, (counts.better + 0.5 * counts.tied) * factor

    def _unscored(self, share: Float) -> Float:
        """Expected number of better ones among what was not scored, shape (rows, classes)."""
        counts, owner = self.counts, self.counts.frame.owner
        weight, better = (
            counts.left[owner] / (KAPPA + counts.m[owner]),
            counts.better + 0.5 * counts.tied,
        )
        return (weight * KAPPA) @ share.T + (weight * better).sum(1, keepdims=True)

    def _posterior_of_rows(self, posterior: Float) -> tuple[Float, Float]:
        """Mean and variance of the metrics of each row; the order of ties is integrated out."""
        counts, known, tied = self.counts, self.counts.known, self.counts.tied.sum(1)
        unscored = self._unscored(self.share)
        mean, variance = self._poisson.moments(posterior, known, unscored)
        rows = np.flatnonzero(tied)
        if rows.size:
            better = counts.better.sum(1)[rows]
            part = tied[rows] / (2.0 * better + tied[rows])  # of the ties in what is expected
            first, second = np.zeros((2, len(self.measures), rows.size))
            for node, weight in zip(*TIE_NODES, strict=True):
                root = (node + 1.0) / 2.0
                place, weight = root**3, 1.5 * weight * root**2
                above = known[rows] + np.floor(place * tied[rows] + 0.5).astype(np.int64)
                expected = unscored[rows] * (1.0 - part + 2.0 * part * place)[:, np.newaxis]
                m, v = self._poisson.moments(posterior[rows], above, expected)
                first += weight * m
                second += weight * (v + m**2)
            mean[:, rows] = first
            variance[:, rows] = np.maximum(second - first**2, 0.0)
        done = counts.left.sum(1)[counts.frame.owner] == 0
        mean[:, done] = over_ties(self.measures, known, tied)[:, done]
        variance[:, done] = 0.0
        return mean, variance


class PoissonMeans:
    """Mean and variance of metrics of r + X better ones, X Poisson, by interpolation in log E X.

    From r = `depth` on metrics with a cutoff are zero, and ap is expanded, as for large means.
    """

    SMALLEST, STEP, EXACT_BELOW = 1e-4, 0.068, 600.0

    def __init__(self, measures: Sequence[Measure], depth: int, n_largest: int) -> None:
        self._measures, self._depth = measures, depth
        self._low, top = np.log(self.SMALLEST), np.log(max(1.1 * n_largest, 10.0))
        grid = np.linspace(self._low, top, int(np.ceil((top - self._low) / self.STEP)) + 1)
        self._size, self._scale = grid.size, (grid.size - 1) / (top - self._low)
        means = np.exp(grid)
        small = means[means <= max(self.EXACT_BELOW, 3.0 * depth)]
        support = np.arange(max(depth, int(small[-1] + 12.0 * np.sqrt(small[-1]) + 30.0)))
        law = np.exp(
            np.outer(np.log(small), support) - small[:, np.newaxis] - gammaln(support + 1.0)
        )
        rows = np.arange(depth)[:, np.newaxis]
        table = np.zeros((2, len(measures), depth, grid.size))
        for place, measure in enumerate(measures):
            values = measure.at(rows + support + 1, n_largest + 1)
            for power in (1, 2):
                table[power - 1, place, :, : small.size] = values**power @ law.T
                if measure.cutoff is None:
                    far = _expansion(rows, means[small.size :], power)
                    table[power - 1, place, :, small.size :] = far
        self._tables = table.reshape(2, len(measures), -1)

    def moments(self, share: Float, better: Int, mean: Float) -> tuple[Float, Float]:
        """Mean and variance of the metrics of held-out rows, shape (metrics, rows).

        Besides `better` known ones, `mean` are expected in classes of probability `share`.
        """
        powers = np.zeros((2, len(self._measures), better.size))
        near, far = np.flatnonzero(better < self._depth), np.flatnonzero(better >= self._depth)
        place = (np.log(np.maximum(mean[near], self.SMALLEST)) - self._low) * self._scale
        np.clip(place, 0.0, self._size - 1.001, out=place)
        column = place.astype(np.int64)
        right = share[near] * (place - column)
        left = share[near] - right
        column += (better[near] * self._size)[:, np.newaxis]
        for power, index in np.ndindex(powers.shape[:2]):
            table = self._tables[power, index]
            powers[power, index, near] = np.einsum("ug,ug->u", left, table[column])
            powers[power, index, near] += np.einsum("ug,ug->u", right, table[column + 1])
            if self._measures[index].cutoff is None:
                values = _expansion(better[far, np.newaxis], mean[far], power + 1)
                powers[power, index, far] = (share[far] * values).sum(axis=1)
        return powers[0], np.maximum(powers[1] - powers[0] ** 2, 0.0)


def _expansion(better: Int, mean: Float, power: int) -> Float:
    """Mean of 1/(better + X + 1)^power, X Poisson of a large mean."""
    total = better + 1.0 + mean
    return (1.0 + (2 * power - 1) * mean / total**2) / total**power


def _scale(counts: Counts, measures: Sequence[Measure]) -> Float:
    """Factor of each held-out row's metric in that of its user, shape (metrics, rows).

    With R held-out items, recall@k is their mean recall, ndcg@k the sum of their discounts over
    that of min(R, k) items on top, and ap their mean precision, better held-out ones counted.
    """
    count = np.bincount(counts.frame.owner)[counts.frame.owner]
    ideal = np.cumsum(1.0 / np.log2(np.arange(2, int(count.max()) + 2)))
    factors = {"recall": lambda _: 1.0 / count, "ap": lambda _: (counts.above + 1.0) / count}
    factors["hit"] = factors["rr"] = factors["recall"]  # of one held-out item each
    factors["ndcg"] = lambda cutoff: 1.0 / ideal[np.minimum(count, cutoff) - 1]
    return np.stack([factors[measure.kind](measure.cutoff) for measure in measures])


def initial_shares(bounds: Int, classes: int) -> Float:
    """Logistic in the logarithm of the position, from classes with few better ones to many."""
    n = max(int(bounds[-1]), 2)
    middle = np.sqrt((bounds[:-1] + 1.0) * bounds[1:])
    level = np.linspace(np.log(0.3), np.log(max(0.85 * n, 1.0)), classes)
    odds = np.exp(-1.2 * (level[:, np.newaxis] - np.log(middle)))
    return np.clip(0.95 / (1.0 + odds), 0.07 / n, 0.98)


def _bins(own: Float) -> Int:
    """Bins of the held-out items' own places, finer where the proxy ranks them high."""
    count = max(2, min(BINS, own.size // ROWS_PER_BIN))
    half = count // 2
    head, tail = np.linspace(0, HEAD_SHARE, half + 1), np.linspace(HEAD_SHARE, 1, count - half + 1)
    cuts = np.unique(np.quantile(own, np.r_[head, tail[1:]][1:-1]))
    return np.unique(np.searchsorted(cuts, own, side="right"), return_inverse=True)[1]
