"""Tests of drawn negatives: whether they are distinct, unseen and uniform."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import chi2, norm, poisson, rankdata

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.p_values import adjusted
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.sparse import marked

LEVEL = 0.01  # probability that sound negatives fail any of the tests
LEAST_EXPECTED = 5.0  # draws of an item; below, items next to each other are pooled


@dataclass(frozen=True)
class Check:
    """One property of negatives.

    Attributes
    ----------
    name
        What was looked at: `held-out item`, `seen items`, `duplicates`, `number`, `shared`,
        `uniformity`, `ids` or `popularity`.
    passed
        Whether it is as corrections assume.
    found, expected
        What was counted or measured, and its mean for sound negatives.
    p_value
        Probability of a deviation at least as large for sound negatives; NaN where nothing is
        random.
    remark
        What it means for ranks among these negatives, and what to do; empty where it passed.
    """

    name: str
    passed: bool
    found: float
    expected: float
    p_value: float
    remark: str


class Drawn(NamedTuple):
    """Negatives of all users, row by row, and what they may be.

    Attributes
    ----------
    user, item
        Row and column numbers of each negative, shape (negatives,).
    seen
        Nonzero at items seen in training, shape (users, items).
    held_out
        Nonzero at held-out items, shape (users, items).
    """

    user: Int
    item: Int
    seen: csr_array
    held_out: csr_array


def check_negatives(drawn: Drawn) -> list[Check]:
    """Test whether negatives are distinct, unseen, of one number and uniform.

    They must be uniform among the items that a user has not seen, or among all items where seen
    ones were drawn too. P-values are adjusted for the number of tests by Holm's method.

    Examples
    --------
    >>> seen = csr_array(np.eye(3, 40))
    >>> held_out = csr_array(np.eye(3, 40, k=3))
    >>> drawn = Drawn(np.array([0, 0, 1, 1, 2, 2]), np.array([7, 9, 30, 1, 12, 12]), seen, held_out)
    >>> [check.name for check in check_negatives(drawn) if not check.passed]
    ['seen items', 'duplicates']
    """
    n_users, n_items = drawn.seen.shape
    is_held = _contains(drawn.held_out, drawn.user, drawn.item)
    is_seen = _contains(drawn.seen, drawn.user, drawn.item) & ~is_held
    kept = ~is_held
    user, item = drawn.user[kept], drawn.item[kept]
    counts = np.bincount(user, minlength=n_users)
    excluded = marked(drawn.held_out if is_seen.any() else drawn.seen + drawn.held_out)
    size = n_items - np.diff(excluded.indptr)
    n_repeated = user.size - np.unique(user * n_items + item).size
    checks = [
        _held_out(is_held, drawn.user),
        _seen(is_seen, counts, marked(drawn.seen), n_items),
        _duplicates(n_repeated, counts, size),
        _number(np.bincount(drawn.user, minlength=n_users)),
        _shared(user, item, counts, size),
    ]
    if not checks[-1].passed:
        return checks  # sets that users share are no independent draws
    # Draws without replacement vary less, by the share of candidates that were not drawn.
    share = np.ones(n_users) if n_repeated else 1.0 - (counts - 1) / np.maximum(size - 1, 1)
    draws = _Draws(user, item, counts, size, share, excluded)
    popularity = np.bincount(marked(drawn.seen).indices, minlength=n_items)
    return checks + _adjusted([_uniformity(draws), _ids(draws), _popularity(draws, popularity)])


class _Draws(NamedTuple):
    """Negatives without held-out items, and their number and candidates per user."""

    user: Int
    item: Int
    counts: Int
    size: Int
    share: Float
    excluded: csr_array

    def summed(self, per_user: Float) -> Float:
        """Sum a number of each user over the users of whom an item is a candidate."""
        return per_user.sum() - self.excluded.T @ per_user

    def mean(self, per_item: Float) -> Float:
        """Average a number of each item over the candidates of each user."""
        return (per_item.sum() - self.excluded @ per_item) / np.maximum(self.size, 1)


def _held_out(is_held: NDArray[np.bool_], user: Int) -> Check:
    found = np.unique(user[is_held]).size
    remark = "compared with themselves; leave them out, and count one negative fewer for them"
    return _exact("held-out item", found, f"{found:,} users have their held-out item: {remark}")


def _seen(is_seen: NDArray[np.bool_], counts: Int, seen: csr_array, n_items: int) -> Check:
    found = int(is_seen.sum())
    expected = float(counts @ np.diff(seen.indptr) / n_items)
    return _exact(
        "seen items",
        found,
        f"{found:,} of {is_seen.size:,} were seen in training, {expected:,.0f} expected if all "
        f"items are drawn: n is then {n_items:,}, seen items included, and the corrected metric "
        "ranks among them too",
    )


def _duplicates(found: int, counts: Int, size: Int) -> Check:
    absent = size * np.exp(counts * np.log1p(-1.0 / np.maximum(size, 2)))
    expected = float((counts - (size - absent)).sum())
    tail = poisson(expected)
    independent = min(tail.cdf(found), tail.sf(found - 1)) > LEVEL / 2
    remedy = "correct them with --sampling with-replacement" if independent else "draw again"
    return _exact(
        "duplicates",
        found,
        f"{found:,} repeat an item of the user, {expected:,.0f} expected with replacement: "
        f"{remedy}",
    )


def _number(counts: Int) -> Check:
    least, most = int(counts.min()), int(counts.max())
    usual = int(np.bincount(counts).argmax())
    found = int((counts != usual).sum())
    return _exact(
        "number",
        found,
        f"{found:,} users have not {usual} negatives but {least} to {most}: correct the others, "
        "or draw what is missing",
    )


def _shared(user: Int, item: Int, counts: Int, size: Int) -> Check:
    """Compare the sets of the users' negatives by the sum of a random number of each item."""
    key = generator(0, "sets").integers(1 << 62, size=int(item.max(initial=0)) + 1)
    sets = np.zeros(counts.size, dtype=np.int64)
    np.add.at(sets, user, key[item])
    choice = sets[(counts > 0) & (2 * counts < size)]
    found = choice.size - np.unique(choice).size
    check = _exact(
        "shared",
        found,
        f"{found:,} users have the negatives of another one: intervals and ranges take users for "
        "independent and are then too narrow; draw for each user",
    )
    return replace(check, passed=2 * found < choice.size or choice.size < 2)


