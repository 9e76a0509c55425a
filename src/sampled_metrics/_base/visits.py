"""Ids of visits: the id of a user and the one of a visit, such as a session, in one text.

Lists, relevant items and samples are matched by one id for each unit of evaluation. Where a user
has several visits it is a text of both ids, which `InputError` and questions write apart.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.array_types import Ids
from sampled_metrics._base.columns import id_column, id_kind
from sampled_metrics._base.errors import VISIT_SEPARATOR, InputError


def join_ids(users: Ids, visits: Ids) -> Ids:
    """Return one id for each pair of a user and a visit.

    Examples
    --------
    >>> users_and_visits(join_ids(np.array([7, 7]), np.array(["a", "b"])))
    (array([7, 7]), array(['a', 'b'], dtype='<U1'))
    """
    return np.char.add(np.char.add(users.astype(np.str_), VISIT_SEPARATOR), visits.astype(np.str_))


def row_unit_ids(users: ArrayLike | None, visits: ArrayLike | None, rows: int) -> Ids | None:
    """Check ids of the users of rows, and those of their visits if there are any; join both."""
    if visits is not None and users is None:
        raise InputError("visits need users, the ids of the users whose visits they are")
    ids = None if users is None else id_column("users", users, rows)
    if ids is None or visits is None:
        return ids
    return join_ids(ids, id_column("visits", visits, rows))


def are_visit_ids(ids: Ids) -> bool:
    """Return whether ids are those of visits of users."""
    return ids.dtype.kind == "U" and ids.size > 0 and VISIT_SEPARATOR in str(ids.flat[0])


def split_ids(ids: Ids) -> tuple[Ids, Ids]:
    """Return the ids of users and of visits."""
    parts = np.char.partition(ids.astype(np.str_), VISIT_SEPARATOR)
    return parse_ids(parts[:, 0]), parse_ids(parts[:, 2])


def users_and_visits(ids: Ids) -> tuple[Ids, Ids | None]:
    """Return the ids of users and of visits; None for these if no user has several."""
    if not are_visit_ids(ids):
        return ids, None
    users, visits = split_ids(ids)
    if pd.unique(users).size == pd.unique(ids).size:
        return users, None
    return users, visits


def parse_ids(texts: NDArray[np.str_]) -> Ids:
    """Return ids as whole numbers if all are written as these usually are, else as text."""
    is_short = np.char.str_len(texts) < 19  # so that they fit into int64
    if is_short.all() and np.char.isdecimal(np.char.lstrip(texts, "-")).all():
        numbers = texts.astype(np.int64)
        if (numbers.astype(texts.dtype) == texts).all():
            return numbers
    return texts.astype(np.str_)


def unit_kind(ids: Ids | None) -> str:
    """Return which ids there are: `none`, `numbers` or `text`, or `visits` of users."""
    return "visits" if ids is not None and are_visit_ids(ids) else id_kind(ids)
