"""Distribution of the sampled rank given the true rank (section 4.3), and eq. 16.

Of m negatives, the number better than the held-out item follows a binomial distribution with
replacement (eq. 15), a hypergeometric one without (population n - 1, r - 1 successes, m draws), and
a mixture of hypergeometric ones if only distinct items are kept: given how many distinct items were
drawn, they are a sample without replacement of that size.

With ties, S of the m negatives score strictly above the held-out item and T tie with it; the tie
policy then places the held-out item among the T.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

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
_LOG_UNLIKELY = 20.0 * math.log(10.0)  # a probability of 1e-20
_NEGLIGIBLE = 1e-17  # probability up to which small numbers of distinct items are left out
_WITHOUT = Sampling.WITHOUT_REPLACEMENT
_CELLS = CACHE_ENTRIES // 4  # in each of several arrays


def pmf(rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str) -> Float:
    """Probability of every sampled rank given the true rank, section 4.3.

    For sampled rank i + 1 it is

    - with replacement C(m, i) p^i (1 - p)^(m - i) with p = (r - 1)/(n - 1), eq. 15;
    - without replacement C(r - 1, i) C(n - r, m - i) / C(n - 1, m);
    - for distinct items the mean of the latter over the number of distinct items in m draws.

    The true ranks r are 1-based integers, a number or shape (ranks,); n, the number of candidates,
    the held-out item included, broadcasts against them. Returns float64 of shape (ranks, m + 1);
    column i holds sampled rank i + 1, every row sums to 1.

    Examples
    --------
    >>> pmf([1, 2, 3], 3, 2, "with-replacement")
    array([[1.  , 0.  , 0.  ],
           [0.25, 0.5 , 0.25],
           [0.  , 0.  , 1.  ]])
    """
    ranks, candidates = require_ranks(rank, n, m, sampling)
    return pmf_at(ranks, candidates, m, sampling)


def pmf_at(
    rank: Int | Float,
    n: Int | int,
    m: int,
    sampling: Sampling | str,
    columns: range | None = None,
) -> Float:
    """Evaluate `pmf` for checked arguments and ranks that need not be whole.

    Except with replacement, fractional ranks need more than m candidates on both sides. Returns
    only these columns where others are negligible, see `likely_columns`.
    """
    kind = Sampling(sampling)
    candidates = np.broadcast_to(n, rank.shape)
    if kind is Sampling.DISTINCT:

        def of_size(rows: Int, size: int) -> Float:
            return pmf_at(rank[rows], candidates[rows], size, _WITHOUT)

        return _mixture(candidates, m, of_size)
    logs_of = _hypergeometric if kind is _WITHOUT else _binomial
    better = range(m + 1) if columns is None else columns  # negatives above the held-out item
    grid = np.empty((rank.size, len(better)))
    for rows in blocks(rank.size, len(better), _CELLS):
        logs = logs_of(rank[rows], candidates[rows], m, better)
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        np.divide(logs, total, out=grid[rows])
    return grid


def likely_columns(low: float, high: float, m: int, sampling: Sampling | str) -> range:
    """Columns of `pmf` that hold all but 1e-20 of the probability.

    A negative is better than the held-out item with a probability from `low` to `high`, which for
    true rank r is (r - 1)/(n - 1). By Hoeffding's inequality (1963), which holds with and without
    replacement.

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
    """Probability of every sampled rank for each user.

    Parameters
    ----------
    ranks
        The full rankings.
    m, sampling
        Number of negatives of each user, and how they are drawn from the candidates.
    ties
        Number of the T sampled ties that come before the held-out item: `optimistic` (0),
        `pessimistic` (T), `random` (0 ... T, equally likely) or `paper` (0 ... T - 1, likewise).

    Returns
    -------
    float64, shape (users, m + 1); column i holds sampled rank i + 1, every row sums to 1.
    `paper` takes time proportional to m^2 for each tied user, all else to m.

    Examples
    --------
    >>> sampled_rank_distribution(Ranks([4, 4], [0, 0], [1, 2]), 2).round(4)
    array([[0.6667, 0.3333, 0.    ],
           [0.4444, 0.4444, 0.1111]])
    """
    require_known("tie policy", ties, SAMPLED_TIE_POLICIES)
    if Sampling(sampling) is Sampling.DISTINCT:

        def of_size(rows: Int, size: int) -> Float:
            return sampled_rank_distribution(ranks.take(rows), size, _WITHOUT, ties)

        return _mixture(ranks.n_candidates, m, of_size)
    rank = ranks.n_better + 1
    if ties == "pessimistic":
        rank = ranks.worst_rank
    rank, n = require_ranks(rank, ranks.n_candidates, m, sampling)
    distribution = pmf_at(rank, n, m, sampling)
    tied = np.flatnonzero(ranks.n_tied)
    if ties == "random":
        distribution[tied] = _random(rank[tied], ranks.n_tied[tied], n[tied], m, sampling)
    elif ties == "paper":
        distribution[tied] = _paper(ranks.take(tied), distribution[tied], sampling)
    return distribution


