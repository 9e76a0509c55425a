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

    Probabilities are computed from their logs up to a constant, so each row is scaled to the sum 1.

    Parameters
    ----------
    rank
        True ranks, shape (ranks,). Unless sampling is with replacement, a fractional rank needs
        more than m candidates on both sides.
    n, m, sampling
        As for `pmf`.
    columns
        Columns to return, where others are negligible; see `likely_columns`.

    Returns
    -------
    float64, shape (ranks, m + 1), or (ranks, columns).
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
        relative = np.exp(logs, out=logs)  # to the likeliest column
        np.divide(relative, relative.sum(axis=1, keepdims=True), out=distribution[rows])
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
    rank = ranks.worst_rank if ties == "pessimistic" else ranks.n_better + 1
    rank, n = require_ranks(rank, ranks.n_candidates, m, sampling)
    distribution = pmf_at(rank, n, m, sampling)  # without ties, all of which it puts at one end
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

    Of m draws, at least l = max(m - (n - r), 0) are better than the held-out item. The probability
    p(i) of i better ones starts at l, and each is computed from the one before:

        p(l) = C(r - 1, l) C(n - r, m - l) / C(n - 1, m),
        p(i) = p(i - 1) (r - i)(m + 1 - i) / (i (n - r - m + i)).

    Parameters
    ----------
    rank, n
        True ranks r and numbers of candidates, shape (ranks,).
    m, n_columns
        Number of negatives, and of sampled ranks from the first.

    Returns
    -------
    shape (n_columns, ranks)
    """
    surplus = n - rank - m  # worse candidates beyond m
    least_better = np.maximum(-surplus, 0)  # l
    probabilities = np.zeros((n_columns, rank.size))
    users = np.flatnonzero(least_better < n_columns)
    probabilities[least_better[users], users] = _probability_of_least(rank, n, m, least_better)[
        users
    ]
    for i in range(1, n_columns):
        ratio = (rank - i) * ((m + 1.0 - i) / i)
        ratio /= np.maximum(surplus + i, 1)  # where `surplus + i` is below 1, p(i - 1) is 0
        probabilities[i] += ratio * probabilities[i - 1]
    return probabilities


def _probability_of_least(rank: Int, n: Int, m: int, least: Int) -> Float:
    """Return C(r - 1, l) C(n - r, m - l) / C(n - 1, m), from logs; all of shape (ranks,)."""
    log_factorials = _log_factorials(int(n.max(initial=m)))

    def log_choose(items: Int, chosen: Int | int) -> NDArray[np.longdouble]:
        return log_factorials[items] - log_factorials[chosen] - log_factorials[items - chosen]

    log_probability = log_choose(rank - 1, least)
    log_probability += log_choose(n - rank, m - least)
    log_probability -= log_choose(n - 1, m)
    return np.exp(log_probability.astype(np.float64))


@lru_cache(maxsize=4)
def _log_factorials(last: int) -> NDArray[np.longdouble]:
    """Return the logarithms of the factorials of 0 ... `last`."""
    numbers = np.arange(1, last + 1, dtype=np.longdouble)
    return np.append(0.0, np.cumsum(np.log(numbers)))


def likely_blocks(
    ranks: Ranks, m: int, sampling: Sampling | str, ties: str = "random"
) -> Iterator[tuple[Int, int, Float]]:
    """Yield the distributions of sampled ranks of users, block by block, where they are likely.

    Users without ties and with about the same rank share a block, of which negligible probabilities
    are dropped; tied users have all sampled ranks.

    Parameters
    ----------
    ranks, m, sampling, ties
        As for `sampled_rank_distribution`.

    Yields
    ------
    users
        Rows of the users of a block.
    first
        First likely sampled rank, minus 1.
    distribution
        Probabilities from there on, shape (users of the block, likely ranks).
    """
    tied = np.flatnonzero(ranks.n_tied)
    for rows in blocks(tied.size, m + 1, MEMORY_ENTRIES):
        users = tied[rows]
        yield users, 0, sampled_rank_distribution(ranks.take(users), m, sampling, ties)
    untied = np.flatnonzero(ranks.n_tied == 0)
    rank = ranks.n_better[untied] + 1
    n = ranks.n_candidates[untied]
    for rows_of_untied, first, distribution in likely_blocks_at(rank, n, m, sampling):
        yield untied[rows_of_untied], first, distribution


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

    The sum over these ranks is a difference of sums up to their ends, and these have closed forms.

    Without replacement, C(r - 1, i) C(N - r, m - i) counts the subsets of {1 ... N} of size m + 1
    whose element i + 1 is r. So the sum over r <= R of p(i | r) is

        N/(m + 1) P(more than i of m + 1 draws from N are <= R).

    With replacement, a uniform number from 0 to T is B(T, u) with u uniform, so S plus it is
    B(m, p) with p uniform between b/(N - 1) and (b + e)/(N - 1). The integral of
    C(m, i) p^i (1 - p)^(m - i) up to x is

        P(B(m + 1, x) > i)/(m + 1).

    Parameters
    ----------
    best, tied, n
        b + 1, e and N; shape (ranks,).
    m, sampling
        As for `pmf`.

    Returns
    -------
    shape (ranks, m + 1)
    """
    worst = best + tied
    is_without_replacement = Sampling(sampling) is _WITHOUT
    # `terms` are P(j draws) at b less that at b + e + 1 (or b + e), so that its sums over j <= i
    # are differences of P(more than i draws).
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

    For S = s and T = t the sum is s ... s + t - 1, each with probability P(S = s, T = t)/t; without
    ties it is s. These rectangles are added up as a step up at s and a step down after the end,
    whose cumulated sum is the distribution.

    Parameters
    ----------
    ranks
        Users, all of whom have ties. T are drawn from the items that are not better.
    better
        Distribution of S, shape (users, m + 1), like the result.
    sampling
        How negatives are drawn.
    """
    m = better.shape[1] - 1
    n_not_better = ranks.n_candidates - ranks.n_better
    steps = np.zeros((len(ranks), m + 2))  # at 0 ... m, and after the last
    for s in range(m + 1):
        rows = np.flatnonzero(better[:, s])
        n_left = m - s
        tied = pmf_at(ranks.n_tied[rows] + 1, n_not_better[rows], n_left, sampling)  # of T given s
        width = np.maximum(np.arange(n_left + 1), 1)  # t, or 1 without ties
        heights = better[rows, s, None] * tied
        heights /= width
        steps[rows, s] += heights.sum(axis=1)
        steps[rows, s + 1] -= heights[:, 0]  # t = 0
        steps[rows, s + 1 : m + 1] -= heights[:, 1:]  # t = 1, 2 ... end at s + t - 1
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

    Draws are from `others` items, N. After d distinct items, a draw is new with probability
    1 - d/N, so that each draw takes the probability P(d) to P(d) d/N + P(d - 1) (1 - (d - 1)/N).

    Returns float64 of shape (m + 1,); entry d is the probability of d distinct items.

    Examples
    --------
    >>> distinct_items(2, 3)
    array([0.  , 0.25, 0.75, 0.  ])
    """
    share_of_old = np.arange(m + 1) / others
    share_of_new = np.maximum(1.0 - share_of_old[:-1], 0.0)
    share_of_old = np.minimum(share_of_old, 1.0)
    probability = np.zeros(m + 1)
    probability[0] = 1.0
    for _ in range(m):
        one_more = probability[:-1] * share_of_new
        probability *= share_of_old
        probability[1:] += one_more
    probability.flags.writeable = False  # because it is cached
    return probability


