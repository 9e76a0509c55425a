"""Signs of a mistake in the items of users: relevant, seen, or candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.arrow import positions
from sampled_metrics.checks import Signs

if TYPE_CHECKING:
    from sampled_metrics.inputs.items import Items

_MIN_IDS = {"user_id": 1, "item_id": 10}  # fewer ids of one type may be disjoint
_COMMON = 10  # fewer than one of so many ids in common is a sign
_MIN_USERS = 10  # fewer users may share an item by chance
_NEARLY_ALL = 0.9  # share of users
_CHECKED_IDS = 1000
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

        Few ids may be disjoint by chance; they count as common.
        """
        n_ids = min(len(self.ids), len(self.other_ids))
        is_few = self.ids.type == self.other_ids.type and n_ids < _MIN_IDS[self.role]
        if not n_ids or is_few:
            return n_ids, n_ids
        return int(np.count_nonzero(positions(self.ids, self.other_ids) >= 0)), n_ids

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
    if _COMMON * n_common >= n_ids:
        yield from _signs_in_forms_of_ids(columns.name, columns.ids, columns.other_ids)
        yield from _signs_in_forms_of_ids(columns.name, columns.other_ids, columns.ids)
    else:
        comparison = columns.describe(n_common, n_ids)
        yield columns.name, f"{comparison}; do both name the same {columns.noun}?"


def _signs_in_forms_of_ids(name: str, ids: pa.Array, other_ids: pa.Array) -> Signs:
    """Look for texts that hold several other ids, or another id in another form of a number."""
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
        yield name, f"found {first!r}; if it holds several ids, give each a row of its own"
    elif is_same.any():
        place = int(np.argmax(is_same))
        yield (
            name,
            f"found {unmatched[place].as_py()!r} and {rewritten[place]}; are these the same id?",
        )


def signs_of_common_item(relevant: Items) -> Signs:
    """Look for one of several relevant items that nearly all users share, as padding is."""
    sizes = relevant.sizes[relevant.sizes > 0]
    if sizes.size < _MIN_USERS or np.count_nonzero(sizes > 1) < _NEARLY_ALL * sizes.size:
        return
    counts = np.bincount(relevant.item, minlength=2)
    second, first = np.sort(counts)[-2:]
    if first >= _NEARLY_ALL * sizes.size and 2 * second <= first:
        item = int(counts.argmax())
        item_id = item if relevant.item_ids is None else relevant.item_ids[item]
        yield (
            "relevant",
            f"item {item_id} is relevant for {first:,} of {sizes.size:,} users, and no other for "
            "half as many; if it fills up shorter lists, leave it out",
        )


def signs_of_unused_grades(grades: Float | None) -> Signs:
    """Look for grades where they are not used."""
    if grades is not None:
        yield (
            "relevant",
            "grades are not used here; from full rankings `evaluate` takes them as gains",
        )