def top_rank_probabilities(ranks: Ranks, m: int, k: int, sampling: Sampling | str) -> Float:
    """Probability of the sampled ranks 1 ... k for each user, ties in random order.

    The first columns of `sampled_rank_distribution`, at most m + 1; without replacement in much
    less time than all of them.

    Examples
    --------
    >>> top_rank_probabilities(Ranks([4, 4], [0, 0], [1, 2]), 2, 1, "without-replacement").round(4)
    array([[0.6667],
           [0.4444]])
    """
    if Sampling(sampling) is not _WITHOUT:
        return sampled_rank_distribution(ranks, m, sampling)[:, :k]
    count = min(k, m + 1)
    chances = _first_columns(ranks.best_rank, ranks.n_candidates, m, count)
    is_tied = ranks.n_tied > 0
    tied = ranks.take(is_tied)
    n = tied.n_candidates
    # Differences of the sums over r <= R of `_random`, which need no columns below.
    steps = _first_columns(tied.best_rank, n + 1, m + 1, count)
    steps -= _first_columns(tied.worst_rank + 1, n + 1, m + 1, count)
    sums = np.cumsum(steps, axis=0)
    scale = n / ((m + 1.0) * (tied.n_tied + 1))
    chances[:, is_tied] = np.maximum(sums * scale, 0.0)
    return chances.T


def _first_columns(rank: Int, n: Int, m: int, count: int) -> Float:
    """Probability of the first sampled ranks without replacement; shape (count, ranks).

    At least m - (n - rank) of m draws are better. From there on, each probability is the one
    before it times a ratio.
    """
    rest = n - rank - m
    fewest = np.maximum(-rest, 0)
    logs = _log_factorials(int(n.max(initial=m)))

    def log_choose(items: Int, chosen: Int | int) -> Any:
        return logs[items] - logs[chosen] - logs[items - chosen]

    log_first = log_choose(rank - 1, fewest)
    log_first += log_choose(n - rank, m - fewest)
    log_first -= log_choose(n - 1, m)
    chances = np.zeros((count, rank.size))
    near = np.flatnonzero(fewest < count)
    chances[fewest[near], near] = np.exp(log_first[near].astype(np.float64))
    for place in range(1, count):
        ratio = (rank - place) * ((m + 1.0 - place) / place)
        ratio /= np.maximum(rest + place, 1)
        chances[place] += ratio * chances[place - 1]
    return chances


@lru_cache(maxsize=4)
def _log_factorials(last: int) -> NDArray[np.longdouble]:
    """Logarithms of the factorials of 0 ... `last`."""
    numbers = np.arange(1, last + 1, dtype=np.longdouble)
    return np.append(0.0, np.cumsum(np.log(numbers)))


