"""Warnings about scores, ids and items that look like a mistake while they are read.

Warnings about rankings, whatever they were read from, are in `checks.ranks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Array, Float, Floats, Int
from sampled_metrics._base.arrays import count_copies
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.calls import note_meaning, warn_input
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items
from sampled_metrics.inputs.roles import ITEM, USER

# The thresholds keep chance from raising a warning: smaller data may look this way by accident.
_MIN_IDS = {USER: 1, ITEM: 10}  # fewer ids may be disjoint
_MIN_SIZE = 10  # fewer users, items or rows may be alike, or complete
_MIN_ROWS_OF_COLUMN = 50  # fewer rows may share a score
_NEARLY_ALL = 0.9  # share of users
_CHECKED_IDS = 1000
# Share of the items. In an ALS of MovieLens 1M, up to 1 % of the vectors are nearly equal: those of
# films that the same users have seen.
_LEAST_COPIES = 0.01
_LEAST_DISTINCT_SCORES = 8  # of 16 users; columns of fewer may be equal by chance
_ID_SEPARATORS = r"[\s,;|/+_:'\"\[\]()-]+"  # between several ids in one cell


def warn_about_different_ids(
    column: str, name: str, ids: pa.Array, other_name: str, other_ids: pa.Array
) -> None:
    """Warn if few ids of users or items are in both of two columns, or if they differ in form.

    Relevant items without a common id are an error.
    """
    n_ids = min(len(ids), len(other_ids))
    n_common = int(np.count_nonzero(positions(ids, other_ids) >= 0))
    if not n_ids or (ids.type == other_ids.type and n_ids < _MIN_IDS[column]):
        n_common = n_ids
    if 10 * n_common >= n_ids:  # a tenth or more
        _warn_about_forms_of_ids(name, ids, other_ids)
        _warn_about_forms_of_ids(name, other_ids, ids)
        return
    comparison = (
        f"{n_common:,} of {n_ids:,} ids of the {column.removesuffix('_id')}s of {name} and "
        f"{other_name} are in both, such as {ids[0].as_py()!r} and {other_ids[0].as_py()!r}"
    )
    if not n_common and name == RELEVANT:
        raise InputError(f"{comparison}; expected the same ids")
    warn_input(name, f"{comparison}; do both name the same {column.removesuffix('_id')}s?")


def _warn_about_forms_of_ids(name: str, ids: pa.Array, other_ids: pa.Array) -> None:
    """Warn about texts that hold several other ids, or another id in another form of a number."""
    if not pa.types.is_string(ids.type):
        return
    unmatched = ids.filter(pa.array(positions(ids, other_ids) < 0))[:_CHECKED_IDS]
    parts = pc.split_pattern_regex(unmatched, _ID_SEPARATORS)
    text = np.asarray(pc.list_parent_indices(parts))
    is_known = positions(pc.list_flatten(parts), other_ids) >= 0
    holds_several = np.bincount(text[is_known], minlength=len(unmatched)) > 1
    numbers = pd.to_numeric(unmatched.to_pandas(), errors="coerce")
    rewritten = pa.array([f"{number:.15g}" for number in numbers], pa.string())
    is_same = (positions(rewritten, other_ids) >= 0) & (positions(rewritten, ids) < 0)
    if holds_several.any():
        first = unmatched[int(np.argmax(holds_several))].as_py()
        warn_input(name, f"found {first!r}; if it holds several ids, give each a row of its own")
    elif is_same.any():
        place = int(np.argmax(is_same))
        warn_input(
            name,
            f"found {unmatched[place].as_py()!r} and {rewritten[place]}; are these the same id?",
        )


def warn_about_common_item(items: Items) -> None:
    """Warn about one of several relevant items that nearly all users share, as padding is."""
    sizes = items.sizes[items.sizes > 0]
    if sizes.size < _MIN_SIZE or np.count_nonzero(sizes > 1) < _NEARLY_ALL * sizes.size:
        return
    counts = np.bincount(items.item, minlength=2)
    second, first = np.sort(counts)[-2:]
    if first >= _NEARLY_ALL * sizes.size and 2 * second <= first:
        item = int(counts.argmax())
        item_id = item if items.item_ids is None else items.item_ids[item]
        warn_input(
            RELEVANT,
            f"item {item_id} is relevant for {first:,} of {sizes.size:,} users, and no other for "
            "half as many; if it fills up shorter lists, leave it out",
        )


def warn_about_unused_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        warn_input(
            RELEVANT,
            "grades are not used here; from full rankings `evaluate` takes them as gains",
        )


def note_missing_seen(n_users: int, n_items: int) -> None:
    """Note that seen items may be candidates, as all users have a score for every item."""
    if min(n_users, n_items) >= _MIN_SIZE:
        note_meaning(
            SEEN,
            f"none, so items seen in training are among the {n_items:,} candidates of each user; "
            "pass them as seen (--seen), or seen='none' (--seen none) if there are none",
        )


def warn_about_first_column(
    first_columns: Array | None, item_ids: Any, *, relevant: Items, seen: Items | None
) -> None:
    """Warn about a first column that holds no scores: padding, or the numbers of the rows."""
    if first_columns is None or first_columns.shape[1] < 2:
        return
    if len(first_columns) < _MIN_ROWS_OF_COLUMN:
        return
    first, second = np.asarray(first_columns).T
    is_used = any(items is not None and (items.item == 0).any() for items in (relevant, seen))
    if is_used or not np.isfinite(first).all():
        return
    item_id = 0 if item_ids is None else item_ids[0]
    steps = np.diff(first)
    if (steps == 0).all() and np.ptp(second) > 0:
        warn_input(
            "data",
            f"item {item_id} has the score {first[0]:g} for all users, and is relevant for or seen "
            "by none; if its column is padding, give it scores of -inf",
        )
    elif steps[0] > 0 and (steps == steps[0]).all():
        warn_input(
            "data",
            f"scores of item {item_id} are {first[0]:g}, {first[1]:g} and so on, and it is "
            "relevant for or seen by none; if its column holds ids of the rows, leave it out",
        )


def signs_of_equal_vectors(vectors: Floats) -> Iterator[tuple[str, str]]:
    """Look for equal item vectors, as of items that are among the candidates more than once.

    Vectors of equal numbers do not count: those of items without any event are often 0.
    """
    n_copies = count_copies(vectors, least_distinct=2)
    yield from _signs_of_copies(n_copies, len(vectors), "rows of the item vectors")


def signs_of_equal_columns(some_rows: Floats) -> Iterator[tuple[str, str]]:
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


def _signs_of_copies(n_copies: int, n_items: int, noun: str) -> Iterator[tuple[str, str]]:
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


def describe_batches(row: Int, column: Int, width: int) -> str:
    """Describe square batches, whose negatives are held-out items of other rows; empty if not."""
    n_rows = row.size
    if min(n_rows, width) < _MIN_SIZE or n_rows < width:
        return ""
    if not (np.array_equal(row, np.arange(n_rows)) and np.array_equal(column, row % width)):
        return ""
    return (
        "held-out items are in columns 0, 1, 2 and so on of square batches, so the negatives of a "
        "row are held-out items of other rows, which are drawn by popularity, and neither metrics "
        "nor ranges among them hold; score uniform negatives (sm.negatives), or all items"
    )


def warn_about_padding(n_padded: Int) -> None:
    """Warn that negatives that count as last may be padding."""
    n_rows = np.count_nonzero(n_padded)
    warn_input(
        "missing",
        f"{n_rows:,} rows end with -inf, which count as negatives behind all others; if they are "
        "padding of rows with fewer negatives, leave missing (--missing) out",
    )
