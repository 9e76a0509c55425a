"""Uniform negatives: draws of them, and tests of given ones."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import bdtrc, chdtrc

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import Record
from sampled_metrics._base.sparse import canonical_csr, indicator_matrix
from sampled_metrics.inputs.samples import ScoredPairs

LEVEL = 0.01  # probability that sound negatives fail the test of uniformity
LEAST_EXPECTED = 5.0  # draws of an item; below, items next to each other are pooled
_REMARKS = {
    "held-out item": "{found:,} users have their held-out item: leave it out, and count one "
    "negative fewer for them",
    "seen items": "{found:,} of {drawn:,} were seen in training, {expected:,.0f} expected if all "
    "items are drawn: n is then {n_items:,}, and the corrected metric ranks among seen items too",
    "duplicates": "{found:,} repeat an item of the user, {expected:,.0f} expected with "
    "replacement: give --sampling with-replacement if they were drawn so, else draw again",
    "shared": "{found:,} users have the negatives of another one, so that intervals and ranges are "
    "too narrow, and orders open; draw for each user",
}
_REPEATED = (
    "{found:,} repeat an item of the user, so the range is of another way of drawing; give "
    "--sampling with-replacement if they were drawn so"
)
_NOT_UNIFORM = (
    "some items are drawn more often: were they drawn by popularity, or one set for all users? "
    "Corrections and ranges assume uniform draws for each user; draw again"
)
_OFTEN = (
    "{found:,} of {n_users:,} users have item {item}, and uniform draws from {n_others:,} items "
    "give {expected:,.0f} or fewer: were they drawn by popularity, by a retriever, or one set for "
    "all users? Popular ones outrank the held-out one more often, so estimates and the range are "
    "too low, and in a shared set users depend on each other; score uniform negatives (`negatives`)"
)


def draw_negatives(excluded: csr_array, m: int, *, seed: int = 0, users: Ids | None = None) -> Int:
    """Draw negatives for each user, uniformly and without replacement.

    The negatives of a user depend only on the seed, the user's row and its excluded items, which
    are the nonzeros of `excluded`, shape (users, items). Returns items, int64 of shape (users, m),
    in random order. Errors name users by `users`, or else by their rows.

    Examples
    --------
    >>> excluded = csr_array(np.array([[1, 0, 0, 1], [0, 0, 1, 0]]))
    >>> np.sort(draw_negatives(excluded, 2), axis=1)
    array([[1, 2],
           [0, 3]])
    """
    m = whole_number("n_negatives", m, 1)
    known = canonical_csr(excluded)
    size = excluded.shape[1] - np.diff(known.indptr)
    if size.size and m > size.min():
        user = size.argmin()
        name = user if users is None else users[user]
        raise InputError(f"{m} negatives wanted; user {name} has {size[user]} candidates left")
    drawn = np.empty((size.size, m), dtype=np.int64)
    for user, count in enumerate(size):
        rng = generator(seed, "negatives", user)
        rng.random()  # keeps the negatives of earlier versions
        index = rng.permutation(rng.choice(int(count), m, replace=False))
        first, end = known.indptr[user : user + 2]
        taken = known.indices[first:end]
        # Before the k-th taken item lie its number minus k candidates.
        before = taken - np.arange(taken.size)
        drawn[user] = index + np.searchsorted(before, index, side="right")
    return drawn


@dataclass(frozen=True, eq=False)
class Check(Record):
    """One property of negatives."""

    name: str  # held-out item, seen items, duplicates, uniformity or shared
    passed: bool  # whether it is as corrections assume
    found: float  # number counted or measured
    expected: float  # its mean for sound negatives
    p_value: float  # probability of such a deviation for sound negatives; NaN without chance
    remark: str  # consequence and remedy; empty where nothing is wrong


def check_drawn_negatives(
    user: Int, item: Int, seen_items: csr_array, held_out_items: csr_array
) -> list[Check]:
    """Test whether negatives are distinct, unseen and uniform.

    `user` and `item` are the row and column of each negative in the two matrices, shape (users,
    items), which are nonzero at items seen in training and at held-out items.

    They must be uniform among the items that a user has not seen, or among all items where seen
    ones were drawn too.

    Examples
    --------
    >>> seen = csr_array(np.eye(3, 40))
    >>> held_out = csr_array(np.eye(3, 40, k=3))
    >>> user, item = np.array([0, 0, 1, 1, 2, 2]), np.array([7, 9, 30, 1, 12, 12])
    >>> checks = check_drawn_negatives(user, item, seen, held_out)
    >>> [check.name for check in checks if not check.passed]
    ['seen items', 'duplicates']
    """
    seen = indicator_matrix(seen_items)
    held_out = indicator_matrix(held_out_items)
    is_held = _contains(held_out, user, item)
    is_seen = _contains(seen, user, item) & ~is_held
    # Where seen items were drawn too, they are candidates.
    excluded = held_out
    if not is_seen.any():
        excluded = indicator_matrix(seen_items + held_out_items)
    user_drawn = user[~is_held]
    item_drawn = item[~is_held]
    n_users, n_items = seen.shape
    counts = np.bincount(user_drawn, minlength=n_users)
    size = n_items - np.diff(excluded.indptr)  # candidates of each user
    n_repeated = user_drawn.size - sorted_unique(user_drawn * n_items + item_drawn).size
    log_missed = np.log1p(-1.0 / np.maximum(size, 2))
    absent = size * np.exp(counts * log_missed)  # expected with replacement
    return [
        _counted("held-out item", np.unique(user[is_held]).size),
        _counted(
            "seen items",
            int(is_seen.sum()),
            drawn=is_seen.size,
            expected=counts @ np.diff(seen.indptr) / n_items,
            n_items=n_items,
        ),
        _counted("duplicates", n_repeated, expected=float((counts - size + absent).sum())),
        _uniformity(counts, item_drawn, excluded, size, n_repeated == 0),
    ]


def check_pairs(pairs: ScoredPairs, n_items: int) -> list[Check]:
    """Test negatives in pairs of users and items if seen items are not known.

    The least number of candidates is `n_items`. Users who have seen an item do not draw it, so only
    items that are drawn too often are found.

    Examples
    --------
    >>> users = np.repeat(np.arange(90), 3)
    >>> items = np.column_stack([np.arange(90), np.arange(1, 91), np.full(90, 99)]).ravel()
    >>> pairs = ScoredPairs(users, items, np.arange(270) % 3 == 0, np.arange(100))
    >>> checks = check_pairs(pairs, 100)
    >>> [(check.name, check.found) for check in checks if not check.passed]
    [('uniformity', 90)]
    """
    width = pairs.item_ids.size
    key = pairs.user * width + pairs.item
    held, times = np.unique(key[pairs.held_out], return_counts=True)
    is_own = np.isin(key, held) & ~pairs.held_out
    is_drawn = ~pairs.held_out & ~is_own
    user = pairs.user[is_drawn]
    item = pairs.item[is_drawn]
    n_repeated = user.size - sorted_unique(user * width + item).size
    again = np.concatenate([pairs.user[is_own], held[times > 1] // width])
    n_shared = _count_shared(user, item, n_items - 1)
    last = _counted("shared", n_shared)
    if last.passed:
        last = _check_most_drawn(user, item, pairs, n_items)
    return [
        _counted("held-out item", np.unique(again).size),
        _counted("duplicates", n_repeated, _REPEATED),
        last,
    ]


def _count_shared(user: Int, item: Int, n_candidates: int) -> int:
    """Count users whose negatives another user has too, if most have; sets that may differ."""
    counts = np.bincount(user)
    key = generator(0, "sets").integers(1 << 62, size=item.max(initial=0) + 1)
    sets = np.zeros(counts.size, dtype=np.int64)  # compared by sums of random numbers of items
    np.add.at(sets, user, key[item])
    chosen = sets[(counts > 0) & (2 * counts < n_candidates)]
    n_shared = chosen.size - sorted_unique(chosen).size
    return n_shared if 2 * n_shared >= chosen.size else 0


def _check_most_drawn(user: Int, item: Int, pairs: ScoredPairs, n_items: int) -> Check:
    """Test how many users drew the most drawn item, against uniform draws of all others."""
    n_users = int(pairs.user.max()) + 1
    _, first = np.unique(user * pairs.item_ids.size + item, return_index=True)
    expected = first.size / (n_items - 1)
    counts = np.bincount(item[first], minlength=pairs.item_ids.size)
    most = int(counts.argmax())
    found = int(counts[most])
    chance = float(bdtrc(found - 1, n_users, min(expected / n_users, 1.0)))
    p_value = min(1.0, counts.size * chance)
    remark = ""
    if p_value < LEVEL:
        of_item = {"item": pairs.item_ids[most], "n_users": n_users, "n_others": n_items - 1}
        remark = _OFTEN.format(found=found, expected=expected, **of_item)
    return Check("uniformity", not remark, found, expected, p_value, remark)


def _counted(name: str, found: int, words: str = "", **about: float | str) -> Check:
    """Check of a number that is 0 for sound negatives."""
    remark = ""
    if found:
        remark = (words or _REMARKS[name]).format(found=found, **about)
    return Check(name, not found, found, 0.0, np.nan, remark)


def _contains(table: csr_array, row: Int, column: Int) -> Bool:
    rows, columns = table.nonzero()
    width = table.shape[1]
    keys = rows.astype(np.int64) * width + columns
    return np.isin(row * width + column, keys)


def _uniformity(counts: Int, item: Int, excluded: csr_array, size: Int, is_distinct: bool) -> Check:
    """Chi-square test of how often each item was drawn.

    `counts` and `size` are each user's draws and candidates, the items that are not `excluded`.
    """

    def over_users(rate: Float) -> Float:
        """Sum over the users who have an item as candidate, for each item."""
        return rate.sum() - excluded.T @ rate

    n_items = excluded.shape[1]
    rate = counts / np.maximum(size, 1)
    expected = over_users(rate)
    variance = expected
    if is_distinct:
        # Draws without replacement vary less, by the share of candidates not drawn.
        share = 1.0 - (counts - 1) / np.maximum(size - 1, 1)
        variance = over_users(rate * share)
    # Items next to each other are pooled until enough draws are expected.
    groups = (np.cumsum(expected) / LEAST_EXPECTED).astype(np.int64)
    _, group = np.unique(groups, return_inverse=True)
    drawn = np.bincount(item, minlength=n_items)
    difference = np.bincount(group, drawn - expected)
    spread = np.bincount(group, variance)
    possible = spread > 0
    found = float((difference[possible] ** 2 / spread[possible]).sum())
    freedom = float(possible.sum() - 1)
    p_value = 1.0
    if freedom > 0:
        p_value = float(chdtrc(freedom, found))
    remark = _NOT_UNIFORM if p_value < LEVEL else ""
    return Check("uniformity", not remark, found, max(freedom, 1.0), p_value, remark)
