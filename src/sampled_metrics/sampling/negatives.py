"""Uniform negatives: draws of them, and tests of given ones."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import chi2, norm, poisson, rankdata

from sampled_metrics._base.arrays import Float, Int, adjusted, generator, whole_number
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical, marked

LEVEL = 0.01  # probability that sound negatives fail any of the tests
LEAST_EXPECTED = 5.0  # draws of an item; below, items next to each other are pooled
_NOT_UNIFORM = "corrections and ranges assume uniform draws"


def draw_negatives(excluded: csr_array, m: int, *, seed: int = 0) -> Int:
    """Draw negatives for each user, uniformly and without replacement.

    The negatives of a user depend only on the seed, the user's row and its excluded items, which
    are the nonzeros of `excluded`, shape (users, items). Returns items, int64 of shape (users, m),
    in random order.

    Examples
    --------
    >>> excluded = csr_array(np.array([[1, 0, 0, 1], [0, 0, 1, 0]]))
    >>> np.sort(draw_negatives(excluded, 2), axis=1)
    array([[1, 2],
           [0, 3]])
    """
    whole_number("n_negatives", m, 1)
    known = canonical(excluded)
    size = excluded.shape[1] - np.diff(known.indptr)
    if size.size and m > size.min():
        user = int(size.argmin())
        raise InputError(f"{m} negatives wanted; user {user} has {size[user]} candidates left")
    drawn = np.empty((size.size, m), dtype=np.int64)
    for user, count in enumerate(size):
        rng = generator(seed, "negatives", user)
        rng.random()  # drawn by earlier versions too, whose negatives these are
        index = rng.permutation(rng.choice(int(count), m, replace=False))
        taken = known.indices[known.indptr[user] : known.indptr[user + 1]]
        # Before the k-th taken item lie its number minus k candidates.
        drawn[user] = index + np.searchsorted(taken - np.arange(taken.size), index, side="right")
    return drawn


@dataclass(frozen=True)
class Check:
    """One property of negatives."""

    name: str  # held-out item, seen items, duplicates, number, shared, uniformity, ids, popularity
    passed: bool  # whether it is as corrections assume
    found: float  # what was counted or measured
    expected: float  # its mean for sound negatives
    p_value: float  # of a deviation at least as large for sound negatives; NaN without chance
    remark: str  # consequence and remedy; empty where nothing is wrong


def check_negatives(
    user: Int, item: Int, seen_items: csr_array, held_out_items: csr_array
) -> list[Check]:
    """Test whether negatives are distinct, unseen, of one number and uniform.

    `user` and `item` are the row and column of each negative in the two matrices, shape (users,
    items), which are nonzero at items seen in training and at held-out items.

    They must be uniform among the items that a user has not seen, or among all items where seen
    ones were drawn too. P-values are adjusted for the number of tests by Holm's method. If most
    users share their negatives, uniformity is not tested.

    Examples
    --------
    >>> seen = csr_array(np.eye(3, 40))
    >>> held_out = csr_array(np.eye(3, 40, k=3))
    >>> user, item = np.array([0, 0, 1, 1, 2, 2]), np.array([7, 9, 30, 1, 12, 12])
    >>> [check.name for check in check_negatives(user, item, seen, held_out) if not check.passed]
    ['seen items', 'duplicates']
    """
    n_users, n_items = seen_items.shape
    seen, held_out = marked(seen_items), marked(held_out_items)
    is_held = _contains(held_out, user, item)
    is_seen = _contains(seen, user, item) & ~is_held
    n_held, n_seen = np.unique(user[is_held]).size, int(is_seen.sum())
    number = np.bincount(user, minlength=n_users)
    usual = int(np.bincount(number).argmax())
    n_unusual = int((number != usual).sum())

    # From here on without held-out items.
    user, item = user[~is_held], item[~is_held]
    counts = np.bincount(user, minlength=n_users)
    excluded = held_out if n_seen else marked(seen_items + held_out_items)
    size = n_items - np.diff(excluded.indptr)
    n_repeated = user.size - np.unique(user * n_items + item).size
    absent = size * np.exp(counts * np.log1p(-1.0 / np.maximum(size, 2)))
    repeats = poisson(float((counts - (size - absent)).sum()))  # with replacement
    independent = min(repeats.cdf(n_repeated), repeats.sf(n_repeated - 1)) > LEVEL / 2
    remedy = "correct them with --sampling with-replacement" if independent else "draw again"
    n_shared, n_comparable = _shared(user, item, counts, size)
    checks = [
        Check(name, not found, found, 0.0, np.nan, remark if found else "")
        for name, found, remark in (
            ("held-out item", n_held, f"{n_held:,} users have their held-out item: leave it out, "
             "and count one negative fewer for them"),
            ("seen items", n_seen, f"{n_seen:,} of {is_seen.size:,} were seen in training, "
             f"{counts @ np.diff(seen.indptr) / n_items:,.0f} expected if all items are drawn: n "
             f"is then {n_items:,}, and the corrected metric ranks among seen items too"),
            ("duplicates", n_repeated, f"{n_repeated:,} repeat an item of the user, "
             f"{repeats.mean():,.0f} expected with replacement: {remedy}"),
            ("number", n_unusual, f"{n_unusual:,} users have not {usual} negatives but "
             f"{number.min()} to {number.max()}: correct the others, or draw what is missing"),
            ("shared", n_shared, f"{n_shared:,} users have the negatives of another one: intervals "
             "and ranges are too narrow; draw for each user"),
        )
    ]  # fmt: skip
    if 2 * n_shared >= n_comparable >= 2:
        return checks
    checks[-1] = replace(checks[-1], passed=True)
    # Draws without replacement vary less, by the share of candidates that were not drawn.
    share = np.ones(n_users) if n_repeated else 1.0 - (counts - 1) / np.maximum(size - 1, 1)
    draws = _Draws(item, counts, size, share, excluded)
    lower = float(np.mean(item < n_items / 2)) if item.size else 0.0
    popularity = draws.trend(np.bincount(seen.indices, minlength=n_items))
    popular = "popular" if popularity[0] > popularity[1] else "unpopular"
    tests = (
        ("uniformity", draws.uniformity(), f"some items are drawn more often; {_NOT_UNIFORM}"),
        ("ids", draws.trend(np.arange(n_items)),
         f"{lower:.1%} come from the lower half of the ids; the sampler prefers some ids"),
        ("popularity", popularity, f"{popular} items are preferred; {_NOT_UNIFORM} and can be far "
         "off: draw uniform negatives"),
    )  # fmt: skip
    p_values = adjusted([p for _, (_, _, p), _ in tests], "holm")
    for (name, (found, expected, _), remark), p in zip(tests, p_values, strict=True):
        checks.append(Check(name, p >= LEVEL, found, expected, p, "" if p >= LEVEL else remark))
    return checks


def _contains(table: csr_array, row: Int, column: Int) -> NDArray[np.bool_]:
    rows, columns = table.nonzero()
    width = table.shape[1]
    return np.isin(row * width + column, rows.astype(np.int64) * width + columns)


def _shared(user: Int, item: Int, counts: Int, size: Int) -> tuple[int, int]:
    """Count users whose set of negatives another one has, and users for whom it would be chance."""
    key = generator(0, "sets").integers(1 << 62, size=int(item.max(initial=0)) + 1)
    sets = np.zeros(counts.size, dtype=np.int64)
    np.add.at(sets, user, key[item])  # compared by the sum of a random number of each item
    choice = sets[(counts > 0) & (2 * counts < size)]
    return choice.size - np.unique(choice).size, choice.size


class _Draws(NamedTuple):
    """Negatives without held-out items; number, candidates and share of variance of each user."""

    item: Int
    counts: Int
    size: Int
    share: Float
    excluded: csr_array

    def uniformity(self) -> tuple[float, float, float]:
        """Chi-square test of how often each item was drawn: statistic, its mean, p-value."""
        ratio, n_items = self.counts / np.maximum(self.size, 1), self.excluded.shape[1]
        expected, variance = (  # sums over the users of whom an item is a candidate
            rate.sum() - self.excluded.T @ rate for rate in (ratio, ratio * self.share)
        )
        # Items next to each other are pooled until enough draws are expected.
        group = (np.cumsum(expected) / LEAST_EXPECTED).astype(np.int64)
        group = np.unique(group, return_inverse=True)[1]
        difference = np.bincount(group, np.bincount(self.item, minlength=n_items) - expected)
        spread = np.bincount(group, variance)
        possible = spread > 0
        freedom = float(max(possible.sum() - 1, 1))
        found = float((difference[possible] ** 2 / spread[possible]).sum())
        return found, freedom, float(chi2.sf(found, freedom)) if possible.sum() > 1 else 1.0

    def trend(self, order: Int) -> tuple[float, float, float]:
        """Normal test of the mean place in an order of the items: place, its mean, p-value."""
        place = (rankdata(order) - 0.5) / max(order.size, 1)  # from 0 to 1
        mean, square = (  # over the candidates of each user
            (values.sum() - self.excluded @ values) / np.maximum(self.size, 1)
            for values in (place, place**2)
        )
        variance = np.maximum(square - mean**2, 0.0)
        total = max(int(self.counts.sum()), 1)
        found = float(place[self.item].sum()) / total
        expected = float(self.counts @ mean) / total
        deviation = np.sqrt(float((self.counts * self.share) @ variance)) / total
        p_value = float(2.0 * norm.sf(abs(found - expected) / deviation)) if deviation else 1.0
        return found, expected, p_value