def _average_over_distinct(
    n: Int, m: int, without_replacement: Callable[[Int, int], Float]
) -> Float:
    """Average distributions over the number of distinct items in m draws with replacement.

    Given the number of distinct items d, they are a sample of d without replacement, so the
    distribution is the sum over d of P(d) p_d.

    Parameters
    ----------
    n
        Number of candidates of each row, shape (rows,).
    m
        Number of draws.
    without_replacement
        Returns the distributions p_d of some rows for a number d, shape (rows, d + 1).

    Returns
    -------
    shape (rows, m + 1)
    """
    sizes, size_of_row = np.unique(n, return_inverse=True)
    of_sizes = [distinct_items(int(size) - 1, m) for size in sizes]
    probability_of_number = np.array(of_sizes).reshape(-1, m + 1)  # P(d), shape (sizes, m + 1)
    # Improbable large numbers are included, or the last sampled ranks would be impossible.
    is_negligible = np.cumsum(probability_of_number, axis=1) <= _NEGLIGIBLE_SIZES
    probability_of_number[is_negligible] = 0.0
    probability_of_number /= probability_of_number.sum(axis=1, keepdims=True)
    mean = np.zeros((n.size, m + 1))
    for n_distinct in np.flatnonzero(probability_of_number.any(axis=0)).tolist():
        probability = probability_of_number[size_of_row, n_distinct]
        rows = np.flatnonzero(probability)
        weighted = without_replacement(rows, n_distinct)
        weighted *= probability[rows, None]
        mean[rows, : n_distinct + 1] += weighted
    return mean


