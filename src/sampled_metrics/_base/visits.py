"""Ids of visits: the id of a user and the id of a visit, such as a session, joined to one text.

Lists, relevant items and samples are matched by one id for each unit of evaluation. Where a user
has several visits, a unit is a visit, and its id is the text of both ids with a separator between
them. `InputError` and warnings show both.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.array_types import Ids
from sampled_metrics._base.columns import id_column, id_kind
from sampled_metrics._base.errors import VISIT_SEPARATOR, InputError

_MAX_DIGITS = 18  # whole numbers of so many digits fit into int64


def join_ids(users: Ids, visits: Ids) -> Ids:
    """Return one id for each pair of a user and a visit.

    Examples
    --------
    >>> users_and_visits(join_ids(np.array([7, 7]), np.array(["a", "b"])))
    (array([7, 7]), array(['a', 'b'], dtype='<U1'))
    """
    prefixes = np.char.add(users.astype(np.str_), VISIT_SEPARATOR)
    return np.char.add(prefixes, visits.astype(np.str_))


def row_unit_ids(users: ArrayLike | None, visits: ArrayLike | None, rows: int) -> Ids | None:
    """Check the ids of users, and of visits if there are any, and return one id for each row."""
    if visits is not None and users is None:
        raise InputError("visits need users as well, the ids of the users of these visits")
    user_ids = None if users is None else id_column("users", users, rows)
    if user_ids is None or visits is None:
        return user_ids
    return join_ids(user_ids, id_column("visits", visits, rows))


def are_visit_ids(ids: Ids) -> bool:
    """Return whether ids are joined ids of users and visits."""
    return ids.dtype.kind == "U" and ids.size > 0 and VISIT_SEPARATOR in str(ids.flat[0])


def split_ids(ids: Ids) -> tuple[Ids, Ids]:
    """Split joined ids into ids of users and ids of visits."""
    parts = np.char.partition(ids.astype(np.str_), VISIT_SEPARATOR)
    return parse_ids(parts[:, 0]), parse_ids(parts[:, 2])


def users_and_visits(ids: Ids) -> tuple[Ids, Ids | None]:
    """Split ids of units; the ids of visits are None if no user has several visits."""
    if not are_visit_ids(ids):
        return ids, None
    users, visits = split_ids(ids)
    if pd.unique(users).size == pd.unique(ids).size:
        return users, None
    return users, visits


def parse_ids(texts: NDArray[np.str_]) -> Ids:
    """Convert ids to whole numbers if all are written without leading zeros or plus signs."""
    is_short = np.char.str_len(texts) <= _MAX_DIGITS
    if is_short.all() and np.char.isdecimal(np.char.lstrip(texts, "-")).all():
        numbers = texts.astype(np.int64)
        if (numbers.astype(texts.dtype) == texts).all():
            return numbers
    return texts.astype(np.str_)


def unit_kind(ids: Ids | None) -> str:
    """Return the kind of ids: `none`, `numbers`, `text`, or `visits` of users."""
    return "visits" if ids is not None and are_visit_ids(ids) else id_kind(ids)
