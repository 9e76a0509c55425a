"""Model of an evaluation on a budget: the posterior of metrics, given some scores of each user.

Question: which rank has a held-out item likely, if few of its candidates are scored?

A held-out row belongs to one of some latent classes. In class g the share of candidates in stratum
s that are better than the held-out item is p_gs. The number of better ones among m scored ones is
binomial, overdispersed as if the share had a beta distribution of concentration kappa = 30. The
prior of the classes depends on the held-out item's own place in the proxy's order. Classes and
shares are fitted to all users by expectation maximisation. Given the class, the number of better
ones among the unscored candidates is taken to be Poisson, so the metrics have closed means and
variances (`PoissonMeans`).

The model may be wrong, for example where the proxy hides what users like. The audit corrects it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, roots_legendre

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks

# The classes: chosen on recommenders for MovieLens 1M other than those of the study, and on
# MovieLens 100K and a synthetic catalogue. More classes follow users more closely and need more of
# them.
CONCENTRATION = 30.0  # kappa: with 40 classes, no significantly wrong order on these data
MOST_CLASSES = 40
LEAST_CLASSES = 20
ROWS_PER_CLASS = 20
MOST_BINS = 12  # bins of held-out items by their own place in the proxy's order
HEAD_SHARE = 0.3  # held-out items with the best places, which have half of the bins
ROWS_PER_BIN = 100
SMOOTHING = 0.5  # scores that the initial share of a class counts as
UNSEEN_SCORES = 0.3  # scores added as if all were better, so that strata with few stay interesting
# Shares of better candidates stay away from 0 and 1, which no further score could change.
MOST_SHARE = 0.995
LEAST_SHARE = 2e-5
LEAST_EXPECTED_BETTER = 0.07  # the least share is also at most this by the number of candidates
LEAST_PRIOR = 1e-6  # of a class in a bin, before scaling
RECALL_WEIGHT = 0.25  # in choosing scores: recall is 0 or 1, other metrics vary less
MOST_DEPTH = 2000  # better candidates: tables of the model grow with its square
DEPTH_WITHOUT_CUTOFF = 10  # better candidates that end a scan if no metric has a cut-off
TIE_NODES = roots_legendre(6)  # for the integral over the order of ties
# Tables of Poisson means: interpolated metrics are exact to about 0.2 % (tests).
SMALLEST_MEAN = 1e-4
LOG_STEP = 0.068  # between means
EXACT_BELOW = 600.0  # means, or 3 times the depth; larger ones by an expansion


def parse_metrics(names: str | Sequence[str | Measure], single: bool = True) -> tuple[Measure, ...]:
    """Read names of metrics such as `recall@10`, `NDCG@5` and `ap`.

    With several held-out items per user, that is without `single`, only metrics that add up over
    these items are possible.
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
            supported = "recall@k, hr@k, ndcg@k, mrr@k, mrr, map@k, map"
            raise InputError(f"unknown metric {str(measure)!r}; known: {supported}")
        if not single and measure.kind not in sums:
            raise InputError(
                f"metrics: {measure} is not estimated for users with several held-out items; take "
                "recall@k, ndcg@k or ap"
            )
    return tuple(measures)


def scan_depth(measures: Sequence[Measure], n_largest: int) -> int:
    """Return how many better candidates end a scan: as many make metrics with a cut-off zero.

    Examples
    --------
    >>> scan_depth(parse_metrics("hr@20, map"), 900), scan_depth(parse_metrics("hr@1000000"), 900)
    (20, 901)
    """
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff]
    depth = min(max(cutoffs, default=DEPTH_WITHOUT_CUTOFF), n_largest + 1)
    if depth > MOST_DEPTH:
        raise InputError(f"metrics: a cutoff is above {MOST_DEPTH}; rank fully (`rank`) for it")
    return depth


def average_over_ties(measures: Sequence[Measure], better: Int, tied: Int) -> Float:
    """Average metrics over all orders of the tied candidates and the held-out item.

    `better` and `tied` count candidates of each held-out row; the result has the shape
    (metrics, rows).
    """
    # None of the metrics of `parse_metrics` depends on the number of candidates. So one number will
    # do for all rows: the better and tied ones, the held-out item and one more.
    most = int((better + tied).max(initial=0))
    ranks = Ranks(np.full(better.size, most + 2), better, tied)
    return np.stack([metrics.values(measure, ranks) for measure in measures])


