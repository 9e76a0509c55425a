"""Relevant, seen and held-out items of users, by ids in tables, or by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate, grades_of
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.kinds import Kind
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.inputs.positions import items_of_arrays
from sampled_metrics.inputs.questions import ask_of_few_common, ask_of_grades
from sampled_metrics.inputs.recognise import table_of
from sampled_metrics.ranks.items import RELEVANT, SEEN, Items
from sampled_metrics.tables import arrow
from sampled_metrics.tables.arrow import Codes, as_arrow, as_numpy, encoded, places
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.reading import read_table
from sampled_metrics.tables.table import Table
from sampled_metrics.tables.text import QRELS

WHAT = {
    RELEVANT: "relevant items",
    SEEN: "seen items (user_id, item_id)",
    "negatives": "negatives (user_id, item_id)",
    "candidates": "candidates (user_id, item_id)",
}
_LARGEST_GRADE = 1000.0  # larger numbers are times, of users, items, ratings and times
_MOST_COLUMNS = 10_000_000  # that lists name; larger numbers are ids or times
_FEW = 10  # ids of which two sets can be disjoint by chance if they are fewer


class Axes(NamedTuple):
    """Users and items of a matrix of scores; ids are None for the numbers of rows and columns."""

    shape: tuple[int, int]
    user_ids: Ids | None
    item_ids: Ids | None


def table_of_items(given: Any, name: str) -> Table | None:
    """Return a table with columns `user_id` and `item_id`; None for items given by position."""
    found = table_of(given, WHAT.get(name, name), name=name, value="relevance", trec=QRELS)
    if isinstance(found, Table):
        found.require(USER, ITEM)
        return found
    if found is Kind.FRAME:
        raise InputError(
            f"{name}: found a matrix with ids; expected columns user_id and item_id, or an array "
            "whose rows and columns are those of the scores"
        )
    return None


def items_by_id(given: Any, name: str) -> Items:
    """Return items with the ids of their users and of themselves.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair counts, or those above 0 in a column `relevance`; other
    columns, such as ratings, are ignored. Items given by position have its numbers as ids.
    """
    table = table_of_items(given, name)
    if table is None:
        by_place = items_of_arrays(given, name)
        largest = int(by_place.item.max(initial=-1)) + 1
        if largest > _MOST_COLUMNS:
            raise InputError(
                f"{name} has an item {largest - 1}; expected columns below {_MOST_COLUMNS}"
            )
        return by_place._replace(
            user_ids=as_arrow(np.arange(by_place.n_users)),
            item_ids=as_arrow(np.arange(by_place.n_items or largest)),
            name=name,
        )
    user, user_ids = table.codes(USER)
    item, item_ids = table.codes(ITEM)
    rows, grades = _counted_rows(table, name, user, item)
    user = user[rows]
    if rows.size < item.size:  # some users may have no rows left
        user, user_ids = encoded(arrow.take(user_ids, user))
    return Items.of_pairs(
        user.astype(np.int64),
        item[rows].astype(np.int64),
        len(user_ids),
        len(item_ids),
        user_ids=user_ids,
        item_ids=item_ids,
        relevance=grades,
        name=name,
    )


def items_of_scores(given: Any, name: str, axes: Axes) -> Items:
    """Return items as columns of the rows of scores; tables hold their ids, or else numbers."""
    shape = axes.shape
    with reading(given):
        table = table_of_items(given, name)
        if table is None:
            return items_of_arrays(given, name, shape)
        user = _places(table, USER, axes.user_ids, shape[0])
        item = _places(table, ITEM, axes.item_ids, shape[1])
        rows, grades = _counted_rows(table, name, user, item)
        return Items.of_pairs(user[rows], item[rows], *shape, relevance=grades, name=name)


def _counted_rows(
    table: Table, name: str, user: Codes | Int, item: Codes | Int
) -> tuple[Int, Float | None]:
    """Return the rows with a relevance above 0, and the grades of relevant items if any is not 1.

    Without a column `relevance` these are all rows. Each relevant pair must be there once.
    """
    if name == RELEVANT:
        require_different(table, user, item)
    if "relevance" not in table.columns:
        return np.arange(len(table)), None
    relevance = table.finite("relevance")
    rows = np.flatnonzero(relevance > 0.0)
    if name != RELEVANT:
        return rows, None
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    if table.names == QRELS.columns and relevance.max() > _LARGEST_GRADE:
        raise InputError(
            f"found a relevance of {relevance.max():.15g}; expected {QRELS.what}. If columns are "
            "user, item, rating and time, add a header: user_id, item_id, rating, timestamp",
            path=table.path,
        )
    return rows, grades_of(relevance[rows])


def require_common(name: str, ids: Any, others_name: str, others: Any, *, few: int = 1) -> None:
    """Raise InputError if two columns of ids have nothing in common.

    Fewer than `few` ids may differ by chance, unless one column holds numbers and one text.
    """
    is_alike = ids.type == others.type
    if is_alike and min(len(ids), len(others)) < few:
        return
    if not len(ids) or not len(others):
        return
    n_common = int(np.count_nonzero(places(ids, others) >= 0))
    if n_common:
        ask_of_few_common(name, n_common, others_name, min(len(ids), len(others)))
        return
    raise InputError(
        f"no id of {name} is one of {others_name}: found {ids[0].as_py()!r}, and "
        f"{others[0].as_py()!r} in {others_name}; expected the same ids"
    )


def require_common_items(name: str, ids: Any, others_name: str, others: Any) -> None:
    """Raise InputError if ids of items have nothing in common, and are not too few to tell."""
    require_common(f"the items of {name}", ids, others_name, others, few=_FEW)


def require_different(table: Table, user: Codes | Int, item: Codes | Int) -> None:
    """Raise InputError for the first row with the pair of an earlier one."""
    again = first_duplicate(user, item)
    if again is None:
        return
    first = int(np.argmax((user == user[again]) & (item == item[again])))
    ids = [table.codes(name) for name in (USER, ITEM)]
    user_id, item_id = (names[int(codes[again])] for codes, names in ids)
    found = f"user {user_id}, item {item_id}"
    raise table.error_at(again, f"duplicate of row {first + 1} ({found})")


def _places(table: Table, name: str, ids: Any, size: int) -> Int:
    if ids is None:
        return table.whole(name, 0, size - 1)
    return table.places(name, ids, "an id of the scores")


class KnownItems(NamedTuple):
    """Items that users have seen, and those that are held out for them."""

    user_ids: Ids  # of users with held-out items, in ascending order
    item_ids: Ids  # of all items that any table names, likewise
    held_out: Items
    seen: Items
    seen_by_others: Items  # by users without held-out items


def known_items(
    held_out: Any, seen: Any, items: Any = None, others: Sequence[Table] = ()
) -> KnownItems:
    """Take tables of pairs, files, DataFrames or dictionaries, or qrels for the held-out items.

    `seen` is None if nobody has seen anything. The catalogue has the items of all tables, also
    those of a table of `items` (`item_id`) and of `others`.
    """
    held = items_by_id(held_out, RELEVANT)
    ask_of_grades(held.relevance)
    of_seen = _nothing_like(held)
    if seen is not None:
        of_seen = items_by_id(seen, SEEN)
        with reading(seen):
            require_common("the users of seen", of_seen.user_ids, "relevant", held.user_ids)
            require_common_items("seen", of_seen.item_ids, "relevant", held.item_ids)
    named = [held.item_ids, of_seen.item_ids]
    if items is not None:
        named.append(_ids_of(read_table(items, "items (item_id)")))
    for table in others:
        named.append(_ids_of(table))
    user_ids = _distinct([held.user_ids])
    item_ids = _distinct(named)
    mine = of_seen.within(user_ids, item_ids)
    held = held.within(user_ids, item_ids)
    is_other = places(of_seen.user_ids, user_ids) < 0
    other_ids = arrow.take(of_seen.user_ids, np.flatnonzero(is_other))
    known = KnownItems(user_ids, item_ids, held, mine, of_seen.within(other_ids, item_ids))
    is_both = held.has(mine.owners, mine.item)
    if is_both.any():
        user, item = mine.pair(int(np.argmax(is_both)))
        with reading(seen):
            raise InputError(
                f"user {user}, item {item} is both seen and held out, "
                f"{int(is_both.sum()):,} in all; leave held-out items out of seen"
            )
    return known


def _nothing_like(items: Items) -> Items:
    """Return empty items, with ids of the same types."""
    return Items(
        start=np.zeros(1, np.int64),
        item=np.zeros(0, np.int64),
        n_items=0,
        user_ids=items.user_ids[:0],
        item_ids=items.item_ids[:0],
        name=SEEN,
    )


def _ids_of(table: Table) -> pa.Array:
    return table.ids(ITEM).combine_chunks()


def _distinct(columns: Sequence[pa.Array]) -> Ids:
    """Return the distinct ids of columns in ascending order; text where any column is."""
    kind = pa.string()
    if all(pa.types.is_integer(column.type) for column in columns):
        kind = pa.int64()
    joined = pa.chunked_array([arrow.cast(column, kind) for column in columns])
    distinct = as_numpy(joined.unique())
    return np.sort(distinct)
