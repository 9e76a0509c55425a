"""Formulas of all metrics: eq. 2-13 of the paper, and the conventions of other libraries.

R is the set of the ranks of relevant items and n the number of candidates. Values are expectations
over a uniformly random order of candidates with equal scores. A metric without a cut-off has k = n.
Libraries define some metrics differently; each convention has its own name here. With one relevant
item, all conventions except `ndcg-by-k` agree.

=====================  =======================================================================
`recall@k`             hits by |R|; eq. 4, with one relevant item eq. 9
`recall-micro@k`       hits of all users by the sum of their |R|
`recall-capped@k`      hits by min(|R|, k): LensKit's recall, R_cap of BEIR
`precision@k`          hits by k; `precision-micro@k` is the same; eq. 3 and 8
`r-precision`          hits in the top |R| by |R|: trec_eval's Rprec
`fBETA@k`              (1 + BETA^2) hits / (BETA^2 |R| + k); f0 is precision
`hit@k`                1 if there is a hit; differs from recall if several items are relevant
`rr@k`, `rr`           reciprocal rank of the first relevant item
`rr-by-relevant@k`     sum of the reciprocal ranks of all relevant items by |R|: the MRR of MIND;
                       also without k
`ap@k`, `ap`           sum of Prec_i over relevant ranks i <= k, by min(|R|, k); eq. 5, 10, 12
`ap-by-relevant@k`     the same sum by |R|: trec_eval's map_cut
`ndcg@k`, `ndcg`       the ideal list has min(|R|, k) relevant items; eq. 6, 11, 13; gains are
                       grades, if there are any
`ndcg-by-relevant@k`   the ideal list has |R| relevant items, also below rank k
`ndcg-by-k@k`          the ideal list has k relevant items, even if |R| < k, so that a user may
                       not reach 1: the default of RecTools
`auc`                  share of (relevant, irrelevant) pairs in the right order; eq. 2 and 7
`auc-micro`            its mean over users weighted by |R|: RecBole's GAUC
`mean-rank`            mean of the ranks of relevant items; lower is better
`amri`                 1 - sum of (rank - 1) by its expectation in random orders, over all items of
                       all users: adjusted mean rank index
=====================  =======================================================================

If h of the s candidates of a level are relevant, each of its ranks has a relevant item with
probability h/s, and each two of its ranks both do with probability h(h - 1) / (s(s - 1)) (McSherry
and Najork, "Computing information retrieval performance measures efficiently in the presence of
tied scores", ECIR 2008).
"""

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.metrics.measures import Measure, register
from sampled_metrics.ranks import Ranks

# Ranks up to which sums of reciprocals come from a table. Beyond them the asymptotic expansion of
# the digamma function is exact to 1e-16.
_TABLE_RANKS = 64
_HARMONIC = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _TABLE_RANKS + 1))])


def _cutoff(levels: Levels, measure: Measure) -> int:
    """Return k, by default the last rank of any level."""
    if measure.cutoff is not None:
        return measure.cutoff
    return int(np.ceil((levels.above + levels.size).max(initial=1)))


# Counts of hits.