def _log_binomial(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Return log probabilities of the binomial distribution, up to a constant per rank.

    Of i successes among m draws: i log p + (m - i) log(1 - p) + log C(m, i), p = (r - 1)/(n - 1).
    `columns` are the i; shape (ranks, columns).
    """
    successes = np.arange(columns.start, columns.stop)
    failures = m - successes
    n_others = n - 1
    log_better = _log_or_lowest((rank - 1) / n_others)
    log_worse = _log_or_lowest((n - rank) / n_others)
    logs = np.multiply.outer(log_better, successes)
    logs += np.multiply.outer(log_worse, failures)
    log_factorials = _log_factorials(m)
    log_choices = log_factorials[m] - log_factorials[successes] - log_factorials[failures]
    logs += log_choices.astype(np.float64)
    return np.asarray(logs)


def _log_or_lowest(probability: Float) -> Float:
    """Return the log of a probability, and a number near the lowest of float64 for log 0."""
    logs = np.full(probability.shape, _LOG_ZERO)
    return np.log(probability, out=logs, where=probability > 0.0)


def _log_hypergeometric(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Return log probabilities of the hypergeometric distribution, up to a constant per rank.

    They are cumulated logs of the ratios of neighbours,

        p(i + 1)/p(i) = (r - 1 - i)(m - i) / ((i + 1)(n - r - m + i + 1)),

    from the first possible i on: with fewer than m - i worse items, where the last factor is not
    positive, p(i) is 0. `columns` are the i; shape (ranks, columns).
    """
    i = np.arange(columns.start, columns.stop - 1, dtype=np.float64)
    next_i = i + 1.0
    n_worse = (n - rank + 0.0)[:, None]
    denominator = n_worse - m + next_i
    n_better = (rank - 1.0)[:, None]
    ratio = n_better - i
    np.maximum(ratio, 0.0, out=ratio)
    ratio *= (m - i) / next_i
    is_impossible = None
    if denominator.size and denominator.min() <= 0.0:
        is_impossible = denominator <= 0.0
        ratio[is_impossible] = denominator[is_impossible] = 1.0  # sums of logs begin after these i
    logs = np.zeros((rank.size, len(columns)))
    np.divide(ratio, denominator, out=ratio)
    with np.errstate(divide="ignore"):
        np.log(ratio, out=ratio)
        np.cumsum(ratio, axis=1, out=logs[:, 1:])
    if is_impossible is not None:
        logs[:, :-1][is_impossible] = _LOG_ZERO
    return logs
