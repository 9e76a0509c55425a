"""Items of users, relevant, seen or held out, and the forms in which they are given."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from sampled_metrics._base.arrays import (
    Bool,
    Codes,
    Float,
    Ids,
    Int,
    as_array,
    first_duplicate,
    grades_of,
    integers,
    is_table,
    pairs_of,
    ranges,
    require,
    select_rows,
)
from sampled_metrics._base.errors import InputError, ask, reading
from sampled_metrics._base.files import read_array, read_arrays, require_file
from sampled_metrics._base.sparse import canonical
from sampled_metrics.inputs.tables import (
    ITEM,
    NUMBERS,
    QRELS,
    USER,
    Table,
    Trec,
    Values,
    encoded,
    is_text,
    known_names,
    places,
    plain,
    read_table,
)

HELD_OUT = "held-out"
RELEVANT = "relevant"
SEEN = "seen"
ARRAYS = (".npy", ".npz")
SEVERAL = (list, tuple, set, frozenset, np.ndarray)
_SHORT_LIST = 20  # rows, up to which comparing all is faster than sorting
_MARKED = (SEEN, "candidates")  # items without grades, maybe several of each user
_AXES = {USER: "rows", ITEM: "columns"}
_LARGEST_ID = 10_000_000  # larger numbers in the place of columns are ids or times
_FEW = {USER: 1, ITEM: 10}  # two sets of fewer ids may be disjoint by chance
_JOINTS = re.compile(r"[\s,;|/+_:'\"\[\]()-]+")  # between ids in one cell
_JOINED = re.compile(r"[\[(]?\d+([ ,;|]+\d+)+[\])]?\Z")
_NUMBER = re.compile(r"[+-]?\d+(\.0*)?(e[+]?\d{1,2})?\Z", re.IGNORECASE)
_SOME = 1000  # ids that are looked at
_MOST_ITERATIONS = 10  # different second columns of a file called .qrels
Shape = tuple[int, int | None]  # users and items; None for the width of a function


class Items(NamedTuple):
    """Items of users, both numbered from 0; user u has item[start[u] : start[u + 1]].

    Attributes
    ----------
    start, item
        int64, shapes (users + 1,) and (pairs,).
    n_items
        Number of all items, also without a user; None if it is not known.
    user_ids, item_ids
        Ids of the numbers, arrays of pyarrow; None for rows and columns of a matrix.
    relevance
        Grade of each item, above 0, shape (pairs,); None if items are relevant or not.
    name
        Their name in errors: `held-out` if each user has one, `relevant` or `seen`.
    """

    start: Int
    item: Int
    n_items: int | None = None
    user_ids: Any = None
    item_ids: Any = None
    relevance: Float | None = None
    name: str = RELEVANT

    @classmethod
    def of_pairs(
        cls,
        user: Int,
        item: Int,
        n_users: int,
        n_items: int | None = None,
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

    def sizes_of(self, users: Int) -> Int:
        """Return the number of items of some users."""
        return self.start[users + 1] - self.start[users]

    @property
    def owners(self) -> Int:
        """User of each item."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def select(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        counts = self.sizes_of(users)
        place = ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[place]

    def has(self, user: Int, item: Int) -> Bool:
        """Return whether each pair of numbers is one of these; -1 is no user and no item."""
        width = np.append(self.item, item).max(initial=-1) + 1
        is_known = (user >= 0) & (item >= 0)
        own = self.owners * width + self.item
        return is_known & np.isin(user * width + item, own)

    def within(self, user_ids: Values, item_ids: Values) -> Items:
        """Return the pairs with both ids among others, with the numbers of these."""
        user = places(self.user_ids, user_ids)[self.owners]
        item = places(self.item_ids, item_ids)[self.item]
        is_known = (user >= 0) & (item >= 0)
        items = Items.of_pairs(
            user[is_known],
            item[is_known],
            len(user_ids),
            len(item_ids),
            relevance=select_rows(self.relevance, is_known),
            name=self.name,
        )
        return items._replace(user_ids=user_ids, item_ids=item_ids)

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


