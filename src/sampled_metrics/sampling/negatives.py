"""Draws of negatives, and checks whether negatives of others are uniform."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import bdtrc, chdtrc

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import pair_codes, sorted_unique
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.calls import adapt_to_caller
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import Record
from sampled_metrics._base.sparse import canonical_csr, indicator_matrix
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.sampling import Design
from sampled_metrics.read.item_counts import ItemCounts
from sampled_metrics.sampling.designs import DesignDraws, draw_uniform
from sampled_metrics.sampling.evenness import (
    LEAST_EXPECTED,
    Draws,
    describe_design,
    draws_of_pairs,
    is_in_batch,
    is_one_set,
    measure_evenness,
)

# Probability that sound negatives fail the test of uniformity, and are then not corrected. Slightly
# uneven negatives pass.
LEVEL = 0.001
_REMARKS = {
    "held-out item": "{found:,} users have their held-out item: drop it, and count one "
    "negative fewer for them",
    "seen items": "{found:,} of {drawn:,} were seen in training, {expected:,.0f} expected if all "
    "items are drawn: n is then {n_items:,}, and the corrected metric ranks among seen items too",
    "duplicates": "{found:,} repeat an item of the user, {expected:,.0f} expected with "
    "replacement: pass sampling='with-replacement' (--sampling with-replacement) if they were "
    "drawn so, else draw again",
    "shared": "{found:,} users have the negatives of another one, so that intervals and ranges are "
    "too narrow, and orders open; draw for each user",
}
_REPEATED = (
    "{found:,} repeat an item of the user, so the range assumes the wrong way of drawing; pass "
    "sampling='with-replacement' (--sampling with-replacement) if they were drawn so"
)
_NOT_UNIFORM = (
    "some items are drawn more often: were they drawn by popularity, or one set for all users? "
    "If by popularity, pass counts= (--counts), the events of training, wherever they are "
    "corrected; else draw again"
)
_WITH_COUNTS = (
    "drawn {design}: pass counts= (--counts), as here, wherever they are corrected; without it, "
    "corrections and ranges assume uniform draws"
)
_OFTEN = (
    "{found:,} of {n_users:,} users have item {item}, and uniform draws from {n_others:,} items "
    "give {expected:,.0f} or fewer: were they drawn by popularity, by a retriever, or one set for "
    "all users? Popular ones outrank the held-out one more often, so ranges and estimates for "
    "uniform negatives would be too low. If by popularity, pass counts= (--counts), the events of "
    "training; else score uniform negatives (`negatives`), or all items (`evaluate`)"
)
_UNEVEN = (
    "of items with about the same count, some are drawn more often than chance explains: something "
    "other than popularity decided (hard negatives, a retriever, the first of sorted ids), or "
    "other counts. Score uniform negatives (`negatives`), or keep only the random part of them; or "
    "pass the counts by which they were drawn"
)
_SHARED_BY_USERS = "; users share them, so pass cluster= (--cluster) too"
_ONE_SET = "as one set for all users"
_IN_BATCH = "as the held-out items of other users, in batches"


def draw_negatives(
    excluded: csr_array,
    m: int,
    *,
    popularity: Float | None = None,
    design: Design | str = Design.UNIFORM,
    seed: int = 0,
    users: Ids | None = None,
) -> Int:
    """Draw negatives for each user, without replacement.

    Parameters
    ----------
    excluded
        Nonzero at items that a user cannot draw, shape (users, items).
    m
        Negatives of each user.
    popularity
        Counts of the items, above 0, shape (items,); None for uniform negatives.
    design
        How negatives are drawn, see `Design`.
    seed
        The negatives of a user depend only on it, the user's row and its excluded items, and on
        the design and the popularity.
    users
        Ids of the users for error messages, by default their rows.

    Returns
    -------
    int64, shape (users, m); items in random order.

    Examples
    --------
    >>> excluded = csr_array(np.array([[1, 0, 0, 1], [0, 0, 1, 0]]))
    >>> np.sort(draw_negatives(excluded, 2), axis=1)
    array([[1, 2],
           [0, 3]])
    >>> popularity = np.array([1.0, 1, 900, 900])
    >>> draw_negatives(excluded, 1, popularity=popularity, design="popularity").ravel()
    array([2, 3])
    """
    m = whole_number("n_negatives", m, 1)
    design = Design(design)
    table = canonical_csr(excluded)
    n_users, n_items = table.shape
    _require_candidates(n_items - np.diff(table.indptr), m, users)
    design_draws = None
    if design is not Design.UNIFORM:
        if popularity is None:
            raise ValueError(f"design {design} needs the popularity of items")
        design_draws = DesignDraws(popularity, design)
    negatives = np.empty((n_users, m), dtype=np.int64)
    for user in range(n_users):
        first, end = table.indptr[user : user + 2]
        excluded_items = table.indices[first:end].astype(np.int64)  # of the user
        if design_draws is None:
            rng = generator(seed, "negatives", user)
            rng.random()  # keeps the negatives of earlier versions
            negatives[user] = draw_uniform(rng, n_items, excluded_items, m)
        else:
            rng = generator(seed, "negatives", str(design), user)
            negatives[user] = design_draws.draw(rng, excluded_items, m)
    return negatives


def _require_candidates(n_candidates: Int, m: int, users: Ids | None) -> None:
    """Raise InputError if a user has fewer than m candidates; `users` are ids for its message."""
    if n_candidates.size and m > n_candidates.min():
        user = n_candidates.argmin()
        name = user if users is None else users[user]
        raise InputError(
            f"{m} negatives requested; user {name} has {n_candidates[user]} candidates left"
        )


@dataclass(frozen=True, eq=False)
class Check(Record):
    """One property of negatives."""

    name: str  # held-out item, seen items, duplicates, uniformity, shared or evenness
    passed: bool  # whether it is as corrections assume
    found: float  # count or test statistic
    expected: float  # mean of `found` for sound negatives
    p_value: float  # probability that sound negatives deviate as much; NaN if it is not random
    # Consequence and remedy; empty if the check has passed, and the design for evenness.
    remark: str


def check_drawn_negatives(
    user: Int,
    item: Int,
    seen_items: csr_array,
    held_out_items: csr_array,
    popularity: Float | None = None,
) -> list[Check]:
    """Test whether negatives are distinct, unseen and uniform.

    They must be uniform among the items that a user has not seen, or among all items if seen items
    were drawn too. Draws of held-out items, seen items and repeated items pass only if there are
    none of them. Uniformity passes if its p-value is not small. With the popularity of items, their
    evenness among items of about the same popularity is tested too, see `check_evenness`.

    Parameters
    ----------
    user, item
        Row and column of each negative in the two matrices.
    seen_items, held_out_items
        Nonzero at items seen in training and at held-out items, shape (users, items).
    popularity
        Counts of the items, above 0, shape (items,).

    Returns
    -------
    list of Check
        `held-out item` (users with such a draw), `seen items`, `duplicates` (draws), `uniformity`
        and, with popularity, `evenness`. If some seen items were drawn, that check fails, and the
        others treat them as candidates: the draws may be sound among all items.

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
    is_held_out = _contains(held_out, user, item)
    is_seen = _contains(seen, user, item) & ~is_held_out
    # If seen items were drawn too, they are candidates in the other checks.
    excluded = held_out
    if not is_seen.any():
        excluded = indicator_matrix(seen_items + held_out_items)
    negative_user = user[~is_held_out]
    negative_item = item[~is_held_out]
    duplicates, uniformity = _check_independence(negative_user, negative_item, excluded)
    checks = [
        _check_count("held-out item", np.unique(user[is_held_out]).size),
        _check_seen(is_seen, negative_user, seen),
        duplicates,
    ]
    if popularity is None:
        return [*checks, uniformity]
    draws = draws_of_pairs(user, item, held_out=held_out, seen=seen, popularity=popularity)
    evenness = _check_draws(draws)
    return [*checks, _explain_by_design(uniformity, evenness), evenness]