def _exact(name: str, found: int, remark: str) -> Check:
    return Check(name, found == 0, found, 0.0, np.nan, remark if found else "")


def _uniformity(draws: _Draws) -> Check:
    """Chi-square test of how often each item was drawn."""
    ratio = draws.counts / np.maximum(draws.size, 1)
    n_items = draws.excluded.shape[1]
    counted = np.bincount(draws.item, minlength=n_items)
    expected, variance = draws.summed(ratio), draws.summed(ratio * draws.share)
    # Items next to each other are pooled until enough draws are expected.
    group = (np.cumsum(expected) / LEAST_EXPECTED).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    difference, spread = (np.bincount(group, part) for part in (counted - expected, variance))
    known = spread > 0
    freedom = max(int(known.sum()) - 1, 1)
    found = float((difference[known] ** 2 / spread[known]).sum())
    p_value = float(chi2.sf(found, freedom)) if known.sum() > 1 else 1.0
    remark = (
        "some items are drawn more often than others; corrections and ranges assume uniform draws"
    )
    return Check("uniformity", True, found, float(freedom), p_value, remark)


def _ids(draws: _Draws) -> Check:
    half = draws.excluded.shape[1] / 2
    lower = float(np.mean(draws.item < half)) if draws.item.size else 0.0
    check = _trend("ids", draws, np.arange(draws.excluded.shape[1]))
    remark = f"{lower:.1%} come from the lower half of the ids; the sampler prefers some ids"
    return replace(check, remark=remark)


def _popularity(draws: _Draws, popularity: Int) -> Check:
    check = _trend("popularity", draws, popularity)
    which = "popular" if check.found > check.expected else "unpopular"
    remark = (
        f"{which} items are preferred; corrections and ranges assume uniform draws and can be far "
        "off: draw uniform negatives"
    )
    return replace(check, remark=remark)


def _trend(name: str, draws: _Draws, order: Int) -> Check:
    """Normal test of the mean place of negatives in an order of the items, from 0 to 1."""
    place = (rankdata(order) - 0.5) / max(order.size, 1)
    mean = draws.mean(place)
    variance = np.maximum(draws.mean(place**2) - mean**2, 0.0)
    total = max(int(draws.counts.sum()), 1)
    found = float(place[draws.item].sum()) / total
    expected = float(draws.counts @ mean) / total
    deviation = np.sqrt(float((draws.counts * draws.share) @ variance)) / total
    p_value = float(2.0 * norm.sf(abs(found - expected) / deviation)) if deviation else 1.0
    return Check(name, True, found, expected, p_value, "")


def _adjusted(checks: list[Check]) -> list[Check]:
    """Adjust the p-values for their number, and pass those above the level."""
    p_values = adjusted([check.p_value for check in checks], "holm")
    return [
        replace(check, p_value=p, passed=p >= LEVEL, remark="" if p >= LEVEL else check.remark)
        for check, p in zip(checks, p_values, strict=True)
    ]


def _contains(table: csr_array, user: Int, item: Int) -> NDArray[np.bool_]:
    """Tell which pairs of users and items are nonzero in a table."""
    owner, other = marked(table).nonzero()
    n_items = table.shape[1]
    return np.isin(user * n_items + item, owner.astype(np.int64) * n_items + other)
