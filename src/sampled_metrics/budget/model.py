"""Posterior of metrics under latent classes of held-out items.

A held-out row of class g has, in stratum s, a share p_gs of better candidates. The number among m
scored ones is binomial, overdispersed as if the share had a beta distribution of concentration
KAPPA. The prior of the classes depends on the held-out item's own place in the proxy's order.
Given the class, the number of better ones among the unscored candidates is taken to be Poisson.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, roots_legendre

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.strata import Counts
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks

KAPPA = 30.0
MOST_CLASSES = 40
LEAST_CLASSES = 20
ROWS_PER_CLASS = 20
MOST_BINS = 12  # classes of a held-out item's own place
HEAD_SHARE = 0.3  # held-out items with the best places, in half of the bins
ROWS_PER_BIN = 100
SMOOTHING = 0.5  # scores that the initial share of a class weighs
UNSEEN = 0.3  # scores added to the scores seen, so that thin strata stay interesting
MOST_SHARE = 0.995  # better candidates in a stratum
MOST_DEPTH = 2000  # better candidates: tables of the model grow with its square
DEEPEST = 10  # better candidates that end a scan where no metric has a cut-off
TIE_NODES = roots_legendre(6)  # for the integral over the order of ties
SMALLEST = 1e-4  # Poisson mean in the tables
LOG_STEP = 0.068  # between Poisson means in the tables
EXACT_BELOW = 600.0  # means, or 3 times the depth; larger ones by expansion


def parse_metrics(names: str | Sequence[str | Measure], single: bool = True) -> tuple[Measure, ...]:
    """Read names such as `recall@10`, `NDCG@5` and `ap`.

    Some add up over the held-out items of a user; others need a `single` one.
    """
    measures = metrics.parse_measures(names)
    for measure in measures:
        is_cut = measure.cutoff is not None
        kinds = {"rr", "ap"}
        sums = {"ap"}
        if is_cut:
            kinds = {"recall", "hit", "ndcg", "rr", "ap"}
            sums = {"recall", "ndcg"}
        if measure.kind not in kinds:
            known = "recall@k, hr@k, ndcg@k, mrr@k, mrr, map@k, map"
            raise InputError(f"unknown metric {str(measure)!r}; known: {known}")
        if not single and measure.kind not in sums:
            problem = f"{measure} of users with several held-out items is not estimated"
            raise InputError(f"metrics: {problem}; take recall@k, ndcg@k or ap")
    return tuple(measures)


def depth_of(measures: Sequence[Measure], n_largest: int) -> int:
    """Number of better candidates from which on metrics with a cut-off are zero, or few are left.

    Examples
    --------
    >>> depth_of(parse_metrics("hr@20, map"), 900), depth_of(parse_metrics("hr@1000000"), 900)
    (20, 901)
    """
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
    depth = min(max(cutoffs, default=DEEPEST), n_largest + 1)
    if depth > MOST_DEPTH:
        raise InputError(f"metrics: a cutoff is above {MOST_DEPTH}; rank fully (`rank`) for it")
    return depth


def over_ties(measures: Sequence[Measure], better: Int, tied: Int) -> Float:
    """Mean of metrics over all orders of the tied candidates and the held-out item."""
    most = int((better + tied).max(initial=0))
    ranks = Ranks(np.full(better.size, most + 2), better, tied, is_checked=True)
    return np.stack([metrics.values(measure, ranks) for measure in measures])


class View(NamedTuple):
    """Metrics of users by the model, shape (metrics, users)."""

    mean: Float
    variance: Float
    least: Float  # smallest value that the scores allow
    top: Float
    row_mean: Float  # mean for held-out rows, unscaled; shape (metrics, rows)


class Model:
    """Latent classes fitted to one recommender's counts, and the posterior of its metrics."""

    def __init__(self, counts: Counts, measures: Sequence[Measure]) -> None:
        frame = counts.frame
        self.counts = counts
        self.frame = frame
        self.measures = measures
        self.proxy_helps = True  # by the first scores
        n_largest = int(frame.n_candidates.max())
        self.depth = depth_of(measures, n_largest)  # better ones that end a scan
        self.sums = np.flatnonzero([measure.cutoff is None for measure in measures])
        is_recall = [measure.kind in ("recall", "hit") for measure in measures]
        self.priority = np.where(is_recall, 0.25, 1.0)
        n_held_out = np.bincount(frame.owner)[frame.owner]
        factors = [_factor(measure, n_held_out, counts.above) for measure in measures]
        self.scale = np.stack(factors)  # weights of rows in the metrics of their users
        self._poisson = PoissonMeans(measures, self.depth, n_largest)
        self._in_bin = _in_bin(frame.own)
        n_rows, n_bins = self._in_bin.shape
        n_classes = max(LEAST_CLASSES, min(MOST_CLASSES, n_rows // ROWS_PER_CLASS))
        self._floor = min(0.07 / frame.edges[-1], 2e-5)
        self._initial = initial_shares(frame.edges, n_classes)
        self._prior = np.full((n_bins, n_classes), 1 / n_classes)
        self.share = self._initial
        self.posterior = np.full((n_rows, n_classes), 1 / n_classes)

    def fit(self, steps: int) -> None:
        """Take steps of expectation maximisation."""
        data = self._data()
        n_strata = self.counts.m.shape[1]
        self.posterior = self._expected_classes(data)
        for _ in range(steps):
            sums = self.posterior.T @ data
            hits, misses, in_bin = np.split(sums, [n_strata, 2 * n_strata], axis=1)
            share = (hits + SMOOTHING * self._initial) / (hits + misses + SMOOTHING)
            self.share = np.clip(share, self._floor, MOST_SHARE)
            prior = in_bin.T + in_bin.sum(1) / in_bin.sum() + 1e-6
            self._prior = prior / prior.sum(1, keepdims=True)
            self.posterior = self._expected_classes(data)

    def gain(self) -> Float:
        """Variance of the metrics per score, for each user and stratum."""
        counts = self.counts
        scored, better = self._tempered()
        hits = self.posterior.T @ better + UNSEEN
        share = hits / (self.posterior.T @ scored + UNSEEN)
        share = np.clip(share, self._floor, MOST_SHARE)
        known = counts.known + counts.n_tied // 2
        _, variance = self._poisson.moments(self.posterior, known, self._unscored(share))
        probability = self.posterior @ share
        spread = probability * (1.0 - probability)
        total = (counts.left[self.frame.owner] * spread).sum(1)
        scale = (self.priority @ variance) / np.maximum(total, 1e-9)
        rows = scale[:, np.newaxis] * spread
        return self.frame.by_user(rows.T).T

    def view(self) -> View:
        """Metrics of all users by the classes as last fitted; the order of ties is integrated out.

        They are exact for users whose candidates are all scored.
        """
        by_user = self.frame.by_user
        counts = self.counts
        posterior = self._expected_classes(self._data())
        unscored = self._unscored(self.share)
        mean, variance = self._poisson.moments(posterior, counts.known, unscored)
        rows = np.flatnonzero(counts.n_tied)
        found = self._moments_of_tied(rows, posterior[rows], unscored[rows])
        mean[:, rows], variance[:, rows] = found
        n_left = counts.left.sum(1)[self.frame.owner]
        least = over_ties(self.measures, counts.known + n_left, counts.n_tied)
        top = over_ties(self.measures, counts.known, counts.n_tied)
        is_done = n_left == 0
        mean[:, is_done] = top[:, is_done]
        variance[:, is_done] = 0.0
        return View(
            mean=by_user(mean * self.scale),
            variance=by_user(variance * self.scale**2),
            least=by_user(least * self.scale),
            top=by_user(top * self.scale),
            row_mean=mean,
        )

    @property
    def live(self) -> Bool:
        """Whether a metric with a cut-off is open for some held-out row of a user."""
        n_open = self.frame.by_user(self.counts.known < self.depth)
        return (n_open > 0) & (self.counts.left.sum(1) > 0)

    def _tempered(self) -> tuple[Float, Float]:
        """Numbers scored, and better with half of the tied, by row and stratum, overdispersed."""
        scored = self.counts.m[self.frame.owner]
        factor = (KAPPA + 1.0) / (KAPPA + np.maximum(scored, 1))
        return scored * factor, self.counts.expected_better * factor

    def _data(self) -> Float:
        """Numbers better and worse in each stratum, and the bin, of each row."""
        scored, better = self._tempered()
        return np.hstack([better, scored - better, self._in_bin])

    def _expected_classes(self, data: Float) -> Float:
        """Probability of each class for each row, shape (rows, classes)."""
        logs = np.vstack(
            [
                np.log(self.share).T,
                np.log1p(-self.share).T,
                np.log(self._prior),
            ]
        )
        likelihood = data @ logs
        likelihood -= likelihood.max(1, keepdims=True)
        np.exp(likelihood, out=likelihood)
        return likelihood / likelihood.sum(1, keepdims=True)

    def _unscored(self, share: Float) -> Float:
        """Expected number of better ones among unscored candidates, shape (rows, classes)."""
        owner = self.frame.owner
        weight = self.counts.left[owner] / (KAPPA + self.counts.m[owner])
        by_row = (weight * self.counts.expected_better).sum(1, keepdims=True)
        return (weight * KAPPA) @ share.T + by_row

    def _moments_of_tied(
        self,
        rows: Int,
        posterior: Float,
        unscored: Float,
    ) -> Float:
        """Mean and variance of the metrics of rows with ties."""
        known = self.counts.known[rows]
        tied = self.counts.n_tied[rows]
        better = self.counts.better.sum(1)[rows]
        part = tied / (2.0 * better + tied)  # share of expected better ones that is from ties
        powers = np.zeros((2, len(self.measures), rows.size))
        for node, weight in zip(*TIE_NODES, strict=True):
            root = (node + 1.0) / 2.0
            place = root**3
            n_above = np.floor(place * tied + 0.5)
            factor = 1.0 - part + 2.0 * part * place
            mean, variance = self._poisson.moments(
                posterior, known + n_above.astype(np.int64), unscored * factor[:, np.newaxis]
            )
            powers += 1.5 * weight * root**2 * np.stack([mean, variance + mean**2])
        return _of_powers(powers)


def _of_powers(powers: Float) -> Float:
    """Mean and variance of the expectations of powers 1 and 2."""
    first, second = powers
    return np.stack([first, np.maximum(second - first**2, 0.0)])


def _factor(measure: Measure, n_held_out: Int, above: Int) -> Float:
    """Factor of each held-out row's metric in the metric of its user.

    With R held-out items, recall@k is their mean recall, ndcg@k the sum of their discounts by the
    sum for min(R, k) items on top, and ap their mean precision, better held-out ones counted.
    """
    if measure.kind == "ndcg":
        ideal = np.cumsum(1.0 / np.log2(np.arange(2, n_held_out.max() + 2)))
        n_on_top = np.minimum(n_held_out, measure.cutoff or n_held_out)
        return 1.0 / ideal[n_on_top - 1]
    if measure.kind == "ap":
        return (above + 1.0) / n_held_out
    return 1.0 / n_held_out


def initial_shares(bounds: Int, classes: int) -> Float:
    """Logistic in the logarithm of the position, from classes with few better ones to many."""
    n = max(int(bounds[-1]), 2)
    middle = np.sqrt((bounds[:-1] + 1.0) * bounds[1:])
    level = np.linspace(np.log(0.3), np.log(0.85 * n), classes)
    distance = level[:, np.newaxis] - np.log(middle)
    odds = np.exp(-1.2 * distance)
    return np.clip(0.95 / (1.0 + odds), 0.07 / n, 0.98)


def _in_bin(own: Float) -> Float:
    """1 in the bin of each held-out item's own place, finer where the proxy ranks them high."""
    n_bins = max(2, min(MOST_BINS, own.size // ROWS_PER_BIN))
    half = n_bins // 2
    head = np.linspace(0, HEAD_SHARE, half + 1)
    tail = np.linspace(HEAD_SHARE, 1, n_bins - half + 1)
    cuts = np.unique(np.quantile(own, np.append(head[1:], tail[1:-1])))
    bins = np.searchsorted(cuts, own, side="right")
    return np.where(bins[:, np.newaxis] == np.unique(bins), 1.0, 0.0)


class PoissonMeans:
    """Mean and variance of metrics of r + X better ones, X Poisson, by interpolation in log E X.

    From r = `depth` on metrics with a cut-off are zero, and ap is expanded, as for large means.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        depth: int,
        n_largest: int,
    ) -> None:
        self._measures = measures
        self._depth = depth
        low = np.log(SMALLEST)
        high = np.log(max(1.1 * n_largest, 10.0))
        n_steps = int(np.ceil((high - low) / LOG_STEP))
        self._low = low
        self._scale = n_steps / (high - low)
        means = np.exp(np.linspace(low, high, n_steps + 1))
        is_small = means <= max(EXACT_BELOW, 3.0 * depth)
        small = means[is_small]
        largest = small[-1]
        size = int(largest + 12.0 * np.sqrt(largest) + 30.0)
        support = np.arange(max(depth, size))
        logs = np.outer(np.log(small), support) - small[:, np.newaxis]
        law = np.exp(logs - gammaln(support + 1.0))  # distribution of X for each mean
        better = np.arange(depth)[:, np.newaxis]
        # Expectation of powers 1 and 2 of each metric, for each r and mean of X.
        self._tables = np.zeros((2, len(measures), depth, means.size))
        for power, place in np.ndindex(self._tables.shape[:2]):
            table = self._tables[power, place]
            values = measures[place].value_at(better + support + 1, n_largest)
            table[:, is_small] = values ** (power + 1) @ law.T
            if measures[place].cutoff is None:
                table[:, ~is_small] = _expansion(better, means[~is_small], power + 1)

    def moments(
        self,
        share: Float,
        better: Int,
        mean: Float,
    ) -> Float:
        """Mean and variance of the metrics of held-out rows, shape (2, metrics, rows).

        Besides `better` known ones, `mean` are expected in classes of probability `share`.
        """
        n_measures, _, size = self._tables.shape[1:]
        powers = np.zeros((2, n_measures, better.size))
        near = better < self._depth
        far = ~near
        logs = np.log(np.maximum(mean[near], SMALLEST))
        place = np.clip((logs - self._low) * self._scale, 0.0, size - 1.001)
        column = place.astype(np.int64)
        right = share[near] * (place - column)
        left = share[near] - right
        column += (better[near] * size)[:, np.newaxis]
        for power, index in np.ndindex(powers.shape[:2]):
            table = self._tables[power, index].ravel()
            found = powers[power, index]
            found[near] = np.einsum("ug,ug->u", left, table[column])
            found[near] += np.einsum("ug,ug->u", right, table[column + 1])
            if self._measures[index].cutoff is None:
                values = _expansion(better[far, np.newaxis], mean[far], power + 1)
                found[far] = (share[far] * values).sum(axis=1)
        return _of_powers(powers)


def _expansion(better: Int, mean: Float, power: int) -> Float:
    """Mean of 1/(better + X + 1)^power, X Poisson of a large mean."""
    total = better + 1.0 + mean
    spread = (2 * power - 1) * mean / total**2
    return (1.0 + spread) / total**power