def _check_seen(is_seen: Bool, negative_user: Int, seen: csr_array) -> Check:
    """Return the check that no seen item was drawn.

    Expected, if all items were drawn alike, are the draws of each user times the share of the items
    that the user has seen.

    Parameters
    ----------
    is_seen
        Whether each draw is of a seen item.
    negative_user
        User of each draw that is no held-out item.
    seen
        Nonzero at seen items, shape (users, items).
    """
    n_users, n_items = seen.shape
    n_draws = np.bincount(negative_user, minlength=n_users)
    n_seen = np.diff(seen.indptr)
    return _check_count(
        "seen items",
        int(is_seen.sum()),
        drawn=is_seen.size,
        expected=n_draws @ n_seen / n_items,
        n_items=n_items,
    )


def _check_independence(user: Int, item: Int, excluded: csr_array) -> tuple[Check, Check]:
    """Return the checks for repeated items, and for uniform draws from the candidates.

    Parameters
    ----------
    user, item
        A pair for each negative.
    excluded
        Nonzero at items that are no candidates of a user, shape (users, items).
    """
    n_users, n_items = excluded.shape
    n_draws = np.bincount(user, minlength=n_users)
    n_candidates = n_items - np.diff(excluded.indptr)
    n_repeated = _count_repeated(user, item, n_items)
    duplicates = _check_count(
        "duplicates", n_repeated, expected=_expect_repeated(n_draws, n_candidates)
    )
    uniformity = _check_uniformity(
        n_draws,
        item,
        excluded=excluded,
        n_candidates=n_candidates,
        is_distinct=n_repeated == 0,
    )
    return duplicates, uniformity