def likely_blocks(
    ranks: Ranks, m: int, sampling: Sampling | str, ties: str = "random"
) -> Iterator[tuple[Int, int, Float]]:
    """Yield some users, the first sampled rank - 1 that they may have, and the probabilities.

    Users of about the same rank are taken together, and negligible probabilities are left out.
    Ranks that are not tied need not be whole.
    """
    tied = np.flatnonzero(ranks.n_tied)
    for rows in blocks(tied.size, m + 1, MEMORY_ENTRIES):
        users = tied[rows]
        yield users, 0, sampled_rank_distribution(ranks.take(users), m, sampling, ties)
    better = ranks.n_better / (ranks.n_candidates - 1)
    order = np.argsort(better, kind="stable")
    untied = order[ranks.n_tied[order] == 0]
    for rows in blocks(untied.size, m + 1, CACHE_ENTRIES):
        users = untied[rows]
        least = better[users[0]]
        most = better[users[-1]]
        likely = likely_columns(least, most, m, sampling)
        rank = ranks.n_better[users] + 1
        distribution = pmf_at(rank, ranks.n_candidates[users], m, sampling, likely)
        yield users, likely.start, distribution


def _random(best: Int, tied: Int, n: Int, m: int, sampling: Sampling | str) -> Float:
    """Mean of the untied distributions of true ranks b + 1 ... b + e + 1; `best` is b + 1.

    Without replacement, C(r - 1, i) C(N - r, m - i) counts the subsets of {1 ... N} of size m + 1
    whose element in place i + 1 is r, so the sum over r <= R of p(i | r) is N/(m + 1)
    P(more than i of m + 1 draws from N are <= R).
    With replacement, a uniform place among T ties is B(T, u) with u uniform, so S plus it is
    B(m, p) with p uniform between b/(N - 1) and (b + e)/(N - 1). The integral of
    C(m, i) p^i (1 - p)^(m - i) up to x is P(B(m + 1, x) > i)/(m + 1).
    """
    one = int(Sampling(sampling) is _WITHOUT)
    n = n + one
    worst = best + tied
    low = pmf_at(best, n, m + 1, sampling)
    low -= pmf_at(worst + one, n, m + 1, sampling)
    sums = np.cumsum(low, axis=1)[:, :-1]
    scale = (n - 1) / ((m + 1.0) * (tied + one))
    mean = np.maximum(sums * scale[:, None], 0.0)
    if one:
        is_impossible = np.arange(m + 1) >= worst[:, None]
        mean[is_impossible] = 0.0  # without rounding
    return mean


def _paper(ranks: Ranks, better: Float, sampling: Sampling | str) -> Float:
    """Distribution of S and a place of 0 ... T - 1; T ties are drawn from items not better."""
    m = better.shape[1] - 1
    rest = ranks.n_candidates - ranks.n_better
    steps = np.zeros((len(ranks), m + 2))  # up at s, down at s + t, by P(S = s, T = t)/t
    for s in range(m + 1):
        rows = np.flatnonzero(better[:, s])
        left = m - s
        given = pmf_at(ranks.n_tied[rows] + 1, rest[rows], left, sampling)
        width = np.maximum(np.arange(left + 1), 1)
        chances = better[rows, s, None] * given
        chances /= width
        steps[rows, s] += chances.sum(axis=1)
        steps[rows, s + 1] -= chances[:, 0]
        steps[rows, s + 1 : m + 1] -= chances[:, 1:]
    spread = np.cumsum(steps[:, :-1], axis=1)
    np.maximum(spread, 0.0, out=spread)
    spread /= spread.sum(axis=1, keepdims=True)
    return spread


