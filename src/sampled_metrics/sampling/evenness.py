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
from sampled_metrics._base.arrays import is_among, sorted_unique
from sampled_metrics.ranks.strata import (
    group_items,
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
        keys = sorted_unique(clusters[self.row].astype(np.int64) * n_items + self.item)
        row, item = np.divmod(keys, n_items)
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
    """Expected draws of items given (1), their variance, and their regressor of b."""

    expected: Float
    variance: Float
    tilt: Float


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
    held_out_keys = _keys_of(held_out)
    keys = sorted_unique(row.astype(np.int64) * n_items + item)
    keys = keys[~is_among(keys, held_out_keys)]
    unavailable = held_out_keys
    if seen is not None:
        unavailable = unavailable_items(held_out_keys, _keys_of(seen), keys, n_items)
    table = csr_array(
        (np.ones(unavailable.size), np.divmod(unavailable, n_items)), shape=held_out.shape
    )
    n_held_out = np.bincount(held_out_keys % n_items, minlength=n_items)
    return Draws(*np.divmod(keys, n_items), table, popularity, n_held_out)


def _keys_of(table: csr_array) -> Int:
    """Return row * items + item of each nonzero."""
    row, item = table.nonzero()
    return sorted_unique(row.astype(np.int64) * table.shape[1] + item)


def measure_evenness(draws: Draws) -> Evenness:
    """Compare the draws of items within groups of about the same popularity.

    Examples
    --------
    Of 60 equally popular items, 600 users draw one each, and never one of the first half.

    >>> item = 30 + np.arange(600) % 30
    >>> counts, held_out = np.full(60, 9.0), np.zeros(60, int)
    >>> draws = Draws(np.arange(600), item, csr_array((600, 60)), counts, held_out)
    >>> measure_evenness(draws).p_value < 0.001
    True
    """
    group = group_items(draws.popularity)
    moments = _moments_of_items(draws, group)
    pool, group_of_pool = _pool_items(moments.expected, group)
    n_pools = group_of_pool.size

    def pooled(values: Float) -> Float:
        return np.bincount(pool, values, minlength=n_pools).astype(np.float64)

    chance = pooled(moments.variance)
    variance = chance + pooled(_count_variance(draws) * moments.expected**2)
    # An order of ids makes items next to each other deviate alike.
    deviation = np.sqrt(_ORDER_FACTOR * _order_variance(draws.popularity))
    variance += pooled(deviation * moments.expected) ** 2
    is_compared = chance > _NO_VARIANCE
    weight = np.divide(1.0, variance, out=np.zeros(n_pools), where=is_compared)
    difference = pooled(draws.n_draws - moments.expected)
    tilt = pooled(moments.tilt)

    def summed(values: Float | Bool) -> Float:
        return np.bincount(group_of_pool, values).astype(np.float64)

    squares_of_tilt = summed(weight * tilt**2)
    freedom = summed(is_compared) - 1.0
    is_tilted = (squares_of_tilt > _NO_VARIANCE) & (freedom > 0)
    explained = np.divide(
        summed(weight * difference * tilt) ** 2,
        squares_of_tilt,
        out=np.zeros(freedom.size),
        where=is_tilted,
    )
    chi_square = summed(weight * difference**2) - explained
    freedom -= is_tilted
    is_tested = freedom > 0
    return Evenness(float(chi_square[is_tested].sum()), int(freedom[is_tested].sum()))


def _moments_of_items(draws: Draws, group: Int) -> _Moments:
    """Sum the moments of draws with the probabilities (1) over rows."""
    drawn, candidates = _count_by_group(draws, group)
    share = drawn / np.maximum(candidates, 1)
    # Draws without replacement, whose number in a group is known.
    variance = share * (1.0 - share) * candidates / np.maximum(candidates - 1, 1)
    row, item = draws.unavailable.nonzero()

    def sum_over_rows(values: Float) -> Float:
        """Sum over the rows that have an item as a candidate, for each item."""
        missing = np.bincount(item, values[row, group[item]], minlength=group.size)
        return np.asarray(np.maximum(values.sum(axis=0)[group] - missing, 0.0))

    item_variance = sum_over_rows(variance)
    log_popularity = np.log(draws.popularity)
    mean = np.bincount(group, log_popularity) / np.bincount(group)
    return _Moments(
        sum_over_rows(share), item_variance, item_variance * (log_popularity - mean[group])
    )


def _count_by_group(draws: Draws, group: Int) -> tuple[Int, Int]:
    """Return the draws and the candidates of each row in each group, shape (rows, groups)."""
    n_rows = draws.unavailable.shape[0]
    drawn = sums_by_stratum(draws.row, draws.item, group, n_rows)
    row, item = draws.unavailable.nonzero()
    return drawn, np.bincount(group) - sums_by_stratum(row, item, group, n_rows)


def _pool_items(expected: Float, group: Int) -> tuple[Int, Int]:
    """Pool neighbours of a group so that pools have about the same expected draws.

    Returns the pool of each item, and the group of each pool.
    """
    total = np.bincount(group, expected)
    n_pools = np.maximum(total / LEAST_EXPECTED, 1.0).astype(np.int64)
    order = np.argsort(group, kind="stable")
    ordered_group = group[order]
    before = np.cumsum(expected[order]) - (np.cumsum(total) - total)[ordered_group]
    middle = before - expected[order] / 2.0
    size = np.maximum(total, _NO_VARIANCE) / n_pools
    place = np.clip(np.floor(middle / size[ordered_group]), 0, n_pools[ordered_group] - 1)
    pool = np.empty(group.size, np.int64)
    pool[order] = (np.cumsum(n_pools) - n_pools)[ordered_group] + place.astype(np.int64)
    return pool, np.repeat(np.arange(total.size), n_pools)


def _order_variance(popularity: Float) -> Float:
    """Return (2), the relative variance of draws by rank among items of the same popularity.

    Examples
    --------
    >>> _order_variance(np.array([5.0, 5, 2, 1])).round(6)
    array([0.104714, 0.104714, 0.006916, 0.004156])
    """
    _, place, times = np.unique(-popularity, return_inverse=True, return_counts=True)
    end = np.cumsum(times) + 1.0
    start = end - times
    variance = times**2 / (start * end * np.log(end / start) ** 2) - 1.0
    return np.minimum(variance[place], _MAX_VARIANCE)


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

    Items are then drawn as often as they are held out, if users have not seen them.
    """
    expected = draws.n_held_out * draws.n_available.astype(np.float64)
    n_draws = draws.n_draws
    is_held_out = expected > 0.0
    if n_draws[~is_held_out].sum() > _MAX_OUTSIDE_BATCH * n_draws.sum():
        return False
    ratio = n_draws[is_held_out] / expected[is_held_out]
    weight = expected[is_held_out] / max(expected.sum(), 1.0)
    mean = float(weight @ ratio)
    return float(weight @ (ratio - mean) ** 2) ** 0.5 <= _MAX_BATCH_VARIATION * mean


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
    log_count = np.bincount(group, np.log(draws.popularity)) / np.bincount(group)
    is_compared = (drawn >= _LEAST_DRAWS) & (drawn < candidates)
    if is_compared.sum() <= 1:
        return "in a way that too few draws show"
    share = drawn / np.maximum(candidates, 1)
    deviations = {
        power_text: _mean_deviation(drawn, share, expected, is_compared)
        for power_text, expected in (
            _fit_power(drawn, share, log_count, is_compared),
            ("half by popularity and half uniformly", _half_shares(drawn, candidates, log_count)),
        )
    }
    best = min(deviations, key=lambda text: deviations[text])
    n_drawn = drawn[is_compared]
    by_chance = _MEAN_ABSOLUTE * np.sqrt(n_drawn).sum() / n_drawn.sum()
    if deviations[best] > _MAX_DEVIATION + by_chance:
        return "by popularity, but by no power of the counts"
    return best


def _mean_deviation(drawn: Int, share: Float, expected: Float, is_compared: Bool) -> float:
    """Return the mean of the absolute log of observed by expected draws."""
    ratio = np.log(share[is_compared] / expected[is_compared])
    return float(np.average(np.abs(ratio), weights=drawn[is_compared]))


def _fit_power(drawn: Int, share: Float, log_count: Float, is_compared: Bool) -> tuple[str, Float]:
    """Regress the draws of groups on popularity; return the power in words and the expectation."""
    rate = np.log(-np.log1p(-share[is_compared]))
    weight = (drawn * (1.0 - share))[is_compared]
    x = log_count[is_compared] - np.average(log_count[is_compared], weights=weight)
    power = float((weight * x * rate).sum() / (weight * x**2).sum())
    middle = np.average(rate, weights=weight) - power * np.average(
        log_count[is_compared], weights=weight
    )
    expected = -np.expm1(-np.exp(middle + power * log_count))
    if abs(power) < _MAX_POWER_ERROR:
        return "uniformly", expected
    if abs(power - 1.0) < _MAX_POWER_ERROR:
        return "by popularity", expected
    return f"by popularity to the power {power:.2f}", expected


def _half_shares(drawn: Int, candidates: Int, log_count: Float) -> Float:
    """Return the probabilities of draws half by popularity and half uniformly, by group."""
    half = drawn.sum() / 2.0
    low, high = -_LARGEST_RATE, _LARGEST_RATE
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        popular = -np.expm1(-np.exp(np.minimum(middle + log_count, _LARGEST_RATE)))
        if candidates @ popular > half:
            high = middle
        else:
            low = middle
    uniform = half / max(candidates.sum() - half, 1.0)
    return 1.0 - (1.0 - popular) * (1.0 - uniform)
