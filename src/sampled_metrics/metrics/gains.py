"""Formulas of metrics that add up gains of the relevant items by their places: NDCG and AUC.

`sampled_metrics.metrics.catalogue` says what their names mean.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import sums
from sampled_metrics.metrics.catalogue import cutoff, within
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.metrics.measures import Measure, register
from sampled_metrics.ranks import Ranks

Gain: TypeAlias = Callable[[Float], Float]
_LARGEST_GRADE = 1000  # 2^1000 is a float64


def _exponential(grade: Float) -> Float:
    """Gain 2^grade - 1."""
    if grade.max(initial=0.0) > _LARGEST_GRADE:
        raise InputError(
            f"grade {grade.max():g} is too large for a gain of 2^grade - 1; use ndcg, or grades up "
            f"to {_LARGEST_GRADE}"
        )
    return np.expm1(grade * np.log(2.0))


def _discount(place: Float | Int) -> Float:
    """Gain of a relevant item at a place."""
    return 1.0 / np.log2(place + 1.0)


def _dcg(levels: Levels, users: Ranks, k: int, gain: Gain = np.asarray) -> Float:
    return levels.per_user(users, sums.gains(levels, k, _discount, levels.gains(gain)))


def _ideal(items: Int) -> Float:
    """Gain of a list that starts with that many relevant items."""
    return np.cumsum(_discount(np.arange(1, int(items.max(initial=1)) + 1)))[items - 1]


def _normalised(levels: Levels, users: Ranks, k: int, ideal_k: Int, gain: Gain) -> Float:
    """Divide by the gain of the list of all relevant items by grade, ended at place `ideal_k`."""
    dcg = _dcg(levels, users, k, gain)
    if users.grades is None:
        return dcg / _ideal(np.minimum(users.n_relevant, ideal_k))
    user = np.repeat(np.arange(len(users)), users.n_relevant)
    best = users.grades[np.lexsort((-users.grades, user))]
    place = ranges(1, users.n_relevant)
    ideal = np.where(place <= ideal_k[user], gain(best) * _discount(place), 0.0)
    return dcg / np.bincount(user, ideal, len(users))


def _discount_of_rank(rank: Float, _: Float, measure: Measure) -> Float:
    return _discount(rank) * within(rank, None, measure)


@register(
    "ndcg",
    "NDCG",
    "6, 11, 13",
    of_rank=_discount_of_rank,
    cutoff="optional",
    graded=True,
    aliases=["ndcg-cut"],
)
def _ndcg(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = cutoff(levels, measure)
    return _normalised(levels, users, k, np.minimum(users.n_relevant, k), np.asarray)


@register(
    "ndcg-exp", "NDCG (exponential)", of_rank=_discount_of_rank, cutoff="optional", graded=True
)
def _ndcg_exp(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = cutoff(levels, measure)
    return _normalised(levels, users, k, np.minimum(users.n_relevant, k), _exponential)


@register("ndcg-by-relevant", "NDCG by relevant", of_rank=_discount_of_rank, graded=True)
def _ndcg_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _normalised(levels, users, cutoff(levels, measure), users.n_relevant, np.asarray)


def _all_discounts(k: int) -> Float:
    return _discount(np.arange(1, k + 1)).sum()


def _ndcg_by_k_of_rank(rank: Float, n: Float, measure: Measure) -> Float:
    return _discount_of_rank(rank, n, measure) / _all_discounts(measure.cutoff or 1)


@register("ndcg-by-k", "NDCG by k", of_rank=_ndcg_by_k_of_rank)
def _ndcg_by_k(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = cutoff(levels, measure)
    return _dcg(levels, users, k) / _all_discounts(k)


def _auc_of_rank(rank: Float, n: Float, _: Measure) -> Float:
    return (n - rank) / (n - 1.0)


@register(
    "auc",
    "AUC",
    "2, 7",
    of_rank=_auc_of_rank,
    cutoff="none",
    needs_candidates=True,
    aliases=["gauc", "roc-auc"],
)
def _auc(levels: Levels, users: Ranks, _: Measure) -> Float:
    """Share of pairs in the right order; irrelevant ties count as half below, half above."""
    irrelevant = users.n_candidates - users.n_relevant
    if not irrelevant.all():
        raise InputError(
            f"auc is not defined for {int((irrelevant == 0).sum())} users all of whose candidates "
            "are relevant"
        )
    worse_or_tied = irrelevant[levels.user] - (levels.above - levels.hits_above)
    worse = worse_or_tied - (levels.size - levels.hits) / 2.0
    pairs = users.n_relevant * irrelevant
    return levels.per_user(users, levels.hits * worse) / pairs
