"""Items of users, relevant, seen or held out, and the forms in which they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from sampled_metrics._base.array_types import Array, Bool, Codes, Float, Ids, Int, RowSelection
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.columns import integer_array
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    is_arrow_table,
    numeric_array,
    to_array,
    to_numpy,
)
from sampled_metrics._base.errors import InputError, note_meaning, reading, warn_input
from sampled_metrics._base.files import read_npy, reading_as
from sampled_metrics._base.sparse import canonical_csr
from sampled_metrics._base.visits import are_visit_ids, split_ids
from sampled_metrics.inputs.arrow_columns import (
    Values,
    arrow_to_numpy,
    decode_categories,
    encode,
    is_numeric,
    is_text,
    positions,
)
from sampled_metrics.inputs.headerless import suggest_reading
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.tables import (
    QRELS,
    ColumnNames,
    Table,
    as_table,
    is_by_user,
    to_arrow_table,
)

HELD_OUT = "held-out"
RELEVANT = "relevant"
SEEN = "seen"
COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_UNGRADED = (SEEN, "candidates")  # items without grades, maybe several of each user
_MAX_COLUMN = 10_000_000  # larger numbers in the place of columns are ids or times
_MAX_NAMES_LENGTH = 200  # characters of names of columns
_SAMPLED_VALUES = 1000  # values that are looked at
_YES_NO_WORDS = ({"0", "1"}, {"no", "yes"}, {"false", "true"})
_MAX_GRADES = 10  # different numbers; more are no grades
_MIN_USERS = 10  # fewer may lack row 0 by chance
_MIN_COLUMNS = 3  # items; of two, 0 and 1 in a row are marks
_MAX_ITERATIONS = 10  # different second columns of qrels
INTEGER_REMEDY = "of numbers with gaps, np.nan_to_num(ids, nan=-1).astype(int)"
_MATRIX_REMEDY = "for marks or grades, users x items, give scipy.sparse.csr_array"
Size = tuple[int, int]  # users and items


class Items(NamedTuple):
    """Items of users, both numbered from 0; user u has item[start[u] : start[u + 1]].

    Attributes
    ----------
    start, item
        int64, shapes (users + 1,) and (pairs,).
    n_items
        Number of all items, also without a user.
    user_ids, item_ids
        Ids of the numbers, arrays of pyarrow; None for rows and columns of a matrix.
    relevance
        Grade of each item, above 0, shape (pairs,); None if items are relevant or not.
    name
        Their name in errors: `held-out` if each user has one, `relevant` or `seen`.
    n_rows
        Rows of data given by position, which `user_ids` then number; 0 otherwise.
    """

    start: Int
    item: Int
    n_items: int
    user_ids: Any = None
    item_ids: Any = None
    relevance: Float | None = None
    name: str = RELEVANT
    n_rows: int = 0

    @classmethod
    def from_pairs(
        cls,
        user: Int,
        item: Int,
        n_users: int,
        n_items: int,
        *,
        relevance: Float | None = None,
        name: str = RELEVANT,
    ) -> Items:
        """Take pairs in any order; each user's items stay in it."""
        order = np.argsort(user, kind="stable")
        counts = np.bincount(user, minlength=n_users)
        return cls(
            start=np.append(0, np.cumsum(counts)),
            item=item[order],
            n_items=n_items,
            relevance=select_rows(relevance, order),
            name=name,
        )

    @property
    def n_users(self) -> int:
        """Number of users, also without items."""
        return self.start.size - 1

    @property
    def sizes(self) -> Int:
        """Number of items of each user."""
        return np.diff(self.start)

    @property
    def user(self) -> Int:
        """User of each item."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def select(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        counts = self.sizes[users]
        place = concatenate_ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[place]

    def has(self, user: Int, item: Int) -> Bool:
        """Return whether each pair of numbers is one of these; -1 is no user and no item."""
        width = int(np.append(self.item, item).max(initial=-1)) + 1
        own = pair_codes(self.user, self.item, width)
        return (user >= 0) & (item >= 0) & np.isin(pair_codes(user, item, width), own)

    def restrict_to(self, user_ids: Values, item_ids: Values) -> Items:
        """Return the pairs with both ids among others, with the numbers of these."""
        user = positions(self.user_ids, user_ids)[self.user]
        item = positions(self.item_ids, item_ids)[self.item]
        is_known = (user >= 0) & (item >= 0)
        items = Items.from_pairs(
            user[is_known],
            item[is_known],
            len(user_ids),
            len(item_ids),
            relevance=select_rows(self.relevance, is_known),
            name=self.name,
        )
        return items._replace(user_ids=user_ids, item_ids=item_ids)

    def for_visits(self, visit_ids: pa.Array, by_visit: bool = False) -> Items:
        """Return items of users, or of visits, as those of visits of users, by their joined ids."""
        part = split_ids(arrow_to_numpy(visit_ids))[1 if by_visit else 0]
        own = positions(part, self.user_ids)
        has_items = np.flatnonzero(own >= 0)
        row, item = self.select(own[has_items])
        items = Items.from_pairs(has_items[row], item, len(visit_ids), self.n_items, name=self.name)
        return items._replace(user_ids=visit_ids, item_ids=self.item_ids)

    def matrix(self) -> sparse.csr_array:
        """Return the pairs as true entries of a matrix, users x items, each once."""
        values = np.ones(self.item.size, bool)
        shape = self.n_users, self.n_items
        marked = sparse.csr_array((values, self.item, self.start), shape)
        marked.sum_duplicates()
        return marked

    def pair(self, place: int) -> tuple[Any, Any]:
        """Return the ids of the user and the item of one pair."""
        user = int(self.start.searchsorted(place, "right")) - 1
        item = int(self.item[place])
        if self.user_ids is None:
            return user, item
        return self.user_ids[user], self.item_ids[item]


def read_item_table(given: object, name: str) -> Table | None:
    """Return a table with columns `user_id` and `item_id`; None for items given by position."""
    table = as_table(given, f"{name} items (user_id, item_id)", name, "relevance", QRELS)
    if table is not None:
        table.require(table.unit_columns()[0], ITEM)
    elif is_arrow_table(given):
        found = ", ".join(to_arrow_table(given, Path(name), name).column_names)[:_MAX_NAMES_LENGTH]
        raise InputError(
            f"{name}: found columns {found}; expected user_id and item_id; other names by "
            "columns={'user': NAME, 'item': NAME} (--column user=NAME), and of a matrix the array"
        )
    return table


def items_by_id(given: object, name: str, min_relevance: float = 0.0) -> Items:
    """Return items with the ids of their users and of themselves.

    Rows of label 0 are not relevant. Items given by position have its numbers as ids.
    """
    if isinstance(given, Items):
        return given
    table = read_item_table(given, name)
    if table is None:
        return _items_by_column(given, name)
    return _items_from_table(table, name, min_relevance)


def _items_by_column(given: object, name: str) -> Items:
    """Return items of the rows of a matrix, or columns of users, with their numbers as ids."""
    array = given if isinstance(given, np.ndarray) and given.ndim == 2 else np.zeros(0)
    if array.dtype.kind in "iu" and not np.isin(array, (-1, 0, 1)).all():
        raise InputError(
            f"{name}: found an array of shape {array.shape} with numbers other than 0 and 1; "
            f"as ids give lists, without -1, of each user; {_MATRIX_REMEDY}"
        )
    items = items_by_position(given, name)
    largest = int(items.item.max(initial=-1))
    if largest >= _MAX_COLUMN:
        raise InputError(f"{name} has an item {largest}; expected columns below {_MAX_COLUMN}")
    user, user_ids = encode(items.user)
    item_ids = pa.array(np.arange(items.n_items))
    grades = items.relevance
    return _make_items(user, items.item, user_ids, item_ids, grades, name, items.n_users)


def _items_from_table(
    table: Table, name: str, min_relevance: float, columns: ColumnNames | None = None
) -> Items:
    user, user_ids = table.units(columns or table.unit_columns()[:1])
    codes, item_ids = table.codes(ITEM)
    rows, grades = _relevant_rows(table, name, user, codes, min_relevance)
    user = user[rows]
    if rows.size < codes.size:  # some users may have no rows left
        user, user_ids = encode(pc.take(user_ids, pa.array(user)))
    return _make_items(user, codes[rows], user_ids, item_ids, grades, name)


def _make_items(
    user: Codes,
    item: Codes | Int,
    user_ids: pa.Array,
    item_ids: pa.Array,
    grades: Float | None,
    name: str,
    n_rows: int = 0,
) -> Items:
    items = Items.from_pairs(
        user.astype(np.int64),
        item.astype(np.int64),
        len(user_ids),
        len(item_ids),
        relevance=grades,
        name=name,
    )
    return items._replace(user_ids=user_ids, item_ids=item_ids, n_rows=n_rows)


def items_for_lists(
    given: object, name: str, min_relevance: float = 0.0, columns: ColumnNames = (USER,)
) -> Items:
    """Return items with ids beside lists, in which arrays and lists by position hold ids.

    `columns` are those of the ids of lists, of users or of visits; a dictionary has one for each.

    Rows of ids are users x G, -1 or None where a user has fewer. A sparse matrix, or one of true
    and false, marks items by their columns.
    """
    if isinstance(given, Items):
        return given
    table = read_item_table(given, name)
    if table is not None:
        if is_by_user(given):
            columns = (USER,)
        table.require(*columns)
        return _items_from_table(table, name, min_relevance, columns)
    if isinstance(given, str | Path) and Path(given).suffix == ".npy":
        given = read_npy(Path(given), f"{name} items in an array")
    is_file = isinstance(given, str | Path)
    if is_file or sparse.issparse(given) or np.dtype(bool) == getattr(given, "dtype", None):
        return _items_by_column(given, name)
    owner, ids, n_rows = _rows_and_ids(given, name)
    user, user_ids = encode(owner)
    item, item_ids = encode(ids)
    if name == RELEVANT:
        _require_unique_items(owner, item, ids)
    return _make_items(user, item, user_ids, item_ids, None, name, n_rows)


def _require_unique_items(owner: Int, item: Codes, ids: Ids) -> None:
    """Raise InputError for an id that is twice in a row."""
    again = first_duplicate(owner, item)
    if again is not None:
        raise InputError(
            f"{RELEVANT} item {ids[again]} is twice; expected ids beside lists, each once, and -1 "
            f"or None for none; {_MATRIX_REMEDY}",
            row=int(owner[again]) + 1,
        )


def _rows_and_ids(given: Any, name: str) -> tuple[Int, Ids, int]:
    """Return the row of each id, the ids, and the number of rows."""
    given = arrow_column_to_array(given)
    if isinstance(given, pd.Series) or np.dtype("O") is getattr(given, "dtype", None):
        given = given.tolist()
    if isinstance(given, list | tuple):
        owner, ids = _rows_and_ids_of_lists(given, name)
    else:
        array = _id_array(given, name)
        ids = array.reshape(-1)
        owner = np.repeat(np.arange(len(array)), ids.size // max(len(array), 1))
    if not ids.size:
        ids = np.zeros(0, np.int64)
    if ids.dtype.kind == "U":
        return owner, ids, len(given)
    if ids.dtype.kind not in "iu":
        gaps = f"{INTEGER_REMEDY}; " if ids.dtype.kind == "f" else ""
        raise InputError(
            f"{name} items are {ids.dtype}; expected ids beside lists, whole numbers or text, "
            f"users x G; {gaps}{_MATRIX_REMEDY}"
        )
    ids = integer_array(name, ids)
    bad = ids < -1
    if bad.any():
        row = int(np.argmax(bad))
        problem = f"found {ids[row]}; expected ids of items, or -1 for none"
        raise InputError(problem, row=int(owner[row]) + 1, column=name)
    is_item = ids != -1
    return owner[is_item], ids[is_item], len(given)


def _rows_and_ids_of_lists(given: Sequence[Any], name: str) -> tuple[Int, Array]:
    """Return the rows and the ids of a list of ids, or of lists of ids."""
    given = [list(own) if isinstance(own, Iterator) else own for own in given]
    if name in _UNGRADED and not any(isinstance(own, COLLECTIONS) for own in given):
        raise InputError(f"{name}: found one id for each user; expected lists of ids")
    some = pd.Series(given, dtype=object).explode().dropna()
    ids = to_array(name, some.to_list())
    if may_be_matrix(given) and ids.dtype.kind == "i" and ids.size % len(given) == 0:
        _refuse_sorted_pairs(ids.reshape(len(given), -1), name)
    return some.index.to_numpy(), ids


def _id_array(given: Any, name: str) -> Array:
    """Return an array of ids: one for each user, or users x G."""
    array = to_array(name, to_numpy(given))
    if array.ndim == 1 and name not in _UNGRADED:
        return array
    if array.ndim == 2:
        if array.dtype.kind in "iu":
            _refuse_sorted_pairs(array, name)
        return array
    raise InputError(
        f"{name} items are {array.dtype} of shape {array.shape}; expected ids beside lists, "
        f"users x G; {_MATRIX_REMEDY}"
    )


def _refuse_sorted_pairs(rows: Array, name: str) -> None:
    """Refuse rows of a few numbers that ascend by the first, as pairs of a user and an item do."""
    first = rows[:, 0]
    if (first[1:] >= first[:-1]).all() and np.unique(rows).size > _MAX_GRADES:
        _refuse_pairs(rows, name)


def assign_user_ids(items: Items, user_ids: pa.Array, by_row: bool) -> Items:
    """Give items by position the ids of the users of lists.

    `by_row` tells that the users are those of rows too, of which there are as many; other ids must
    be numbers of rows.
    """
    n_rows = items.n_rows
    if not n_rows:
        return items
    name = RELEVANT if items.name == HELD_OUT else items.name
    if by_row:
        if n_rows != len(user_ids):
            raise InputError(
                f"{name}: found {n_rows} rows; expected {len(user_ids)}, the ids of each row of "
                f"the lists; {_MATRIX_REMEDY}"
            )
        return items._replace(user_ids=user_ids.take(items.user_ids))
    are_rows = pa.types.is_integer(user_ids.type)
    if are_rows:
        numbers = arrow_to_numpy(user_ids)
        are_rows = bool(((numbers >= 0) & (numbers < n_rows)).all())
    if not are_rows:
        raise InputError(
            f"{name} has {n_rows} rows without ids, but users of the lists have ids, such as "
            f"{user_ids[len(user_ids) - 1].as_py()!r}; give a dictionary of lists by user, or a "
            "table of user_id and item_id"
        )
    return items


def items_for_scores(
    given: object,
    name: str,
    shape: Size,
    user_ids: Ids | None = None,
    item_ids: Ids | None = None,
    min_relevance: float = 0.0,
) -> Items:
    """Return items as columns of the rows of scores; tables hold their ids, or else numbers."""
    with reading(given):
        table = read_item_table(given, name)
        if table is None:
            return items_by_position(given, name, shape)
        if user_ids is not None and are_visit_ids(user_ids):
            return _items_for_visits(table, name, shape, user_ids, item_ids, min_relevance)
        user = _axis_positions(table, USER, user_ids, shape[0])
        item = _axis_positions(table, ITEM, item_ids, shape[1])
        if user_ids is None and item_ids is None and user.all() and item.all():
            note_meaning(str(table.path), "numbers of rows and columns, from 0; none is 0")
        rows, grades = _relevant_rows(table, name, user, item, min_relevance)
        return Items.from_pairs(user[rows], item[rows], *shape, relevance=grades, name=name)


def _items_for_visits(
    table: Table,
    name: str,
    shape: Size,
    visit_ids: Ids,
    item_ids: Ids | None,
    min_relevance: float,
) -> Items:
    """Return items as columns of rows that are visits; items of users are seen in all visits."""
    columns = table.unit_columns()
    if name == RELEVANT:
        table.require(USER, VISIT)
    items = _items_from_table(table, name, min_relevance, columns)
    if len(columns) == 1:
        items = items.for_visits(pa.array(visit_ids), columns == (VISIT,))
    row = positions(items.user_ids, visit_ids)
    if (row < 0).any():
        visit = items.user_ids[int(np.argmax(row < 0))]
        raise InputError(f"{name}: found user {visit}; expected users and visits of the scores")
    number = _axis_positions(table, ITEM, item_ids, shape[1])
    code, _ = table.codes(ITEM)
    column = np.zeros(items.n_items, np.int64)
    column[code] = number
    pairs = row[items.user], column[items.item]
    return Items.from_pairs(*pairs, *shape, relevance=items.relevance, name=name)


def _axis_positions(table: Table, column: str, ids: Ids | None, size: int) -> Int:
    """Return the row or the column of the scores for each id of a table."""
    if ids is None:
        expected = "numbers of rows or columns of the scores, from 0"
        numbers = table.whole_numbers(column, 0, size - 1, expected)
        n_different = sorted_unique(numbers).size
        is_nearly_all = n_different >= _MIN_USERS and size - n_different <= max(1, size // 10)
        # Column 0 of the items may be no item.
        if column == USER and is_nearly_all and numbers.all():
            warn_input(
                str(table.path),
                f"{USER} holds numbers of rows, from 0, and none of {n_different} is 0: are these "
                "ids from 1? Ranks.from_scores takes ids of rows and columns, users and items",
            )
        return numbers
    return table.positions(column, ids, "an id of the scores")


def _relevant_rows(
    table: Table, name: str, user: Codes | Int, item: Codes | Int, min_relevance: float
) -> tuple[Int, Float | None]:
    """Return the rows with a grade above 0, and grades of relevant items if any is not 1."""
    relevance = _read_grades(table, name, min_relevance)
    if name == RELEVANT:
        require_distinct_pairs(table, user, item)
    if relevance is None:
        return np.arange(len(table)), None
    rows = np.flatnonzero(relevance > 0.0)
    if name == SEEN and rows.size < relevance.size:
        warn_input(SEEN, "rows of label 0 do not count as seen; leave the column out if they do")
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    return rows, None if name == SEEN else nontrivial_grades(relevance[rows])


def relevant_rows(table: Table) -> tuple[RowSelection, Float | None]:
    """Return the rows of a table of ranks whose label is above 0, and labels that are grades.

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
                "left out: have they no relevant item, or one below the end of a list?",
            )
    return rows, nontrivial_grades(label[rows])


