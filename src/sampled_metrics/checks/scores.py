"""Signs of a mistake in scores of all items, and in rows of scores of a held-out item."""

from __future__ import annotations

from sampled_metrics._base.array_types import Int
from sampled_metrics.checks import Signs

_MIN_SIZE = 10  # fewer users, items or rows may be alike by accident
# Usual numbers of negatives, and the held-out item.
SAMPLE_SIZES = frozenset(m + 1 for m in (20, 50, 99, 100, 200, 500, 999, 1000))
_ROUND_SIZES = {100, 1000}  # catalogues have these numbers of items too
SAMPLE_REMEDY = (
    "and metrics among them are not exact; `correct` takes the scores of a held-out item and its "
    "negatives (--positive), or sampled ranks"
)


def signs_of_sample_columns(column: Int, n_columns: int, is_catalogue: bool) -> Signs:
    """Look for columns of scores that are a held-out item and its negatives, not all items.

    Parameters
    ----------
    column
        Column of each user's held-out item. That of all users is a sign.
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