def is_by_user(data: object) -> bool:
    """Return whether data is a dictionary by user, or a Series whose index holds ids."""
    if isinstance(data, pd.Series):
        return not isinstance(data.index, pd.RangeIndex)
    return isinstance(data, Mapping) and not sparse.issparse(data)


def is_columns(data: object) -> bool:
    """Return whether data is a dictionary of columns with ids of users and items, or ranks."""
    if not isinstance(data, Mapping):
        return False
    if not all(isinstance(key, str) for key in data):
        return False
    known = set(known_names(list(data)))
    return {USER, ITEM} <= known or not known.isdisjoint(("rank", "n_better", "sampled_rank"))


def table_of(data: Any, noun: str, name: str, value: str, trec: Trec) -> Table | None:
    """Return data with ids as a table; None for arrays, matrices and files of them.

    `value` is the column of the numbers that dictionaries hold by item.
    """
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        data = pa.Table.from_pylist(data)
    if is_by_user(data) and not is_columns(data):
        return _table_of_users(data, name, value)
    is_named = isinstance(data, str | Path) and Path(data).suffix not in ARRAYS
    if isinstance(data, Table | Mapping) or is_named or (is_table(data) and not is_wide(data)):
        return read_table(data, noun, trec=trec)
    return None


def is_wide(data: Any) -> bool:
    """Return whether a table is a matrix: numbers only, in columns without a known name."""
    if not isinstance(data, pd.DataFrame):
        data = pa.table(data).slice(0, 0).to_pandas()
    names = [str(name) for name in data.columns]
    is_number = all(kind.kind in "biuf" for kind in data.dtypes)
    return is_number and not any(known_names(names))


def _table_of_users(data: Any, name: str, value: str) -> Table:
    """Return a table of a dictionary or a Series by user: one item, a list, or numbers by item."""
    pairs = list(data.items())
    has_numbers = bool(pairs) and all(isinstance(own, Mapping) for _, own in pairs)
    users: list[Any] = []
    items: list[Any] = []
    numbers: list[Any] = []
    rank: list[int] = []
    for user, own in pairs:
        if isinstance(own, pd.Series):
            problem = "a Series; give .to_dict() of scores by item, or .tolist() of items"
            raise InputError(f"{name}: the items of user {user} are {problem}")
        if value == "score" and isinstance(own, set | frozenset):
            problem = "a set, which has no order; expected a list, best first, or scores by item"
            raise InputError(f"{name}: the items of user {user} are {problem}")
        listed = items_in(own)
        users += [user] * len(listed)
        items += listed
        of_place = enumerate(_several(own), 1)
        rank += (place for place, item in of_place if not _is_missing(item))
        if has_numbers:
            numbers += own.values()
    if not items:
        raise InputError(f"{name}: no items in the lists; expected items for each user")
    columns = {
        USER: _column(users, f"{name}: users"),
        ITEM: _column(items, f"{name}: items"),
    }
    if has_numbers:
        columns[value] = _column(numbers, f"{name}: numbers of items")
    elif value == "score":
        columns["rank"] = pa.array(rank)
    return Table.of(Path(name), pa.table(columns))


def items_in(own: Any) -> list[Any]:
    """Return several items, or one, or none, as a list."""
    return [item for item in _several(own) if not _is_missing(item)]


def _several(own: Any) -> list[Any]:
    is_array = not isinstance(own, str) and np.ndim(own) == 1
    if is_array or isinstance(own, (Mapping, *SEVERAL)):
        return list(own)
    return [own]


def _is_missing(item: object) -> bool:
    if isinstance(item, float | np.floating):
        return math.isnan(item)
    return item is None or item is pd.NA


def _column(values: list[Any], name: str) -> pa.Array:
    given: Any = values
    if all(isinstance(value, np.float16 | np.float32) for value in values):
        given = np.array(values)
    try:
        column = pa.array(given)
    except (pa.ArrowException, OverflowError):
        column = pa.array([None])
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InputError(f"{name} are of type {kinds}; expected numbers or text")
    return column