def _count_repeated(user: Int, item: Int, n_items: int) -> int:
    """Count the pairs of a user and an item that equal an earlier one."""
    return user.size - sorted_unique(pair_codes(user, item, n_items)).size


def _expect_repeated(n_draws: Int, n_candidates: Int) -> float:
    """Return the expected number of repeated items in draws with replacement by each user.

    Of c draws from n candidates, a candidate is missed by all with probability (1 - 1/n)^c. The
    repeated draws are those less the distinct items: c - (n - n (1 - 1/n)^c), summed over users.

    Parameters
    ----------
    n_draws, n_candidates
        c and n of each user; shape (users,).
    """
    log_missed = np.log1p(-1.0 / np.maximum(n_candidates, 2))
    n_missed = n_candidates * np.exp(n_draws * log_missed)
    return float((n_draws - n_candidates + n_missed).sum())


def _explain_by_design(uniformity: Check, evenness: Check) -> Check:
    """Return a failed check of uniformity with the remark for negatives of another design."""
    if uniformity.passed or not evenness.passed:
        return uniformity
    remark = _WITH_COUNTS.format(design=evenness.remark)
    if evenness.remark in (_ONE_SET, _IN_BATCH):
        remark += _SHARED_BY_USERS
    return replace(uniformity, remark=adapt_to_caller(remark))


def are_sound(checks: Sequence[Check]) -> bool:
    """Return whether negatives can be corrected: with counts if they are even, but not uniform.

    Examples
    --------
    >>> uniformity = Check("uniformity", False, 90.0, 20.0, 1e-9, "drawn by popularity")
    >>> evenness = Check("evenness", True, 20.0, 20.0, 0.5, "by popularity")
    >>> are_sound([uniformity]), are_sound([uniformity, evenness])
    (False, True)
    """
    failed = {check.name for check in checks if not check.passed}
    if any(check.name == "evenness" for check in checks):
        failed.discard("uniformity")
    return not failed


