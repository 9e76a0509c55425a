"""Signs of a mistake in scores of all items, and in rows of scores of a held-out item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._base.array_types import Array, Floats, Int
from sampled_metrics._base.arrays import count_copies
from sampled_metrics.checks import Signs

if TYPE_CHECKING:
    from sampled_metrics.read.items import Items

_MIN_SIZE = 10  # fewer users, items or rows may be alike by accident
_MIN_ROWS_OF_COLUMN = 50  # fewer rows may share a score
# Share of the items. In an ALS of MovieLens 1M, up to 1 % of the vectors are nearly equal: those of
# films that the same users have seen.
_LEAST_COPIES = 0.01
_VECTORS_COMPARED_FIRST = 16_384  # about twice as many, if there are more
_MIN_PADDED_ROWS = 10  # fewer rows may end with -inf by chance
_LEAST_DISTINCT_SCORES = 8  # of 16 users; columns of fewer may be equal by chance
# Usual numbers of negatives, and the held-out item.
SAMPLE_SIZES = frozenset(m + 1 for m in (20, 50, 99, 100, 200, 500, 999, 1000))
_ROUND_SIZES = {100, 1000}  # catalogues have these numbers of items too
SAMPLE_REMEDY = (
    "and metrics among them are not exact; for the scores of a held-out item and its negatives "
    "(--positive), or sampled ranks, use `correct`"
)


def signs_of_sample_columns(column: Int, n_columns: int, is_catalogue: bool) -> Signs:
    """Look for columns of scores that are a held-out item and its negatives, not all items.

    Parameters
    ----------
    column
        Column of each user's held-out item. The same one for all users is a sign.
    n_columns
        Number of columns, all of which are candidates. One that is usual for samples is a sign.
    is_catalogue
        Whether columns are said to be all items, by ids or their number. Then one sign is not
        enough.
    """
    if column.size < _MIN_SIZE or n_columns < min(SAMPLE_SIZES):
        return
    is_one_column = (column == column[0]).all()
    is_usual = n_columns in SAMPLE_SIZES
    sign = None
    if is_one_column and (is_usual or not is_catalogue):
        sign = f"column {column[0]} is the held-out item of all {column.size:,} users"
    elif is_usual and not is_catalogue and n_columns not in _ROUND_SIZES:
        sign = f"scores have {n_columns:,} columns without ids"
    if sign is not None:
        yield "data", f"{sign}: these look like sampled candidates, {SAMPLE_REMEDY}"


def signs_of_first_column(
    first_columns: Array | None, item_ids: Any, *, relevant: Items, seen: Items | None
) -> Signs:
    """Look for a first column that contains no scores: padding, or the numbers of the rows.

    Parameters
    ----------
    first_columns
        First two columns of the scores in some rows, evenly spaced; None if they are not known.
    item_ids
        Ids of columns; None if they are numbered.
    relevant, seen
        Relevant and seen items of all users, by column.
    """
    if first_columns is None or first_columns.shape[1] < 2:
        return
    if len(first_columns) < _MIN_ROWS_OF_COLUMN:
        return
    first, second = np.asarray(first_columns).T
    # An item that some user has seen, or has as relevant, is no padding.
    is_used = any(items is not None and (items.item == 0).any() for items in (relevant, seen))
    if is_used or not np.isfinite(first).all():
        return
    item_id = 0 if item_ids is None else item_ids[0]
    steps = np.diff(first)
    is_constant = (steps == 0).all()
    numbers_rows = steps[0] > 0 and (steps == steps[0]).all()
    if is_constant and np.ptp(second) > 0:  # and the second column is not constant as well
        yield (
            "data",
            f"item {item_id} has the score {first[0]:g} for all users, and no user has seen it or "
            "has it as relevant; if its column is padding, set its scores to -inf",
        )
    elif numbers_rows:
        yield (
            "data",
            f"scores of item {item_id} count {first[0]:g}, {first[1]:g}, ..., and no user has seen "
            "it or has it as relevant; if its column contains ids of the rows, drop it",
        )


def signs_of_equal_vectors(vectors: Floats) -> Signs:
    """Look for equal item vectors, as of items that are among the candidates more than once.

    Vectors of equal numbers do not count: those of items without any event are often 0.
    """
    n_copies = 0
    if _some_are_copies(vectors):
        n_copies = count_copies(vectors, least_distinct=2)
    yield from _signs_of_copies(n_copies, len(vectors), "rows of the item vectors")


def _some_are_copies(vectors: Floats) -> bool:
    """Return whether there are copies among some of many vectors.

    These are the vectors at equal distances, which show large groups of equal vectors, and those
    with some values of one number, which show a share of the small groups.
    """
    one_in = len(vectors) // _VECTORS_COMPARED_FIRST | 1  # odd, as the last bits are often 0
    if one_in == 1:
        return True
    bits = np.ascontiguousarray(vectors[:, 0]).view(f"u{vectors.itemsize}")
    is_chosen = bits % one_in == 0
    is_chosen[::one_in] = True
    return count_copies(vectors[is_chosen], least_distinct=2) > 0


def signs_of_equal_columns(some_rows: Floats) -> Signs:
    """Look for columns of scores that are equal in some rows.

    Few different scores may be equal by chance, and those of a model that ranks alike for all users
    are equal if, for example, items have as many events.
    """
    if len(some_rows) < 2 or _ranks_alike(some_rows[0], some_rows[-1]):
        return
    columns = some_rows.T.astype(np.float64)
    columns = columns[~np.isnan(columns).any(axis=1)]  # which are refused later
    n_copies = count_copies(columns, least_distinct=_LEAST_DISTINCT_SCORES)
    yield from _signs_of_copies(n_copies, some_rows.shape[1], "columns of the scores")


def _signs_of_copies(n_copies: int, n_items: int, noun: str) -> Signs:
    if n_copies >= max(1.0, _LEAST_COPIES * n_items):
        yield (
            "data",
            f"{n_copies:,} of {n_items:,} {noun} equal another: is an item among the candidates "
            "more than once? A relevant item is tied with its own copies, and below all copies of "
            "a better one; keep one for each item",
        )


def _ranks_alike(first: Floats, second: Floats) -> bool:
    """Return whether two users' scores order the items in the same way."""
    first_order, second_order = (np.argsort(scores, kind="stable") for scores in (first, second))
    return np.array_equal(first_order, second_order)