def table_of_items(given: object, name: str) -> Table | None:
    """Return a table with columns `user_id` and `item_id`; None for items given by position."""
    table = table_of(given, f"{name} items (user_id, item_id)", name, "relevance", QRELS)
    if table is not None:
        group = table.group()
        table.require(group, ITEM)
    elif is_table(given):
        raise InputError(f"{name}: found a matrix with ids; expected columns user_id and item_id")
    return table


def items_by_id(given: object, name: str, min_relevance: float = 0.0) -> Items:
    """Return items with the ids of their users and of themselves.

    Rows of label 0 are not relevant. Items given by position have its numbers as ids.
    """
    if isinstance(given, Items):
        return given
    table = table_of_items(given, name)
    if table is None:
        items = items_of_arrays(given, name)
        item, grades = items.item, items.relevance
        largest = int(item.max(initial=-1))
        if largest >= _LARGEST_ID:
            raise InputError(f"{name} has an item {largest}; expected columns below {_LARGEST_ID}")
        user, user_ids = encoded(items.owners)
        item_ids = pa.array(np.arange(items.n_items or largest + 1))
    else:
        user, user_ids = table.codes(table.group())
        codes, item_ids = table.codes(ITEM)
        rows, grades = _counted_rows(table, name, user, codes, min_relevance)
        item = codes[rows].astype(np.int64)
        user = user[rows]
        if rows.size < codes.size:  # some users may have no rows left
            user, user_ids = encoded(pc.take(user_ids, pa.array(user)))
    items = Items.of_pairs(
        user.astype(np.int64),
        item,
        len(user_ids),
        len(item_ids),
        relevance=grades,
        name=name,
    )
    return items._replace(user_ids=user_ids, item_ids=item_ids)


def items_of_scores(
    given: object,
    name: str,
    shape: Shape,
    user_ids: Ids | None = None,
    item_ids: Ids | None = None,
    min_relevance: float = 0.0,
) -> Items:
    """Return items as columns of the rows of scores; tables hold their ids, or else numbers."""
    with reading(given):
        table = table_of_items(given, name)
        if table is None:
            return items_of_arrays(given, name, shape)
        user = _numbers_of(table, USER, user_ids, shape[0])
        item = _numbers_of(table, ITEM, item_ids, shape[1])
        rows, grades = _counted_rows(table, name, user, item, min_relevance)
        return Items.of_pairs(user[rows], item[rows], *shape, relevance=grades, name=name)


def _numbers_of(table: Table, column: str, ids: Ids | None, size: int | None) -> Int:
    """Return the row or the column of the scores for each id of a table."""
    if ids is None:
        most = size and size - 1
        return table.whole(column, 0, most, f"numbers of {_AXES[column]} of the scores, from 0")
    return table.places(column, ids, "an id of the scores")


def _counted_rows(
    table: Table, name: str, user: Codes | Int, item: Codes | Int, min_relevance: float
) -> tuple[Int, Float | None]:
    """Return the rows with a grade above 0, and grades of relevant items if any is not 1."""
    relevance = _relevance(table, name, min_relevance)
    if name == RELEVANT:
        require_different(table, user, item)
    if relevance is None:
        return np.arange(len(table)), None
    rows = np.flatnonzero(relevance > 0.0)
    if name == SEEN and rows.size < relevance.size:
        ask(SEEN, "rows of label 0 do not count as seen; leave the column out if they do")
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    return rows, None if name == SEEN else grades_of(relevance[rows])


def negative_rows(table: Table) -> Int:
    """Return the rows of negatives: all, or the rows of label 0."""
    relevance = _relevance(table, "negatives", 0.0)
    if relevance is None:
        return np.arange(len(table))
    return np.flatnonzero(relevance <= 0.0)


