"""Whether popularity alone decided which items were drawn, and by which design.

Corrections with counts assume that items of about the same popularity are exchangeable: given how
many items of such a group a row (a user, or a batch) has drawn, each candidate of the group was
drawn with the same probability

    p = drawn / candidates                                                                   (1)

by the row, whatever the design and the items that users have seen. Chi-square compares how often
items were drawn with the sum of p over rows. Sound draws are a little uneven for three reasons,
which are not counted as unevenness:

- The more popular items of a group are drawn more often. To first order this adds b t to the draws
  of an item, where t is the variance of its draws times its log count (less the mean of the group).
  The b of each group is fitted, which costs one degree of freedom.
- Draws by rank, such as log-uniform ones, order items with the same count in some way. At ranks r
  from a to b - 1 their probabilities are about as 1 / r, which varies by

      mean(1/r^2) / mean(1/r)^2 - 1 = (b - a)^2 / (a b log(b / a)^2) - 1.                    (2)

- The counts by which a sampler draws may include held-out events. With a share s of these, the
  counts around c then vary by s / c, relative to c^2.

The last two are added to the variance of draws, each times its safety factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtrc

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.arrays import is_among, pair_codes, run_starts, sorted_unique
from sampled_metrics.ranks.strata import (
    group_items,
    mean_log_popularity,
    sums_by_stratum,
    unavailable_items,
)

# Expected draws of a pool of items in a chi-square test, for which 5 is the usual minimum; items
# next to each other are pooled until a pool has them.
LEAST_EXPECTED = 5.0
# Safety factors of the variances that reasons other than chance explain. Chosen on MovieLens 100K
# and 1M and on a made-up catalogue of 20,000 items, where sound designs (six, 100 negatives) then
# have a chi-square of at most its degrees of freedom, and a tenth of hard negatives twice that.
_ORDER_FACTOR = 2.0
_COUNT_FACTOR = 2.0
# Of each, relative: for popularity that is no number of events, and for catalogues of equal counts.
_MAX_VARIANCE = 0.25
_NO_VARIANCE = 1e-9  # rounding errors of variances that are 0
# Recognition of designs; on the same data the largest mean deviation of the right design is .03,
# the least one of a wrong design .09.
# Mean of the absolute log of observed by expected draws, beside that of chance, for which
# _MEAN_ABSOLUTE is the mean of a standard normal number without its sign.
_MAX_DEVIATION = 0.06
_MEAN_ABSOLUTE = (2.0 / np.pi) ** 0.5
_MAX_POWER_ERROR = 0.05  # up to which a power is 0 or 1
_LEAST_DRAWS = 10  # of a group, for a regression of its logarithm
_BISECTIONS = 80
_LARGEST_RATE = 60.0  # absolute log, at the start of the bisection
# One set for all rows: all of them together have hardly more items than one of them, and not nearly
# the catalogue. Batches: nearly all negatives are held-out items, and drawn as often as held out.
_SHARED_RATIO = 1.2
_MAX_SHARED_PART = 0.8
_MAX_OUTSIDE_BATCH = 0.01
_MAX_BATCH_VARIATION = 0.5


class Draws(NamedTuple):
    """Different negatives of rows (users, visits or batches), and what each row could not draw.

    Attributes
    ----------
    row, item
        A pair for each negative, each once.
    unavailable
        Nonzero at items that are no candidates of a row, shape (rows, items).
    popularity
        Counts of the items, above 0, shape (items,).
    n_held_out
        How often each item is held out, shape (items,).
    """

    row: Int
    item: Int
    unavailable: csr_array
    popularity: Float
    n_held_out: Int

    def by_cluster(self, clusters: Int) -> Draws:
        """Return the draws of clusters of rows; those of shared negatives can draw all items."""
        n_items = self.popularity.size
        cluster_pairs = _number_pairs(clusters[self.row], self.item, n_items)
        row, item = _rows_and_items(cluster_pairs, n_items)
        n_clusters = int(clusters.max(initial=-1)) + 1
        return self._replace(row=row, item=item, unavailable=csr_array((n_clusters, n_items)))

    @property
    def n_draws(self) -> Int:
        """Number of draws of each item."""
        return np.bincount(self.item, minlength=self.popularity.size)

    @property
    def n_available(self) -> Int:
        """Number of rows that have each item as a candidate."""
        n_rows, n_items = self.unavailable.shape
        return n_rows - np.bincount(self.unavailable.indices, minlength=n_items)


class Evenness(NamedTuple):
    """Chi-square of the draws within groups of about the same popularity."""

    chi_square: float
    freedom: int

    @property
    def p_value(self) -> float:
        """Probability that sound draws are as uneven; 1 if nothing can be compared."""
        return float(chdtrc(self.freedom, self.chi_square)) if self.freedom else 1.0


class _Moments(NamedTuple):
    """Moments of the draws of each item, by all rows together; all of shape (items,).

    Attributes
    ----------
    expected, variance
        Mean and variance of the number of draws, given (1).
    tilt
        Regressor of b: the variance times the log count less the mean of the group.
    """

    expected: Float
    variance: Float
    tilt: Float


class _Pools(NamedTuple):
    """Draws of pools of neighbouring items beside their expectation; all of shape (pools,)."""

    group: Int
    difference: Float  # draws less expected ones
    variance: Float  # by chance, and for the other two reasons that are not unevenness
    tilt: Float  # regressor of b
    is_compared: Bool  # whether chance lets the draws vary


def draws_of_pairs(
    row: Int,
    item: Int,
    *,
    held_out: csr_array,
    seen: csr_array | None,
    popularity: Float,
) -> Draws:
    """Drop repeated negatives and held-out items; decide whether seen items are candidates.

    Parameters
    ----------
    row, item
        A pair for each negative.
    held_out, seen
        Nonzero at held-out and seen items, shape (rows, items); None if seen items are not known.
    popularity
        Counts of the items, above 0, shape (items,).

    Examples
    --------
    >>> held_out, seen = csr_array(np.eye(2, 9)), csr_array(np.eye(2, 9, 1))
    >>> row, item = np.array([0, 0, 0, 1]), np.array([0, 5, 5, 7])
    >>> draws = draws_of_pairs(row, item, held_out=held_out, seen=seen, popularity=np.ones(9))
    >>> draws.item.tolist(), draws.unavailable.toarray()[0].astype(int).tolist()
    ([5, 7], [1, 1, 0, 0, 0, 0, 0, 0, 0])
    """
    n_items = popularity.size
    # Pairs of a row and an item are single numbers, in ascending order.
    held_out_pairs = _number_nonzeros(held_out)
    distinct_pairs = _number_pairs(row, item, n_items)
    drawn_pairs = distinct_pairs[~is_among(distinct_pairs, held_out_pairs)]
    unavailable_pairs = held_out_pairs
    if seen is not None:
        unavailable_pairs = unavailable_items(
            held_out_pairs, _number_nonzeros(seen), drawn_pairs, n_items
        )
    ones = np.ones(unavailable_pairs.size)
    unavailable = csr_array(
        (ones, _rows_and_items(unavailable_pairs, n_items)), shape=held_out.shape
    )
    drawn_row, drawn_item = _rows_and_items(drawn_pairs, n_items)
    _, held_out_item = _rows_and_items(held_out_pairs, n_items)
    return Draws(
        row=drawn_row,
        item=drawn_item,
        unavailable=unavailable,
        popularity=popularity,
        n_held_out=np.bincount(held_out_item, minlength=n_items),
    )


def _number_nonzeros(table: csr_array) -> Int:
    """Return the numbers of the pairs of rows and items at which a table is not 0."""
    row, item = table.nonzero()
    return _number_pairs(row, item, table.shape[1])


def _number_pairs(row: Int, item: Int, n_items: int) -> Int:
    """Return row * items + item of each different pair, in ascending order."""
    return sorted_unique(pair_codes(row, item, n_items))


def _rows_and_items(pairs: Int, n_items: int) -> tuple[Int, Int]:
    """Return the rows and the items of the numbers of pairs."""
    row, item = np.divmod(pairs, n_items)
    return row, item


def measure_evenness(draws: Draws) -> Evenness:
    """Compare the draws of items within groups of about the same popularity.

    With the draws less the expected ones d of each pool of items, their variance v and the
    regressor x of b, a group has the chi-square of a regression of d on x,

        sum of d^2 / v - (sum of d x / v)^2 / (sum of x^2 / v),

    and its number of pools, less one and less one for b, as degrees of freedom.

    Examples
    --------
    Of 60 equally popular items, 600 users draw one each, and never one of the first half.

    >>> item = 30 + np.arange(600) % 30
    >>> counts, held_out = np.full(60, 9.0), np.zeros(60, int)
    >>> draws = Draws(np.arange(600), item, csr_array((600, 60)), counts, held_out)
    >>> measure_evenness(draws).p_value < 0.001
    True
    """
    pools = _pool_draws(draws)
    d, x = pools.difference, pools.tilt
    weight = np.divide(1.0, pools.variance, out=np.zeros(pools.group.size), where=pools.is_compared)

    def sum_by_group(values: Float | Bool) -> Float:
        return np.bincount(pools.group, values).astype(np.float64)

    squares_of_x = sum_by_group(weight * x**2)
    n_free = sum_by_group(pools.is_compared) - 1.0
    has_b = (squares_of_x > _NO_VARIANCE) & (n_free > 0)
    explained_by_b = np.divide(
        sum_by_group(weight * d * x) ** 2, squares_of_x, out=np.zeros(n_free.size), where=has_b
    )
    chi_square = sum_by_group(weight * d**2) - explained_by_b
    freedom = n_free - has_b
    is_tested = freedom > 0
    return Evenness(float(chi_square[is_tested].sum()), int(freedom[is_tested].sum()))


def _pool_draws(draws: Draws) -> _Pools:
    """Sum draws, expectations and variances over the items of each pool.

    With the expected draws E of an item, the variance of a pool is the sum of three, the latter two
    with safety factors: of chance; of counts with held-out events, sum of (relative variance) E^2;
    and of an order of ids, (sum of (relative deviation) E)^2, as it makes neighbours deviate alike.
    """
    group = group_items(draws.popularity)
    moments = _moments_of_items(draws, group)
    pool, group_of_pool = _pool_items(moments.expected, group)

    def sum_by_pool(values: Float) -> Float:
        return np.bincount(pool, values, minlength=group_of_pool.size).astype(np.float64)

    of_chance = sum_by_pool(moments.variance)
    of_counts = sum_by_pool(_count_variance(draws) * moments.expected**2)
    deviation_by_order = np.sqrt(_ORDER_FACTOR * _order_variance(draws.popularity))
    of_order = sum_by_pool(deviation_by_order * moments.expected) ** 2
    return _Pools(
        group=group_of_pool,
        difference=sum_by_pool(draws.n_draws - moments.expected),
        variance=of_chance + of_counts + of_order,
        tilt=sum_by_pool(moments.tilt),
        is_compared=of_chance > _NO_VARIANCE,
    )


def _moments_of_items(draws: Draws, group: Int) -> _Moments:
    """Sum the moments of draws with the probabilities (1) over rows, for each item.

    A row that draws k of the n candidates of a group, without replacement, draws each of them
    p = k / n times, with the variance p (1 - p). This is multiplied by n / (n - 1), because the
    draws add up to k: the squared deviations divided by it then add up to n - 1, the degrees of
    freedom.

    Parameters
    ----------
    draws, group
        The draws, and the group of each item.
    """
    drawn, candidates = _count_by_group(draws, group)
    probability = drawn / np.maximum(candidates, 1)
    variance = probability * (1.0 - probability) * candidates / np.maximum(candidates - 1, 1)
    unavailable_row, unavailable_item = draws.unavailable.nonzero()

    def sum_over_rows(values: Float) -> Float:
        """Sum values, shape (rows, groups), over the rows that have each item as a candidate."""
        of_unavailable = values[unavailable_row, group[unavailable_item]]
        missing = np.bincount(unavailable_item, of_unavailable, minlength=group.size)
        sum_of_all_rows = values.sum(axis=0)[group]
        return np.asarray(np.maximum(sum_of_all_rows - missing, 0.0))

    variance_of_item = sum_over_rows(variance)
    mean_log_count = mean_log_popularity(draws.popularity, group)[group]
    excess_log_count = np.log(draws.popularity) - mean_log_count
    return _Moments(
        expected=sum_over_rows(probability),
        variance=variance_of_item,
        tilt=variance_of_item * excess_log_count,
    )


def _count_by_group(draws: Draws, group: Int) -> tuple[Int, Int]:
    """Return the draws and the candidates of each row in each group, shape (rows, groups)."""
    n_rows = draws.unavailable.shape[0]
    drawn = sums_by_stratum(draws.row, draws.item, group, n_rows)
    row, item = draws.unavailable.nonzero()
    return drawn, np.bincount(group) - sums_by_stratum(row, item, group, n_rows)


def _pool_items(expected: Float, group: Int) -> tuple[Int, Int]:
    """Pool neighbours of a group so that pools have about the same expected draws.

    A group with the sum E of expected draws has about E / 5 pools, which divide E evenly. An item
    is in the pool that has the middle of its draws, with those of the items of the group before it
    in front.

    Parameters
    ----------
    expected, group
        Expected draws and group of each item; shape (items,).

    Returns
    -------
    pool, group_of_pool
        Pool of each item, and group of each pool; pools are numbered group by group.
    """
    total = np.bincount(group, expected)
    n_pools = np.maximum(total / LEAST_EXPECTED, 1.0).astype(np.int64)
    draws_per_pool = np.maximum(total, _NO_VARIANCE) / n_pools
    by_group = np.argsort(group, kind="stable")
    group_in_order = group[by_group]
    expected_in_order = expected[by_group]
    total_before_group = (np.cumsum(total) - total)[group_in_order]
    up_to_item = np.cumsum(expected_in_order) - total_before_group
    middle = up_to_item - expected_in_order / 2.0
    pool_in_group = np.floor(middle / draws_per_pool[group_in_order])
    last_pool_in_group = n_pools[group_in_order] - 1
    pool_in_group = np.clip(pool_in_group, 0, last_pool_in_group).astype(np.int64)
    pool = np.empty(group.size, np.int64)
    pool[by_group] = run_starts(n_pools)[group_in_order] + pool_in_group
    return pool, np.repeat(np.arange(total.size), n_pools)


def _order_variance(popularity: Float) -> Float:
    """Return (2), the relative variance of draws by rank among items of the same popularity.

    Examples
    --------
    >>> _order_variance(np.array([5.0, 5, 2, 1])).round(6)
    array([0.104714, 0.104714, 0.006916, 0.004156])
    """
    _, level, n_items = np.unique(-popularity, return_inverse=True, return_counts=True)
    end = np.cumsum(n_items) + 1.0  # b of (2), by level of popularity; `start` is a
    start = end - n_items
    variance = n_items**2 / (start * end * np.log(end / start) ** 2) - 1.0
    return np.minimum(variance[level], _MAX_VARIANCE)


def _count_variance(draws: Draws) -> Float:
    """Return the relative variance of counts that may include held-out events."""
    share = draws.n_held_out.sum() / draws.popularity.sum()
    return np.minimum(_COUNT_FACTOR * share / draws.popularity, _MAX_VARIANCE)


def is_one_set(draws: Draws) -> bool:
    """Return whether all rows seem to have the same negatives, without those that they have seen.

    Examples
    --------
    >>> row, item = np.repeat([0, 1, 2], 3), np.array([4, 5, 6, 4, 5, 6, 4, 6, 7])
    >>> draws = Draws(row, item, csr_array((3, 9)), np.ones(9), np.zeros(9, int))
    >>> is_one_set(draws), is_one_set(draws._replace(row=row[:6], item=item[:6]))
    (False, True)
    """
    n_different = sorted_unique(draws.item).size
    largest = int(np.bincount(draws.row).max(initial=0))
    is_whole_catalogue = n_different > _MAX_SHARED_PART * draws.popularity.size
    n_rows = sorted_unique(draws.row).size
    return n_rows > 1 and n_different <= _SHARED_RATIO * largest and not is_whole_catalogue


def is_in_batch(draws: Draws) -> bool:
    """Return whether negatives seem to be the held-out items of other users.

    Hardly any item is then drawn that is not held out, and the others are drawn as often as they
    are held out, if users have not seen them: the ratio of draws to (times held out) x (rows that
    can draw it) varies little between items.
    """
    expected = draws.n_held_out * draws.n_available.astype(np.float64)  # up to a factor
    n_draws = draws.n_draws
    is_held_out = expected > 0.0
    n_outside = n_draws[~is_held_out].sum()
    if n_outside > _MAX_OUTSIDE_BATCH * n_draws.sum():
        return False
    ratio = n_draws[is_held_out] / expected[is_held_out]
    weight = expected[is_held_out] / max(expected.sum(), 1.0)
    mean = float(weight @ ratio)
    deviation = float(weight @ (ratio - mean) ** 2) ** 0.5
    return deviation <= _MAX_BATCH_VARIATION * mean


def describe_design(draws: Draws) -> str:
    """Say by which design, depending on popularity alone, negatives were drawn.

    A row that draws by a power b of popularity draws an item of count c with a probability of about
    1 - exp(-t c^b), so that log(-log(1 - probability)) is a line in log c with the slope b. Half
    and half has no free parameter.

    Examples
    --------
    >>> popularity = np.repeat([1.0, 4, 16], 40)
    >>> rows, items = np.arange(1200) // 2, np.arange(1200) % 120
    >>> draws = Draws(rows, items, csr_array((600, 120)), popularity, np.zeros(120, int))
    >>> describe_design(draws)
    'uniformly'
    """
    group = group_items(draws.popularity)
    drawn, candidates = (counts.sum(axis=0) for counts in _count_by_group(draws, group))
    log_count = mean_log_popularity(draws.popularity, group)
    is_compared = (drawn >= _LEAST_DRAWS) & (drawn < candidates)  # of the groups
    if is_compared.sum() <= 1:
        return "in a way that too few draws show"
    share = drawn / np.maximum(candidates, 1)
    power_in_words, shares_by_power = _fit_power(drawn, share, log_count, is_compared)
    shares_by_design = {
        power_in_words: shares_by_power,
        "half by popularity and half uniformly": _half_shares(drawn, candidates, log_count),
    }
    deviations = {
        design: _mean_deviation(drawn, share, expected, is_compared)
        for design, expected in shares_by_design.items()
    }
    best = min(deviations, key=deviations.__getitem__)
    # The log of k draws has a standard deviation of about 1 / sqrt(k), and k is its weight.
    n_drawn = drawn[is_compared]
    by_chance = _MEAN_ABSOLUTE * np.sqrt(n_drawn).sum() / n_drawn.sum()
    if deviations[best] > _MAX_DEVIATION + by_chance:
        return "by popularity, but by no power of the counts"
    return best


def _mean_deviation(drawn: Int, share: Float, expected: Float, is_compared: Bool) -> float:
    """Return the mean absolute log of observed by expected shares of groups, weighted by draws."""
    log_ratio = np.log(share[is_compared] / expected[is_compared])
    return float(np.average(np.abs(log_ratio), weights=drawn[is_compared]))


def _fit_power(drawn: Int, share: Float, log_count: Float, is_compared: Bool) -> tuple[str, Float]:
    """Regress the draws of groups on popularity; return the power b in words, and the expectation.

    The line is log(-log(1 - share)) = log t + b log c, by weighted least squares.

    Parameters
    ----------
    drawn, share
        Draws of each group, and their share of its candidates; shape (groups,).
    log_count
        Mean log c of the items of each group.
    is_compared
        Groups with enough draws.

    Returns
    -------
    power_in_words, expected
        `expected` is the share that the line has for each group; shape (groups,).
    """
    log_rate = np.log(-np.log1p(-share[is_compared]))
    weight = (drawn * (1.0 - share))[is_compared]  # about the inverse variance of a log rate
    mean_log_count = np.average(log_count[is_compared], weights=weight)
    x = log_count[is_compared] - mean_log_count
    power = float((weight * x * log_rate).sum() / (weight * x**2).sum())
    log_t = np.average(log_rate, weights=weight) - power * mean_log_count
    expected = -np.expm1(-np.exp(log_t + power * log_count))
    if abs(power) < _MAX_POWER_ERROR:
        return "uniformly", expected
    if abs(power - 1.0) < _MAX_POWER_ERROR:
        return "by popularity", expected
    return f"by popularity to the power {power:.2f}", expected


def _half_shares(drawn: Int, candidates: Int, log_count: Float) -> Float:
    """Return the probabilities of draws half by popularity and half uniformly, by group.

    The half by popularity has the probabilities 1 - exp(-t c), with the t at which they sum to half
    of the draws over all candidates, found by bisection of log t. The uniform half draws from the
    candidates that are left.

    Parameters
    ----------
    drawn, candidates, log_count
        Draws, candidates and mean log c of each group; shape (groups,), like the result.
    """
    half = drawn.sum() / 2.0
    low, high = -_LARGEST_RATE, _LARGEST_RATE
    for _ in range(_BISECTIONS):
        log_t = (low + high) / 2.0
        popular = -np.expm1(-np.exp(np.minimum(log_t + log_count, _LARGEST_RATE)))
        has_too_many = candidates @ popular > half
        if has_too_many:
            high = log_t
        else:
            low = log_t
    uniform = half / max(candidates.sum() - half, 1.0)
    return 1.0 - (1.0 - popular) * (1.0 - uniform)
