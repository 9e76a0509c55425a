"""Warnings about scores, ids and items that look like a mistake while they are read.

Those about rankings, whatever they were read from, are in `ranks.warnings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError, warn_input
from sampled_metrics.inputs.arrow_columns import positions
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items
from sampled_metrics.inputs.roles import ITEM, USER

if TYPE_CHECKING:
    from sampled_metrics.inputs.scores import ScoreSource

_MIN_IDS = {USER: 1, ITEM: 10}  # two sets of fewer ids may be disjoint by chance
_ID_SEPARATORS = r"[\s,;|/+_:'\"\[\]()-]+"  # between ids in one cell
_SAMPLED_IDS = 1000  # ids that are looked at
_MIN_ROWS = 10  # users, items or rows; fewer are alike or complete by chance
_NEARLY_ALL = 0.9  # share of users
_MIN_ROWS_OF_COLUMN = 50  # rows; fewer may have a score in common by chance


def warn_about_different_ids(
    column: str, name: str, ids: pa.Array, others_name: str, others: pa.Array
) -> None:
    """Warn about ids of users, or of items, of which few are in both, or in another form.

    Relevant items without a common one are refused.
    """
    n_ids = min(len(ids), len(others))
    n_common = int(np.count_nonzero(positions(ids, others) >= 0))
    if not n_ids or (ids.type == others.type and n_ids < _MIN_IDS[column]):
        n_common = n_ids
    if 10 * n_common >= n_ids:
        _warn_about_forms_of_ids(name, ids, others)
        _warn_about_forms_of_ids(name, others, ids)
        return
    found = (
        f"{n_common:,} of {n_ids:,} ids of the {column.removesuffix('_id')}s of {name} and "
        f"{others_name} are in both, such as {ids[0].as_py()!r} and {others[0].as_py()!r}"
    )
    if not n_common and name == RELEVANT:
        raise InputError(f"{found}; expected the same ids")
    warn_input(name, f"{found}: are these ids of the same things?")


def _warn_about_forms_of_ids(name: str, ids: pa.Array, others: pa.Array) -> None:
    """Warn about texts that are no id of others, but hold several of them, or one as a number."""
    if not pa.types.is_string(ids.type):
        return
    strange = ids.filter(pa.array(positions(ids, others) < 0))[:_SAMPLED_IDS]
    parts = pc.split_pattern_regex(strange, _ID_SEPARATORS)
    text = np.asarray(pc.list_parent_indices(parts))
    is_known = positions(pc.list_flatten(parts), others) >= 0
    several = np.bincount(text[is_known], minlength=len(strange)) > 1
    numbers = pd.to_numeric(strange.to_pandas(), errors="coerce")
    number = pa.array([f"{each:.15g}" for each in numbers], pa.string())
    same = (positions(number, others) >= 0) & (positions(number, ids) < 0)
    if several.any():
        found = strange[int(np.argmax(several))].as_py()
        warn_input(name, f"found {found!r}: are these several ids? Give each a row of its own")
    elif same.any():
        place = int(np.argmax(same))
        warn_input(
            name, f"found {strange[place].as_py()!r} and {number[place]}: are these the same id?"
        )


def warn_about_common_item(items: Items) -> None:
    """Warn that an item that is one of several for nearly all users fills up shorter lists."""
    sizes = items.sizes[items.sizes > 0]
    if sizes.size < _MIN_ROWS or np.count_nonzero(sizes > 1) < _NEARLY_ALL * sizes.size:
        return
    common = np.sort(np.bincount(items.item, minlength=2))
    if common[-1] >= _NEARLY_ALL * sizes.size and 2 * common[-2] <= common[-1]:
        item = np.bincount(items.item).argmax()
        name = item if items.item_ids is None else items.item_ids[int(item)]
        warn_input(
            RELEVANT,
            f"item {name} is relevant for {common[-1]:,} of {sizes.size:,} users, and no other for "
            "half as many: does it fill up shorter lists? Leave it out",
        )


def warn_about_unused_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        warn_input(
            RELEVANT, "grades are not used here; from full rankings `evaluate` takes them as gains"
        )


def warn_about_candidates_seen(users: int, items: int) -> None:
    """Warn that seen items may be candidates, if every user has a score for every item."""
    if min(users, items) >= _MIN_ROWS:
        warn_input(
            SEEN,
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; if they are none, give them as seen (--seen)",
        )


def warn_about_first_column(scores: ScoreSource, relevant: Items, seen: Items | None) -> None:
    """Warn about a first column that holds no scores: padding, or the numbers of the rows."""
    if (
        scores.begin is None
        or min(scores.begin.shape) < 2
        or len(scores.begin) < _MIN_ROWS_OF_COLUMN
    ):
        return
    first, second = np.asarray(scores.begin).T
    is_known = [items is not None and (items.item == 0).any() for items in (relevant, seen)]
    if any(is_known) or not np.isfinite(first).all():
        return
    name = 0 if scores.item_ids is None else scores.item_ids[0]
    steps = np.diff(first)
    if (steps == 0).all() and np.ptp(second) > 0:
        warn_input(
            "data",
            f"item {name} has the score {first[0]:g} for all users, and is relevant for or seen by "
            "none: is its column padding? Give it scores of -inf",
        )
    elif steps[0] > 0 and (steps == steps[0]).all():
        warn_input(
            "data",
            f"scores of item {name} are {first[0]:g}, {first[1]:g} and so on, and it is relevant "
            "for or seen by none: does its column hold ids of the rows? Leave it out",
        )


def warn_about_batches(row: Int, column: Int, width: int) -> None:
    """Warn that negatives may be held-out items of other rows: diagonals of square batches are."""
    n_rows = row.size
    if min(n_rows, width) < _MIN_ROWS or n_rows < width:
        return
    if np.array_equal(row, np.arange(n_rows)) and np.array_equal(column, row % width):
        warn_input(
            "positive",
            "held-out items are in columns 0, 1, 2 and so on of square batches: are the negatives "
            "of a row the held-out items of others? These are drawn by popularity, and ranges and "
            "metrics among them do not hold; score uniform negatives (sm.negatives), or all items",
        )


def warn_about_padding(n_padded: Int) -> None:
    """Warn that negatives that count as last may be padding."""
    n_rows = np.count_nonzero(n_padded)
    warn_input(
        "missing",
        f"{n_rows:,} rows end with -inf, which count as negatives behind all others; if they are "
        "padding of rows with fewer negatives, leave missing (--missing) out",
    )
