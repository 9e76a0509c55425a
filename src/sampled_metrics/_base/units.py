"""`Units`: ids of the units of evaluation, which are users, or visits of users such as sessions.

Lists, relevant items and samples are matched by their units. Where users have several visits, a
unit is a visit, and it has two ids: that of its user and its own, which need to be unique for one
user only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Codes, Ids, Int, RowSelection
from sampled_metrics._base.arrays import first_duplicate, pair_codes
from sampled_metrics._base.arrow import Values, arrow_to_numpy, positions, to_arrow
from sampled_metrics._base.columns import id_column, id_kind
from sampled_metrics._base.errors import InputError


@dataclass(frozen=True, eq=False)
class Units:
    """Ids of users, or of visits of users, one of each for every unit.

    Attributes
    ----------
    users
        Ids of users, shape (units,); or of visits if their users are not known. A null stands for
        the user of a visit that only other tables could tell.
    visits
        Ids of visits, shape (units,); None if each unit has one id.

    Examples
    --------
    >>> units = Units(np.array([7, 7, 9]), np.array(["a", "b", "a"]))
    >>> units.name(1), len(units)
    ('7, visit b', 3)
    >>> units.positions_in(Units(np.array(["9", "7"]), np.array(["a", "b"])))
    array([-1,  1,  0])
    """

    users: pa.Array
    visits: pa.Array | None = None

    def __init__(self, users: Values, visits: Values | None = None) -> None:
        object.__setattr__(self, "users", to_arrow(users))
        object.__setattr__(self, "visits", None if visits is None else to_arrow(visits))

    @classmethod
    def of_rows(cls, users: ArrayLike | None, visits: ArrayLike | None, n_rows: int) -> Self | None:
        """Check the ids of users of some rows, and of visits if there are any; None without ids."""
        user_ids, visit_ids = check_ids(users, visits, n_rows)
        return None if user_ids is None else cls(user_ids, visit_ids)

    @classmethod
    def concatenate(cls, parts: Sequence[Units]) -> Units:
        """Return the units of all parts, which all have visits or none has."""
        users = _concatenate([part.users for part in parts])
        visits = [part.visits for part in parts if part.visits is not None]
        return cls(users, _concatenate(visits) if visits else None)

    def __len__(self) -> int:
        return len(self.users)

    @property
    def kind(self) -> str:
        """What the units are: `numbers` or `text` (ids of users), or `visits` of users."""
        if self.visits is not None:
            return "visits"
        return id_kind(arrow_to_numpy(self.users[:1]))

    def name(self, unit: int) -> str:
        """Return the ids of one unit, for a message."""
        return str(self.take(np.array([unit])).names()[0])

    def take(self, rows: RowSelection | Codes) -> Units:
        """Return some of the units, selected like elements of an array."""
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        indices = pa.array(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        visits = None if self.visits is None else pc.take(self.visits, indices)
        return Units(pc.take(self.users, indices), visits)

    def positions_in(self, others: Units) -> Int:
        """Return the position of each unit among others, which differ; -1 where it is missing.

        A visit is never equal to a user.
        """
        if (self.visits is None) != (others.visits is None):
            return np.full(len(self), -1)
        are_visits_equal = self.visits is None or self.visits.equals(others.visits)
        if are_visits_equal and self.users.equals(others.users):
            return np.arange(len(self))
        if self.visits is None or others.visits is None:
            return positions(self.users, others.users)
        # Visits are compared by one number for each pair of ids.
        user_ids, visit_ids = others.users.unique(), others.visits.unique()
        code = _encode_visits(self, user_ids, visit_ids)
        other_code = _encode_visits(others, user_ids, visit_ids)
        return positions(code, other_code)

    @cached_property
    def codes(self) -> Int:
        """Numbers that are equal for equal units, shape (units,)."""
        user_ids = self.users.unique()
        if self.visits is None:
            return positions(self.users, user_ids)
        return _encode_visits(self, user_ids, self.visits.unique())

    def ascending(self) -> tuple[Units, Int]:
        """Return the different units in ascending order, and the position there of each unit.

        Visits are in the order of their users and then of their own ids, both as text.
        """
        user_ids = arrow_to_numpy(self.users)
        if self.visits is None and (user_ids[1:] > user_ids[:-1]).all():
            return self, np.arange(len(self))
        sort_key = user_ids
        if self.visits is not None:
            user, _ = _positions_in_order(self.users)
            visit, n_different_visits = _positions_in_order(self.visits)
            sort_key = pair_codes(user, visit, n_different_visits)
        _, first, position = np.unique(sort_key, return_index=True, return_inverse=True)
        return self.take(first), position

    def names(self) -> pa.Array:
        """Return the ids of each unit as one text, for messages; ids of users as they are."""
        if self.visits is None:
            return self.users
        texts = (ids.cast(pa.string()) for ids in (self.users, self.visits))
        return pc.binary_join_element_wise(*texts, ", visit ", null_handling="skip")

    @property
    def has_several_visits(self) -> bool:
        """Whether some user has several visits."""
        if self.visits is None:
            return False
        n_visits = pd.unique(self.codes).size
        return len(self.users.unique()) < n_visits

    def union(self, others: Units) -> Units:
        """Return these units, and those of others that are not among them."""
        is_new = others.positions_in(self) < 0
        return Units.concatenate([self, others.take(is_new)])

    def first_duplicate(self) -> int | None:
        """Return the first unit that repeats an earlier one; None if all differ."""
        if self.visits is None and pa.types.is_integer(self.users.type):
            return first_duplicate(arrow_to_numpy(self.users))
        if self.visits is None and len(self.users.unique()) == len(self):
            return None
        return first_duplicate(self.codes)

    def require_unique(self) -> None:
        """Raise InputError for the first unit that repeats an earlier one."""
        row = self.first_duplicate()
        if row is not None:
            noun = "users" if self.visits is None else "visits of user"
            raise InputError(f"duplicate {noun} {self.name(row)}", row=row + 1)

    def users_and_visits(self) -> tuple[Ids, Ids | None]:
        """Return the ids of users and of visits; the latter are None if no user has several."""
        users: Any = arrow_to_numpy(self.users)
        return users, arrow_to_numpy(self.visits) if self.has_several_visits else None


def check_ids(
    users: ArrayLike | None, visits: ArrayLike | None, n_rows: int
) -> tuple[Ids | None, Ids | None]:
    """Convert the ids of users and of visits of some rows to integers or text."""
    if users is None:
        if visits is not None:
            raise InputError("visits need users as well, the id of the user of each visit")
        return None, None
    user_ids = id_column(users, "users", n_rows)
    return user_ids, None if visits is None else id_column(visits, "visits", n_rows)


def _concatenate(columns: Sequence[pa.Array]) -> pa.Array:
    """Join columns of ids; numbers beside text become text."""
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.string()) for column in columns]
    return pa.concat_arrays(columns)


def _positions_in_order(ids: pa.Array) -> tuple[Int, int]:
    """Return the position of each id among the different ids as sorted texts; and their number."""
    texts = arrow_to_numpy(ids).astype(np.str_)
    different_texts, position = np.unique(texts, return_inverse=True)
    return position, different_texts.size


def _encode_visits(visits: Units, user_ids: pa.Array, visit_ids: pa.Array) -> Int:
    """Return a number for each visit, from the positions of its two ids; -1 if one is missing."""
    user = positions(visits.users, user_ids)
    visit = positions(visits.visits, visit_ids)
    is_missing = (user < 0) | (visit < 0)
    return np.where(is_missing, -1, pair_codes(user, visit, len(visit_ids)))
