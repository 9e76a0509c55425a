"""Bracketing vectors of a sample, evaluated for each user on vectors fitted without them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.brackets import Bracket, bracket, likely_shares
from sampled_metrics.inference.kernels import kernel
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.distinct import distinct_items

_GROUPS = 3  # of rows with about the same n, where n differs
_SAME_N = 0.02


class Fit(NamedTuple):
    """A sample, its users and the likely distributions of its sampled ranks.

    Users are split in two folds at random, and the vectors for either come from the sampled ranks
    of the other: a vector that suits the chance deviations of a sample is biased on it.
    """

    sample: SampledRanks
    shape: str
    quantile: float
    ids: NDArray[np.generic] | None
    user: Int  # of every row, from 0
    fold: Int  # of every row
    sizes: Int  # n of every group of rows
    group: Int  # of every row
    shares: list[Float]  # of every group, shape (folds, bins)


class Values(NamedTuple):
    """One value per user, and the range of values that can occur."""

    of_users: Float
    least: float
    most: float


def fitted(sample: SampledRanks, shape: str, confidence: float) -> Fit:
    """Split the users of a sample and fit the distribution of sampled ranks on either half."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}; it must be above 0 and below 1")
    rows = sample.sampled_ranks.size
    ids, user = None, np.arange(rows)
    if sample.users is not None:
        ids, user = np.unique(sample.users, return_inverse=True)
    n_users = int(user.max()) + 1
    sizes, group = _groups(np.broadcast_to(sample.n_items, rows))
    fold = (generator(0, "folds").permutation(n_users) % 2)[user]
    weight = 1.0 / np.bincount(user)[user]
    counts = np.zeros((2, sample.n_negatives + 1))
    np.add.at(counts, (1 - fold, sample.sampled_ranks - 1), weight)
    shares = []
    for n in sizes.tolist():
        table = kernel(n, sample.n_negatives, sample.sampling, shape)
        shares.append(np.array([likely_shares(of_fold, table) for of_fold in counts]))
    quantile = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
    return Fit(sample, shape, quantile, ids, user, fold, sizes, group, shares)


def _groups(n: Int) -> tuple[Int, Int]:
    """Mean n of each group of rows with about the same n, and the group of every row.

    One group where n differs by less than 2 %.
    """
    groups = _GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, groups) / groups, method="nearest"))
    _, group = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    return np.rint(np.bincount(group, n) / np.bincount(group)).astype(np.int64), group


def user_values(measure: Measure, fit: Fit) -> tuple[Values, Values]:
    """Average the lower and upper vectors over the rows of each user."""
    brackets = [
        _bracket(measure, fit, n, shares)
        for n, shares in zip(fit.sizes.tolist(), fit.shares, strict=True)
    ]
    places = fit.group, fit.fold, fit.sample.sampled_ranks - 1
    rows = np.bincount(fit.user)

    def average(vectors: Float) -> Values:
        of_users = np.bincount(fit.user, vectors[places]) / rows
        return Values(of_users, float(vectors.min()), float(vectors.max()))

    lower = average(np.stack([one.lower for one in brackets]))
    return lower, average(np.stack([one.upper for one in brackets]))


def _bracket(measure: Measure, fit: Fit, n: int, shares: Float) -> Bracket:
    m, sampling = fit.sample.n_negatives, fit.sample.sampling
    if measure.metric.needs_candidates:
        vectors = np.tile(unbiased_auc(n, m, sampling), (len(shares), 1))
        return Bracket(vectors, vectors)
    table = kernel(n, m, sampling, fit.shape, measure.cutoff)
    return bracket(measure, table, shares, int(fit.user.max()) + 1, fit.quantile)


def unbiased_auc(n: int, m: int, sampling: str) -> Float:
    """Vector of the unbiased estimate of AUC, shape (m + 1,).

    It divides by the mean number of negatives that are ranked, which is below m where duplicates
    are dropped.
    """
    ranked = float(m)
    if Sampling(sampling) is Sampling.DISTINCT:
        ranked = float(distinct_items(n - 1, m) @ np.arange(m + 1))
    return 1.0 - np.arange(m + 1) / ranked


def possible(measure: Measure, fit: Fit) -> tuple[float, float]:
    """Least and greatest value of the metric in the class; for AUC, of any ranks."""
    if measure.metric.needs_candidates:
        return 0.0, 1.0
    share = np.bincount(fit.group) / fit.group.size
    extremes = np.empty((fit.sizes.size, 2))
    for row, n in zip(extremes, fit.sizes.tolist(), strict=True):
        exact = kernel(n, fit.sample.n_negatives, fit.sample.sampling, fit.shape).metric(measure)
        row[:] = exact.min(), exact.max()
    least, most = share @ extremes
    return float(least), float(most)


def common_users(a: Fit, b: Fit) -> tuple[Int, Int] | None:
    """Places in both samples of the users that are in both; None without ids or common ones."""
    if a.ids is None or b.ids is None:
        return None
    same_kind = a.ids.dtype.kind == b.ids.dtype.kind
    ids_a, ids_b = (ids if same_kind else ids.astype(np.str_) for ids in (a.ids, b.ids))
    _, first, second = np.intersect1d(ids_a, ids_b, assume_unique=True, return_indices=True)
    return (first, second) if first.size else None