def _relevance(table: Table, name: str, min_relevance: float) -> Float | None:
    """Return the grade of each row: `relevance`, a label, or ratings if there is a least one."""
    if table.names == QRELS.columns:
        _require_iterations(table)
    for column in ("relevance", "label"):
        if column in table.columns:
            grades = table.finite(column)
            if (grades > 0.0).all():
                _ask_of_labels(table, name)
            return grades
    if "score" in table.columns and name == RELEVANT:
        if min_relevance > 0.0 or not table.is_rating:
            return table.finite("score")
        if len(table.columns["score"].unique()) > 1:
            ask(
                name, "rating is not read; give min_relevance (--min-relevance) to take it as grade"
            )
    _ask_of_labels(table, name)
    return None


def _ask_of_labels(table: Table, name: str) -> None:
    """Ask about columns that may say which rows count, whose name is not known."""
    for other, values in table.others.items():
        if _could_be_label(plain(values)):
            problem = f"column {other} may be a label, as 0 and 1 are, but is not read"
            ask(name, f"{problem}; call it label if it is one")


def _require_iterations(table: Table) -> None:
    """Raise InputError if the second column of qrels holds ids of items."""
    values = plain(table.others["iter"]).cast(pa.string()).unique().to_pylist()
    found = len({*values} - {"0", "Q0"})
    if found > (_MOST_ITERATIONS if table.path.suffix in QRELS.suffixes else 0):
        raise InputError(
            f"found {found} values in the second column; expected {QRELS.noun}. If columns are "
            "user, item, rating and time, add a header: user_id, item_id, rating, timestamp",
            path=table.path,
        )


def _could_be_label(values: pa.ChunkedArray) -> bool:
    """Return whether a column holds 0 or -1 beside larger numbers, or two texts, or gaps."""
    kind = values.type
    has_two = len(values.unique()) == 2
    if is_text(kind):
        return has_two and len(values) > 4
    if not any(is_number(kind) for is_number in NUMBERS):
        return False
    ends = pc.min_max(values).as_py()
    if values.null_count:
        return has_two
    is_index = np.array_equal(np.asarray(values), np.arange(len(values)))
    return ends["min"] in (-1, 0) and ends["max"] > 0 and not is_index


def require_different(table: Table, user: Codes | Int, item: Codes | Int) -> None:
    """Raise InputError for the first row with the pair of an earlier one."""
    if _are_different(user, item):
        return
    again = first_duplicate(user, item) or 0
    is_same = (user == user[again]) & (item == item[again])
    first = int(np.argmax(is_same))
    user_id, item_id = (table.ids(name)[again] for name in (USER, ITEM))
    problem = f"duplicate of row {first + 1} (user {user_id}, item {item_id})"
    raise table.error_at(again, problem)


def _are_different(user: Codes | Int, item: Codes | Int) -> bool:
    """Return whether all pairs differ; rows of a user's short list are compared with each other."""
    longest = int(np.bincount(user).max(initial=0))
    if longest <= _SHORT_LIST and (user[1:] >= user[:-1]).all():
        for lag in range(1, longest):
            same = item[lag:] == item[:-lag]
            same &= user[lag:] == user[:-lag]
            if same.any():
                return False
        return True
    pairs = np.sort(pairs_of(user, item, int(item.max(initial=0)) + 1))
    return bool((pairs[1:] != pairs[:-1]).all())


def ask_of_common(
    column: str, name: str, ids: pa.Array, others_name: str, others: pa.Array
) -> None:
    """Ask about ids of users, or of items, of which few are in both, or in another form.

    Relevant items without a common one are refused.
    """
    n_ids = min(len(ids), len(others))
    n_common = int(np.count_nonzero(places(ids, others) >= 0))
    if not n_ids or (ids.type == others.type and n_ids < _FEW[column]):
        n_common = n_ids
    noun = f"the {column.removesuffix('_id')}s of {name}"
    if n_ids and not n_common and name == RELEVANT:
        raise InputError(
            f"no id of {noun} is one of {others_name}: found {ids[0].as_py()!r}, and "
            f"{others[0].as_py()!r} in {others_name}; expected the same ids"
        )
    if 10 * n_common >= n_ids:
        _ask_of_forms(name, ids, others)
        _ask_of_forms(name, others, ids)
    else:
        found = f"{n_common:,} of {n_ids:,} ids of {noun} and {others_name} are in both"
        mine = ids[0].as_py()
        example = f"such as {mine!r} and {others[0].as_py()!r}"
        ask(name, f"{found}, {example}: are these ids of the same things?")


