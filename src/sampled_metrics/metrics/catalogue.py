"""Formulas of all metrics, eq. 2-13 and their kin.

R is the set of the relevant items' ranks, n the number of candidates, and values are means over a
uniformly random order of the candidates with equal scores. A metric without cut-off has k = n.
Libraries disagree about some metrics; each convention has a name of its own here. With one relevant
item, all conventions but `ndcg-by-k` agree.

=====================  =======================================================================
`recall@k`             hits by |R|; eq. 4, with one relevant item eq. 9
`recall-micro@k`       hits of all users by their relevant items, |R| added up
`precision@k`          hits by k; eq. 3 and 8. Over all users together it is the same, because each
                       has k places: `precision-micro@k` is another name
`fBETA@k`              (1 + BETA^2) hits / (BETA^2 |R| + k)
`hit@k`                1 if there is a hit; not recall if several items are relevant
`rr@k`, `rr`           1 by the rank of the first relevant item
`ap@k`, `ap`           sum of Prec_i over relevant places i <= k, by min(|R|, k); eq. 5, 10, 12
`ap-by-relevant@k`     the same sum by |R|: trec_eval's map_cut
`ap-by-hits@k`         the same sum by the hits in the top k, 0 without hits: the mean of the
                       precisions, whatever relevant items the list misses
`ndcg@k`, `ndcg`       the ideal list has min(|R|, k) relevant items: trec_eval, scikit-learn;
                       eq. 6, 11, 13
`ndcg-exp@k`,          gains 2^grade - 1; `ndcg`, where items have grades, takes the grade itself,
`ndcg-exp`             as trec_eval and scikit-learn do; without grades both are one metric
`ndcg-by-relevant@k`   the ideal list has |R| relevant items, also those beyond place k
`ndcg-by-k@k`          the ideal list has k relevant items, even if |R| < k: RecTools' default;
                       such a user cannot reach 1
`auc`                  share of (relevant, irrelevant) pairs in the right order; eq. 2 and 7
=====================  =======================================================================
"""

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.metrics import sums
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.metrics.measures import Measure, register
from sampled_metrics.ranks import Ranks


def cutoff(levels: Levels, measure: Measure) -> int:
    """Return the last place that counts."""
    return levels.last_place if measure.cutoff is None else measure.cutoff


def within(rank: Float, _: Float | None, measure: Measure) -> Float:
    """Return 1 if the rank is within the cut-off, else 0."""
    k = np.inf if measure.cutoff is None else measure.cutoff
    return (rank <= k).astype(np.float64)


def _hits(levels: Levels, users: Ranks, k: int) -> Float:
    """Expected number of relevant items in the top k."""
    return levels.per_user(users, levels.hits * levels.places(k) / levels.size)


@register("recall", "Recall", "4, 9", of_rank=within)
def _recall(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _hits(levels, users, cutoff(levels, measure)) / users.n_relevant


@register("recall-micro", "Recall (micro)", of_rank=within, pooled=True)
def _recall_micro(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Values whose mean is the quotient of two sums, and their spread that of its linearisation."""
    hits = _hits(levels, users, cutoff(levels, measure))
    quotient = hits.sum() / users.n_relevant.sum()
    return quotient + (hits - quotient * users.n_relevant) / users.n_relevant.mean()


def _precision_of_rank(rank: Float, _: Float, measure: Measure) -> Float:
    return within(rank, None, measure) / (measure.cutoff or 1)


@register(
    "precision",
    "Precision",
    "3, 8",
    of_rank=_precision_of_rank,
    aliases=["p", "prec", "precision-micro"],
)
def _precision(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = cutoff(levels, measure)
    return _hits(levels, users, k) / k


def _f_of_rank(rank: Float, _: Float, measure: Measure) -> Float:
    weight = (measure.beta or 1.0) ** 2
    return (1.0 + weight) * within(rank, None, measure) / (weight + (measure.cutoff or 1))


@register("f", "F", of_rank=_f_of_rank, has_beta=True)
def _f(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """F-beta, linear in the hits: (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 |R| + k)."""
    k, weight = cutoff(levels, measure), (measure.beta or 1.0) ** 2
    return (1.0 + weight) * _hits(levels, users, k) / (weight * users.n_relevant + k)


@register(
    "hit",
    "Hit",
    of_rank=within,
    first_item_decides=True,
    aliases=["hr", "hits", "hit-rate", "hitrate", "hit-ratio", "success"],
)
def _hit(levels: Levels, users: Ranks, measure: Measure) -> Float:
    first = levels.first()
    return first.per_user(users, sums.any_relevant(first, cutoff(levels, measure)))


def _reciprocal(rank: Float, _: Float, measure: Measure) -> Float:
    return 1.0 / rank * within(rank, None, measure)


@register(
    "rr",
    "RR",
    of_rank=_reciprocal,
    cutoff="optional",
    first_item_decides=True,
    aliases=["mrr", "recip-rank"],
)
def _reciprocal_rank(levels: Levels, users: Ranks, measure: Measure) -> Float:
    first = levels.first()
    return first.per_user(users, sums.first_reciprocals(first, cutoff(levels, measure)))


def _precisions(levels: Levels, users: Ranks, k: int) -> Float:
    """Numerator of eq. 5."""
    of_level = sums.precisions(
        levels.above, levels.hits_above, levels.size, levels.hits, levels.places(k)
    )
    return levels.per_user(users, of_level)


@register("ap", "AP", "5, 10, 12", of_rank=_reciprocal, cutoff="optional", aliases=["map"])
def _ap(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = cutoff(levels, measure)
    return _precisions(levels, users, k) / np.minimum(users.n_relevant, k)


@register("ap-by-relevant", "AP by relevant", of_rank=_reciprocal, aliases=["map-cut"])
def _ap_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _precisions(levels, users, cutoff(levels, measure)) / users.n_relevant


@register("ap-by-hits", "AP by hits", of_rank=_reciprocal)
def _ap_by_hits(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Divide by the number of hits, which is random if the cut-off splits a level of the user."""
    k = cutoff(levels, measure)
    whole = levels.where(levels.above + levels.size <= k)
    above = _precisions(whole, users, k)
    values = _quotient(above, _hits(whole, users, k))
    split = levels.where((levels.above < k) & (levels.above + levels.size > k))
    for hits in np.unique(split.hits):
        same = split.where(split.hits == hits)
        values[same.user] = _mean_precision(same, above[same.user], k, int(hits))
    return values


def _mean_precision(levels: Levels, above: Float, k: int, hits: int) -> Float:
    """Average over how many of a level's hits fall to its places up to k.

    Given that number, the places up to k are in random order among themselves, as a level is.
    """
    places = levels.places(k)
    inside, column = np.arange(hits + 1), np.s_[:, None]
    terms = sums.precisions(
        levels.above[column], levels.hits_above[column], places[column], inside, places[column]
    )
    mean = _quotient(above[column] + terms, levels.hits_above[column] + inside)
    return (sums.hit_chances(levels.size, places, hits) * mean).sum(axis=1)


def _quotient(numerator: Float, denominator: Float | Int) -> Float:
    """Divide; 0 / 0 is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