def negative_rows(table: Table) -> Int:
    """Return the rows of negatives: all, or the rows of label 0."""
    relevance = _read_grades(table, "negatives", 0.0)
    if relevance is None:
        return np.arange(len(table))
    return np.flatnonzero(relevance <= 0.0)


def _read_grades(table: Table, name: str, min_relevance: float) -> Float | None:
    """Return the grade of each row: `relevance`, a label, or ratings if there is a least one."""
    if table.names == QRELS.columns:
        _require_iterations(table)
    columns = ["relevance", "label"]
    if name == RELEVANT and (min_relevance > 0.0 or not table.is_rating):
        columns.append("score")
    known = [column for column in columns if column in table.columns]
    grades = table.finite_numbers(known[0]) if known else None
    if grades is None and name == RELEVANT and table.is_rating:
        warn_input(
            name, "rating is not read; give min_relevance (--min-relevance) to take it as grade"
        )
    if grades is None or (grades > 0.0).all():
        for other, values in table.unknown_columns.items():
            if _could_be_label(decode_categories(values)):
                problem = f"column {other} may be a label, as 0 and 1 are, but is not read"
                warn_input(name, f"{problem}; call it label if it is one")
    return grades


def _require_iterations(table: Table) -> None:
    """Raise InputError if the second column of qrels holds ids of items."""
    found = len({*table.unknown_columns["iter"].unique().to_pylist()} - {"0", "Q0"})
    if found > (_MAX_ITERATIONS if table.path.suffix == ".qrels" else 0):
        raise InputError(
            f"found {found} values in the second column; expected {QRELS.noun}"
            f"{suggest_reading(table.path)}",
            path=table.path,
        )