def check_pairs(pairs: ScoredPairs, n_items: int) -> list[Check]:
    """Test the negatives among pairs of users and items if seen items are not known.

    Users who have seen an item do not draw it. Therefore only items that were drawn too often fail
    the test.

    Parameters
    ----------
    pairs
        Held-out items and negatives.
    n_items
        Number of candidates of a user in a full ranking, the held-out item included. If users
        differ, the least one, with which the tests are most lenient.

    Returns
    -------
    list of Check
        `held-out item` (users who have their held-out item among their negatives), `duplicates`
        (negatives that repeat one of the same user), and one test of the draws: `shared` (users
        who have the same set of negatives as another one) if it fails, and else `uniformity` (users
        who have the item that was drawn most).

    Examples
    --------
    >>> users = np.repeat(np.arange(90), 3)
    >>> items = np.column_stack([np.arange(90), np.arange(1, 91), np.full(90, 99)]).ravel()
    >>> pairs = ScoredPairs(users, items, np.arange(270) % 3 == 0, np.arange(100))
    >>> checks = check_pairs(pairs, 100)
    >>> [(check.name, check.found) for check in checks if not check.passed]
    [('uniformity', 90)]
    """
    n_ids = pairs.item_ids.size
    is_labelled_negative, users_with_held_out_item = _find_held_out_negatives(pairs)
    is_negative = ~pairs.held_out & ~is_labelled_negative
    user = pairs.user[is_negative]
    item = pairs.item[is_negative]
    shared = _check_count("shared", count_shared(user, item, n_items - 1))
    return [
        _check_count("held-out item", np.unique(users_with_held_out_item).size),
        _check_count("duplicates", _count_repeated(user, item, n_ids), _REPEATED),
        # The test of the most drawn item takes users as independent. Those who share a set are not.
        _check_most_drawn(user, item, pairs, n_items) if shared.passed else shared,
    ]


def _find_held_out_negatives(pairs: ScoredPairs) -> tuple[Bool, Int]:
    """Find held-out items that are also negatives of their users.

    They are so if another pair with the item has the label of a negative; or, if pairs are marked
    as held out by their items and not by labels, if the item occurs twice.

    Returns
    -------
    is_labelled_negative, users
        Whether each pair is such a negative, by its label; and the users who have one, by labels or
        by items, some of them several times.
    """
    n_ids = pairs.item_ids.size
    pair_of_row = pair_codes(pairs.user, pairs.item, n_ids)
    held_out_pairs, n_occurrences = np.unique(pair_of_row[pairs.held_out], return_counts=True)
    is_labelled_negative = np.isin(pair_of_row, held_out_pairs) & ~pairs.held_out
    users_by_label = pairs.user[is_labelled_negative]
    users_by_item = held_out_pairs[n_occurrences > 1] // n_ids
    return is_labelled_negative, np.concatenate([users_by_label, users_by_item])


def check_evenness(
    pairs: ScoredPairs,
    counts: ItemCounts,
    units: Units | None = None,
    clusters: Int | None = None,
) -> Check:
    """Test whether popularity alone decided which negatives were drawn.

    Items with about the same count must be drawn about equally often by those who can draw them.
    Items that a user has seen are no candidates if `counts` has the events of the user, unless
    about as many of them were drawn as by chance. One set for all users, and the held-out items of
    a batch, pass, because users then do not draw independently.

    Parameters
    ----------
    pairs
        Held-out items and negatives, all of which have a count.
    counts
        Counts of all items of the catalogue, and the events behind them if they are known.
    units
        Users or visits by the numbers of the pairs; None if seen items are not known.
    clusters
        Cluster of each user or visit, if users share their negatives; a cluster then draws once.

    Returns
    -------
    Check
        `evenness`: chi-square, its expectation for sound negatives, and in `remark` the design if
        the check has passed and seen items are known. It fails at the level `LEVEL`.

    Examples
    --------
    >>> counts = ItemCounts(np.arange(60), np.repeat([8.0, 2.0], 30))
    >>> users, held_out = np.arange(1200) // 3, np.arange(1200) % 3 == 0
    >>> items = np.where(held_out, users % 30, np.arange(1200) % 60)
    >>> check_evenness(ScoredPairs(users, items, held_out, np.arange(60)), counts).passed
    True
    >>> items = np.where(held_out, users % 30, 40 + np.arange(1200) % 9)
    >>> check_evenness(ScoredPairs(users, items, held_out, np.arange(60)), counts).passed
    False
    """
    row = pairs.user
    item = positions(pairs.item_ids, counts.item_ids)[pairs.item]  # among the counted items
    n_rows = int(row.max(initial=-1)) + 1
    seen = None  # if it is not known
    if units is not None and counts.events is not None:
        n_rows = max(n_rows, len(units))
        seen = counts.events.for_visits(units).matrix()
    n_items = counts.counts.size
    draws = draws_of_pairs(
        row[~pairs.held_out],
        item[~pairs.held_out],
        held_out=_indicator(row[pairs.held_out], item[pairs.held_out], (n_rows, n_items)),
        seen=seen,
        popularity=counts.counts,
    )
    if clusters is not None:
        draws = draws.by_cluster(clusters)
    return _check_draws(draws, is_described=seen is not None)


