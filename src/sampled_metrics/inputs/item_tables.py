"""Items of users from tables: which rows count, and with which grade."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Codes, Float, Int, RowSelection
from sampled_metrics._base.arrays import (
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    sorted_unique,
)
from sampled_metrics._base.conversion import is_arrow_table
from sampled_metrics._base.errors import InputError, format_names, warn_input
from sampled_metrics.inputs.arrow_columns import decode_categories, encode, is_numeric, is_text
from sampled_metrics.inputs.headerless import suggest_reading
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.tables import QRELS, ColumnNames, Table, as_table, to_arrow_table

MAX_GRADES = 10  # different numbers; a column with more holds no grades
_LABEL_ROWS = 1000  # rows of text in which yes and no are looked for
_YES_NO_WORDS = ({"0", "1"}, {"no", "yes"}, {"false", "true"})
_MAX_ITERATIONS = 10  # different values in the second column of qrels; ids have more


def read_item_table(data: object, name: str) -> Table | None:
    """Read a table of `user_id` and `item_id`; return None for items by position."""
    table = as_table(data, f"{name} items (user_id, item_id)", name, "relevance", QRELS)
    if table is not None:
        table.require(table.unit_columns()[0], ITEM)
    elif is_arrow_table(data):
        names = format_names(to_arrow_table(data, Path(name), name).column_names)
        raise InputError(
            f"{name}: found columns {names}; expected user_id and item_id; "
            "other names by columns={'user': NAME, 'item': NAME} (--column user=NAME), and of a "
            "matrix the array"
        )
    return table


def items_from_table(
    table: Table, name: str, min_relevance: float, columns: ColumnNames | None = None
) -> Items:
    """Return the items of a table with their ids; `columns` hold the ids of units."""
    user, user_ids = table.units(columns or table.unit_columns()[:1])
    item, item_ids = table.codes(ITEM)
    rows, grades = rows_and_grades(table, name, user, item, min_relevance)
    user = user[rows]
    if rows.size < item.size:  # some users may have no rows left
        user, user_ids = encode(pc.take(user_ids, pa.array(user)))
    return Items.from_codes(user, item[rows], user_ids, item_ids, relevance=grades, name=name)


def rows_and_grades(
    table: Table, name: str, user: Codes | Int, item: Codes | Int, min_relevance: float
) -> tuple[Int, Float | None]:
    """Return the rows with a grade above 0, and the grades of relevant items if any is not 1."""
    relevance = _read_grades(table, name, min_relevance)
    if name == RELEVANT:
        require_distinct_pairs(table, user, item)
    if relevance is None:
        return np.arange(len(table)), None
    rows = np.flatnonzero(relevance > 0.0)
    if name == SEEN and rows.size < relevance.size:
        warn_input(
            SEEN, "rows of label 0 do not count as seen; leave the column out if they should"
        )
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    return rows, None if name == SEEN else nontrivial_grades(relevance[rows])


def relevant_rows(table: Table) -> tuple[RowSelection, Float | None]:
    """Return the rows of a table of ranks with a label above 0, and the labels if they are grades.

    Without a column of labels these are all rows.
    """
    if "label" not in table.columns:
        return slice(None), None
    label = table.finite_numbers("label")
    rows = np.flatnonzero(label > 0.0)
    if not rows.size:
        raise InputError("no label above 0; expected relevant items", path=table.path)
    if USER in table.columns:
        user, user_ids = table.units()
        n_without = len(user_ids) - sorted_unique(user[rows].astype(np.int64)).size
        if n_without:
            warn_input(
                "label",
                f"{n_without:,} of {len(user_ids):,} users have no row of a label above 0 and are "
                "left out; do they have no relevant item, or one below the end of a list?",
            )
    return rows, nontrivial_grades(label[rows])


def negative_rows(table: Table) -> Int:
    """Return the rows of negatives: those of label 0, or all without labels."""
    relevance = _read_grades(table, "negatives", 0.0)
    if relevance is None:
        return np.arange(len(table))
    return np.flatnonzero(relevance <= 0.0)


def _read_grades(table: Table, name: str, min_relevance: float) -> Float | None:
    """Return the grade of each row, None without grades.

    Grades are in a column `relevance` or `label`. The scores of relevant items are grades as well,
    but a column called rating only if `min_relevance` is above 0.
    """
    if table.names == QRELS.columns:
        _refuse_items_as_iterations(table)
    candidates = ["relevance", "label"]
    if name == RELEVANT and (min_relevance > 0.0 or not table.is_rating):
        candidates.append("score")
    column = next((each for each in candidates if each in table.columns), None)
    grades = None if column is None else table.finite_numbers(column)
    if grades is None and name == RELEVANT and table.is_rating:
        warn_input(
            name, "rating is not read; give min_relevance (--min-relevance) to use it as grade"
        )
    if grades is None or (grades > 0.0).all():
        for other, values in table.unknown_columns.items():
            if _could_be_label(decode_categories(values)):
                warn_input(
                    name,
                    f"column {other} may be a label, but is not read; call it label if it is one",
                )
    return grades


def _refuse_items_as_iterations(table: Table) -> None:
    """Raise InputError if the second column of qrels seems to hold ids of items.

    Lines of qrels, the judgements of TREC, are `query iteration document relevance`. The iteration
    is 0 or Q0 in nearly all files, and a few small numbers in some. A file whose suffix is not
    `.qrels` may be another table of four columns, so there it must be 0 or Q0.
    """
    others = {*table.unknown_columns["iter"].unique().to_pylist()} - {"0", "Q0"}
    most = _MAX_ITERATIONS if table.path.suffix == ".qrels" else 0
    if len(others) > most:
        raise InputError(
            f"found {len(others)} values other than 0 in the second column; expected {QRELS.noun}"
            f"{suggest_reading(table.path)}",
            path=table.path,
        )


def _could_be_label(values: pa.ChunkedArray) -> bool:
    """Return whether a column holds yes and no, or few different numbers from 0 or -1 on."""
    if is_text(values.type):
        texts = {str(text).lower() for text in values[:_LABEL_ROWS].unique().to_pylist()}
        return texts in _YES_NO_WORDS
    distinct = values.unique()
    # Missing values stand for 0 beside a single other value; beside several they are unknown.
    has_missing = values.null_count > 0
    if not is_numeric(values.type) or (has_missing and len(distinct) > 2):
        return False
    numbers = np.unique(pc.fill_null(distinct.cast(pa.float64()), 0.0))
    is_few = numbers.size <= min(MAX_GRADES, len(values) - 1)
    return is_few and numbers[0] in (-1.0, 0.0) and bool(numbers[-1] > 0.0)


def require_distinct_pairs(table: Table, user: Codes | Int, item: Codes | Int) -> None:
    """Raise InputError for the first row that repeats the user and the item of an earlier one."""
    codes = pair_codes(user, item, int(item.max(initial=0)) + 1)
    if sorted_unique(codes).size == codes.size:
        return
    row = first_duplicate(codes) or 0
    first = int(np.argmax(codes == codes[row]))
    nouns = {USER: "user", VISIT: "visit", ITEM: "item"}
    ids = [
        f"{noun} {table.ids(name)[row]}" for name, noun in nouns.items() if name in table.columns
    ]
    raise table.error_at(row, f"duplicate of row {first + 1} ({', '.join(ids)})")