def _could_be_label(values: pa.ChunkedArray) -> bool:
    """Return whether a column holds yes and no, or few different numbers from 0 or -1 on."""
    if is_text(values.type):
        return {
            str(text).lower() for text in values[:_SAMPLED_VALUES].unique().to_pylist()
        } in _YES_NO_WORDS
    different = values.unique()
    has_gaps = values.null_count > 0  # beside one value, or else they are unknown numbers
    if not is_numeric(values.type) or (has_gaps and len(different) > 2):
        return False
    numbers = np.unique(pc.fill_null(different.cast(pa.float64()), 0.0))
    is_few = numbers.size <= min(_MAX_GRADES, len(values) - 1)
    return is_few and numbers[0] in (-1.0, 0.0) and bool(numbers[-1] > 0.0)


def require_distinct_pairs(table: Table, user: Codes | Int, item: Codes | Int) -> None:
    """Raise InputError for the first row with the pair of an earlier one."""
    pairs = pair_codes(user, item, int(item.max(initial=0)) + 1)
    if sorted_unique(pairs).size == pairs.size:
        return
    again = first_duplicate(pairs) or 0
    first = int(np.argmax(pairs == pairs[again]))
    named = {"user": USER, "visit": VISIT, "item": ITEM}
    ids = [
        f"{noun} {table.ids(name)[again]}" for noun, name in named.items() if name in table.columns
    ]
    problem = f"duplicate of row {first + 1} ({', '.join(ids)})"
    raise table.error_at(again, problem)