def _check_draws(draws: Draws, is_described: bool = True) -> Check:
    """Test evenness, unless rows share their negatives.

    Rows that share negatives do not draw independently, so the test says nothing about them.

    Parameters
    ----------
    draws
        Draws of users, visits or clusters.
    is_described
        Whether the remark says which design it was. Seen items must then be known, because popular
        items, which many users have seen, would seem to be drawn too seldom.
    """
    evenness = measure_evenness(draws)
    p_value = evenness.p_value
    is_uneven = p_value < LEVEL
    design = ""
    if is_uneven:
        design = _describe_sharing(draws)
    elif is_described and draws.item.size:
        design = describe_design(draws)
    is_shared = is_uneven and bool(design)
    passed = not is_uneven or is_shared
    return Check(
        name="evenness",
        passed=passed,
        found=evenness.chi_square,
        expected=max(evenness.freedom, 1.0),
        p_value=p_value,
        remark=design if passed else adapt_to_caller(_UNEVEN),
    )


def _describe_sharing(draws: Draws) -> str:
    """Say how rows seem to share their negatives, or nothing."""
    if is_one_set(draws):
        return _ONE_SET
    if is_in_batch(draws):
        return _IN_BATCH
    return ""


def _indicator(row: Int, column: Int, shape: tuple[int, int]) -> csr_array:
    """Return a matrix of ones at these rows and columns."""
    return indicator_matrix(csr_array((np.ones(row.size), (row, column)), shape=shape))


def count_shared(user: Int, item: Int, n_candidates: int) -> int:
    """Count the users with the same set of negatives as an earlier user.

    Returns 0 if less than half of the users have one. Users with half of the candidates or more are
    skipped, because sets of that size may agree by chance. Sets are compared by sums of a random
    number for each item.
    """
    n_draws = np.bincount(user)
    key_of_item = generator(0, "sets").integers(1 << 62, size=item.max(initial=0) + 1)
    key_of_user = np.zeros(n_draws.size, dtype=np.int64)
    np.add.at(key_of_user, user, key_of_item[item])  # may overflow, alike for equal sets
    is_compared = (n_draws > 0) & (2 * n_draws < n_candidates)
    keys = key_of_user[is_compared]
    n_shared = keys.size - sorted_unique(keys).size
    return n_shared if 2 * n_shared >= keys.size else 0


def _check_most_drawn(user: Int, item: Int, pairs: ScoredPairs, n_items: int) -> Check:
    """Test whether uniform draws explain how many users have the item that was drawn most.

    The number of users with an item is binomial. As any item may be the most drawn one, the p-value
    is that of this item times the number of items (Bonferroni).

    Parameters
    ----------
    user, item
        A pair for each negative.
    pairs
        All pairs, with the ids of items.
    n_items
        Number of candidates of a user, the held-out item included.
    """
    n_users = int(pairs.user.max()) + 1
    n_ids = pairs.item_ids.size
    _, distinct_pairs = np.unique(pair_codes(user, item, n_ids), return_index=True)
    users_of_item = np.bincount(item[distinct_pairs], minlength=n_ids)
    most_drawn = int(users_of_item.argmax())
    n_found = int(users_of_item[most_drawn])
    n_expected = distinct_pairs.size / (n_items - 1)
    probability = min(n_expected / n_users, 1.0)  # that a user has an item
    of_one_item = float(bdtrc(n_found - 1, n_users, probability))  # of `n_found` users or more
    p_value = min(1.0, n_ids * of_one_item)
    remark = ""
    if p_value < LEVEL:
        remark = _OFTEN.format(
            found=n_found,
            expected=n_expected,
            item=pairs.item_ids[most_drawn],
            n_users=n_users,
            n_others=n_items - 1,
        )
    return Check(
        name="uniformity",
        passed=not remark,
        found=n_found,
        expected=n_expected,
        p_value=p_value,
        remark=remark,
    )


