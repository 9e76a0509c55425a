"""Model of an evaluation on a budget: the posterior of metrics, given some scores of each user.

Question: which rank has a held-out item likely, if few of its candidates are scored?

A held-out row belongs to one of some latent classes. In class g the share of candidates in stratum
s that are better than the held-out item is p_gs. The number of better ones among m scored ones is
binomial, overdispersed as if the share had a beta distribution of concentration kappa = 30. The
prior of the classes depends on the held-out item's own position in the proxy's order. Classes and
shares are fitted to all users by expectation maximisation. Given the class, the number of better
ones among the unscored candidates is taken to be Poisson, so the metrics have closed means and
variances (`poisson_means`).

The model may be wrong, for example where the proxy hides what users like. The audit corrects it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.constants import (
    CONCENTRATION,
    DEPTH_WITHOUT_CUTOFF,
    FIRST_CLASS_MIDDLE,
    GREATEST_INITIAL_SHARE,
    HEAD_SHARE,
    LAST_CLASS_MIDDLE,
    LEAST_CLASSES,
    LEAST_EXPECTED_BETTER,
    LEAST_PRIOR,
    LEAST_SHARE,
    LEAST_TOTAL_SPREAD,
    MOST_BINS,
    MOST_CLASSES,
    MOST_DEPTH,
    MOST_INITIAL_SHARE,
    MOST_SHARE,
    RECALL_WEIGHT,
    ROWS_PER_BIN,
    ROWS_PER_CLASS,
    SHARE_STEEPNESS,
    SMOOTHING,
    TIE_NODES,
    UNSEEN_SCORES,
)
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.budget.poisson_means import PoissonMeans, mean_and_variance
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import Ranks

_TIE_NODES = roots_legendre(TIE_NODES)  # and their weights, for the integral over orders of ties


# Kinds of metrics that are estimated, and those of them that add up over held-out items.
_KINDS_WITH_CUTOFF = ("recall", "hit", "ndcg", "rr", "ap")
_KINDS_WITHOUT_CUTOFF = ("rr", "ap")
_SUMS_WITH_CUTOFF = ("recall", "ndcg")
_SUMS_WITHOUT_CUTOFF = ("ap",)


def parse_metrics(names: str | Sequence[str | Measure], single: bool = True) -> tuple[Measure, ...]:
    """Read names of metrics such as `recall@10`, `NDCG@5` and `ap`.

    With several held-out items per user, that is without `single`, only metrics that add up over
    these items are possible.

    Raises
    ------
    InputError
        For other metrics.
    """
    measures = metrics.parse_measures(names)
    for measure in measures:
        has_cutoff = measure.cutoff is not None
        if measure.kind not in (_KINDS_WITH_CUTOFF if has_cutoff else _KINDS_WITHOUT_CUTOFF):
            supported = "recall@k, hr@k, ndcg@k, mrr@k, mrr, map@k, map"
            raise InputError(f"unknown metric {str(measure)!r}; known: {supported}")
        sums = _SUMS_WITH_CUTOFF if has_cutoff else _SUMS_WITHOUT_CUTOFF
        if not single and measure.kind not in sums:
            raise InputError(
                f"metrics: {measure} is not estimated for users with several held-out items; use "
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
    n_candidates = int((better + tied).max(initial=0)) + 2
    ranks = Ranks(np.full(better.size, n_candidates), better, tied)
    return np.stack([metrics.values(measure, ranks) for measure in measures])


class MetricPosterior(NamedTuple):
    """Metrics of users by the model, given the scores so far.

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
    row_weights
        Weights of held-out rows in the metrics of their users; shape (metrics, rows).
    share
        Share of better candidates by class and stratum; shape (classes, strata).
    posterior
        Probability of each class for each held-out row; shape (rows, classes).
    """

    def __init__(self, counts: StratumCounts, measures: Sequence[Measure]) -> None:
        strata = counts.strata
        n_largest = int(strata.n_candidates.max())
        self.counts = counts
        self.strata = strata
        self.measures = measures
        self.proxy_helps = True
        self.depth = scan_depth(measures, n_largest)
        self.uncut = np.flatnonzero([measure.cutoff is None for measure in measures])
        is_recall = [measure.kind in ("recall", "hit") for measure in measures]
        self.metric_weights = np.where(is_recall, RECALL_WEIGHT, 1.0)
        self.row_weights = _row_weights(measures, strata.user_of_row, counts.above)
        self._poisson = PoissonMeans(measures, self.depth, n_largest)
        self._in_bin = _bin_indicators(strata.share_before)
        n_rows, n_bins = self._in_bin.shape
        n_classes = max(LEAST_CLASSES, min(MOST_CLASSES, n_rows // ROWS_PER_CLASS))
        self._least_share = min(LEAST_EXPECTED_BETTER / strata.edges[-1], LEAST_SHARE)
        self._initial_share = initial_shares(strata.edges, n_classes)
        self.share = self._initial_share
        # Before the first fit, classes are equally probable.
        equal_probability = 1 / n_classes
        self._prior = np.full((n_bins, n_classes), equal_probability)  # given the bin
        self.posterior = np.full((n_rows, n_classes), equal_probability)

    def fit(self, steps: int) -> None:
        """Take steps of expectation maximisation.

        E step: `posterior`, the probability of each class for each held-out row. M step, with all
        numbers weighted by it:

            share of class g in stratum s = (better_gs + c initial_gs) / (better_gs + worse_gs + c)
            prior of class g in bin b    ~ rows_gb + rows_g / rows + LEAST_PRIOR

        where c = `SMOOTHING`, and the prior sums to 1 over the classes.
        """
        statistics = self._class_statistics()
        n_strata = self.counts.n_scored.shape[1]
        self.posterior = self._class_posterior(statistics)
        for _ in range(steps):
            sums = self.posterior.T @ statistics  # shape (classes, 2 strata + bins)
            better, worse, rows_in_bin = np.split(sums, [n_strata, 2 * n_strata], axis=1)
            share = (better + SMOOTHING * self._initial_share) / (better + worse + SMOOTHING)
            self.share = np.clip(share, self._least_share, MOST_SHARE)
            prior = rows_in_bin.T + rows_in_bin.sum(1) / rows_in_bin.sum() + LEAST_PRIOR
            self._prior = prior / prior.sum(1, keepdims=True)
            self.posterior = self._class_posterior(statistics)

    def gain(self) -> Float:
        """Return the variance of the metrics that a further score may remove.

        The posterior variance of a held-out row is divided among its unscored candidates in
        proportion to their own variances, p (1 - p), where p is the probability of a candidate to
        be better than the held-out item. Rows of a user are summed.

        Returns
        -------
        ndarray
            Per candidate of each user and stratum; shape (users, strata).
        """
        counts = self.counts
        share = self._share_of_unseen()
        n_known = counts.known_better + counts.n_tied // 2
        _, variance = self._poisson.moments(
            self.posterior, n_known, self._expected_unscored_better(share)
        )
        variance_of_row = self.metric_weights @ variance
        p = self.posterior @ share  # shape (rows, strata)
        variance_of_candidate = p * (1.0 - p)
        n_unscored = counts.n_left[self.strata.user_of_row]
        sum_over_candidates = (n_unscored * variance_of_candidate).sum(1)
        ratio = variance_of_row / np.maximum(sum_over_candidates, LEAST_TOTAL_SPREAD)
        gain_of_row = ratio[:, np.newaxis] * variance_of_candidate
        return self.strata.reduce_by_user(gain_of_row.T).T

    def _share_of_unseen(self) -> Float:
        """Return optimistic shares of better candidates, higher where a class has few scores.

        They are as if `UNSEEN_SCORES` more had been scored in each stratum, all of them better;
        shape (classes, strata).
        """
        scored, better = self._overdispersed_counts()
        better_of_class = self.posterior.T @ better + UNSEEN_SCORES
        share = better_of_class / (self.posterior.T @ scored + UNSEEN_SCORES)
        return np.clip(share, self._least_share, MOST_SHARE)

    def metric_posterior(self) -> MetricPosterior:
        """Return the metrics of all users, by the classes as last fitted.

        The order of ties is integrated out. Metrics are exact for users whose candidates are all
        scored. Moments and bounds are computed for held-out rows, shape (metrics, rows), and then
        summed over the rows of each user with `row_weights`.
        """
        reduce_by_user = self.strata.reduce_by_user
        counts = self.counts
        posterior = self._class_posterior(self._class_statistics())
        unscored = self._expected_unscored_better(self.share)
        mean, variance = self._poisson.moments(posterior, counts.known_better, unscored)
        tied_rows = np.flatnonzero(counts.n_tied)
        mean[:, tied_rows], variance[:, tied_rows] = self._moments_with_ties(
            tied_rows, posterior[tied_rows], unscored[tied_rows]
        )
        n_left = counts.n_left.sum(1)[self.strata.user_of_row]
        least = average_over_ties(self.measures, counts.known_better + n_left, counts.n_tied)
        greatest = average_over_ties(self.measures, counts.known_better, counts.n_tied)
        is_done = n_left == 0
        mean[:, is_done] = greatest[:, is_done]
        variance[:, is_done] = 0.0
        return MetricPosterior(
            mean=reduce_by_user(mean * self.row_weights),
            variance=reduce_by_user(variance * self.row_weights**2),
            least=reduce_by_user(least * self.row_weights),
            greatest=reduce_by_user(greatest * self.row_weights),
            row_mean=mean,
        )

    @property
    def is_open(self) -> Bool:
        """Whether scores may still change a metric with a cut-off; shape (users,)."""
        n_open = self.strata.reduce_by_user(self.counts.known_better < self.depth)
        return (n_open > 0) & (self.counts.n_left.sum(1) > 0)

    def _overdispersed_counts(self) -> tuple[Float, Float]:
        """Return the effective numbers of candidates scored, and of better ones among them.

        The variance of a beta-binomial share of m scores is that of a binomial share of
        m (kappa + 1) / (kappa + m) scores, with kappa = `CONCENTRATION`. Tied candidates count
        half. Both have the shape (rows, strata).
        """
        scored = self.counts.n_scored[self.strata.user_of_row]
        factor = (CONCENTRATION + 1.0) / (CONCENTRATION + np.maximum(scored, 1))
        return scored * factor, self.counts.expected_better * factor

    def _class_statistics(self) -> Float:
        """Return numbers better and worse in each stratum, and indicators of the bin, by row.

        Shape (rows, 2 strata + bins).
        """
        scored, better = self._overdispersed_counts()
        return np.hstack([better, scored - better, self._in_bin])

    def _class_posterior(self, statistics: Float) -> Float:
        """Return the probability of each class for each row; shape (rows, classes).

        The log likelihood is linear in the statistics: better log p + worse log(1 - p) in each
        stratum, and the log prior of the row's bin.
        """
        coefficients = np.vstack(
            [np.log(self.share).T, np.log1p(-self.share).T, np.log(self._prior)]
        )
        log_likelihood = statistics @ coefficients
        likelihood = np.exp(log_likelihood - log_likelihood.max(1, keepdims=True))
        return likelihood / likelihood.sum(1, keepdims=True)

    def _expected_unscored_better(self, share: Float) -> Float:
        """Return the expected number of better ones among unscored candidates, by class.

        A row's own share in stratum s has a beta distribution around the share p_gs of its class g.
        Given `better` of `scored` candidates it has the posterior mean

            (kappa p_gs + better_s) / (kappa + scored_s),   kappa = `CONCENTRATION`,

        and the result is its sum over strata, each times the candidates left.

        Parameters
        ----------
        share
            p_gs; shape (classes, strata).

        Returns
        -------
        ndarray
            Shape (rows, classes).
        """
        kappa = CONCENTRATION
        user_of_row = self.strata.user_of_row
        weight = self.counts.n_left[user_of_row] / (kappa + self.counts.n_scored[user_of_row])
        from_own_scores = (weight * self.counts.expected_better).sum(1, keepdims=True)
        from_class = (weight * kappa) @ share.T
        return from_class + from_own_scores

    def _moments_with_ties(self, rows: Int, posterior: Float, unscored: Float) -> Float:
        """Return mean and variance of the metrics of rows with ties, by integration.

        The held-out item is at a uniformly random position u, from 0 for the top to 1, among those
        tied with it, so the expectation of a metric M is the integral of E[M | u] over u. With
        u = v^3, because metrics change most near the top, and v = (x + 1) / 2 for Gauss-Legendre
        nodes x of (-1, 1) with weights w,

            integral of f(u) du = integral of f(v^3) 3 v^2 dv = sum over nodes of w 3/2 v^2 f(v^3).

        Parameters
        ----------
        rows
            Held-out rows with ties.
        posterior, unscored
            Probability of each class, and the better ones expected among unscored candidates;
            shape (rows, classes).
        """
        n_known = self.counts.known_better[rows]
        n_tied = self.counts.n_tied[rows]
        n_better = self.counts.better.sum(1)[rows]
        # `unscored` counts half of the tied candidates as better. This share of it is due to them,
        # and at position u they count u instead of 1/2.
        tied_share = n_tied / (2.0 * n_better + n_tied)
        expectations = np.zeros((2, len(self.measures), rows.size))  # of powers 1 and 2
        for node, weight in zip(*_TIE_NODES, strict=True):
            v = (node + 1.0) / 2.0
            u = v**3
            n_tied_above = np.floor(u * n_tied + 0.5).astype(np.int64)
            factor = 1.0 - tied_share + 2.0 * tied_share * u
            mean, variance = self._poisson.moments(
                posterior, n_known + n_tied_above, unscored * factor[:, np.newaxis]
            )
            expectations += 1.5 * weight * v**2 * np.stack([mean, variance + mean**2])
        return mean_and_variance(expectations)


def _row_weights(measures: Sequence[Measure], user_of_row: Int, above: Int) -> Float:
    """Return the weight of each held-out row in the metrics of its user; shape (metrics, rows).

    The metric of a user with R held-out items is the sum over them of weight times the metric of
    the item alone (recall: 1 within the cut-off; ndcg: 1 / log2(1 + rank); ap: 1 / rank):

        recall@k   1 / R
        ndcg@k     1 / DCG of min(R, k) held-out items on top
        ap         (1 + above) / R, with `above` of the user's held-out items ranked higher
    """
    n_held_out = np.bincount(user_of_row)[user_of_row]  # R of each row's user
    weights = []
    for measure in measures:
        if measure.kind == "ndcg":
            ideal_dcg = np.cumsum(1.0 / np.log2(np.arange(2, n_held_out.max() + 2)))
            n_on_top = np.minimum(n_held_out, measure.cutoff or n_held_out)
            weights.append(1.0 / ideal_dcg[n_on_top - 1])
        elif measure.kind == "ap":
            weights.append((above + 1.0) / n_held_out)
        else:
            weights.append(1.0 / n_held_out)
    return np.stack(weights)


def initial_shares(edges: Int, n_classes: int) -> Float:
    """Return shares of better candidates to start with; shape (classes, strata).

    They fall with the position x in the proxy's order, logistically in its logarithm:

        share_g(x) = 0.95 / (1 + (x / middle_g)^1.2),

    and from class to class the middle is further down, from 0.3 to 0.85 n at equal ratios. `edges`
    are those of the strata.
    """
    n = max(int(edges[-1]), 2)
    position = np.sqrt((edges[:-1] + 1.0) * edges[1:])  # the geometric middle of each stratum
    log_middle = np.linspace(np.log(FIRST_CLASS_MIDDLE), np.log(LAST_CLASS_MIDDLE * n), n_classes)
    log_ratio = log_middle[:, np.newaxis] - np.log(position)
    share = GREATEST_INITIAL_SHARE / (1.0 + np.exp(-SHARE_STEEPNESS * log_ratio))
    return np.clip(share, LEAST_EXPECTED_BETTER / n, MOST_INITIAL_SHARE)


def _bin_indicators(share_before: Float) -> Float:
    """Return 1 in the bin of each held-out item's own position in the proxy's order, else 0.

    Edges are quantiles of `share_before`, the share of candidates that the proxy puts before each
    held-out item. Half of the bins divide the `HEAD_SHARE` of the rows that the proxy ranks
    highest, the others the rest; within either, bins have about equally many rows.

    Returns
    -------
    ndarray
        Without empty bins; shape (rows, bins).
    """
    n_bins = max(2, min(MOST_BINS, share_before.size // ROWS_PER_BIN))
    n_head_bins = n_bins // 2
    head_quantiles = np.linspace(0, HEAD_SHARE, n_head_bins + 1)
    tail_quantiles = np.linspace(HEAD_SHARE, 1, n_bins - n_head_bins + 1)
    inner_quantiles = np.append(head_quantiles[1:], tail_quantiles[1:-1])
    inner_edges = np.unique(np.quantile(share_before, inner_quantiles))
    bin_of_row = np.searchsorted(inner_edges, share_before, side="right")
    used_bins = np.unique(bin_of_row)
    return np.where(bin_of_row[:, np.newaxis] == used_bins, 1.0, 0.0)