def _read_matrix(path: Path, name: str) -> Any:
    """Read items of the rows of a matrix from a file."""
    noun = f"{name} items in an array or a matrix of scipy.sparse.save_npz"
    if path.suffix == ".npy":
        return read_npy(path, noun)
    with reading_as(path, noun), path.open("rb") as file:
        return sparse.load_npz(file)


def may_be_matrix(rows: Sequence[Any]) -> bool:
    """Return whether lists of each user all have the same length, as rows of a matrix."""
    sizes = {len(own) if isinstance(own, COLLECTIONS) else -1 for own in rows}
    return len(sizes) == 1 and -1 not in sizes


def items_by_position(given: Any, name: str, shape: Size | None = None) -> Items:
    """Return items of the rows of a matrix, of `shape` if it is known.

    They are the nonzeros of a matrix, users x items; a list of columns for each user; or, if
    relevant, one column for each user, -1 or None without, maybe with a second axis of length 1.
    A matrix may be in a file.
    """
    if isinstance(given, str | Path):
        given = _read_matrix(Path(given), name)
    given = arrow_column_to_array(given)
    if isinstance(given, pd.Series) or np.dtype("O") is getattr(given, "dtype", None):
        given = given.tolist()
    if isinstance(given, list | tuple):
        sizes = [len(own) for own in given if isinstance(own, COLLECTIONS)]
        is_matrix = shape is not None and sizes == [shape[1]] * shape[0]
        if sizes and not is_matrix:
            return _items_from_lists(given, name, shape)
        if is_matrix:
            _refuse_columns(given, name)
        given = [-1 if own is None else own for own in given]
    is_list = isinstance(given, list)
    if given == [] if is_list else tuple(getattr(given, "shape", ())) == (0,):
        given = np.zeros(0, np.int64)
    elif not sparse.issparse(given):
        given = numeric_array(given, name)
    return _items_from_array(given, name, shape)


