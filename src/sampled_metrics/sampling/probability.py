"""Distribution of the sampled rank given the true rank (section 4.3 and eq. 16 of the paper).

The number of the m negatives that are better than the held-out item follows a binomial distribution
if they are drawn with replacement (eq. 15), and a hypergeometric one without replacement
(population n - 1, r - 1 successes, m draws). If duplicates are dropped, it is a mixture of
hypergeometric distributions: given their number, the distinct items are a sample without
replacement.

With ties, S of the m negatives score strictly above the held-out item and T tie with it. The tie
policy then decides how many of the T come before the held-out item.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arguments import require_known
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, MEMORY_ENTRIES, blocks
from sampled_metrics._base.columns import integer_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, Sampling

SAMPLED_TIE_POLICIES = ("optimistic", "paper", "pessimistic", "random")
_LOG_ZERO = -1e300  # stands for log 0, so that 0 * log 0 is 0
_LOG_UNLIKELY = 20.0 * math.log(10.0)  # of 1/1e-20, a probability that no sum in float64 notices
# Total probability of the small numbers of distinct items that are dropped; it is less than the
# rounding error of probabilities near 1.
_NEGLIGIBLE_SIZES = 1e-17
_WITHOUT = Sampling.WITHOUT_REPLACEMENT
_BLOCK_CELLS = CACHE_ENTRIES // 4  # in each of several arrays of `pmf_at` at a time


def pmf(rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str) -> Float:
    """Return the probability of each sampled rank given the true rank, section 4.3.

    For sampled rank i + 1 it is

    - with replacement C(m, i) p^i (1 - p)^(m - i) with p = (r - 1)/(n - 1), eq. 15;
    - without replacement C(r - 1, i) C(n - r, m - i) / C(n - 1, m);
    - for distinct items the mean of the latter over the number of distinct items in m draws.

    Parameters
    ----------
    rank
        True ranks r from 1, a whole number or shape (ranks,).
    n
        Candidates of a full ranking, the held-out item included; broadcasts against `rank`.
    m, sampling
        Number of negatives, and how they are drawn.

    Returns
    -------
    float64, shape (ranks, m + 1); column i contains sampled rank i + 1, and each row sums to 1.

    Examples
    --------
    >>> pmf([1, 2, 3], 3, 2, "with-replacement")
    array([[1.  , 0.  , 0.  ],
           [0.25, 0.5 , 0.25],
           [0.  , 0.  , 1.  ]])
    """
    ranks, n_candidates = require_ranks(rank, n, m, sampling)
    return pmf_at(ranks, n_candidates, m, sampling)


def pmf_at(
    rank: Int | Float,
    n: Int | int,
    m: int,
    sampling: Sampling | str,
    columns: range | None = None,
) -> Float:
    """Return `pmf` at ranks that need not be whole, without checking the arguments.

    Parameters
    ----------
    rank
        True ranks, shape (ranks,). Unless sampling is with replacement, a fractional rank needs
        more than m candidates on both sides.
    n, m, sampling
        As for `pmf`.
    columns
        Columns to return, where others are negligible; see `likely_columns`.
    """
    sampling = Sampling(sampling)
    n_candidates = np.broadcast_to(n, rank.shape)
    if sampling is Sampling.DISTINCT:

        def without_replacement(rows: Int, size: int) -> Float:
            return pmf_at(rank[rows], n_candidates[rows], size, _WITHOUT)

        return _average_over_distinct(n_candidates, m, without_replacement)
    log_probabilities = _log_hypergeometric if sampling is _WITHOUT else _log_binomial
    n_better = range(m + 1) if columns is None else columns
    distribution = np.empty((rank.size, len(n_better)))
    for rows in blocks(rank.size, len(n_better), _BLOCK_CELLS):
        logs = log_probabilities(rank[rows], n_candidates[rows], m, n_better)
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        np.divide(logs, total, out=distribution[rows])
    return distribution


def likely_columns(low: float, high: float, m: int, sampling: Sampling | str) -> range:
    """Return the columns of `pmf` that contain all but 1e-20 of the probability.

    The bound is Hoeffding's inequality (1963), which holds with and without replacement. `low` and
    `high` are the ends of the probability (r - 1)/(n - 1) that a negative is better than the
    held-out item.

    Examples
    --------
    >>> likely_columns(0.5, 0.52, 900, "with-replacement")
    range(306, 613)
    """
    if Sampling(sampling) is Sampling.DISTINCT:
        return range(m + 1)
    margin = math.sqrt(_LOG_UNLIKELY * m / 2.0)
    first = math.floor(m * low - margin)
    last = math.ceil(m * high + margin)
    return range(max(first, 0), min(last, m) + 1)


def sampled_rank_distribution(
    ranks: Ranks,
    m: int,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Float:
    """Return the probability of each sampled rank for each user.

    Parameters
    ----------
    ranks
        Full rankings with one held-out item per user.
    m, sampling
        Number of negatives of each user, and how they are drawn from the candidates.
    ties
        How many of the T sampled ties come before the held-out item: `optimistic` (none),
        `pessimistic` (all), `random` (0 ... T, equally likely) or `paper` (0 ... T - 1, equally
        likely).

    Returns
    -------
    float64, shape (users, m + 1); column i contains sampled rank i + 1, and each row sums to 1.
    The time for a tied user is proportional to m^2 for `paper`, and to m otherwise.

    Examples
    --------
    >>> sampled_rank_distribution(Ranks([4, 4], [0, 0], [1, 2]), 2).round(4)
    array([[0.6667, 0.3333, 0.    ],
           [0.4444, 0.4444, 0.1111]])
    """
    require_known("tie policy", ties, SAMPLED_TIE_POLICIES)
    if Sampling(sampling) is Sampling.DISTINCT:

        def without_replacement(rows: Int, size: int) -> Float:
            return sampled_rank_distribution(ranks.take(rows), size, _WITHOUT, ties)

        return _average_over_distinct(ranks.n_candidates, m, without_replacement)
    rank = ranks.n_better + 1
    if ties == "pessimistic":
        rank = ranks.worst_rank
    rank, n = require_ranks(rank, ranks.n_candidates, m, sampling)
    distribution = pmf_at(rank, n, m, sampling)
    tied = np.flatnonzero(ranks.n_tied)
    if ties == "random":
        distribution[tied] = _average_over_tied_ranks(
            rank[tied], ranks.n_tied[tied], n[tied], m, sampling
        )
    elif ties == "paper":
        distribution[tied] = _spread_over_ties(ranks.take(tied), distribution[tied], sampling)
    return distribution


def top_rank_probabilities(ranks: Ranks, m: int, k: int, sampling: Sampling | str) -> Float:
    """Return the probability of the sampled ranks 1 ... k for each user, ties in random order.

    Without replacement they take much less time than all m + 1 columns.

    Parameters
    ----------
    ranks
        Full rankings with one held-out item per user.
    m, sampling
        Number of negatives of each user, and how they are drawn from the candidates.
    k
        Number of sampled ranks.

    Returns
    -------
    float64, shape (users, min(k, m + 1)): the first columns of `sampled_rank_distribution`.

    Examples
    --------
    >>> top_rank_probabilities(Ranks([4, 4], [0, 0], [1, 2]), 2, 1, "without-replacement").round(4)
    array([[0.6667],
           [0.4444]])
    """
    if Sampling(sampling) is not _WITHOUT:
        return sampled_rank_distribution(ranks, m, sampling)[:, :k]
    n_columns = min(k, m + 1)
    probabilities = _first_columns(ranks.best_rank, ranks.n_candidates, m, n_columns)
    is_tied = ranks.n_tied > 0
    probabilities[:, is_tied] = _first_columns_of_tied(ranks.take(is_tied), m, n_columns)
    return probabilities.T


def _first_columns_of_tied(ranks: Ranks, m: int, n_columns: int) -> Float:
    """Return the probability of the first sampled ranks without replacement, ties at random.

    A held-out item at b + 1 with e ties is at each true rank r = b + 1 ... b + e + 1 with
    probability 1/(e + 1). As `_average_over_tied_ranks` shows,

        sum over r <= R of p_m(i | r, n) = n/(m + 1) P(more than i of m + 1 draws are <= R).

    So the sum over r is a difference of two such probabilities, at R = b and R = b + e + 1. That of
    at most i of m + 1 draws being <= R is the sum of p_(m + 1)(j | R + 1, n + 1) over j <= i, hence
    rank R + 1, n + 1 and m + 1. It needs only the columns up to i. Shape (n_columns, ranks).
    """
    n = ranks.n_candidates
    terms = _first_columns(ranks.best_rank, n + 1, m + 1, n_columns)
    terms -= _first_columns(ranks.worst_rank + 1, n + 1, m + 1, n_columns)
    scale = n / ((m + 1.0) * (ranks.n_tied + 1))
    return np.maximum(np.cumsum(terms, axis=0) * scale, 0.0)


def _first_columns(rank: Int, n: Int, m: int, n_columns: int) -> Float:
    """Return the probability of the first sampled ranks without replacement.

    Shape (n_columns, ranks). At least l = max(m - (n - r), 0) of m draws are better than the
    held-out item. The probability of l is C(r - 1, l) C(n - r, m - l) / C(n - 1, m). That of i is
    the one before times (r - i)(m + 1 - i) / (i (n - r - m + i)).
    """
    surplus = n - rank - m  # worse candidates beyond m
    least_better = np.maximum(-surplus, 0)
    log_factorials = _log_factorials(int(n.max(initial=m)))

    def log_choose(items: Int, chosen: Int | int) -> NDArray[np.longdouble]:
        return log_factorials[items] - log_factorials[chosen] - log_factorials[items - chosen]

    log_of_least = log_choose(rank - 1, least_better)
    log_of_least += log_choose(n - rank, m - least_better)
    log_of_least -= log_choose(n - 1, m)
    probabilities = np.zeros((n_columns, rank.size))
    users = np.flatnonzero(least_better < n_columns)
    probabilities[least_better[users], users] = np.exp(log_of_least[users].astype(np.float64))
    for column in range(1, n_columns):
        ratio = (rank - column) * ((m + 1.0 - column) / column)
        # Where `surplus + column` is below 1, the probability before is 0.
        ratio /= np.maximum(surplus + column, 1)
        probabilities[column] += ratio * probabilities[column - 1]
    return probabilities


@lru_cache(maxsize=4)
def _log_factorials(last: int) -> NDArray[np.longdouble]:
    """Return the logarithms of the factorials of 0 ... `last`."""
    numbers = np.arange(1, last + 1, dtype=np.longdouble)
    return np.append(0.0, np.cumsum(np.log(numbers)))


def likely_blocks(
    ranks: Ranks, m: int, sampling: Sampling | str, ties: str = "random"
) -> Iterator[tuple[Int, int, Float]]:
    """Yield blocks of users with the sampled ranks that are likely for them.

    Each block is (users, first, distribution): the rows of its users, the first likely sampled rank
    minus 1, and the probabilities from there on, shape (users, likely ranks). Users with about the
    same rank share a block, and negligible probabilities are dropped.
    """
    tied = np.flatnonzero(ranks.n_tied)
    for rows in blocks(tied.size, m + 1, MEMORY_ENTRIES):
        users = tied[rows]
        yield users, 0, sampled_rank_distribution(ranks.take(users), m, sampling, ties)
    untied = np.flatnonzero(ranks.n_tied == 0)
    rank = ranks.n_better[untied] + 1
    n = ranks.n_candidates[untied]
    for users, first, distribution in likely_blocks_at(rank, n, m, sampling):
        yield untied[users], first, distribution


def likely_blocks_at(
    rank: Int | Float, n: Int, m: int, sampling: Sampling | str
) -> Iterator[tuple[Int, int, Float]]:
    """Yield blocks as `likely_blocks` does for ranks without ties, which need not be whole."""
    share_better = (rank - 1) / (n - 1)  # of the other candidates
    order = np.argsort(share_better, kind="stable")
    for rows in blocks(order.size, m + 1, CACHE_ENTRIES):
        users = order[rows]
        columns = likely_columns(share_better[users[0]], share_better[users[-1]], m, sampling)
        distribution = pmf_at(rank[users], n[users], m, sampling, columns)
        yield users, columns.start, distribution


def _average_over_tied_ranks(
    best: Int, tied: Int, n: Int, m: int, sampling: Sampling | str
) -> Float:
    """Return the mean distribution over the true ranks b + 1 ... b + e + 1, for e ties.

    `best` is b + 1, `tied` is e, `n` is N; shape (ranks,). Returns shape (ranks, m + 1).

    Without replacement, C(r - 1, i) C(N - r, m - i) counts the subsets of {1 ... N} of size m + 1
    whose element i + 1 is r. So the sum over r <= R of p(i | r) is N/(m + 1) P(more than i of m + 1
    draws from N are <= R).

    With replacement, a uniform number from 0 to T is B(T, u) with u uniform, so S plus it is
    B(m, p) with p uniform between b/(N - 1) and (b + e)/(N - 1). The integral of
    C(m, i) p^i (1 - p)^(m - i) up to x is P(B(m + 1, x) > i)/(m + 1).
    """
    worst = best + tied
    is_without_replacement = Sampling(sampling) is _WITHOUT
    if is_without_replacement:
        terms = pmf_at(best, n + 1, m + 1, sampling)
        terms -= pmf_at(worst + 1, n + 1, m + 1, sampling)
        scale = n / ((m + 1.0) * (tied + 1))
    else:
        terms = pmf_at(best, n, m + 1, sampling)
        terms -= pmf_at(worst, n, m + 1, sampling)
        scale = (n - 1) / ((m + 1.0) * tied)
    sums = np.cumsum(terms, axis=1)[:, :-1]
    mean = np.maximum(sums * scale[:, None], 0.0)
    if is_without_replacement:
        is_impossible = np.arange(m + 1) >= worst[:, None]
        mean[is_impossible] = 0.0  # rather than a rounding error
    return mean


def _spread_over_ties(ranks: Ranks, better: Float, sampling: Sampling | str) -> Float:
    """Return the distribution of S plus a uniform number from 0 to T - 1 (tie policy `paper`).

    `better` is the distribution of S, shape (users, m + 1). The T ties are drawn from the items
    that are not better. P(S = s, T = t)/t is added at s ... s + t - 1, for t = 0 P(S = s, T = 0) at
    s: as a step up at s, and a step down at the end.
    """
    m = better.shape[1] - 1
    not_better = ranks.n_candidates - ranks.n_better
    steps = np.zeros((len(ranks), m + 2))
    for s in range(m + 1):
        rows = np.flatnonzero(better[:, s])
        left = m - s
        tied = pmf_at(ranks.n_tied[rows] + 1, not_better[rows], left, sampling)  # P(T = t | S = s)
        width = np.maximum(np.arange(left + 1), 1)  # t, or 1 without ties
        probabilities = better[rows, s, None] * tied
        probabilities /= width
        steps[rows, s] += probabilities.sum(axis=1)
        steps[rows, s + 1] -= probabilities[:, 0]
        steps[rows, s + 1 : m + 1] -= probabilities[:, 1:]
    spread = np.cumsum(steps[:, :-1], axis=1)
    np.maximum(spread, 0.0, out=spread)
    spread /= spread.sum(axis=1, keepdims=True)
    return spread


def require_ranks(
    rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str
) -> tuple[Int, Int]:
    """Return ranks and numbers of candidates as int64, shape (ranks,); refuse impossible ones."""
    ranks = np.atleast_1d(integer_array(rank, "rank"))
    ranks, n_candidates = np.broadcast_arrays(ranks, integer_array(n, "n"))
    if ranks.ndim != 1:
        raise InputError(f"rank has shape {ranks.shape}; expected a number or one dimension")
    if m < 1:
        raise InputError(f"m is {m}; it must be at least 1")
    _require("n", n_candidates, n_candidates > 1, "at least 2")
    _require("rank", ranks, (ranks >= 1) & (ranks <= n_candidates), "from 1 to n")
    if Sampling(sampling) is _WITHOUT:
        _require("n", n_candidates, n_candidates > m, f"above m = {m} without replacement")
    return ranks, n_candidates


def _require(name: str, values: Int, is_valid: NDArray[np.bool_], expected: str) -> None:
    """Raise InputError with the first value that is not valid."""
    if not is_valid.all():
        raise InputError(f"{name} is {values[np.argmin(is_valid)]}; it must be {expected}")


@lru_cache(maxsize=4096)
def distinct_items(others: int, m: int) -> Float:
    """Return the probability of each number of distinct items in m draws with replacement.

    Draws are from `others` items. After d distinct items, a draw is new with probability
    1 - d/others. float64, shape (m + 1,); entry d is the probability of d distinct items.

    Examples
    --------
    >>> distinct_items(2, 3)
    array([0.  , 0.25, 0.75, 0.  ])
    """
    old = np.arange(m + 1) / others
    new = np.maximum(1.0 - old[:-1], 0.0)
    probability = np.zeros(m + 1)
    probability[0] = 1.0
    for _ in range(m):
        one_more = probability[:-1] * new
        probability *= np.minimum(old, 1.0)
        probability[1:] += one_more
    probability.flags.writeable = False  # because it is cached
    return probability


def _average_over_distinct(
    n: Int, m: int, without_replacement: Callable[[Int, int], Float]
) -> Float:
    """Average distributions over the number of distinct items in m draws with replacement.

    `without_replacement` returns the distributions of some rows of `n` for a number of distinct
    items, shape (rows, number + 1).
    """
    sizes, size_of_row = np.unique(n, return_inverse=True)
    distributions = [distinct_items(int(size) - 1, m) for size in sizes]
    table = np.array(distributions).reshape(-1, m + 1)  # of each size: probability of each number
    # Improbable large numbers are included, or the last sampled ranks would be impossible.
    is_negligible = np.cumsum(table, axis=1) <= _NEGLIGIBLE_SIZES
    table[is_negligible] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    mean = np.zeros((n.size, m + 1))
    for n_distinct in np.flatnonzero(table.any(axis=0)).tolist():
        probability = table[size_of_row, n_distinct]
        rows = np.flatnonzero(probability)
        weighted = without_replacement(rows, n_distinct)
        weighted *= probability[rows, None]
        mean[rows, : n_distinct + 1] += weighted
    return mean


def _log_binomial(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Return log probabilities of the binomial distribution, up to a constant per rank."""
    successes = np.arange(columns.start, columns.stop)
    failures = m - successes
    others = n - 1
    better = _log_or_lowest((rank - 1) / others)
    worse = _log_or_lowest((n - rank) / others)
    logs = np.multiply.outer(better, successes)
    logs += np.multiply.outer(worse, failures)
    factorials = _log_factorials(m)
    choices = factorials[m] - factorials[successes] - factorials[failures]
    logs += choices.astype(np.float64)
    return np.asarray(logs)