def _ask_of_forms(name: str, ids: pa.Array, others: pa.Array) -> None:
    """Ask about texts that are no id of others, but hold several of them, or one as a number."""
    if not pa.types.is_string(ids.type):
        return
    is_strange = pa.array(places(ids, others) < 0)
    strange = ids.filter(is_strange)[:_SOME].to_pylist()
    parts = []
    numbers = {}
    for text in strange:
        parts += _JOINTS.split(text)
        if _NUMBER.match(text):
            numbers[text] = f"{float(text):.0f}"
    texts = pa.array([*parts, *numbers.values()], pa.string())
    known = _in_both(texts, others)
    own = _in_both(texts, ids)
    for text in strange:
        if _JOINED.match(text) or len(known.intersection(_JOINTS.split(text))) > 1:
            ask(name, f"found {text!r}: are these several ids? Give each a row of its own")
            return
        if numbers.get(text, text) in known - own:
            ask(name, f"found {text!r} and {numbers[text]}: are these the same id?")
            return


def _in_both(texts: pa.Array, ids: pa.Array) -> set[str]:
    """Return the texts that are ids."""
    is_id = places(texts, ids) >= 0
    return set(texts.filter(pa.array(is_id)).to_pylist())


def items_of_arrays(given: Any, name: str, shape: Shape | None = None) -> Items:
    """Return items of the rows of a matrix, which may be in a file; see `items_by_position`."""
    if not isinstance(given, str | Path):
        return items_by_position(given, name, shape)
    path = Path(given)
    noun = f"{name} items"
    require_file(path, noun)
    if path.suffix == ".npy":
        return items_by_position(read_array(path, noun), name, shape)
    read_arrays(path, f"{noun}, as scipy.sparse.save_npz writes", ("format",), ())
    try:
        return items_by_position(sparse.load_npz(path), name, shape)
    except ValueError as error:
        raise InputError(f"not {noun} ({error})", path=path) from error


def may_be_matrix(lists: Sequence[Any]) -> bool:
    """Return whether lists of each user all have the same length, as rows of a matrix."""
    sizes = {len(items_in(own)) for own in lists}
    return len(sizes) == 1 and any(isinstance(own, SEVERAL) for own in lists)


def items_by_position(given: Any, name: str, shape: Shape | None = None) -> Items:
    """Return items of the rows of a matrix, of `shape` if it is known.

    They are the nonzeros of a matrix, users x items; a list of columns for each user; or, if
    relevant, one column for each user, -1 or None without.
    """
    is_object = isinstance(given, np.ndarray) and given.dtype == object
    if is_object or isinstance(given, pd.Series):
        given = given.tolist()
    if isinstance(given, list | tuple) and any(isinstance(own, SEVERAL) for own in given):
        lists = [items_in(own) for own in given]
        sizes = [len(own) for own in lists]
        if shape is None or sizes != [shape[1]] * shape[0]:
            return _of_lists(lists, name, shape)
    if isinstance(given, list | tuple):
        given = [-1 if each is None else each for each in given]
    if sparse.issparse(given):
        return _of_matrix(given, name, shape)
    if np.shape(given) == (0,) and (shape is None or not shape[0]):
        none = np.zeros(0, np.int64)
        return Items(np.zeros(1, np.int64), none, name=HELD_OUT)
    array = as_array(given, name)
    if array.ndim == 2:
        return _of_matrix(array, name, shape)
    return _of_columns(array, name, shape)