def _items_from_array(given: Any, name: str, shape: Size | None) -> Items:
    is_one = shape is not None and shape[1] > 1 and given.shape == (shape[0], 1)
    if is_one and given.dtype.kind in "iu" and not sparse.issparse(given) and name not in _UNGRADED:
        return _items_from_columns(given[:, 0], name, shape)
    if given.ndim == 2:
        return _items_from_matrix(given, name, shape)
    return _items_from_columns(given, name, shape)


def _refuse_columns(rows: Sequence[Any], name: str) -> None:
    """Refuse lists of as many numbers as there are items that may be columns, and may be grades."""
    values = to_array(name, rows)
    if values.dtype.kind not in "iu" or values.shape[1] < _MIN_COLUMNS:
        return
    ordered = np.sort(values, axis=1)
    is_column = (ordered >= -1) & (ordered < values.shape[1])
    is_again = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != -1)
    if is_column.all() and not is_again.any() and values.max() > 1:
        raise InputError(
            f"{name}: lists of {values.shape[1]} numbers, as many as items, may be columns or "
            "grades; as columns leave -1 out of the lists, or give a dictionary of lists by row; "
            "as grades give an array"
        )


def _items_from_matrix(marked: Any, name: str, shape: Size | None) -> Items:
    """Take the nonzeros of a matrix; stored zeros of seen items count as seen."""
    is_other = shape is not None and marked.shape != shape
    if marked.dtype.kind not in "biuf" or is_other:
        raise _wrong_array(marked, name, shape)
    is_sparse = sparse.issparse(marked)
    if shape is None and not is_sparse and np.unique(marked).size > _MAX_GRADES:
        _refuse_pairs(marked, name)
    table = canonical_csr(marked, name, keep_zeros=name == SEEN and is_sparse)
    if not np.isfinite(table.data).all():
        raise InputError(f"{name} has numbers that are not finite; expected finite numbers")
    grades = None
    if name not in _UNGRADED:
        table.data = np.maximum(table.data, 0)
        table.eliminate_zeros()
        grades = nontrivial_grades(table.data.astype(np.float64))
    start = table.indptr.astype(np.int64)
    return Items(start, table.indices, table.shape[1], relevance=grades, name=name)