def require_ranks(
    rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str
) -> tuple[Int, Int]:
    """Return ranks and numbers of candidates as int64 of shape (ranks,), or raise InputError."""
    ranks = np.atleast_1d(integer_array("rank", rank))
    ranks, candidates = np.broadcast_arrays(ranks, integer_array("n", n))
    if ranks.ndim != 1:
        raise InputError(f"rank has shape {ranks.shape}; expected a number or one dimension")
    if m < 1:
        raise InputError(f"m is {m}; it must be at least 1")
    _require("n", candidates, candidates > 1, "at least 2")
    _require("rank", ranks, (ranks >= 1) & (ranks <= candidates), "from 1 to n")
    if Sampling(sampling) is _WITHOUT:
        _require("n", candidates, candidates > m, f"above m = {m} without replacement")
    return ranks, candidates


def _require(name: str, values: Int, good: NDArray[np.bool_], expected: str) -> None:
    """Raise InputError with the first value that is not good."""
    if not good.all():
        raise InputError(f"{name} is {values[np.argmin(good)]}; it must be {expected}")


@lru_cache(maxsize=4096)
def distinct_items(others: int, m: int) -> Float:
    """Probability of every number of distinct items in m draws with replacement from `others`.

    A draw is new with probability 1 - d/others once d items were drawn. float64, shape (m + 1,);
    entry d belongs to d distinct items.

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
        arriving = probability[:-1] * new
        probability *= np.minimum(old, 1.0)
        probability[1:] += arriving
    probability.flags.writeable = False  # because it is cached
    return probability


def _mixture(n: Int, m: int, given: Callable[[Int, int], Float]) -> Float:
    """Average distributions of rows of `n`, given the number of distinct items, over it."""
    sizes, place = np.unique(n, return_inverse=True)
    laws = [distinct_items(int(size) - 1, m) for size in sizes]
    table = np.array(laws).reshape(-1, m + 1)
    # Large numbers stay, or the last sampled ranks would be impossible.
    is_negligible = np.cumsum(table, axis=1) <= _NEGLIGIBLE
    table[is_negligible] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    mixture = np.zeros((n.size, m + 1))
    for count in np.flatnonzero(table.any(axis=0)).tolist():
        probability = table[place, count]
        rows = np.flatnonzero(probability)
        weighted = given(rows, count)
        weighted *= probability[rows, None]
        mixture[rows, : count + 1] += weighted
    return mixture


def _binomial(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Logarithms, up to a constant."""
    successes = np.arange(columns.start, columns.stop)
    failures = m - successes
    others = n - 1
    better = _log((rank - 1) / others)
    worse = _log((n - rank) / others)
    logs = np.multiply.outer(better, successes)
    logs += np.multiply.outer(worse, failures)
    factorials = _log_factorials(m)
    choices = factorials[m] - factorials[successes] - factorials[failures]
    logs += choices.astype(np.float64)
    return np.asarray(logs)


def _log(probability: Float) -> Float:
    logs = np.full(probability.shape, _LOG_ZERO)
    return np.log(probability, out=logs, where=probability > 0.0)


def _hypergeometric(rank: Int | Float, n: Int, m: int, columns: range) -> Float:
    """Cumulated log ratios p(i + 1)/p(i) = (r - 1 - i)(m - i) / ((i + 1)(n - r - m + i + 1))."""
    i = np.arange(columns.start, columns.stop - 1, dtype=np.float64)
    following = i + 1.0
    worse = (n - rank + 0.0)[:, None]
    others = worse - m + following
    better = (rank - 1.0)[:, None]
    ratio = better - i
    np.maximum(ratio, 0.0, out=ratio)
    ratio *= (m - i) / following
    impossible = None
    if others.size and others.min() <= 0.0:  # i items are too few for m draws, and p(i) = 0
        impossible = others <= 0.0
        ratio[impossible] = others[impossible] = 1.0
    logs = np.zeros((rank.size, len(columns)))
    np.divide(ratio, others, out=ratio)
    with np.errstate(divide="ignore"):
        np.log(ratio, out=ratio)
        np.cumsum(ratio, axis=1, out=logs[:, 1:])
    if impossible is not None:
        logs[:, :-1][impossible] = _LOG_ZERO
    return logs