def _of_matrix(marked: Any, name: str, shape: Shape | None) -> Items:
    """Take the nonzeros of a matrix; stored zeros of seen items count as seen."""
    size = marked.shape[-1]
    is_other = shape is not None and marked.shape != (shape[0], shape[1] or size)
    if marked.ndim != 2 or marked.dtype.kind not in "biuf" or is_other:
        raise _wrong(marked, name, shape)
    if shape is None and not sparse.issparse(marked):
        _refuse_pairs(marked, name)
    table = canonical(marked, name, keep_zeros=name == SEEN and sparse.issparse(marked))
    bad = table.data[~np.isfinite(table.data)]
    if bad.size:
        raise InputError(f"{name} has {bad[0]}; expected finite numbers, 0 where it is not {name}")
    grades = None
    if name not in _MARKED:
        table.data = np.maximum(table.data, 0)
        table.eliminate_zeros()
        grades = grades_of(table.data.astype(np.float64))
        is_float = marked.dtype.kind == "f" and not sparse.issparse(marked)
        if is_float and table.nnz == marked.size > 1:
            ask(name, "all numbers of the matrix are above 0: are these scores, not grades?")
    start = table.indptr.astype(np.int64)
    return Items(start, table.indices, table.shape[1], relevance=grades, name=name)


def _refuse_pairs(rows: Any, name: str, is_in_order: bool = False) -> None:
    """Raise InputError for rows of user, item and maybe a rating, at times in order of users."""
    table = np.asarray(rows)
    if len(table) < 10 or not 1 < table.shape[1] <= 5:
        return
    falls = (np.diff(table[:, 0]) < 0).any()
    if np.unique(table).size > 10 and not (is_in_order and falls):
        raise InputError(
            f"{name}: found rows of {len(rows[0])} numbers; if these are users and items, give a "
            "DataFrame with columns user_id and item_id"
        )


def _of_columns(columns: Any, name: str, shape: Shape | None) -> Items:
    """Take one column for each user, -1 for users without."""
    n_users, n_items = shape or (columns.size, None)
    if columns.dtype.kind not in "iu" or name in _MARKED or columns.size != n_users:
        raise _wrong(columns, name, shape)
    item = integers(name, columns)
    good = (item >= -1) & (item < (n_items or np.inf))
    bound = f"0 to {n_items - 1}" if n_items else "from 0"
    require(name, item, good, f"columns {bound}, or -1 for users without")
    has_item = item != -1
    start = np.append(0, np.cumsum(has_item))
    return Items(start, item[has_item], n_items, name=HELD_OUT if has_item.all() else name)


def _of_lists(lists: Sequence[Sequence[Any]], name: str, shape: Shape | None) -> Items:
    """Take the columns of each user."""
    if shape is not None and len(lists) != shape[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {shape[0]}")
    sizes = [len(own) for own in lists]
    if shape is None and len(set(sizes)) == 1:
        _refuse_pairs(lists, name, is_in_order=True)
    together = list(chain.from_iterable(lists))
    item = integers(name, together, is_column=True)
    first = int(item.min(initial=0))
    last = int(item.max(initial=-1))
    n_items = last + 1
    if shape is not None and shape[1] is not None:
        n_items = shape[1]
    if first < 0 or last >= n_items:
        found = f"found items {item.min()} to {last}"
        raise InputError(f"{name}: {found}; expected columns, 0 to {n_items - 1}")
    start = np.cumsum([0, *sizes])
    items = _of_matrix(Items(start, item, n_items).matrix(), name, None)
    if shape is not None:
        items = items._replace(n_items=shape[1])
    return items


def _wrong(given: Any, name: str, shape: Shape | None) -> InputError:
    """Make the error for an array that gives no items."""
    found = f"{name} items are {given.dtype} of shape {given.shape}"
    whole = "users x items"
    if shape:
        whole = f"users x items, {shape}"
    one = "a column per user"
    if name in _MARKED:
        one = "a list of columns per user"
    return InputError(f"{found}; expected {one}, or numbers of {whole}")


def ask_of_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        ask(RELEVANT, "grades are not used here; from full rankings `evaluate` takes them as gains")
