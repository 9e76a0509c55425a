"""Items of users (relevant, seen or candidates), read from data of any form.

There are two forms. Tables, dictionaries and Series have ids of users and items. Arrays, lists and
matrices have a row for each user; beside scores, their numbers are columns of the scores, and
beside lists they are ids. `items_by_id` reads both without a context, `items_for_scores` matches
them with the rows and columns of scores, and `relevant_by_unit` and `items_by_unit` with the units
of evaluation of lists: users, or visits of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import sparse

from sampled_metrics._base.array_types import (
    Array,
    Bool,
    Codes,
    Float,
    Ids,
    Int,
    ItemsByUser,
    RowSelection,
)
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.arrow import (
    Values,
    arrow_to_numpy,
    encode,
    positions,
)
from sampled_metrics._base.calls import note_meaning, place_of, warn_all
from sampled_metrics._base.columns import (
    NO_ITEM_NAMES,
    NO_LABEL,
    integer_array,
    is_no_item,
    refuse_numbered_series,
)
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    as_array,
    numeric_array,
)
from sampled_metrics._base.errors import InputError, format_names
from sampled_metrics._base.files import read_npy, reading_as
from sampled_metrics._base.sparse import canonical_csr
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import (
    MAX_GRADES,
    signs_of_ids_from_1,
    signs_of_unread_labels,
    signs_of_unread_rating,
    signs_of_unseen_rows,
    signs_of_users_without_label,
)
from sampled_metrics.read.kinds import Kind, kind_of
from sampled_metrics.read.roles import ITEM, USER, VISIT
from sampled_metrics.read.tables import (
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
NOTHING_SEEN = "none"  # `seen` that says that users have seen nothing
UNGRADED = (SEEN, "candidates")  # items without grades, of which a user usually has several
INTEGER_REMEDY = "of numbers with gaps, np.nan_to_num(ids, nan=-1).astype(int)"
BY_USER_REMEDY = "pass ids in a table, a dictionary or a Series by user"
MATRIX_REMEDY = "for marks or grades, users x items, pass scipy.sparse.csr_array"
Size = tuple[int, int]  # users and items

_POSITIONS_REMEDY = f"{BY_USER_REMEDY}, or column numbers beside scores without ids, as an array"
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_MIN_COLUMNS = 3  # items; with two, a row of 0 and 1 is two marks
_MIN_PAIRS = 10  # rows; pairs of a user and an item look like this many rows or more,
_MAX_PAIR_COLUMNS = 5  # with this many columns or fewer
_MAX_COLUMN = 10_000_000  # a larger number in the place of a column is an id or a time


class Items(NamedTuple):
    """Items of users, both numbered from 0; user u has item[start[u] : start[u + 1]].

    Attributes
    ----------
    start, item
        int64, shapes (users + 1,) and (pairs,).
    n_items
        Number of all items, also of those that no user has.
    ids
        Users of the numbers, or visits of users; None for rows of a matrix.
    item_ids
        Ids of the numbers of items, an array of pyarrow; None for columns of a matrix.
    relevance
        Grade of each item, above 0, shape (pairs,); None without grades.
    name
        What errors call the items: `held-out` if each user has one, `relevant` or `seen`.
    n_rows
        Number of rows of data given by position, which `units` then number; 0 for other data.
    """

    start: Int
    item: Int
    n_items: int
    ids: Units | None = None
    item_ids: Any = None
    relevance: Float | None = None
    name: str = RELEVANT
    n_rows: int = 0

    @classmethod
    def from_pairs(
        cls,
        user: Int | Codes,
        item: Int | Codes,
        n_users: int,
        n_items: int,
        relevance: Float | None = None,
        **fields: Any,
    ) -> Items:
        """Read pairs in any order; the items of each user stay in this order.

        Parameters
        ----------
        user, item
            Numbers of the user and the item of each pair; shape (pairs,).
        n_users, n_items
            Number of all users and items.
        relevance
            Grade of each pair.
        **fields
            Other fields.
        """
        by_user = np.argsort(user, kind="stable")
        n_items_of_user = np.bincount(user, minlength=n_users)
        return cls(
            start=np.append(0, np.cumsum(n_items_of_user)),
            item=item[by_user].astype(np.int64, copy=False),
            n_items=n_items,
            relevance=select_rows(relevance, by_user),
            **fields,
        )

    def append_users(self, n_users: int) -> Items:
        """Return the items with a number of further users, who have none."""
        return self._replace(start=np.append(self.start, np.full(n_users, self.start[-1])))

    @property
    def units(self) -> Units:
        """Users, or visits of users, of items that have ids."""
        if self.ids is None:
            raise ValueError("items have no ids of users")
        return self.ids

    @property
    def user_ids(self) -> pa.Array:
        """Ids of users."""
        return self.units.users

    @property
    def n_users(self) -> int:
        """Number of users, also of those without items."""
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
        """Return the items of some users, each with the position of its user in `users`."""
        counts = self.start[users + 1] - self.start[users]
        selected = concatenate_ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[selected]

    def has(self, user: Int, item: Int) -> Bool:
        """Return whether each of some pairs is one of these; -1 stands for an unknown id.

        Parameters
        ----------
        user, item
            Numbers of the user and the item of each pair; shape (pairs,).
        """
        width = int(np.append(self.item, item).max(initial=-1)) + 1
        own_codes = pair_codes(self.user, self.item, width)
        is_known = (user >= 0) & (item >= 0)
        return is_known & np.isin(pair_codes(user, item, width), own_codes)

    def restrict_to(self, units: Units, item_ids: Values) -> Items:
        """Return the pairs of given users, or visits, and items, numbered by their positions.

        Pairs of other users or items are dropped.
        """
        user = self.units.positions_in(units)[self.user]
        item = positions(self.item_ids, item_ids)[self.item]
        is_known = (user >= 0) & (item >= 0)
        return Items.from_pairs(
            user[is_known],
            item[is_known],
            n_users=len(units),
            n_items=len(item_ids),
            relevance=select_rows(self.relevance, is_known),
            ids=units,
            item_ids=item_ids,
            name=self.name,
        )

    def for_visits(self, visits: Units, by_visit: bool = False) -> Items:
        """Return the items of each of some visits: those of its user.

        With `by_visit`, `units` are ids of visits without their users, and a visit has its own.
        """
        ids_of_visits = visits.visits if by_visit else visits.users
        owner = positions(ids_of_visits, self.user_ids)  # -1 for a visit without items
        visits_with_items = np.flatnonzero(owner >= 0)
        position, item = self.select(owner[visits_with_items])
        return Items.from_pairs(
            visits_with_items[position],
            item,
            n_users=len(visits),
            n_items=self.n_items,
            ids=visits,
            item_ids=self.item_ids,
            name=self.name,
        )

    def matrix(self) -> sparse.csr_array:
        """Return the pairs as true entries of a matrix, users x items."""
        values = np.ones(self.item.size, bool)
        matrix = sparse.csr_array((values, self.item, self.start), (self.n_users, self.n_items))
        matrix.sum_duplicates()
        return matrix

    def pair(self, position: int) -> tuple[Any, Any]:
        """Return the ids of the user and the item of one pair."""
        user = int(self.start.searchsorted(position, "right")) - 1
        item = int(self.item[position])
        if self.ids is None:
            return user, item
        return self.units.name(user), self.item_ids[item]


def has_seen_items(seen: ItemsByUser) -> bool:
    """Return whether there are seen items: `seen` is not None, "none" or an empty list.

    Examples
    --------
    >>> [has_seen_items(seen) for seen in (None, "none", [], [[4], []])]
    [False, False, False, True]
    """
    if isinstance(seen, str | Path):
        return str(seen) != NOTHING_SEEN
    is_empty_list = isinstance(seen, list | tuple) and not seen
    return seen is not None and not is_empty_list


def describe_pairs(users: Int | Codes) -> str:
    """Write the number of pairs of a user and an item, and of users, given the user of each."""
    pairs = "1 pair" if users.size == 1 else f"{users.size:,} pairs"
    n_users = np.unique(users).size
    return f"{pairs} of {n_users:,} {'user' if n_users == 1 else 'users'}"


def describe_seen_relevant(users: Int) -> str:
    """Say how many pairs are both relevant and seen, given the user of each, and what to do."""
    return (
        f" ({describe_pairs(users)}); drop these pairs from seen to rank them, as filtered "
        "ranks of knowledge graphs do, or from relevant to count new items only"
    )


# ---- Tables


def read_item_table(data: object, name: str) -> Table | None:
    """Read a table of `user_id` and `item_id`; return None for items by position."""
    table = as_table(data, f"{name} items (user_id, item_id)", name, "relevance", QRELS)
    if table is not None:
        table.require(table.unit_columns()[0], ITEM)
        return _drop_padding(table, name)
    if kind_of(data) is Kind.WIDE:
        names = to_arrow_table(data, Path(name), name).column_names
        raise InputError(
            f"{name}: found columns {format_names(names)}; expected user_id and item_id; "
            "other names by columns={'user': NAME, 'item': NAME} (--column user=NAME), and of a "
            "matrix the array"
        )
    return None


def _drop_padding(table: Table, name: str) -> Table:
    """Drop the rows without an item; note the users who then have no relevant one."""
    is_item = table.has_item()
    if is_item.all():
        return table
    if not is_item.any() and name == RELEVANT:
        raise InputError(
            f"all relevant items are {NO_ITEM_NAMES}, which mark none; expected ids of items",
            path=table.path,
        )
    if name == RELEVANT:
        user, units = table.units()
        n_left = sorted_unique(user[is_item].astype(np.int64)).size
        _note_users_without_item(len(units) - n_left)
    return table.take(is_item)


def _note_users_without_item(n_users: int) -> None:
    """Note how many users are dropped because their relevant items are unknown."""
    if n_users:
        users = "1 user" if n_users == 1 else f"{n_users:,} users"
        note_meaning(
            RELEVANT, f"no item: {NO_ITEM_NAMES} of {users} without other items, who are dropped"
        )


def candidate_rows(table: Table) -> Table:
    """Return a table of scored pairs without the rows that are no candidates, and note them.

    Such rows have no item (-1 or -100), or a label of -100.
    """
    n_rows = len(table)
    if ITEM in table.columns:
        table = table.take(table.has_item())
    if "label" in table.columns:
        table = table.take(table.has_label())
    n_dropped = n_rows - len(table)
    if not len(table):
        raise InputError(
            f"no candidates: all rows have {ITEM} {NO_ITEM_NAMES}, or label {NO_LABEL}",
            path=table.path,
        )
    if n_dropped:
        rows = "1 row" if n_dropped == 1 else f"{n_dropped:,} rows"
        note_meaning(
            str(table.path),
            f"no candidates: {rows} of {ITEM} {NO_ITEM_NAMES}, or label {NO_LABEL}",
        )
    return table


def items_from_table(
    table: Table, name: str, min_relevance: float = 0.0, columns: ColumnNames | None = None
) -> Items:
    """Return the items of a table with their ids.

    Rows of label 0 do not count as relevant, and users without any other row are dropped.

    Parameters
    ----------
    table, name
        The table, and what errors call its items.
    min_relevance
        Least grade of relevant items; above 0 if a column of ratings has grades.
    columns
        Columns of the ids of units; by default users, or visits if there is no column of users.
    """
    user, units = table.units(columns or table.unit_columns()[:1])
    item, item_ids = table.codes(ITEM)
    rows, grades = _rows_and_grades(table, name, user, item, min_relevance)
    user_of_row = user[rows]
    if rows.size < item.size:
        renumbered, users_left = pd.factorize(user_of_row)
        user_of_row, units = renumbered.astype(np.int32), units.take(users_left)
    return Items.from_pairs(
        user_of_row,
        item[rows],
        n_users=len(units),
        n_items=len(item_ids),
        relevance=grades,
        ids=units,
        item_ids=item_ids,
        name=name,
    )


def _rows_and_grades(
    table: Table, name: str, user: Codes | Int, item: Codes | Int, min_relevance: float
) -> tuple[Int, Float | None]:
    """Return the rows with a grade above 0, and the grades of relevant items if any is not 1.

    Without grades these are all rows. Relevant items of a user must differ.
    """
    relevance = _read_grades(table, name, min_relevance)
    if name == RELEVANT:
        remedy = "; keep each once"
        if relevance is None and not table.is_by_user:
            ids = [table.name_of[column] for column in (*table.unit_columns(), ITEM)]
            remedy += f", such as by drop_duplicates({ids})"
        require_distinct_pairs(table, user, item, remedy)
    if relevance is None:
        return np.arange(len(table)), None
    rows = np.flatnonzero(relevance > 0.0)
    if name == SEEN:
        warn_all(signs_of_unseen_rows(relevance.size - rows.size))
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
    table.refuse(
        "label",
        label == NO_LABEL,
        label,
        f"labels of candidates; {NO_LABEL} marks none: rank without these rows, and drop them",
    )
    rows = np.flatnonzero(label > 0.0)
    if not rows.size:
        raise InputError("no label above 0; expected relevant items", path=table.path)
    if USER in table.columns:
        user, units = table.units()
        n_with_item = sorted_unique(user[rows].astype(np.int64)).size
        n_without = len(units) - n_with_item
        warn_all(signs_of_users_without_label(n_without, len(units)))
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
    is_relevant = name == RELEVANT
    possible_columns = ["relevance", "label"]
    if is_relevant and (min_relevance > 0.0 or not table.is_rating):
        possible_columns.append("score")
    column = next((each for each in possible_columns if each in table.columns), None)
    if column is None:
        if is_relevant and table.is_rating:
            warn_all(signs_of_unread_rating(name))
        grades = None
    else:
        grades = _column_of_grades(table, column)
    if grades is None or (grades > 0.0).all():  # another column may mark rows that do not count
        warn_all(signs_of_unread_labels(name, table.unknown_columns))
    return grades


def _column_of_grades(table: Table, column: str) -> Float:
    """Return the grades in a column; refuse -100, which marks no candidate."""
    grades = table.finite_numbers(column)
    is_ignored = grades == NO_LABEL
    table.refuse(
        column,
        is_ignored,
        grades,
        f"grades; {NO_LABEL} marks no candidate ({np.count_nonzero(is_ignored):,} rows): drop "
        "these rows, and pass their users and items as seen beside scores of all items",
    )
    return grades


def require_distinct_pairs(
    table: Table, user: Codes | Int, item: Codes | Int, remedy: str = ""
) -> None:
    """Raise InputError for the first row that repeats the user and the item of an earlier one.

    `remedy` ends the message.
    """
    codes = pair_codes(user, item, int(item.max(initial=0)) + 1)
    are_distinct = sorted_unique(codes).size == codes.size  # faster than `first_duplicate`
    row = None if are_distinct else first_duplicate(codes)
    if row is None:
        return
    first = int(np.argmax(codes == codes[row]))
    nouns = {USER: "user", VISIT: "visit", ITEM: "item"}
    ids = [
        f"{noun} {table.ids(name)[row]}" for name, noun in nouns.items() if name in table.columns
    ]
    problem = f"duplicate of row {table.row_number(first)} ({', '.join(ids)}){remedy}"
    raise table.error_at(row, problem)


# ---- Rows: arrays, lists and matrices


def _open_rows(data: Any, name: str) -> Any:
    """Read a file of numpy or scipy; return a list for a column of Arrow, pandas or objects."""
    if isinstance(data, str | Path):
        path = Path(data)
        noun = f"{name} items in an array or a matrix of scipy.sparse.save_npz"
        if path.suffix == ".npy":
            return read_npy(path, noun)
        with reading_as(path, noun), path.open("rb") as file:
            return sparse.load_npz(file)
    array = arrow_column_to_array(data)
    is_series_or_objects = isinstance(array, pd.Series) or (
        getattr(array, "dtype", None) is np.dtype("O")
    )
    return array.tolist() if is_series_or_objects else array


def require_positions(name: str, column_ids: Any, remedy: str) -> None:
    """Raise InputError for items as numbers that may be ids as well as column numbers.

    They are column numbers if no column has such a number, 0 to n - 1, as its id, or if each
    column has its own. `remedy` ends the message.
    """
    if column_ids is None:
        return
    ids = np.asarray(column_ids)
    numbers = _ids_as_numbers(ids)
    may_be_position = (numbers >= 0) & (numbers < ids.size)
    is_own_position = np.array_equal(numbers, np.arange(ids.size))
    if may_be_position.any() and not is_own_position:
        raise InputError(
            f"{name} has numbers without users beside scores whose columns have ids, such as "
            f"{ids[np.argmax(may_be_position)]}; {remedy}"
        )


def _ids_as_numbers(ids: Array) -> Int:
    """Return ids as whole numbers, -1 for texts that are none that a column may have."""
    if ids.dtype.kind in "iu":
        return ids
    texts = ids.astype(np.str_)
    is_number = np.char.isdecimal(texts) & (np.char.str_len(texts) < len(str(_MAX_COLUMN)))
    return np.where(is_number, texts, "-1").astype(np.int64)


def items_by_position(
    data: Any, name: str, size: Size | None = None, item_ids: Any = None
) -> Items:
    """Return items by the rows and columns of a matrix.

    Parameters
    ----------
    data
        A matrix, users x items, whose nonzeros are the items, maybe in a file; a list of columns
        for each user; or, for relevant items, one column for each user, with -1, -100 or None for
        none. An array with one column for each user may have a second axis of length 1. Lists as
        long as there are items are rows of a matrix, not columns.
    name
        What errors call the items.
    size
        Numbers of users and items; None if they are not known.
    item_ids
        Ids of columns, see `require_positions`.
    """
    rows = _open_rows(data, name)
    if isinstance(rows, list | tuple):
        lengths = [len(row) for row in rows if isinstance(row, _COLLECTIONS)]
        is_matrix = size is not None and lengths == [size[1]] * size[0]
        if is_matrix:
            _refuse_columns_or_grades(rows, name)
        elif lengths:
            require_positions(name, item_ids, _POSITIONS_REMEDY)
            return _items_of_lists(rows, name, size)
        rows = [-1 if row is None else row for row in rows]
    array = rows if sparse.issparse(rows) else _array_of_rows(rows, name, size)
    if array.ndim == 2:
        return _items_of_matrix(array, name, size)
    has_other_size = size is not None and array.size != size[0]
    if name in UNGRADED or has_other_size:
        raise _wrong_array(array, name, size)
    return _items_of_column(array, name, size, item_ids)


def _array_of_rows(rows: ArrayLike, name: str, size: Size | None) -> Array:
    """Return a matrix, or one number for each user, also where these are a matrix of one column."""
    _refuse_text_ids(rows, name)
    is_empty = rows == [] if isinstance(rows, list) else getattr(rows, "shape", ()) == (0,)
    if is_empty:
        return np.zeros(0, np.int64)
    array = numeric_array(rows, name)
    has_one_column = size is not None and size[1] > 1 and array.shape == (size[0], 1)
    may_be_one_item = array.dtype.kind in "iu" and name not in UNGRADED
    return array[:, 0] if has_one_column and may_be_one_item else array


def _items_of_column(column: Array, name: str, size: Size | None, item_ids: Any) -> Items:
    """Return one item for each user, given by its column; -1 and -100 mark none."""
    if column.dtype.kind == "f":
        raise InputError(f"{name} has dtype {column.dtype}; expected integers; {INTEGER_REMEDY}")
    require_positions(name, item_ids, _POSITIONS_REMEDY)
    item = integer_array(column, name)
    is_none = is_no_item(item)
    users = np.flatnonzero(~is_none)
    _note_users_without_item(int(np.count_nonzero(is_none)))
    size = size or (item.size, int(item.max(initial=-1)) + 1)
    items = _items_at(users, item[users], name, size)
    return items._replace(name=HELD_OUT) if users.size == item.size else items


def _refuse_text_ids(values: Any, name: str) -> None:
    """Raise InputError for texts without users."""
    if as_array(values, name).dtype.kind in "UT":
        raise InputError(f"{name} has ids that are text, without users; {BY_USER_REMEDY}")


def _items_of_matrix(matrix: Any, name: str, size: Size | None) -> Items:
    """Return the nonzeros of a matrix, users x items, as items and, of relevant ones, as grades.

    Entries of seen items that a sparse matrix stores count as seen, also if they are 0.
    """
    if matrix.dtype.kind not in "biuf" or (size is not None and matrix.shape != size):
        raise _wrong_array(matrix, name, size)
    is_sparse = sparse.issparse(matrix)
    if size is None and not is_sparse and np.unique(matrix).size > MAX_GRADES:
        _refuse_pairs(matrix, name)
    table = canonical_csr(matrix, name, keep_zeros=name == SEEN and is_sparse)
    if not np.isfinite(table.data).all():
        raise InputError(f"{name} has numbers that are not finite; expected finite numbers")
    grades = None
    if name not in UNGRADED:
        if (table.data == NO_LABEL).any():
            raise InputError(
                f"{name} has grades of {NO_LABEL}, which mark no candidates; pass "
                "np.maximum(grades, 0), and grades == -100 as seen, or among other seen items"
            )
        table.data = np.maximum(table.data, 0)  # items below 0 are not relevant
        table.eliminate_zeros()
        grades = nontrivial_grades(table.data.astype(np.float64))
    start, item = table.indptr.astype(np.int64), table.indices
    return Items(start, item, table.shape[1], relevance=grades, name=name)


def _items_of_lists(lists: Sequence[Any], name: str, size: Size | None) -> Items:
    """Return the items of each user, given by a list of their columns; -1 and -100 are padding."""
    if size is not None and len(lists) != size[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {size[0]}")
    user_of_value, values = _explode(lists)
    _refuse_text_ids(values, name)
    columns = integer_array(values, name, is_column=True)
    is_item = ~is_no_item(columns)
    user, item = user_of_value[is_item], columns[is_item]
    if name == RELEVANT:
        n_with_padding_only = np.unique(user_of_value).size - np.unique(user).size
        _note_users_without_item(n_with_padding_only)
    if size is None and _have_equal_lengths(lists):
        first_items = item[np.diff(user, prepend=-1) > 0]  # of each user
        _refuse_ascending_pairs(lists, first_items, item, name)
    size = size or (len(lists), int(item.max(initial=-1)) + 1)
    items = _items_at(user, item, name, size)
    has_duplicates = items.item.size < item.size  # which `_items_at` drops
    if name == RELEVANT and has_duplicates:
        duplicate = first_duplicate(user, item) or 0
        raise InputError(
            f"{name} item {item[duplicate]} occurs twice; keep it once, and pass rows of different "
            "lengths without padding",
            row=int(user[duplicate]) + 1,
        )
    return items


def _items_at(user: Int, item: Int, name: str, size: Size) -> Items:
    """Return items from the row and the column of each, each pair once."""
    n_users, n_items = size
    is_bad = (item < 0) | (item >= n_items)
    if is_bad.any():
        pair = int(np.argmax(is_bad))
        raise InputError(
            f"found {item[pair]}; expected columns, 0 to {n_items - 1}",
            row=int(user[pair]) + 1,
            column=name,
        )
    width = int(item.max(initial=0)) + 1
    distinct_codes = sorted_unique(pair_codes(user, item, width))
    distinct_user, distinct_item = np.divmod(distinct_codes, width)
    return Items.from_pairs(distinct_user, distinct_item, n_users, n_items, name=name)


def _ids_by_row(data: Any, name: str) -> tuple[Int, Ids, int]:
    """Read the ids of the items of each row.

    Parameters
    ----------
    data
        One id for each row, or rows of ids with -1, -100 or None where a user has fewer.
    name
        What errors call the items.

    Returns
    -------
    row, ids
        Row and id of each item; shape (items,).
    n_rows
        Number of rows.
    """
    rows = _open_rows(data, name)
    if isinstance(rows, list | tuple):
        row, values, matrix = _values_of_lists(rows, name)
    else:
        matrix = _matrix_of_ids(rows, name)
        values = matrix.reshape(-1)
        n_values_per_row = values.size // max(len(matrix), 1)
        row = np.repeat(np.arange(len(matrix)), n_values_per_row)
    if matrix is not None and matrix.ndim == 2 and matrix.dtype.kind in "iu":
        _refuse_ascending_pairs(matrix, first_numbers=matrix[:, 0], numbers=matrix, name=name)
    is_item, ids = _item_ids(row, values, name)
    row_of_item = row[is_item]
    if name == RELEVANT:
        _note_users_without_item(np.unique(row).size - np.unique(row_of_item).size)
    return row_of_item, ids[is_item], len(rows)


def _values_of_lists(rows: Sequence[Any], name: str) -> tuple[Int, Array, Array | None]:
    """Return the row of each value of lists, the values, and a matrix of them.

    The matrix is None if the lists differ in length.
    """
    lists = [list(row) if isinstance(row, Iterator) else row for row in rows]
    has_lists = any(isinstance(row, _COLLECTIONS) for row in lists)
    if name in UNGRADED and not has_lists:
        raise InputError(f"{name}: found one id for each user; expected lists of ids")
    row, flat_values = _explode(lists)
    values = as_array(flat_values, name)
    # If None was dropped from lists of one length, the values may be too few for a matrix.
    is_matrix = _have_equal_lengths(lists) and values.size % len(lists) == 0
    return row, values, values.reshape(len(lists), -1) if is_matrix else None


def _matrix_of_ids(array: Any, name: str) -> Array:
    """Return an array of ids, users x G; where a user has one item, G may have no axis."""
    matrix = as_array(array, name)
    if matrix.ndim == 2 or (matrix.ndim == 1 and name not in UNGRADED):
        return matrix
    raise InputError(
        f"{name} items are {matrix.dtype} of shape {matrix.shape}; expected ids beside "
        f"lists, users x G; {MATRIX_REMEDY}"
    )


def _item_ids(row: Int, values: Array, name: str) -> tuple[Bool, Ids]:
    """Return which values are ids of items, and the ids; refuse numbers that are not whole.

    `row` is the row of each value, which an error names. -1 and -100 are no ids.
    """
    if not values.size:
        values = np.zeros(0, np.int64)
    if values.dtype.kind == "U":
        return np.ones(values.size, bool), values
    if values.dtype.kind not in "iu":
        remedy = f"{INTEGER_REMEDY}; " if values.dtype.kind == "f" else ""
        raise InputError(
            f"{name} items are {values.dtype}; expected ids beside lists, whole numbers or text, "
            f"users x G; {remedy}{MATRIX_REMEDY}"
        )
    ids = integer_array(values, name)
    is_item = ~is_no_item(ids)
    is_bad = is_item & (ids < 0)
    if is_bad.any():
        first_bad = int(np.argmax(is_bad))
        raise InputError(
            f"found {ids[first_bad]}; expected ids of items, or {NO_ITEM_NAMES} for none",
            row=int(row[first_bad]) + 1,
            column=name,
        )
    return is_item, ids


def _explode(rows: Sequence[Any]) -> tuple[Int, list[Any]]:
    """Return the row of each value of nested lists, and the values that are not missing."""
    exploded = pd.Series(rows, dtype=object).explode().dropna()
    return exploded.index.to_numpy(), exploded.to_list()


def _have_equal_lengths(rows: Sequence[Any]) -> bool:
    """Return whether all rows are lists of one length, as those of a matrix are."""
    lengths = {len(row) if isinstance(row, _COLLECTIONS) else -1 for row in rows}
    return len(lengths) == 1 and -1 not in lengths


def _refuse_columns_or_grades(rows: Sequence[Any], name: str) -> None:
    """Raise InputError for lists as long as there are items, of columns or of grades.

    They may be columns, padded with -1, if the numbers of each list differ and are possible
    columns; they are grades if none is above 1.
    """
    values = as_array(rows, name)
    if values.dtype.kind not in "iu" or values.shape[1] < _MIN_COLUMNS:
        return
    n_items = values.shape[1]
    ascending = np.sort(values, axis=1)
    is_possible = (ascending >= -1) & (ascending < n_items)
    is_repeated = (np.diff(ascending, axis=1) == 0) & (ascending[:, 1:] != -1)
    may_be_columns = is_possible.all() and not is_repeated.any()
    if may_be_columns and values.max() > 1:
        raise InputError(
            f"{name}: lists of {n_items} numbers, as many as items, may be columns or "
            "grades; as columns drop -1 from the lists, or pass a dictionary of lists by row; "
            "as grades pass an array"
        )


def _refuse_ascending_pairs(rows: Any, first_numbers: Array, numbers: Array, name: str) -> None:
    """Raise InputError for rows that may begin with users: their first numbers never fall.

    Few different `numbers` in all rows are rather grades.
    """
    are_ascending = (first_numbers[1:] >= first_numbers[:-1]).all()
    if are_ascending and np.unique(numbers).size > MAX_GRADES:
        _refuse_pairs(rows, name)


def _refuse_pairs(rows: Any, name: str) -> None:
    """Raise InputError for many short rows, as of a user, an item and maybe a rating."""
    if len(rows) >= _MIN_PAIRS and 1 < len(rows[0]) <= _MAX_PAIR_COLUMNS:
        raise InputError(
            f"{name}: found rows of {len(rows[0])} numbers; if these are users and items, pass a "
            "DataFrame with columns user_id and item_id"
        )


def _wrong_array(array: Any, name: str, size: Size | None) -> InputError:
    """Make the error for an array that is neither columns nor a matrix of the right size."""
    remedy = ""
    may_be_columns = array.ndim == 2 and array.dtype.kind in "iu" and not sparse.issparse(array)
    if may_be_columns and size is not None and len(array) == size[0]:
        remedy = ", or lists of columns, [row[row >= 0].tolist() for row in ...]"
    return InputError(
        f"{name} items are {array.dtype} of shape {array.shape}; expected columns of each user, or "
        f"numbers of users x items, {size or 'as many'}{remedy}"
    )


# ---- With ids, and beside scores


def items_by_id(data: object, name: str, min_relevance: float = 0.0) -> Items:
    """Return items with the ids of users and items; the ids of items by position are numbers."""
    table = read_item_table(data, name)
    if table is None:
        return _items_by_column(data, name)
    return items_from_table(table, name, min_relevance)


def _may_be_lists_of_ids(data: Any) -> bool:
    """Return whether data is a matrix of whole numbers other than the marks 0, 1 and -1."""
    is_matrix = isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "iu"
    return is_matrix and not np.isin(data, (-1, 0, 1)).all()


def _items_by_column(data: Any, name: str) -> Items:
    """Return items by position with row and column numbers as ids."""
    if _may_be_lists_of_ids(data):
        raise InputError(
            f"{name}: found an array of shape {data.shape} with numbers other than 0 and 1; "
            f"as ids pass lists, without -1, of each user; {MATRIX_REMEDY}"
        )
    items = items_by_position(data, name)
    largest = int(items.item.max(initial=-1))
    if largest >= _MAX_COLUMN:
        raise InputError(f"{name} has an item {largest}; expected columns below {_MAX_COLUMN}")
    user, user_ids = encode(items.user)
    return Items.from_pairs(
        user,
        items.item,
        n_users=len(user_ids),
        n_items=items.n_items,
        relevance=items.relevance,
        ids=Units(user_ids),
        item_ids=pa.array(np.arange(items.n_items)),
        name=name,
        n_rows=items.n_users,
    )


class _Axes(NamedTuple):
    """Rows and columns of scores, with which the ids of users and items are matched.

    Attributes
    ----------
    size
        Numbers of rows and columns of the scores.
    units, item_ids
        Ids of rows and columns, which more ids may follow: of users and items without scores. None
        if tables contain the numbers of rows or columns.
    skip_unknown
        Whether to skip pairs of other users and items, which are an error otherwise.
    """

    size: Size
    units: Units | None
    item_ids: Ids | None
    skip_unknown: bool

    @property
    def n_users(self) -> int:
        """Number of users, also of those without scores."""
        return self.size[0] if self.units is None else len(self.units)

    @property
    def n_items(self) -> int:
        """Number of items, also of those without scores."""
        return self.size[1] if self.item_ids is None else len(self.item_ids)


def items_for_scores(
    data: Any,
    name: str,
    size: Size,
    *,
    units: Units | None = None,
    item_ids: Ids | None = None,
    min_relevance: float = 0.0,
    skip_unknown: bool = False,
) -> Items:
    """Return items by the rows and columns of scores.

    Tables contain the ids of rows and columns, or their numbers if the scores have no ids.

    Parameters
    ----------
    size
        Numbers of rows and columns of the scores.
    units, item_ids
        Ids of rows and columns, which more ids may follow: of users and items without scores.
    skip_unknown
        Whether to skip pairs of other users and items, which are an error by default.
    """
    axes = _Axes(size, units, item_ids, skip_unknown)
    with place_of(data):
        table = read_item_table(data, name)
        if table is None:
            refuse_numbered_series(name, data, None if units is None else units.users)
            return items_by_position(data, name, size, item_ids)
        if units is not None and units.visits is not None:
            row, column, grades = _cells_of_visits(table, name, axes, units, min_relevance)
        else:
            row, column, grades = _cells_of_users(table, name, axes, min_relevance)
        is_known = (row >= 0) & (column >= 0)
        return Items.from_pairs(
            row[is_known],
            column[is_known],
            n_users=axes.n_users,
            n_items=axes.n_items,
            relevance=select_rows(grades, is_known),
            name=name,
        )


def _cells_of_users(
    table: Table, name: str, axes: _Axes, min_relevance: float
) -> tuple[Int, Int, Float | None]:
    """Return the row and the column of the scores of each item of a user, and its grade.

    Unknown ids have the row or the column -1. Grades are None if all are 1.
    """
    user = _row_positions(table, name, axes)
    item = _column_positions(table, name, axes)
    have_no_ids = axes.units is None and axes.item_ids is None
    if have_no_ids and user.all() and item.all():
        note_meaning(str(table.path), "row and column numbers, from 0; none is 0")
    rows, grades = _rows_and_grades(table, name, user, item, min_relevance)
    return user[rows], item[rows], grades


def _cells_of_visits(
    table: Table, name: str, axes: _Axes, visits: Units, min_relevance: float
) -> tuple[Int, Int, Float | None]:
    """Return what `_cells_of_users` does if the rows of the scores are visits.

    Items of a user, without visits, are seen in all visits of the user.
    """
    columns = table.unit_columns()
    if name == RELEVANT:
        table.require(USER, VISIT)
    items = items_from_table(table, name, min_relevance=min_relevance, columns=columns)
    if len(columns) == 1:
        items = items.for_visits(visits, by_visit=columns == (VISIT,))
    row_of_unit = items.units.positions_in(visits)
    is_unknown = row_of_unit < 0
    if is_unknown.any() and not axes.skip_unknown:
        visit = items.units.name(int(np.argmax(is_unknown)))
        remedy = _describe_unknown(name, "visit", is_unknown[items.user], items.user)
        raise InputError(
            f"{name}: found user {visit}; expected users and visits of the scores{remedy}"
        )
    item_of_table_row, _ = table.codes(ITEM)
    column_of_item = np.zeros(items.n_items, np.int64)
    column_of_item[item_of_table_row] = _column_positions(table, name, axes)
    return row_of_unit[items.user], column_of_item[items.item], items.relevance


def _row_positions(table: Table, name: str, axes: _Axes) -> Int:
    """Return the row of the scores for each row of a table, -1 for unknown users."""
    if axes.units is None:
        return _axis_numbers(table, USER, axes.size[0])
    return _positions_of_ids(table, name, USER, axes.units.users, axes.skip_unknown)


def _column_positions(table: Table, name: str, axes: _Axes) -> Int:
    """Return the column of the scores for each row of a table, -1 for unknown items."""
    if axes.item_ids is None:
        return _axis_numbers(table, ITEM, axes.size[1])
    return _positions_of_ids(table, name, ITEM, axes.item_ids, axes.skip_unknown)


def _positions_of_ids(table: Table, name: str, column: str, ids: Values, skip_unknown: bool) -> Int:
    """Return the position among `ids` of each id in a column of a table, -1 for unknown ids."""
    ids_of_rows = table.ids(column)
    position = positions(ids_of_rows, ids)
    is_unknown = position < 0
    if not skip_unknown:
        noun = column.removesuffix("_id")
        remedy = _describe_unknown(name, noun, is_unknown, table.units()[0])
        table.refuse(column, is_unknown, ids_of_rows, f"an id of the scores{remedy}")
    return position


def _axis_numbers(table: Table, column: str, size: int) -> Int:
    """Return the row or column numbers that a table has in place of ids."""
    expected = "row or column numbers of the scores, from 0"
    if column == USER and table.is_by_user:
        expected += " (of a Series in the order of rows pass its to_numpy())"
    numbers = table.whole_numbers(column, 0, size - 1, expected)
    if column == USER:  # nobody may have the item in column 0
        warn_all(signs_of_ids_from_1(str(table.path), numbers, size))
    return numbers


def _describe_unknown(name: str, noun: str, is_unknown: Bool, users: Int | Codes) -> str:
    """Say how many rows have ids that the scores lack, and what to do; nothing if all have."""
    if is_unknown.all():
        return ""
    remedy = f"; drop rows of such {noun}s ({describe_pairs(users[is_unknown])})"
    if name == SEEN:
        return remedy
    return f"{remedy}, or count them as not found by missing='last' (--missing last)"


# ---- Beside lists, whose units are users or visits of users


def relevant_by_unit(
    relevant: ItemsByUser,
    columns: ColumnNames,
    units: Units,
    by_row: bool = False,
    min_relevance: float = 0.0,
) -> tuple[Units, Items]:
    """Return the units of lists, and relevant items of units of the same kind.

    Lists of visits have relevant items by visit. If the lists do not contain the users of their
    visits, they come from the relevant items. Lists of users with one visit each may have relevant
    items by user; their units are then the users.

    Parameters
    ----------
    columns
        Columns that contain the ids of the units of the lists, see `Table.units`.
    units
        The units of the lists.
    by_row
        Whether units are the rows of arrays, so that row i of items by position belongs to unit i.
    """
    table = read_item_table(relevant, RELEVANT)
    if table is None:
        return units, _items_by_row(relevant, RELEVANT, units, by_row)
    if is_by_user(relevant):
        if units.has_several_visits:
            raise InputError(
                f"{RELEVANT}: lists are of visits, and users have several; pass a table of "
                f"{USER}, {VISIT} and {ITEM}"
            )
        items = items_from_table(table, RELEVANT, min_relevance=min_relevance, columns=(USER,))
        return Units(units.users), items
    has_user_one_list = columns == (USER, VISIT) and not units.has_several_visits
    if has_user_one_list and not _has_common_visit(table, units):  # then match by users
        columns = (USER,)
        units = Units(units.users)
    if VISIT in columns and VISIT not in table.columns:
        raise InputError(
            f"{RELEVANT}: lists are of visits; found columns {', '.join(table.names)}; add a "
            f"column of ids of visits, such as {VISIT}"
        )
    table.require(*columns)
    items = items_from_table(table, RELEVANT, min_relevance=min_relevance, columns=columns)
    are_visits_without_users = columns == (VISIT,)
    if are_visits_without_users and USER in table.columns:
        return _add_users(units, items, table)
    return units, items


def items_by_unit(
    data: Any,
    name: str,
    columns: ColumnNames,
    units: Units,
    *,
    others: Units | None = None,
    by_row: bool = False,
) -> Items:
    """Return items that are not relevant ones, such as seen items, of the units of lists.

    Parameters
    ----------
    data, name
        The items, and what errors call them.
    columns, units, by_row
        See `relevant_by_unit`.
    others
        Further visits. If units are visits of users, items without a visit are those of all visits
        of their user, among `units` and `others`.
    """
    table = read_item_table(data, name)
    if table is None:
        return _items_by_row(data, name, units, by_row)
    if units.visits is None:
        are_visits_without_users = columns == (VISIT,) and not is_by_user(data)
        id_column = VISIT if are_visits_without_users else USER
        table.require(id_column)
        return items_from_table(table, name, columns=(id_column,))
    id_columns = (USER,) if is_by_user(data) else table.unit_columns()
    items = items_from_table(table, name, columns=id_columns)
    if items.units.visits is None:
        visits = units if others is None else units.union(others)
        return items.for_visits(visits, by_visit=id_columns == (VISIT,))
    has_common_visit = (items.units.positions_in(units) >= 0).any()
    if not has_common_visit:
        raise InputError(
            f"{name} has a column {table.name_of[VISIT]}, and no visit of the lists; drop it "
            "if items are those of all visits of a user"
        )
    return items


def _items_by_row(data: Any, name: str, units: Units, by_row: bool) -> Items:
    """Return items of rows without ids of users, beside lists, which may have them.

    Rows contain the ids of items. A sparse matrix, a matrix of true and false, or one in a file
    marks items by their columns instead.

    Parameters
    ----------
    data, name
        The rows, and what errors call the items.
    units
        Units of the lists.
    by_row
        Whether row i belongs to unit i; otherwise the ids of units must be row numbers.

    Returns
    -------
    Items
        Their units are those of the lists, or the row numbers.
    """
    if isinstance(data, str | Path) and Path(data).suffix == ".npy":
        data = read_npy(Path(data), f"{name} items in an array")
    is_matrix_file = isinstance(data, str | Path)
    has_marks = sparse.issparse(data) or np.dtype(bool) == getattr(data, "dtype", None)
    if is_matrix_file or has_marks:
        items = _items_by_column(data, name)
    else:
        items = _items_by_row_and_id(data, name)
    if not items.n_rows:  # there are no items
        return items
    if not by_row:
        _require_row_numbers(name, units, items.n_rows)
        return items
    refuse_numbered_series(name, data, units.names())
    if items.n_rows != len(units):
        raise InputError(
            f"{name}: found {items.n_rows} rows; expected {len(units)}, the ids of each row of "
            f"the lists; {MATRIX_REMEDY}"
        )
    return items._replace(ids=units.take(arrow_to_numpy(items.user_ids)))


def _items_by_row_and_id(data: Any, name: str) -> Items:
    """Return rows of ids of items; the ids of users are the numbers of rows, from 0.

    A relevant item that occurs twice in a row is refused; a seen one counts once.
    """
    row_of_pair, item_id_of_pair, n_rows = _ids_by_row(data, name)
    user, user_ids = encode(row_of_pair)
    item, item_ids = encode(item_id_of_pair)
    duplicate = first_duplicate(row_of_pair, item) if name == RELEVANT else None
    if duplicate is not None:
        raise InputError(
            f"{RELEVANT} item {item_id_of_pair[duplicate]} occurs twice; expected ids beside "
            f"lists, each once, and -1 or None for none; {MATRIX_REMEDY}",
            row=int(row_of_pair[duplicate]) + 1,
        )
    return Items.from_pairs(
        user,
        item,
        n_users=len(user_ids),
        n_items=len(item_ids),
        ids=Units(user_ids),
        item_ids=item_ids,
        name=name,
        n_rows=n_rows,
    )


def _require_row_numbers(name: str, units: Units, n_rows: int) -> None:
    """Raise InputError unless the ids of units of lists are numbers of rows, 0 to n_rows - 1."""
    ids = units.names()
    are_row_numbers = False
    if pa.types.is_integer(ids.type):
        numbers = arrow_to_numpy(ids)
        are_row_numbers = bool(((numbers >= 0) & (numbers < n_rows)).all())
    if not are_row_numbers:
        last_id = ids[len(ids) - 1].as_py()
        raise InputError(
            f"{name} has {n_rows} rows without ids, but users of the lists have ids, such as "
            f"{last_id!r}; pass a dictionary of lists by user, or a "
            "table of user_id and item_id"
        )


def _has_common_visit(table: Table, units: Units) -> bool:
    """Return whether users of a table have several visits, at least one of them a given unit."""
    if not table.has_several_visits():
        return False
    return bool((table.units()[1].positions_in(units) >= 0).any())


def _add_users(visits: Units, relevant: Items, table: Table) -> tuple[Units, Items]:
    """Add to the ids of visits those of their users in a table of relevant items.

    Both `visits` and the units of `relevant` are ids of visits only. A visit that the table lacks
    gets a null as its user.
    """
    _, units = table.units()
    known_visits: pa.Array = units.visits
    duplicate = Units(known_visits).first_duplicate()
    if duplicate is not None:
        raise InputError(
            f"{RELEVANT}: {table.name_of[VISIT]} {known_visits[duplicate]} belongs to several "
            f"users; add {USER} to the lists"
        )

    def with_users(visit_ids: pa.Array) -> Units:
        position = positions(visit_ids, known_visits)
        known_position = pa.array(position, mask=position < 0)  # null for others
        return Units(units.users.take(known_position), visit_ids)

    return with_users(visits.users), relevant._replace(ids=with_users(relevant.user_ids))
