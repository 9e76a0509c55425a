"""Posterior of metrics under latent classes of held-out items.

A held-out row of class g has, in stratum s, a share p_gs of better candidates. The number among m
scored ones is binomial, overdispersed as if the share had a beta distribution of concentration
KAPPA. The prior of the classes depends on the held-out item's own place in the proxy's order.
Given the class, the number of better ones among the unscored candidates is taken to be Poisson.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.poisson import PoissonMeans
from sampled_metrics.budget.strata import Counts
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks

KAPPA = 30.0
MOST_CLASSES = 40
LEAST_CLASSES = 20
ROWS_PER_CLASS = 20
BINS = 12  # of the own place, at most
HEAD_SHARE = 0.3  # of held-out items whose own place is best, who take half of the bins
ROWS_PER_BIN = 100
SMOOTHING = 0.5  # scores that the initial share of a class weighs
UNSEEN = 0.3  # scores added to what was seen, so that thin strata stay interesting
MOST_SHARE = 0.995  # of better candidates in a stratum
DEEPEST = 10  # better candidates that end a scan where no metric has a cutoff
TIE_NODES = roots_legendre(6)  # of the integral over the order of ties


def parse_metrics(names: str | Sequence[str | Measure], single: bool = True) -> tuple[Measure, ...]:
    """Read names such as `recall@10`, `NDCG@5` and `ap`.

    Some add up over the held-out items of a user; others need a `single` one.
    """
    measures = metrics.parse_measures(names)
    for measure in measures:
        if not isinstance(measure, Measure):
            raise InputError(f"found {measure!r}; expected a name")
        if not _is_estimated(measure):
            known = "recall@k, hr@k, ndcg@k, mrr@k, mrr, map@k, map"
            raise InputError(f"unknown metric {str(measure)!r}; known: {known}")
        if not single and not _is_sum(measure):
            problem = f"{measure} of users with several held-out items is not estimated"
            raise InputError(f"metrics: {problem}; take recall@k, ndcg@k or ap")
    return tuple(measures)


def _is_estimated(measure: Measure) -> bool:
    if measure.kind in ("recall", "hit", "ndcg"):
        return measure.cutoff is not None
    return measure.kind in ("rr", "ap")


def _is_sum(measure: Measure) -> bool:
    """Whether the metric of a user is a weighted sum over the held-out items."""
    if measure.kind == "ap":
        return measure.cutoff is None
    return measure.kind in ("recall", "ndcg")


def over_ties(measures: Sequence[Measure], better: Int, tied: Int) -> Float:
    """Mean of metrics over all orders of the tied candidates and the held-out item."""
    most = int((better + tied).max(initial=0))
    ranks = Ranks.trusted(np.full(better.size, most + 2), better, tied)
    return np.stack([metrics.values(measure, ranks) for measure in measures])


class View(NamedTuple):
    """Metrics of users by the model, shape (metrics, users)."""

    mean: Float
    variance: Float
    top: Float  # greatest possible value
    row_mean: Float  # mean for held-out rows, unscaled; shape (metrics, rows)


class Model:
    """Latent classes fitted to one recommender's counts, and the posterior of its metrics."""

    def __init__(self, counts: Counts, measures: Sequence[Measure]) -> None:
        frame = counts.frame
        self.counts = counts
        self.measures = tuple(measures)
        self.proxy_helps = True  # by the first scores
        cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
        self.depth = max(cutoffs, default=DEEPEST)  # better ones after which those are zero
        self.sums = [i for i, measure in enumerate(measures) if measure.cutoff is None]
        self.priority = np.ones(len(measures))
        for i, measure in enumerate(measures):
            if measure.kind in ("recall", "hit"):
                self.priority[i] = 0.25
        self.scale = _scale(counts, measures)
        n_largest = int(frame.order.n.max())
        self._poisson = PoissonMeans(measures, self.depth, n_largest)
        bins = _bins(frame.own)
        n_bins = int(bins.max()) + 1
        n_classes = max(LEAST_CLASSES, frame.owner.size // ROWS_PER_CLASS)
        n_classes = min(MOST_CLASSES, n_classes)
        self._in_bin = np.eye(n_bins)[bins]
        self._floor = min(0.07 / max(frame.edges[-1], 1), 2e-5)
        self._initial = initial_shares(frame.edges, n_classes)
        self._prior = np.full((n_bins, n_classes), 1 / n_classes)
        self.share = self._initial
        self.posterior = np.full((bins.size, n_classes), 1 / n_classes)

    def fit(self, steps: int) -> None:
        """Take steps of expectation maximisation."""
        data = self._data()
        n_strata = self.counts.m.shape[1]
        self.posterior = self._expected_classes(data)
        for _ in range(steps):
            sums = self.posterior.T @ data
            hits = sums[:, :n_strata]
            misses = sums[:, n_strata : 2 * n_strata]
            in_bin = sums[:, 2 * n_strata :].T
            share = (hits + SMOOTHING * self._initial) / (hits + misses + SMOOTHING)
            self.share = np.clip(share, self._floor, MOST_SHARE)
            shares = in_bin.sum(0) / in_bin.sum()
            prior = in_bin + shares + 1e-6
            self._prior = prior / prior.sum(1, keepdims=True)
            self.posterior = self._expected_classes(data)

    def gain(self) -> Float:
        """Variance of the metrics per score, for each user and stratum."""
        scored, better = self._tempered()
        hits = self.posterior.T @ better + UNSEEN
        share = hits / (self.posterior.T @ scored + UNSEEN)
        share = np.clip(share, self._floor, MOST_SHARE)
        known = self.counts.known + self.counts.tied.sum(1) // 2
        unscored = self._unscored(share)
        _, variance = self._poisson.moments(self.posterior, known, unscored)
        probability = self.posterior @ share
        spread = probability * (1.0 - probability)
        left = self.counts.left[self.counts.frame.owner]
        total = np.maximum((left * spread).sum(1), 1e-9)
        scale = (self.priority @ variance) / total
        rows = scale[:, np.newaxis] * spread
        return self.counts.frame.by_user(rows.T).T

    def view(self) -> View:
        """Metrics of all users by the classes as last fitted."""
        by_user = self.counts.frame.by_user
        posterior = self._expected_classes(self._data())
        mean, variance = self._posterior_of_rows(posterior)
        tied = self.counts.tied.sum(1)
        top = over_ties(self.measures, self.counts.known, tied)
        return View(
            mean=by_user(mean * self.scale),
            variance=by_user(variance * self.scale**2),
            top=by_user(top * self.scale),
            row_mean=mean,
        )

    def limits(self) -> Float:
        """Least and greatest metrics of each user that the scores allow; (2, metrics, users)."""
        fewest = self.counts.known
        most = fewest + self._n_left()
        tied = self.counts.tied.sum(1)
        worst = over_ties(self.measures, most, tied)
        best = over_ties(self.measures, fewest, tied)
        both = np.stack([worst, best])
        return self.counts.frame.by_user(both * self.scale)

    @property
    def live(self) -> NDArray[np.bool_]:
        """Whether a metric with a cutoff is open for some held-out row of a user."""
        is_open = self.counts.known < self.depth
        n_open = self.counts.frame.by_user(is_open.astype(np.float64))
        return (n_open > 0) & (self.counts.left.sum(1) > 0)

    def _n_left(self) -> Int:
        """Unscored candidates of the user of each row."""
        return self.counts.left.sum(1)[self.counts.frame.owner]

    def _tempered(self) -> tuple[Float, Float]:
        """Scored, and better with half of the tied, of each row and stratum, overdispersed."""
        scored = self.counts.m[self.counts.frame.owner]
        factor = (KAPPA + 1.0) / (KAPPA + np.maximum(scored, 1))
        return scored * factor, self.counts.expected_better * factor

    def _data(self) -> Float:
        """Better and worse ones in each stratum, and the bin, of each row."""
        scored, better = self._tempered()
        return np.hstack([better, scored - better, self._in_bin])

    def _expected_classes(self, data: Float) -> Float:
        """Probability of each class for each row, shape (rows, classes)."""
        hit = np.log(self.share)
        miss = np.log1p(-self.share)
        logs = np.vstack([hit.T, miss.T, np.log(self._prior)])
        likelihood = data @ logs
        likelihood -= likelihood.max(1, keepdims=True)
        np.exp(likelihood, out=likelihood)
        return likelihood / likelihood.sum(1, keepdims=True)

    def _unscored(self, share: Float) -> Float:
        """Expected number of better ones among what was not scored, shape (rows, classes)."""
        owner = self.counts.frame.owner
        weight = self.counts.left[owner] / (KAPPA + self.counts.m[owner])
        by_row = (weight * self.counts.expected_better).sum(1, keepdims=True)
        return (weight * KAPPA) @ share.T + by_row

    def _posterior_of_rows(self, posterior: Float) -> tuple[Float, Float]:
        """Mean and variance of the metrics of each row; the order of ties is integrated out."""
        known = self.counts.known
        tied = self.counts.tied.sum(1)
        unscored = self._unscored(self.share)
        mean, variance = self._poisson.moments(posterior, known, unscored)
        rows = np.flatnonzero(tied)
        if rows.size:
            found = self._posterior_of_tied(rows, posterior[rows], unscored[rows])
            mean[:, rows], variance[:, rows] = found
        is_done = self._n_left() == 0
        mean[:, is_done] = over_ties(self.measures, known, tied)[:, is_done]
        variance[:, is_done] = 0.0
        return mean, variance

    def _posterior_of_tied(
        self, rows: Int, posterior: Float, unscored: Float
    ) -> tuple[Float, Float]:
        """Mean and variance of the metrics of rows with ties."""
        known = self.counts.known[rows]
        tied = self.counts.tied.sum(1)[rows]
        better = self.counts.better.sum(1)[rows]
        part = tied / (2.0 * better + tied)  # of the ties in what is expected
        first = np.zeros((len(self.measures), rows.size))
        second = np.zeros_like(first)
        for node, weight in zip(*TIE_NODES, strict=True):
            root = (node + 1.0) / 2.0
            place = root**3
            weight = 1.5 * weight * root**2
            n_above = np.floor(place * tied + 0.5)
            above = known + n_above.astype(np.int64)
            factor = 1.0 - part + 2.0 * part * place
            expected = unscored * factor[:, np.newaxis]
            mean, variance = self._poisson.moments(posterior, above, expected)
            first += weight * mean
            second += weight * (variance + mean**2)
        return first, np.maximum(second - first**2, 0.0)


def _scale(counts: Counts, measures: Sequence[Measure]) -> Float:
    """Factor of each held-out row's metric in that of its user, shape (metrics, rows)."""
    owner = counts.frame.owner
    n_held_out = np.bincount(owner)[owner]
    return np.stack([_factor(measure, n_held_out, counts.above) for measure in measures])


def _factor(measure: Measure, n_held_out: Int, above: Int) -> Float:
    """Factor of each held-out row.

    With R held-out items, recall@k is their mean recall, ndcg@k the sum of their discounts over
    that of min(R, k) items on top, and ap their mean precision, better held-out ones counted.
    """
    if measure.kind == "ndcg":
        place = np.arange(1, int(n_held_out.max()) + 1)
        ideal = np.cumsum(1.0 / np.log2(place + 1))
        n_on_top = np.minimum(n_held_out, measure.cutoff or n_held_out)
        return 1.0 / ideal[n_on_top - 1]
    if measure.kind == "ap":
        return (above + 1.0) / n_held_out
    return 1.0 / n_held_out


def initial_shares(bounds: Int, classes: int) -> Float:
    """Logistic in the logarithm of the position, from classes with few better ones to many."""
    n = max(int(bounds[-1]), 2)
    middle = np.sqrt((bounds[:-1] + 1.0) * bounds[1:])
    last = np.log(max(0.85 * n, 1.0))
    level = np.linspace(np.log(0.3), last, classes)
    distance = level[:, np.newaxis] - np.log(middle)
    odds = np.exp(-1.2 * distance)
    return np.clip(0.95 / (1.0 + odds), 0.07 / n, 0.98)


def _bins(own: Float) -> Int:
    """Bins of the held-out items' own places, finer where the proxy ranks them high."""
    n_bins = max(2, min(BINS, own.size // ROWS_PER_BIN))
    half = n_bins // 2
    head = np.linspace(0, HEAD_SHARE, half + 1)
    tail = np.linspace(HEAD_SHARE, 1, n_bins - half + 1)
    inner = np.append(head, tail[1:])[1:-1]
    cuts = np.unique(np.quantile(own, inner))
    bins = np.searchsorted(cuts, own, side="right")
    return np.unique(bins, return_inverse=True)[1]