def _refuse_pairs(rows: Any, name: str) -> None:
    """Raise InputError for many rows of a few numbers, as of user, item and maybe a rating."""
    if len(rows) >= 10 and 1 < len(rows[0]) <= 5:
        raise InputError(
            f"{name}: found rows of {len(rows[0])} numbers; if these are users and items, give a "
            "DataFrame with columns user_id and item_id"
        )


def _items_from_columns(columns: Any, name: str, shape: Size | None) -> Items:
    """Take one column for each user, -1 for users without."""
    is_other = shape is not None and columns.size != shape[0]
    if name in _UNGRADED or is_other:
        raise _wrong_array(columns, name, shape)
    if columns.dtype.kind == "f":
        raise InputError(f"{name} has dtype {columns.dtype}; expected integers; {INTEGER_REMEDY}")
    item = integer_array(name, columns)
    has_item = item != -1
    owner = np.flatnonzero(has_item)
    shape = shape or (item.size, int(item.max(initial=-1)) + 1)
    items = _items_from_positions(owner, item[has_item], name, shape)
    return items._replace(name=HELD_OUT) if has_item.all() else items


def _items_from_lists(lists: Sequence[Any], name: str, shape: Size | None) -> Items:
    """Take the columns of each user."""
    if shape is not None and len(lists) != shape[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {shape[0]}")
    items = pd.Series(lists, dtype=object).explode().dropna()
    owner = items.index.to_numpy()
    item = integer_array(name, items.to_list(), is_column=True)
    if shape is None and may_be_matrix(lists):
        first = item[np.diff(owner, prepend=-1) > 0]
        if (first[1:] >= first[:-1]).all() and np.unique(item).size > _MAX_GRADES:
            _refuse_pairs(lists, name)
    shape = shape or (len(lists), int(item.max(initial=-1)) + 1)
    found = _items_from_positions(owner, item, name, shape)
    if name == RELEVANT and found.item.size < item.size:
        again = first_duplicate(owner, item) or 0
        raise InputError(
            f"{name} item {item[again]} is twice; give each item once, and rows of different "
            "lengths without padding",
            row=int(owner[again]) + 1,
        )
    return found


def _items_from_positions(owner: Int, item: Int, name: str, shape: Size) -> Items:
    """Take columns and their users, each pair once."""
    n_users, n_items = shape
    bad = (item < 0) | (item >= n_items)
    if bad.any():
        row = int(np.argmax(bad))
        problem = f"found {item[row]}; expected columns, 0 to {n_items - 1}"
        raise InputError(problem, row=int(owner[row]) + 1, column=name)
    width = int(item.max(initial=0)) + 1
    user, item = np.divmod(sorted_unique(pair_codes(owner, item, width)), width)
    return Items.from_pairs(user, item, n_users, n_items, name=name)


def _wrong_array(given: Any, name: str, shape: Size | None) -> InputError:
    """Make the error for an array that gives no items."""
    found = f"{name} items are {given.dtype} of shape {given.shape}"
    whole = f"numbers of users x items, {shape or 'as many'}"
    lists = ""
    is_short = given.ndim == 2 and given.dtype.kind in "iu" and not sparse.issparse(given)
    if is_short and shape is not None and len(given) == shape[0]:
        lists = ", or lists of columns, [row[row >= 0].tolist() for row in ...]"
    return InputError(f"{found}; expected columns of each user, or {whole}{lists}")


def describe_seen_relevant(users: Int) -> str:
    """Say how many pairs are both relevant and seen, by their users, and what can be done."""
    pairs = "1 pair" if users.size == 1 else f"{users.size:,} pairs"
    n_users = np.unique(users).size
    return (
        f" ({pairs} of {n_users:,} {'user' if n_users == 1 else 'users'}); leave these pairs out "
        "of seen to rank them, as filtered ranks of knowledge graphs do, or out of relevant to "
        "count new items only"
    )