def _hits(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Return the expected number of relevant items in the top k."""
    n_ranks = levels.n_ranks(measure.cutoff)
    return levels.per_user(users, levels.hits * n_ranks / levels.size)


@register("recall", "Recall", "4, 9", aliases=["r"])
def _recall(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _hits(levels, users, measure) / users.n_relevant


@register("recall-micro", "Recall (micro)", pooled="recall")
def _recall_micro(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Values with the mean and, to first order, the standard error of a quotient of two means.

    For hits H and relevant items L of each user, q = mean H / mean L has the standard error of the
    mean of (H - q L) / mean L. The value of a user is q + (H - q L) / mean L.
    """
    hits = _hits(levels, users, measure)
    if (users.n_relevant == 1).all():
        return hits
    return _ratio_of_means(hits, users.n_relevant)


def _ratio_of_means(values: Float, sizes: Float | Int) -> Float:
    """Return a number for each user, with the mean and the error of mean(values) / mean(sizes)."""
    quotient = values.sum() / sizes.sum()
    residual = values - quotient * sizes
    return np.asarray(quotient + residual / sizes.mean())


@register(
    "recall-capped",
    "Recall (capped)",
    aliases=["r-cap", "recall-cap", "calibrated-recall"],
)
def _recall_capped(levels: Levels, users: Ranks, measure: Measure) -> Float:
    most_hits = np.minimum(users.n_relevant, _cutoff(levels, measure))
    return _hits(levels, users, measure) / most_hits


_PRECISION_ALIASES = ["p", "prec", "precision-micro", "retrieval-precision", "retrievalprecision"]


@register("precision", "Precision", "3, 8", aliases=_PRECISION_ALIASES)
def _precision(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _hits(levels, users, measure) / _cutoff(levels, measure)


@register(
    "r-precision",
    "R-Precision",
    cutoff="none",
    ends_at_relevant=True,
    aliases=["r-prec", "rprec", "rprecision", "retrievalrprecision"],
)
def _r_precision(levels: Levels, users: Ranks, _: Measure) -> Float:
    n_ranks = np.clip(users.n_relevant[levels.user] - levels.above, 0, levels.size)
    return levels.per_user(users, levels.hits * n_ranks / levels.size) / users.n_relevant


@register("f", "F", has_beta=True)
def _f(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """F-beta, linear in the hits: (1 + b^2) P R / (b^2 P + R) = (1 + b^2) hits / (b^2 |R| + k)."""
    weight = cast("float", measure.beta) ** 2
    hits = _hits(levels, users, measure)
    denominator = weight * users.n_relevant + _cutoff(levels, measure)
    return (1.0 + weight) * hits / denominator


_HIT_ALIASES = [
    "h",
    "hr",
    "hits",
    "hit-rate",
    "hitrate",
    "hit-ratio",
    "hitratio",
    "success",
    "accuracy",
]


@register("hit", "HR", first_item_decides=True, aliases=_HIT_ALIASES)
def _hit(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Probability that the best level has a relevant item among the first k ranks.

    A level is a group of candidates with the same score. Let the best one with a relevant item have
    s candidates, h relevant ones among them, and p ranks among the first k. Its order is random,
    so the probability is

        1 - C(s - p, h)/C(s, h) = 1 - product over j = 0 ... h - 1 of (1 - p/(s - j)).
    """
    best = levels.best_of_users()
    # The factors of all products are in one array: one for each relevant item, j = 0 ... h - 1.
    level = best.level_of_item
    j = concatenate_ranges(0, best.hits)
    n_left = best.size[level] - j
    n_ranks = best.n_ranks(measure.cutoff)
    share = np.minimum(n_ranks[level] / n_left, 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-share)
    log_miss = np.bincount(level, logs, best.user.size)
    return best.per_user(users, -np.expm1(log_miss))


# Reciprocals of ranks.


def reciprocals(above: Int, n_ranks: Int) -> Float:
    """Return the sum of 1/p over p = above + 1 ... above + n_ranks, for arrays of any shape.

    The relative error is small even far down the ranking, unlike that of a difference of two
    harmonic numbers: those are used up to rank 64 only. Beyond, from rank a to rank b, the sum is

        log((b + 1/2) / (a + 1/2)) + d(b + 1/2) - d(a + 1/2),

    d the digamma function beyond the log, see `_digamma_beyond_log`. `above` need not be whole
    where there is at most one rank.

    Examples
    --------
    >>> reciprocals(np.array([0, 9]), np.array([4, 1]))  # 1 + 1/2 + 1/3 + 1/4 and 1/10
    array([2.08333333, 0.1       ])
    """
    single = 1.0 / (above + 1)
    is_single = n_ranks == 1
    if np.all(is_single):
        return np.asarray(single)
    last = above + n_ranks
    above_in_table = np.minimum(above, _TABLE_RANKS).astype(np.int64)
    last_in_table = np.minimum(last, _TABLE_RANKS).astype(np.int64)
    near = _HARMONIC[last_in_table] - _HARMONIC[above_in_table]
    lower = np.maximum(above, _TABLE_RANKS) + 0.5
    upper = np.maximum(last, _TABLE_RANKS) + 0.5
    far = np.log1p((upper - lower) / lower)
    far += _digamma_beyond_log(upper)
    far -= _digamma_beyond_log(lower)
    return np.where(is_single, single, near + far)


def _digamma_beyond_log(y: Float) -> Float:
    """Return the digamma function at y + 1/2 minus log y; exact to 1e-16 from y = 64 on.

    Its expansion is 1 / (24 y^2) - 7 / (960 y^4) + 31 / (8064 y^6).
    """
    square = 1.0 / (y * y)
    return square * (1 / 24 - square * (7 / 960 - square * (31 / 8064)))


@register(
    "rr",
    "RR",
    cutoff="optional",
    first_item_decides=True,
    aliases=["mrr", "recip-rank", "inverse-harmonic-mean-rank"],
)
def _reciprocal_rank(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Expected 1/p at the rank p of the first relevant item, 0 where that is below rank k.

    A level is a group of candidates with the same score, in random order. Let the best one with a
    relevant item have s candidates, the first at rank a + 1, h of them relevant. With h = 1 each
    rank is as likely, and with h = s the first item is at a + 1. For other levels see
    `_mean_reciprocal_of_first`; equal ones are computed once.
    """
    k = _cutoff(levels, measure)
    best = levels.best_of_users()
    n_ranks = best.n_ranks(k)
    is_inside = n_ranks > 0
    is_full = best.hits == best.size
    is_mixed = (best.hits > 1) & ~is_full & is_inside
    values = reciprocals(best.above, n_ranks) / best.size  # for h = 1
    values[is_full] = np.where(is_inside, 1.0 / (best.above + 1), 0.0)[is_full]
    mixed_levels = np.stack([best.above, best.size, best.hits], axis=1)[is_mixed]
    distinct_levels, index = np.unique(mixed_levels, axis=0, return_inverse=True)
    means = [
        _mean_reciprocal_of_first(above, size, hits, k)
        for above, size, hits in distinct_levels.tolist()
    ]
    values[is_mixed] = np.array(means)[index.ravel()]
    return best.per_user(users, values)


def _mean_reciprocal_of_first(above: int, size: int, hits: int, k: int) -> float:
    """Return the expected 1/p at the rank p of the first of h hits among s candidates of a level.

    Their order is random, so the first hit is the i-th candidate with the probability

        P_i = C(s - i, h - 1) / C(s, h),   P_1 = h/s,   P_(i+1) = P_i (s - i - h + 1) / (s - i),

    and has the rank above + i. Ranks below k count 0.
    """
    last = min(size - hits + 1, k - above)
    i = np.arange(1, last + 1)
    n_after = size - i
    ratios = (n_after - hits + 1) / n_after
    products = np.cumprod(ratios[:-1])
    probability = hits / size * np.append(1.0, products)
    return float(probability @ (1.0 / (above + i)))


@register("rr-by-relevant", "RR by relevant", cutoff="optional", aliases=["mean-mrr", "mrr-score"])
def _rr_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Expected sum of 1/p over the ranks p of all relevant items in the top k, divided by |R|."""
    inverse = reciprocals(levels.above, levels.n_ranks(measure.cutoff))
    sums = levels.per_user(users, levels.hits / levels.size * inverse)
    return sums / users.n_relevant


def _sum_of_precisions(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Expected sum of the precisions at the relevant items in the top k, the numerator of eq. 5.

    A level is a group of s candidates with the same score, in random order from rank a + 1 on; h of
    them are relevant, and so are H of those above. Its i-th rank, p = a + i, is relevant with
    probability h/s. Down to it are then expected H + 1 + (i - 1)(h - 1)/(s - 1) relevant items:
    those above the level, itself, and those between. Divided by p, times h/s and summed over the m
    ranks in the top k this is

        h/s [(H + 1) S + (h - 1)/(s - 1) (m - (a + 1) S)],   S = sum of the 1/p.
    """
    n_ranks = levels.n_ranks(measure.cutoff)  # m
    inverse = reciprocals(levels.above, n_ranks)  # S
    share_of_others = (levels.hits - 1) / np.maximum(levels.size - 1, 1)
    first_rank = levels.above + 1
    between = share_of_others * (n_ranks - first_rank * inverse)
    precisions = (levels.hits_above + 1) * inverse + between
    share = levels.hits / levels.size
    return levels.per_user(users, share * precisions)


@register("ap", "AP", "5, 10, 12", cutoff="optional", aliases=["map"])
def _ap(levels: Levels, users: Ranks, measure: Measure) -> Float:
    items = users.n_relevant
    if measure.cutoff is not None:
        items = np.minimum(items, measure.cutoff)
    return _sum_of_precisions(levels, users, measure) / items


@register("ap-by-relevant", "AP by relevant", aliases=["map-cut"])
def _ap_by_relevant(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _sum_of_precisions(levels, users, measure) / users.n_relevant


@register("ap-by-k", "AP by k")
def _ap_by_k(levels: Levels, users: Ranks, measure: Measure) -> Float:
    return _sum_of_precisions(levels, users, measure) / _cutoff(levels, measure)


@register("ap-by-threshold", "AP by threshold", cutoff="none", aliases=["lrap"])
def _ap_by_threshold(levels: Levels, users: Ranks, _: Measure) -> Float:
    """Mean over relevant items of the precision among candidates with at least their score.

    Without ties this is `ap`. With ties it does not depend on an order.
    """
    precision = (levels.hits_above + levels.hits) / (levels.above + levels.size)
    return levels.per_user(users, levels.hits * precision) / users.n_relevant


# Discounted gains.


def _discount(rank: Float | Int) -> Float:
    """Return the gain of a relevant item at a rank."""
    return 1.0 / np.log2(rank + 1.0)


def gains(
    levels: Levels, k: int, gain: Callable[[Int], Float], weight: Float | Int | None = None
) -> Float:
    """Return the expected sum of gains of the relevant items of each level in the top k.

    Each rank of a level, a group of s candidates with the same score, h of them relevant, has a
    relevant item with probability h/s. So the result is h/s times the sum of the gains of its ranks
    down to k; shape (levels,).

    Parameters
    ----------
    levels, k
        The levels, and the cut-off.
    gain
        Gain as a function of the rank.
    weight
        If gains are multiplied by a factor for each relevant item, such as its grade: the sum of
        the factors in each level, shape (levels,). By default each factor is 1.

    Examples
    --------
    >>> levels = Levels.from_ranks(Ranks([9], [1, 1], [2, 2], n_found=[2]))
    >>> gains(levels, 3, lambda rank: 1.0 / rank)  # 2/3 at each of the ranks 2 and 3
    array([0.55555556])
    """
    n_ranks = levels.n_ranks(k)
    # A single gain is exact; sums of several are differences of a cumulative sum.
    gain_of_level = np.where(n_ranks == 1, gain(levels.above + 1), 0.0)
    has_several = n_ranks > 1
    above = levels.above[has_several].astype(np.int64)
    last = above + n_ranks[has_several].astype(np.int64)
    gain_of_rank = gain(np.arange(1, int(last.max(initial=0)) + 1))
    gain_up_to = np.append(0.0, np.cumsum(gain_of_rank))  # of the first 0, 1, 2 ... ranks
    gain_of_level[has_several] = gain_up_to[last] - gain_up_to[above]
    if weight is None:
        weight = levels.hits
    return weight / levels.size * gain_of_level


@register("ndcg", "NDCG", "6, 11, 13", cutoff="optional", graded=True, aliases=["ndcg-cut"])
def _ndcg(levels: Levels, users: Ranks, measure: Measure, is_cut: bool = True) -> Float:
    """Discounted gain divided by that of the ideal list, which ends at rank k if it `is_cut`.

    Gains are grades, if there are any; the ideal list then has high grades first.
    """
    k = _cutoff(levels, measure)
    ideal_k = users.n_relevant
    if measure.cutoff is not None and is_cut:
        ideal_k = np.minimum(ideal_k, k)
    if users.relevance is None or levels.relevance is None:
        ideal = _sums_of_discounts(int(ideal_k.max(initial=1)))[ideal_k - 1]
        return levels.per_user(users, gains(levels, k, _discount)) / ideal
    sum_of_grades = np.bincount(levels.level_of_item, levels.relevance, levels.hits.size)
    gain = levels.per_user(users, gains(levels, k, _discount, sum_of_grades))
    return gain / _ideal_gain(users.n_relevant, users.relevance, ideal_k)


def _sums_of_discounts(last: int) -> Float:
    """Return the discounted gain of the best 1, 2 ... `last` ranks."""
    return np.cumsum(_discount(np.arange(1, last + 1)))


def _ideal_gain(n_relevant: Int, grades: Float, ideal_k: Int) -> Float:
    """Return the discounted gain of each user's ideal list, with high grades first.

    Parameters
    ----------
    n_relevant, ideal_k
        Relevant items of each user, and where the ideal list ends; shape (users,).
    grades
        Grade of each relevant item, user by user; shape (sum of n_relevant,).
    """
    user = np.repeat(np.arange(n_relevant.size), n_relevant)
    high_first = np.lexsort((-grades, user))  # within each user
    ideal_rank = concatenate_ranges(1, n_relevant)
    discounted = grades[high_first] * _discount(ideal_rank)
    discounted[ideal_rank > ideal_k[user]] = 0.0
    return np.bincount(user, discounted, n_relevant.size).astype(np.float64, copy=False)


register("ndcg-by-relevant", "NDCG by relevant", graded=True)(partial(_ndcg, is_cut=False))


@register("ndcg-by-k", "NDCG by k")
def _ndcg_by_k(levels: Levels, users: Ranks, measure: Measure) -> Float:
    k = _cutoff(levels, measure)
    ideal = _discount(np.arange(1, k + 1)).sum()
    return levels.per_user(users, gains(levels, k, _discount)) / ideal


# Pairs.


@register(
    "auc",
    "AUC",
    "2, 7",
    cutoff="none",
    needs_candidates=True,
    aliases=["roc-auc"],
)
def _auc(levels: Levels, users: Ranks, _: Measure) -> Float:
    """Share of (relevant, irrelevant) pairs in the right order; ties count as one half.

    The value is nan for users with relevant candidates only, who have no such pair. If all users
    are such, an InputError is raised.
    """
    irrelevant = users.n_candidates - users.n_relevant
    if irrelevant.size and not irrelevant.any():
        raise InputError(
            f"auc is not defined for users with relevant candidates only, as all {len(users):,} "
            "users have; pass other candidates, or drop auc"
        )
    # Of each level: irrelevant candidates above, in and below it.
    better = levels.above - levels.hits_above
    tied = levels.size - levels.hits
    worse_and_half_of_tied = irrelevant[levels.user] - better - tied / 2.0
    n_right = levels.per_user(users, levels.hits * worse_and_half_of_tied)
    pairs = np.where(irrelevant > 0, users.n_relevant * irrelevant, np.nan)
    return n_right / pairs


@register(
    "auc-micro",
    "AUC (micro)",
    cutoff="none",
    needs_candidates=True,
    pooled="auc",
    aliases=["gauc"],
)
def _auc_micro(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Values whose mean is the mean of `auc` weighted by |R|, as for `recall-micro`."""
    values = _auc(levels, users, measure)
    if (users.n_relevant == 1).all():
        return values
    weight = np.where(np.isnan(values), 0, users.n_relevant)
    mean = np.nansum(weight * values) / weight.sum()
    return mean + weight * (values - mean) / weight[weight > 0].mean()


# Ranks themselves.


def _sum_of_ranks(levels: Levels, users: Ranks) -> Float:
    """Return the expected sum of the ranks of each user's relevant items."""
    return levels.per_user(users, levels.hits * (levels.above + (levels.size + 1) / 2.0))


@register(
    "mean-rank",
    "Mean rank",
    cutoff="none",
    needs_candidates=True,
    bounds=(1.0, np.inf),
    aliases=["arithmetic-mean-rank"],
)
def _mean_rank(levels: Levels, users: Ranks, _: Measure) -> Float:
    return _sum_of_ranks(levels, users) / users.n_relevant


@register(
    "amri",
    "AMRI",
    cutoff="none",
    needs_candidates=True,
    pooled="mean-rank",
    bounds=(-1.0, 1.0),
    aliases=["adjusted-mean-rank-index", "adjusted-arithmetic-mean-rank-index"],
)
def _adjusted_mean_rank_index(levels: Levels, users: Ranks, measure: Measure) -> Float:
    """Values with the mean 1 - (mean rank - 1) / (expected mean rank - 1), as for `recall-micro`.

    Both means are over all relevant items. In a random order the expected rank is (n + 1) / 2.
    (Berrendorf et al., On the ambiguity of rank-based evaluation of entity alignment or link
    prediction methods, 2020.)
    """
    if users.n_candidates.size and (users.n_candidates == 1).all():
        raise InputError(
            f"{measure} is not defined for users with one candidate, as all users have"
        )
    n_better = _sum_of_ranks(levels, users) - users.n_relevant
    expected = users.n_relevant * (users.n_candidates - 1) / 2.0
    return 1.0 - _ratio_of_means(n_better, expected)