class View(NamedTuple):
    """Metrics of users by the model.

    Attributes
    ----------
    mean, variance
        Posterior moments; shape (metrics, users).
    least, greatest
        Values that the scores allow: if all unscored candidates are better, or none; shape
        (metrics, users).
    row_mean
        Posterior means of held-out rows, before scaling; shape (metrics, rows).
    """

    mean: Float
    variance: Float
    least: Float
    greatest: Float
    row_mean: Float


class Model:
    """Latent classes fitted to one recommender's counts, and the posterior of its metrics.

    Attributes
    ----------
    counts, strata, measures
        The scores counted so far, their strata, and the metrics.
    proxy_helps
        Whether the first scores of the recommender are related to the proxy's order.
    depth
        Number of better candidates that ends a scan.
    uncut
        Indices of the metrics without a cut-off.
    metric_weights
        Weights of the metrics' variances where scores or users are chosen; shape (metrics,).
    scale
        Weights of held-out rows in the metrics of their users; shape (metrics, rows).
    share
        Share of better candidates by class and stratum; shape (classes, strata).
    posterior
        Probability of each class for each held-out row; shape (rows, classes).
    """

    def __init__(self, counts: StratumCounts, measures: Sequence[Measure]) -> None:
        strata = counts.strata
        self.counts = counts
        self.strata = strata
        self.measures = measures
        self.proxy_helps = True
        n_largest = int(strata.n_candidates.max())
        self.depth = scan_depth(measures, n_largest)
        self.uncut = np.flatnonzero([measure.cutoff is None for measure in measures])
        is_recall = [measure.kind in ("recall", "hit") for measure in measures]
        self.metric_weights = np.where(is_recall, RECALL_WEIGHT, 1.0)
        n_held_out = np.bincount(strata.user_of_row)[strata.user_of_row]
        factors = [_row_weights(measure, n_held_out, counts.above) for measure in measures]
        self.scale = np.stack(factors)
        self._poisson = PoissonMeans(measures, self.depth, n_largest)
        self._in_bin = _bin_indicators(strata.share_before)
        n_rows, n_bins = self._in_bin.shape
        n_classes = max(LEAST_CLASSES, min(MOST_CLASSES, n_rows // ROWS_PER_CLASS))
        self._least_share = min(LEAST_EXPECTED_BETTER / strata.edges[-1], LEAST_SHARE)
        self._initial = initial_shares(strata.edges, n_classes)
        self._prior = np.full((n_bins, n_classes), 1 / n_classes)
        self.share = self._initial
        self.posterior = np.full((n_rows, n_classes), 1 / n_classes)

    def fit(self, steps: int) -> None:
        """Take steps of expectation maximisation."""
        statistics = self._class_statistics()
        n_strata = self.counts.n_scored.shape[1]
        self.posterior = self._class_posterior(statistics)
        for _ in range(steps):
            sums = self.posterior.T @ statistics
            hits, misses, in_bin = np.split(sums, [n_strata, 2 * n_strata], axis=1)
            share = (hits + SMOOTHING * self._initial) / (hits + misses + SMOOTHING)
            self.share = np.clip(share, self._least_share, MOST_SHARE)
            prior = in_bin.T + in_bin.sum(1) / in_bin.sum() + LEAST_PRIOR
            self._prior = prior / prior.sum(1, keepdims=True)
            self.posterior = self._class_posterior(statistics)

    def gain(self) -> Float:
        """Return the variance of the metrics that a further score may remove.

        A row's variance is shared out over its unscored candidates by their own variances,
        p (1 - p).

        Returns
        -------
        ndarray
            Per candidate of each user and stratum; shape (users, strata).
        """
        counts = self.counts
        scored, better = self._overdispersed_counts()
        hits = self.posterior.T @ better + UNSEEN_SCORES
        share = hits / (self.posterior.T @ scored + UNSEEN_SCORES)
        share = np.clip(share, self._least_share, MOST_SHARE)
        n_known = counts.known_better + counts.n_tied // 2
        _, variance = self._poisson.moments(
            self.posterior, n_known, self._expected_unscored_better(share)
        )
        probability = self.posterior @ share
        spread = probability * (1.0 - probability)
        total = (counts.n_left[self.strata.user_of_row] * spread).sum(1)
        scale = (self.metric_weights @ variance) / np.maximum(total, 1e-9)
        rows = scale[:, np.newaxis] * spread
        return self.strata.reduce_by_user(rows.T).T

    def view(self) -> View:
        """Return the metrics of all users, by the classes as last fitted.

        The order of ties is integrated out. Metrics are exact for users whose candidates are all
        scored.
        """
        reduce_by_user = self.strata.reduce_by_user
        counts = self.counts
        posterior = self._class_posterior(self._class_statistics())
        unscored = self._expected_unscored_better(self.share)
        mean, variance = self._poisson.moments(posterior, counts.known_better, unscored)
        rows = np.flatnonzero(counts.n_tied)
        moments = self._moments_with_ties(rows, posterior[rows], unscored[rows])
        mean[:, rows], variance[:, rows] = moments
        n_left = counts.n_left.sum(1)[self.strata.user_of_row]
        least = average_over_ties(self.measures, counts.known_better + n_left, counts.n_tied)
        greatest = average_over_ties(self.measures, counts.known_better, counts.n_tied)
        is_done = n_left == 0
        mean[:, is_done] = greatest[:, is_done]
        variance[:, is_done] = 0.0
        return View(
            mean=reduce_by_user(mean * self.scale),
            variance=reduce_by_user(variance * self.scale**2),
            least=reduce_by_user(least * self.scale),
            greatest=reduce_by_user(greatest * self.scale),
            row_mean=mean,
        )

    @property
    def is_open(self) -> Bool:
        """Whether scores may still change a metric with a cut-off; shape (users,)."""
        n_open = self.strata.reduce_by_user(self.counts.known_better < self.depth)
        return (n_open > 0) & (self.counts.n_left.sum(1) > 0)

    def _overdispersed_counts(self) -> tuple[Float, Float]:
        """Return numbers scored, and better, reduced by what overdispersion takes from them.

        Tied candidates count half. Both have the shape (rows, strata).
        """
        scored = self.counts.n_scored[self.strata.user_of_row]
        factor = (CONCENTRATION + 1.0) / (CONCENTRATION + np.maximum(scored, 1))
        return scored * factor, self.counts.expected_better * factor

    def _class_statistics(self) -> Float:
        """Return numbers better and worse in each stratum, and indicators of the bin, by row."""
        scored, better = self._overdispersed_counts()
        return np.hstack([better, scored - better, self._in_bin])

    def _class_posterior(self, statistics: Float) -> Float:
        """Return the probability of each class for each row; shape (rows, classes)."""
        logs = np.vstack(
            [
                np.log(self.share).T,
                np.log1p(-self.share).T,
                np.log(self._prior),
            ]
        )
        likelihood = statistics @ logs
        likelihood -= likelihood.max(1, keepdims=True)
        np.exp(likelihood, out=likelihood)
        return likelihood / likelihood.sum(1, keepdims=True)

    def _expected_unscored_better(self, share: Float) -> Float:
        """Return the expected number of better ones among unscored candidates.

        By class, given the scores of the stratum: the mean of the beta distribution of the share;
        shape (rows, classes).
        """
        user_of_row = self.strata.user_of_row
        weight = self.counts.n_left[user_of_row] / (
            CONCENTRATION + self.counts.n_scored[user_of_row]
        )
        by_row = (weight * self.counts.expected_better).sum(1, keepdims=True)
        return (weight * CONCENTRATION) @ share.T + by_row

    def _moments_with_ties(
        self,
        rows: Int,
        posterior: Float,
        unscored: Float,
    ) -> Float:
        """Return mean and variance of the metrics of rows with ties, by integration.

        The held-out item is at a uniformly random place among those tied with it. Gauss-Legendre
        nodes are taken for the cube root of the place, because metrics change most near the best.
        """
        n_known = self.counts.known_better[rows]
        tied = self.counts.n_tied[rows]
        better = self.counts.better.sum(1)[rows]
        tied_share = tied / (2.0 * better + tied)  # part of the expected better ones from ties
        powers = np.zeros((2, len(self.measures), rows.size))
        for node, weight in zip(*TIE_NODES, strict=True):
            root = (node + 1.0) / 2.0
            place = root**3
            n_above = np.floor(place * tied + 0.5)
            factor = 1.0 - tied_share + 2.0 * tied_share * place
            mean, variance = self._poisson.moments(
                posterior, n_known + n_above.astype(np.int64), unscored * factor[:, np.newaxis]
            )
            powers += 1.5 * weight * root**2 * np.stack([mean, variance + mean**2])
        return _mean_and_variance(powers)


def _mean_and_variance(powers: Float) -> Float:
    """Return mean and variance, from the expectations of powers 1 and 2."""
    first, second = powers
    return np.stack([first, np.maximum(second - first**2, 0.0)])


def _row_weights(measure: Measure, n_held_out: Int, above: Int) -> Float:
    """Return the weight of each held-out row's metric in the metric of its user.

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
    """Return shares of better candidates to start with; shape (classes, strata).

    They fall with the place in the proxy's order, logistically in its logarithm, and from class to
    class they fall further down: at place 0.3 in the first class and 0.85 n in the last.
    """
    n = max(int(bounds[-1]), 2)
    middle = np.sqrt((bounds[:-1] + 1.0) * bounds[1:])
    level = np.linspace(np.log(0.3), np.log(0.85 * n), classes)
    distance = level[:, np.newaxis] - np.log(middle)
    odds = np.exp(-1.2 * distance)
    return np.clip(0.95 / (1.0 + odds), 0.07 / n, 0.98)


def _bin_indicators(share_before: Float) -> Float:
    """Return 1 in the bin of each held-out item's own place in the proxy's order, else 0.

    Bins are finer where the proxy ranks the items high; shape (rows, bins).
    """
    n_bins = max(2, min(MOST_BINS, share_before.size // ROWS_PER_BIN))
    half = n_bins // 2
    head = np.linspace(0, HEAD_SHARE, half + 1)
    tail = np.linspace(HEAD_SHARE, 1, n_bins - half + 1)
    cuts = np.unique(np.quantile(share_before, np.append(head[1:], tail[1:-1])))
    bins = np.searchsorted(cuts, share_before, side="right")
    return np.where(bins[:, np.newaxis] == np.unique(bins), 1.0, 0.0)


class PoissonMeans:
    """Mean and variance of metrics with r + X better candidates, r known and X Poisson.

    They are interpolated in log E X from tables. From r = `depth` on, metrics with a cut-off are
    zero, and others come from an expansion, as for large means.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        depth: int,
        n_largest: int,
    ) -> None:
        self._measures = measures
        self._depth = depth
        low = np.log(SMALLEST_MEAN)
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
                table[:, ~is_small] = _mean_by_expansion(better, means[~is_small], power + 1)

    def moments(
        self,
        share: Float,
        better: Int,
        mean: Float,
    ) -> Float:
        """Return mean and variance of the metrics of held-out rows; shape (2, metrics, rows).

        Parameters
        ----------
        share, mean
            Probability of each class, and E X in it; shape (rows, classes).
        better
            Better candidates known, r; shape (rows,).
        """
        n_measures, _, size = self._tables.shape[1:]
        powers = np.zeros((2, n_measures, better.size))
        near = better < self._depth
        far = ~near
        logs = np.log(np.maximum(mean[near], SMALLEST_MEAN))
        place = np.clip((logs - self._low) * self._scale, 0.0, size - 1.001)
        column = place.astype(np.int64)
        right = share[near] * (place - column)
        left = share[near] - right
        column += (better[near] * size)[:, np.newaxis]
        for power, index in np.ndindex(powers.shape[:2]):
            table = self._tables[power, index].ravel()
            expected = powers[power, index]
            expected[near] = np.einsum("ug,ug->u", left, table[column])
            expected[near] += np.einsum("ug,ug->u", right, table[column + 1])
            if self._measures[index].cutoff is None:
                values = _mean_by_expansion(better[far, np.newaxis], mean[far], power + 1)
                expected[far] = (share[far] * values).sum(axis=1)
        return _mean_and_variance(powers)


def _mean_by_expansion(better: Int, mean: Float, power: int) -> Float:
    """Return the mean of 1 / (better + X + 1)^power, X Poisson with a large mean."""
    total = better + 1.0 + mean
    spread = (2 * power - 1) * mean / total**2
    return (1.0 + spread) / total**power