def signs_of_batches(row: Int, column: Int, width: int) -> Signs:
    """Look for square batches, whose negatives are held-out items of other rows.

    Parameters
    ----------
    row, column
        Places of the held-out items among the scores.
    width
        Number of columns.
    """
    n_rows = row.size
    if min(n_rows, width) < _MIN_SIZE or n_rows < width:
        return
    has_one_per_row = np.array_equal(row, np.arange(n_rows))
    is_on_diagonals = np.array_equal(column, row % width)  # of batches of `width` rows
    if has_one_per_row and is_on_diagonals:
        yield (
            "positive",
            "held-out items are in columns 0, 1, 2 and so on of square batches, so the negatives "
            "of a row are held-out items of other rows, which are drawn by popularity, and neither "
            "metrics nor ranges among them are valid; score uniform negatives (sm.negatives), or "
            "all items",
        )


def signs_of_padding(n_padded: Int, n_missing: Int) -> Signs:
    """Look for negatives of -inf at the ends of rows only, which count as last.

    Parameters
    ----------
    n_padded, n_missing
        Scores of -inf at the end of each row, and anywhere in it; shape (rows,).
    """
    n_rows = np.count_nonzero(n_padded)
    if n_rows >= _MIN_PADDED_ROWS and np.array_equal(n_padded, n_missing):
        yield (
            "missing",
            f"{n_rows:,} rows end with -inf, which count as negatives below all others; if they "
            "are padding of rows with fewer negatives, drop missing (--missing)",
        )
