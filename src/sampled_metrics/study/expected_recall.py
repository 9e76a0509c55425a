"""Expected Recall@10 of recommenders from any number of negatives, for Figure 6 and its band."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.sampling.probability import pmf_at
from sampled_metrics.study.moments import Moments
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import corrected_items

RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(parse_estimator(name) for name in ("sampled", "bv:0.1"))  # of Figure 6
Expected: TypeAlias = Callable[[str, int, int], Moments]


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> Expected:
    """Return a cached function of recommender, place in `ESTIMATORS`, m: moments in percent."""

    @cache
    def vector(estimator: int, n: int, m: int) -> Float:
        gamma = ESTIMATORS[estimator].parameter
        if gamma is None:
            return 100.0 * RECALL.at(np.arange(1, m + 2), m + 1)
        return 100.0 * _bias_variance(n, m, settings.correction_sampling, gamma)

    @cache
    def at(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        values = vector(estimator, corrected_items(ranks, settings), m)
        both = np.stack([values, np.square(values)])
        mean, square = _averages(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0).sum()  # -1e-16 by rounding
        return Moments(mean.mean(), np.sqrt(variance) / len(ranks))

    return at


def _bias_variance(n: int, m: int, sampling: Sampling | str, gamma: float) -> Float:
    """Solve eq. 25 for Recall@10 by normal equations, of condition 1 / gamma: a tenth of the time.

    See `estimators.least_squares`; the vectors are the same to 1e-14.
    """
    ranks, weights = rank_rule([RECALL], n, m, one_by_one=0)
    gram = np.zeros((m + 1, m + 1))
    target = np.zeros(m + 1)
    marginal = np.zeros(m + 1)
    for rows in blocks(ranks.size, m + 1):
        grid = pmf_at(ranks[rows], n, m, sampling)
        weighted = weights[rows, np.newaxis] * grid
        marginal += weighted.sum(axis=0)
        target += RECALL.at(ranks[rows], n) @ weighted
        gram += grid.T @ weighted
    root = np.sqrt(marginal)
    gram *= (1.0 - gamma) / np.outer(root, root)
    gram[np.diag_indices(m + 1)] += gamma
    return cho_solve(cho_factor(gram, overwrite_a=True), target / root) / root


def _averages(vectors: Float, ranks: Ranks, sampling: str) -> Float:
    """Average vectors over the sampled ranks of each user; shape (vectors, users).

    Beyond some sampled rank the vectors are constant, so only the first ones need probabilities.
    """
    m = vectors.shape[1] - 1
    last = vectors[:, -1:]
    differs = np.abs(vectors - last) > 1e-13 * np.abs(vectors).max(axis=1, keepdims=True)
    head = int(np.flatnonzero(differs.any(axis=0)).max(initial=0)) + 1
    weights = vectors[:, :head] - last
    is_direct = np.full(len(ranks), sampling == Sampling.WITHOUT_REPLACEMENT)
    for rank in (ranks.best_rank, ranks.worst_rank):
        n_worse = ranks.n_candidates - rank
        is_direct &= (n_worse > m) | (n_worse + head <= m)
    untied = is_direct & (ranks.n_tied == 0)
    tied = is_direct & (ranks.n_tied > 0)
    averages = np.empty((len(vectors), len(ranks)))
    rest = sampled_rank_distribution(ranks.take(~is_direct), m, sampling)
    averages[:, ~is_direct] = weights @ rest[:, :head].T
    first = _first(ranks.best_rank[untied], ranks.n_candidates[untied], m, head)
    averages[:, untied] = weights @ first
    averages[:, tied] = weights @ _first_of_tied(ranks.take(tied), m, head)
    return last + averages


def _first_of_tied(ranks: Ranks, m: int, count: int) -> Float:
    """Probability of the first sampled ranks where ties are in random order.

    As in `sampling.probability`, their mean over the places of a tie is a difference of sums over
    ranks among one more candidate, of one more draw.
    """
    n = ranks.n_candidates
    best = ranks.best_rank
    after = ranks.worst_rank + 1
    steps = _first(best, n + 1, m + 1, count) - _first(after, n + 1, m + 1, count)
    mean = np.cumsum(steps, axis=0) * n / ((m + 1.0) * (after - best))
    return np.maximum(mean, 0.0)


def _first(rank: Int, n: Int, m: int, count: int) -> Float:
    """Probability of the first sampled ranks, without replacement.

    Either none of m draws may be better, n - rank >= m, or at least `count` must be: chance 0.
    Each is the one before it times a ratio.
    """
    rest = n - rank - m
    may_be_first = rest >= 0
    logs = _log_factorials(int(n.max(initial=1)))
    log_chance = logs[n - rank] - logs[np.maximum(rest, 0)] - logs[n - 1] + logs[n - 1 - m]
    chance = np.exp(log_chance.astype(np.float64))
    rest = np.where(may_be_first, rest, m)
    chances = np.empty((count, rank.size))
    chances[0] = np.where(may_be_first, chance, 0.0)
    ratio = np.empty(rank.size)
    for i in range(count - 1):
        np.subtract(rank, i + 1.0, out=ratio)
        ratio *= (m - i) / (i + 1.0)
        ratio /= rest + (i + 1.0)
        np.multiply(chances[i], ratio, out=chances[i + 1])
    return chances


@lru_cache(maxsize=8)
def _log_factorials(last: int) -> NDArray[np.longdouble]:
    """Logarithms of the factorials of 0 ... `last`."""
    logs = np.log(np.arange(1, last + 1, dtype=np.longdouble))
    return np.concatenate([[0.0], np.cumsum(logs)])
