"""Signs of a mistake in the items of users: relevant, seen, or candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics._base.arrow import decode_categories, is_numeric, is_text, positions
from sampled_metrics.checks import Signs

if TYPE_CHECKING:
    from sampled_metrics.read.items import Items

_MIN_IDS = {"user_id": 1, "item_id": 10}  # fewer ids of one type may be disjoint
_ONE_OF_IDS = 10  # fewer than one of so many ids in common is a sign
MAX_GRADES = 10  # different numbers; a column with more contains no grades
_MIN_USERS = 10  # fewer users may share an item, or lack row 0, by chance
_LABEL_ROWS = 1000  # rows of text in which yes and no are looked for
_YES_NO_WORDS = ({"0", "1"}, {"no", "yes"}, {"false", "true"})
_NEARLY_ALL = 0.9  # share of users
_CHECKED_IDS = 1000  # unknown texts whose forms are compared
_ID_SEPARATORS = r"[\s,;|/+_:'\"\[\]()-]+"  # between several ids in one cell


class TwoColumns(NamedTuple):
    """Two columns of ids of users, or of items, that should have ids in common.

    Attributes
    ----------
    role
        What the ids name: `user_id` or `item_id`.
    name, other_name
        What the columns belong to.
    ids, other_ids
        Their ids, each once.
    """

    role: str
    name: str
    ids: pa.Array
    other_name: str
    other_ids: pa.Array

    def count_common(self) -> tuple[int, int]:
        """Return the number of common ids, and of ids in the smaller column.

        Few ids of one type may be disjoint by chance; they count as common.
        """
        n_ids = min(len(self.ids), len(self.other_ids))
        have_one_type = self.ids.type == self.other_ids.type
        if not n_ids or (have_one_type and n_ids < _MIN_IDS[self.role]):
            return n_ids, n_ids
        is_common = positions(self.ids, self.other_ids) >= 0
        return int(np.count_nonzero(is_common)), n_ids

    def describe(self, n_common: int, n_ids: int) -> str:
        """Say how many ids are common, with an example of each column."""
        examples = f"{self.ids[0].as_py()!r} and {self.other_ids[0].as_py()!r}"
        return (
            f"{n_common:,} of {n_ids:,} ids of the {self.noun} of {self.name} and "
            f"{self.other_name} are in both, such as {examples}"
        )

    @property
    def noun(self) -> str:
        """What the ids name: users or items."""
        return f"{self.role.removesuffix('_id')}s"


def signs_of_different_ids(columns: TwoColumns, n_common: int, n_ids: int) -> Signs:
    """Look for few common ids in two columns, and for ids that differ in form.

    Parameters
    ----------
    columns
        The two columns.
    n_common, n_ids
        See `TwoColumns.count_common`.
    """
    if _ONE_OF_IDS * n_common >= n_ids:
        yield from _signs_in_forms_of_ids(columns.name, columns.ids, columns.other_ids)
        yield from _signs_in_forms_of_ids(columns.name, columns.other_ids, columns.ids)
    else:
        comparison = columns.describe(n_common, n_ids)
        yield columns.name, f"{comparison}; do both refer to the same {columns.noun}?"


def _signs_in_forms_of_ids(name: str, ids: pa.Array, other_ids: pa.Array) -> Signs:
    """Look for texts among `ids` that are not among `other_ids`, but contain some of them.

    Such a text contains several ids, as in "7, 9", or writes a number in another form, as "07".
    """
    if not pa.types.is_string(ids.type):
        return
    unknown = ids.filter(pa.array(positions(ids, other_ids) < 0))[:_CHECKED_IDS]
    has_several_ids = _count_ids_in_texts(unknown, other_ids) > 1
    if has_several_ids.any():
        text = unknown[int(np.argmax(has_several_ids))].as_py()
        yield name, f"found {text!r}; if it contains several ids, give each a row of its own"
        return
    numbers = pd.to_numeric(unknown.to_pandas(), errors="coerce")  # NaN for other texts
    plain = pa.array([f"{number:.15g}" for number in numbers], pa.string())
    is_only_other_id = (positions(plain, other_ids) >= 0) & (positions(plain, ids) < 0)
    if is_only_other_id.any():
        first = int(np.argmax(is_only_other_id))
        yield (
            name,
            f"found {unknown[first].as_py()!r} and {plain[first]}; are these the same id?",
        )


def _count_ids_in_texts(texts: pa.Array, ids: pa.Array) -> Int:
    """Count, for each text, its parts between separators that are among some ids."""
    parts = pc.split_pattern_regex(texts, _ID_SEPARATORS)
    text_of_part = np.asarray(pc.list_parent_indices(parts))
    is_id = positions(pc.list_flatten(parts), ids) >= 0
    return np.bincount(text_of_part[is_id], minlength=len(texts))


def signs_of_common_item(relevant: Items) -> Signs:
    """Look for an item that is relevant for nearly all users beside others, as padding is.

    No other item may be relevant for half as many users.
    """
    sizes = relevant.sizes
    n_users = np.count_nonzero(sizes)  # with relevant items
    nearly_all = _NEARLY_ALL * n_users
    if n_users < _MIN_USERS or np.count_nonzero(sizes > 1) < nearly_all:
        return
    n_users_of_item = np.bincount(relevant.item, minlength=2)
    second_most, most = np.sort(n_users_of_item)[-2:]
    if most >= nearly_all and 2 * second_most <= most:
        item = int(n_users_of_item.argmax())
        item_id = item if relevant.item_ids is None else relevant.item_ids[item]
        yield (
            "relevant",
            f"item {item_id} is relevant for {most:,} of {n_users:,} users, and no other for "
            "half as many; if it is padding, remove it",
        )


def signs_of_unused_grades(grades: Float | None) -> Signs:
    """Look for grades where they are not used."""
    if grades is not None:
        yield (
            "relevant",
            "grades are not used here; `evaluate` uses them as gains, with full rankings",
        )


def signs_of_unread_rating(name: str) -> Signs:
    """Say that a column of ratings of relevant items is not read as grades."""
    yield name, "rating is not read; pass min_relevance (--min-relevance) to use it as grade"


def signs_of_unread_labels(name: str, columns: Mapping[str, pa.ChunkedArray]) -> Signs:
    """Look for columns that may be labels among those that are not read."""
    for column, values in columns.items():
        if _could_be_label(decode_categories(values)):
            yield (
                name,
                f"column {column} may be a label, but is not read; if it is one, name it label",
            )


def _could_be_label(values: pa.ChunkedArray) -> bool:
    """Return whether a column contains yes and no, or few different numbers from 0 or -1 on."""
    if is_text(values.type):
        texts = {str(text).lower() for text in values[:_LABEL_ROWS].unique().to_pylist()}
        return texts in _YES_NO_WORDS
    distinct = values.unique()  # with null if values are missing
    if not is_numeric(values.type):
        return False
    # Missing values stand for 0 beside a single other value; beside several they are unknown.
    has_unknown_values = values.null_count > 0 and len(distinct) > 2
    if has_unknown_values:
        return False
    ascending = np.unique(pc.fill_null(distinct.cast(pa.float64()), 0.0))
    are_repeated = ascending.size < len(values)
    if not are_repeated or ascending.size > MAX_GRADES:
        return False
    lowest, highest = ascending[0], ascending[-1]
    return lowest in (-1.0, 0.0) and bool(highest > 0.0)


def signs_of_unseen_rows(n_rows: int) -> Signs:
    """Look for rows of seen items with label 0, which are not seen."""
    if n_rows:
        yield "seen", "rows of label 0 do not count as seen; drop the column if they should"


def signs_of_users_without_label(n_without: int, n_users: int) -> Signs:
    """Look for users of a table of ranks who have no row of a label above 0."""
    if n_without:
        yield (
            "label",
            f"{n_without:,} of {n_users:,} users have no row of a label above 0 and are dropped; "
            "do they have no relevant item, or one below the end of a list?",
        )


def signs_of_ids_from_1(place: str, rows: Int, n_rows: int) -> Signs:
    """Look for numbers of nearly all `n_rows` rows of scores, none of which is 0."""
    n_distinct = sorted_unique(rows).size
    n_unused = n_rows - n_distinct
    are_nearly_all = n_distinct >= _MIN_USERS and n_unused <= max(1, n_rows // 10)
    none_is_0 = rows.all()
    if are_nearly_all and none_is_0:
        yield (
            place,
            f"user_id contains row numbers, from 0, and none of {n_distinct} is 0: are these "
            "ids from 1? Ranks.from_scores accepts ids of rows and columns, users and items",
        )