def _check_count(name: str, count: int, template: str = "", **values: float | str) -> Check:
    """Return the check of a count that is 0 for sound negatives.

    The remark is `template`, by default that of the name, filled in with the count and `values`.
    """
    remark = ""
    if count:
        remark = adapt_to_caller((template or _REMARKS[name]).format(found=count, **values))
    return Check(name, not count, count, 0.0, np.nan, remark)


def _contains(table: csr_array, row: Int, column: Int) -> Bool:
    """Return for each row and column whether a table is nonzero there."""
    nonzero_rows, nonzero_columns = table.nonzero()
    n_columns = table.shape[1]
    nonzeros = pair_codes(nonzero_rows, nonzero_columns, n_columns)
    return np.isin(pair_codes(row, column, n_columns), nonzeros)


def _check_uniformity(
    n_draws: Int, item: Int, *, excluded: csr_array, n_candidates: Int, is_distinct: bool
) -> Check:
    """Test by chi-square how often each item was drawn.

    A user with c draws from n candidates draws each of them c / n times. Squared deviations are
    divided by c / n if draws are with replacement, and by c / n (1 - (c - 1) / (n - 1)) if they are
    distinct. Both are n / (n - 1) times the variance of a count, because the counts of a user add
    up to c, as in Pearson's chi-square.

    Parameters
    ----------
    n_draws, n_candidates
        c and n of each user, shape (users,).
    item
        Item of each draw.
    excluded
        Nonzero at items that are no candidates of a user, shape (users, items).
    is_distinct
        Whether no user drew an item twice, as in draws without replacement.
    """

    def sum_over_users(values: Float) -> Float:
        """Sum values of users over those who have each item as a candidate."""
        return values.sum() - excluded.T @ values

    draws_per_candidate = n_draws / np.maximum(n_candidates, 1)
    expected = sum_over_users(draws_per_candidate)
    variance = expected
    if is_distinct:
        share_left = 1.0 - (n_draws - 1) / np.maximum(n_candidates - 1, 1)
        variance = sum_over_users(draws_per_candidate * share_left)
    found = np.bincount(item, minlength=expected.size)
    chi_square, freedom = _chi_square_of_pools(found, expected, variance)
    p_value = 1.0
    if freedom > 0:
        p_value = float(chdtrc(freedom, chi_square))
    remark = _NOT_UNIFORM if p_value < LEVEL else ""
    return Check(
        name="uniformity",
        passed=not remark,
        found=chi_square,
        expected=max(freedom, 1.0),
        p_value=p_value,
        remark=remark,
    )


def _chi_square_of_pools(found: Int, expected: Float, variance: Float) -> tuple[float, float]:
    """Return chi-square and its degrees of freedom for numbers of draws of items.

    Items next to each other are pooled until enough draws are expected. All arguments are of shape
    (items,).
    """
    expected_pools_up_to_item = (np.cumsum(expected) / LEAST_EXPECTED).astype(np.int64)
    _, pool = np.unique(expected_pools_up_to_item, return_inverse=True)
    difference = np.bincount(pool, found - expected)
    variance_of_pool = np.bincount(pool, variance)
    varies = variance_of_pool > 0
    chi_square = float((difference[varies] ** 2 / variance_of_pool[varies]).sum())
    return chi_square, float(varies.sum() - 1)
