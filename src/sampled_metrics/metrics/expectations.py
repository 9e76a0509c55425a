"""Eq. 2-6 and their kin: every user's expected metric from the levels of the relevant items.

R is the set of the relevant items' ranks, n the number of candidates, and the mean is over a
uniformly random order of the candidates within each level. A metric without cut-off is that of
k = n. Where libraries disagree, each convention has a name of its own; for one relevant item all
of them but `ndcg-by-k` agree:

=====================  =======================================================================
`ap@k`                 eq. 5: sum of Prec_i over relevant places i <= k, by min(|R|, k)
`ap-by-relevant@k`     by |R|: trec_eval's map_cut
`ap-by-hits@k`         by the relevant items in the top k, 0 where there is none: the mean of the
                       precisions seen, blind to the relevant items that the list misses
`ndcg@k`               eq. 6: the ideal list has min(|R|, k) relevant items; trec_eval, sklearn
`ndcg-by-relevant@k`   the ideal list has |R| relevant items, also those beyond place k
`ndcg-by-k@k`          the ideal list has k relevant items, however few there are: RecTools'
                       default; a user with |R| < k cannot reach 1
`recall@k`             eq. 4: hits by |R|
`precision@k`          eq. 3: hits by k
`fBETA@k`              (1 + BETA^2) hits / (BETA^2 |R| + k)
`hit@k`                1 where there is a hit; for several relevant items not recall
`rr@k`, `rr`           1 by the rank of the first relevant item; not average precision
`auc`                  eq. 2: the share of (relevant, irrelevant) pairs in the right order
=====================  =======================================================================
"""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import sums
from sampled_metrics.metrics.formulas import discounts
from sampled_metrics.metrics.levels import Levels, per_user
from sampled_metrics.metrics.measures import F, Measure
from sampled_metrics.ranks import Ranks

# Levels, the users they belong to and the measure give float64 fractions, shape (users,).
Expectation = Callable[[Levels, Ranks, Measure], Float]


def _cutoff(levels: Levels, measure: Measure) -> int:
    return levels.last_place if measure.cutoff is None else measure.cutoff


def _hits(levels: Levels, users: Ranks, k: int) -> Float:
    """Expected number of relevant items in the top k."""
    return per_user(levels, len(users), levels.hits * levels.places(k) / levels.size)


def _recall(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _hits(levels, users, _cutoff(levels, measure)) / users.n_relevant


def _precision(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = _cutoff(levels, measure)
    return _hits(levels, users, k) / k


def _f(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """F-beta, linear in the hits: (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 |R| + k)."""
    k, weight = _cutoff(levels, measure), (measure.beta or 1.0) ** 2
    return (1.0 + weight) * _hits(levels, users, k) / (weight * users.n_relevant + k)


def _hit(levels: Levels, users: Ranks, measure: Measure) -> Float:
    first = _first(levels)
    return per_user(first, len(users), sums.any_relevant(first, _cutoff(levels, measure)))


def _reciprocal_rank(levels: Levels, users: Ranks, measure: Measure) -> Float:
    first = _first(levels)
    return per_user(first, len(users), sums.first_reciprocals(first, _cutoff(levels, measure)))


def _first(levels: Levels) -> Levels:
    """Each user's best level; the first relevant item is always there."""
    return levels.where(levels.hits_above == 0)


def _precisions(levels: Levels, users: Ranks, k: int) -> Float:
    """Numerator of eq. 5."""
    of_level = sums.precisions(
        levels.above, levels.hits_above, levels.size, levels.hits, levels.places(k)
    )
    return per_user(levels, len(users), of_level)


def _ap(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = _cutoff(levels, measure)
    return _precisions(levels, users, k) / np.minimum(users.n_relevant, k)


def _ap_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _precisions(levels, users, _cutoff(levels, measure)) / users.n_relevant


def _ap_by_hits(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Numerator of eq. 5 by the number of hits, which one level of a user may leave open."""
    k = _cutoff(levels, measure)
    whole = levels.where(levels.above + levels.size <= k)
    above = _precisions(whole, users, k)
    values = _quotient(above, _hits(whole, users, k))
    split = levels.where((levels.above < k) & (levels.above + levels.size > k))
    for hits in np.unique(split.hits):
        chosen = split.where(split.hits == hits)
        values[chosen.user] = _mean_precision(chosen, above[chosen.user], k, int(hits))
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


def _ndcg(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = _cutoff(levels, measure)
    return _dcg(levels, users, k) / _ideal(np.minimum(users.n_relevant, k))


def _ndcg_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _dcg(levels, users, _cutoff(levels, measure)) / _ideal(users.n_relevant)


def _ndcg_by_k(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = _cutoff(levels, measure)
    return _dcg(levels, users, k) / discounts(k).sum()


def _dcg(levels: Levels, users: Ranks, k: int) -> Float:
    return per_user(levels, len(users), sums.gains(levels, k))


def _ideal(items: Int) -> Float:
    """Gain of a list that starts with that many relevant items."""
    return np.cumsum(discounts(int(items.max(initial=1))))[items - 1]


def _auc(levels: Levels, users: Ranks, _: Measure) -> Float:
    """Eq. 2; an irrelevant candidate of the same score counts as half below, half above."""
    irrelevant = users.n_candidates - users.n_relevant
    if not irrelevant.all():
        raise InputError(
            f"auc is not defined for {int((irrelevant == 0).sum())} users all of whose candidates "
            "are relevant; allowed: at least one irrelevant candidate"
        )
    worse_or_tied = irrelevant[levels.user] - (levels.above - levels.hits_above)
    worse = worse_or_tied - (levels.size - levels.hits) / 2.0
    pairs = users.n_relevant * irrelevant
    return per_user(levels, len(users), levels.hits * worse) / pairs


EXPECTATIONS: dict[str, Expectation] = {
    "ap": _ap,
    "ap-by-hits": _ap_by_hits,
    "ap-by-relevant": _ap_by_relevant,
    "auc": _auc,
    F: _f,
    "hit": _hit,
    "ndcg": _ndcg,
    "ndcg-by-k": _ndcg_by_k,
    "ndcg-by-relevant": _ndcg_by_relevant,
    "precision": _precision,
    "recall": _recall,
    "rr": _reciprocal_rank,
}
