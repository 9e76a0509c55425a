"""Ids of visits: the id of a user and the one of a visit, such as a session, in one text.

Lists, relevant items and samples are matched by one id for each unit of evaluation. Where a user
has several visits it is a text of both ids, which `InputError` and questions write apart.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Ids, id_column, kind_of_ids
from sampled_metrics._base.errors import JOINT, InputError


def joined(users: Ids, visits: Ids) -> Ids:
    """Return one id for each pair of a user and a visit.

    Examples
    --------
    >>> split(joined(np.array([7, 7]), np.array(["a", "b"])))
    (array([7, 7]), array(['a', 'b'], dtype='<U1'))
    """
    return np.char.add(np.char.add(users.astype(np.str_), JOINT), visits.astype(np.str_))


def ids_of_rows(users: ArrayLike | None, visits: ArrayLike | None, rows: int) -> Ids | None:
    """Check ids of the users of rows, and those of their visits if there are any; join both."""
    if visits is not None and users is None:
        raise InputError("visits need users, the ids of the users whose visits they are")
    ids = None if users is None else id_column("users", users, rows)
    if ids is None or visits is None:
        return ids
    return joined(ids, id_column("visits", visits, rows))


def are_joined(ids: Ids) -> bool:
    """Return whether ids are those of visits of users."""
    return ids.dtype.kind == "U" and ids.size > 0 and JOINT in str(ids.flat[0])


def split_pairs(ids: Ids) -> tuple[Ids, Ids]:
    """Return the ids of users and of visits."""
    parts = np.char.partition(ids.astype(np.str_), JOINT)
    return as_ids(parts[:, 0]), as_ids(parts[:, 2])


def split(ids: Ids) -> tuple[Ids, Ids | None]:
    """Return the ids of users and of visits; None for these if no user has several."""
    if not are_joined(ids):
        return ids, None
    users, visits = split_pairs(ids)
    if pd.unique(users).size == pd.unique(ids).size:
        return users, None
    return users, visits


def as_ids(texts: NDArray[np.str_]) -> Ids:
    """Return ids as whole numbers if all are written as these usually are, else as text."""
    is_short = np.char.str_len(texts) < 19  # so that they fit into int64
    if is_short.all() and np.char.isdecimal(np.char.lstrip(texts, "-")).all():
        numbers = texts.astype(np.int64)
        if (numbers.astype(texts.dtype) == texts).all():
            return numbers
    return texts.astype(np.str_)


def kind_of(ids: Ids | None) -> str:
    """Return which ids there are: `none`, `numbers` or `text`, or `visits` of users."""
    return "visits" if ids is not None and are_joined(ids) else kind_of_ids(ids)