def _log_or_lowest(probability: Float) -> Float:
    """Return the log of a probability, and a number near the lowest of float64 for log 0."""
    logs = np.full(probability.shape, _LOG_ZERO)
    return np.log(probability, out=logs, where=probability > 0.0)


def _log_hypergeometric(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Return log probabilities of the hypergeometric distribution, up to a constant per rank.

    They are cumulated logs of p(i + 1)/p(i) = (r - 1 - i)(m - i) / ((i + 1)(n - r - m + i + 1)).
    """
    i = np.arange(columns.start, columns.stop - 1, dtype=np.float64)
    next_i = i + 1.0
    worse = (n - rank + 0.0)[:, None]
    denominator = worse - m + next_i
    better = (rank - 1.0)[:, None]
    ratio = better - i
    np.maximum(ratio, 0.0, out=ratio)
    ratio *= (m - i) / next_i
    is_impossible = None
    if denominator.size and denominator.min() <= 0.0:  # too few worse items: p(i) = 0
        is_impossible = denominator <= 0.0
        ratio[is_impossible] = denominator[is_impossible] = 1.0
    logs = np.zeros((rank.size, len(columns)))
    np.divide(ratio, denominator, out=ratio)
    with np.errstate(divide="ignore"):
        np.log(ratio, out=ratio)
        np.cumsum(ratio, axis=1, out=logs[:, 1:])
    if is_impossible is not None:
        logs[:, :-1][is_impossible] = _LOG_ZERO
    return logs
