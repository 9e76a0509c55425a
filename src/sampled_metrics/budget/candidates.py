"""Held-out items of users and their candidates, from tables of ids or from matrices and lists.

Users and items have running numbers, and all data is in sparse matrices, users x items. A held-out
row is one held-out item of a user; rows are ordered by user.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Bool, Ids, Int, ItemsByUser
from sampled_metrics._base.calls import warn_all
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical_csr, indicator_matrix
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_unused_grades
from sampled_metrics.read.items import (
    RELEVANT,
    SEEN,
    Size,
    describe_seen_relevant,
    has_seen_items,
    items_by_id,
    items_by_position,
    read_item_table,
)
from sampled_metrics.read.roles import ITEM
from sampled_metrics.read.tables import Table
from sampled_metrics.sampling.catalogue import read_catalogue

CANDIDATES = "candidates"


class EvaluationData(NamedTuple):
    """Held-out items of users, and their candidates.

    Attributes
    ----------
    held_out, seen
        True at the held-out items of the users evaluated, and at the items that they have seen;
        shape (users, items).
    popularity
        Number of all users who have seen each item, not only of those evaluated; shape (items,).
    user_ids, item_ids
        Ids of the users evaluated and of all items. By position they are numbers of rows and
        columns.
    size
        Numbers of users and items of data by position, which may have further users; None with ids.
    candidates
        1 at the candidates other than seen and held-out items; None if all items are candidates.
    """

    held_out: csr_array
    seen: csr_array
    popularity: Int
    user_ids: Ids
    item_ids: Ids
    size: Size | None = None
    candidates: csr_array | None = None

    @property
    def user_of_row(self) -> Int:
        """User of each held-out row, in ascending order."""
        return self.held_out.nonzero()[0]

    @property
    def held_out_items(self) -> Int:
        """Item of each held-out row."""
        return self.held_out.nonzero()[1]

    def count_candidates(self) -> Int:
        """Count the candidates of each user, the held-out items not included."""
        if self.candidates is not None:
            return np.diff(self.candidates.indptr).astype(np.int64)
        n_items = self.seen.shape[1]
        return n_items - np.diff(self.seen.indptr) - np.diff(self.held_out.indptr)

    def is_candidate(self, users: Int) -> Bool:
        """Mark the candidates of some users; held-out items may be marked as well."""
        if self.candidates is not None:
            return self.candidates[users].toarray() != 0
        return ~self.seen[users].toarray()

    def with_candidates(self, listed: csr_array) -> "EvaluationData":
        """Return the data with these candidates, except seen and held-out items.

        `listed` is nonzero at the candidates; shape (users, items).
        """
        is_listed = indicator_matrix(listed)
        is_excluded = self.seen + self.held_out
        candidates = canonical_csr(is_listed - is_listed.multiply(is_excluded))
        n_candidates = np.diff(candidates.indptr)  # shape (users,)
        users_without = np.flatnonzero(n_candidates == 0)
        if users_without.size:
            raise InputError(
                f"candidates has no unseen item for user {self.user_ids[users_without[0]]}; "
                "expected at least one per user"
            )
        return self._replace(candidates=candidates)

    @property
    def score_rows(self) -> Int:
        """Rows of the users evaluated in a matrix of scores."""
        if self.size is None:
            return np.arange(self.user_ids.size)
        return self.user_ids.astype(np.int64)


def read_evaluation_data(
    relevant: ItemsByUser,
    seen: ItemsByUser | None,
    *,
    candidates: ItemsByUser | None = None,
    items: ItemsByUser | None = None,
    scores: Sequence[object] = (),
) -> EvaluationData:
    """Read tables of ids, or matrices and lists by position.

    Parameters
    ----------
    relevant, seen, candidates, items
        As in `evaluate_on_budget`.
    scores
        Scores of recommenders, which say how many items there are if nothing else does.

    Raises
    ------
    InputError
        If `seen` and `candidates` are missing, if some data has ids and some not, if there is no
        held-out item, if one is seen, or if a user has no candidates.

    Examples
    --------
    Users 0 and 2 have a held-out item, and user 0 has seen item 1 of four.

    >>> data = read_evaluation_data([3, -1, 0], [[1], [], []], items=4)
    >>> data.user_ids, data.held_out_items, data.count_candidates()
    (array([0, 2]), array([3, 0]), array([2, 3]))
    """
    if seen is None and candidates is None:
        raise InputError(
            "neither seen nor candidates was passed; pass one of them, or seen='none' if users "
            "have seen nothing"
        )
    arguments: dict[str, ItemsByUser] = {RELEVANT: relevant}
    if has_seen_items(seen):
        arguments[SEEN] = seen
    if candidates is not None:
        arguments[CANDIDATES] = candidates
    tables = {name: read_item_table(value, name) for name, value in arguments.items()}
    with_ids = {name: table for name, table in tables.items() if table is not None}
    if not with_ids:
        return _data_from_positions(arguments, items, scores)
    if len(with_ids) < len(tables):
        raise InputError(f"one of {' and '.join(arguments)} has ids; pass all as tables, or none")
    return _data_from_tables(with_ids, _items_of_frames(scores) if items is None else items)


def _items_of_frames(scores: Sequence[object]) -> pd.DataFrame | None:
    """Return a table of the items that the first DataFrame of scores has as columns."""
    for frame in scores:
        if isinstance(frame, pd.DataFrame):
            return frame.columns.to_frame(index=False, name=ITEM)
    return None


def _data_from_tables(tables: dict[str, Table], items: ItemsByUser | None) -> EvaluationData:
    """Build the data from tables of user and item ids, one table for each argument by its name.

    Its users are those with held-out items, and its items those of all tables and of `items`; both
    get running numbers.
    """
    candidate_tables = [tables[CANDIDATES]] if CANDIDATES in tables else []
    catalogue = read_catalogue(tables[RELEVANT], tables.get(SEEN), items, candidate_tables)
    seen = catalogue.seen.matrix()
    # Users without held-out items are not evaluated, but make items popular.
    popularity = _count_users_of_items(seen) + _count_users_of_items(
        catalogue.seen_by_others.matrix()
    )
    data = EvaluationData(
        held_out=catalogue.held_out.matrix(),
        seen=seen,
        popularity=popularity,
        user_ids=catalogue.user_ids,
        item_ids=catalogue.item_ids,
    )
    if CANDIDATES not in tables:
        return data
    candidates = items_by_id(tables[CANDIDATES], CANDIDATES)
    by_running_numbers = candidates.restrict_to(Units(data.user_ids), data.item_ids)
    return data.with_candidates(by_running_numbers.matrix())


def _data_from_positions(
    arguments: dict[str, ItemsByUser], items: ItemsByUser, scores: Sequence[object]
) -> EvaluationData:
    """Build the data from matrices and lists, where users are rows and items are columns.

    Its users are those with held-out items, with their rows as ids; its items are all columns.

    Parameters
    ----------
    arguments
        Values of `relevant`, `seen` and `candidates`, as far as they are given.
    items, scores
        As in `read_evaluation_data`; they say how many items there are if no argument does.

    Raises
    ------
    InputError
        If there is no held-out item, if one is seen, or if a user has no candidates.
    """
    size = _infer_size(arguments, items, scores)
    _, n_items = size
    items_of = {name: items_by_position(value, name, size) for name, value in arguments.items()}
    warn_all(signs_of_unused_grades(items_of[RELEVANT].relevance))
    users = np.flatnonzero(items_of[RELEVANT].sizes)
    if not users.size:
        raise InputError("relevant has no items; expected at least one")
    matrices = {name: each._replace(n_items=n_items).matrix() for name, each in items_of.items()}
    all_seen = matrices.get(SEEN, csr_array(size, dtype=bool))
    held_out = matrices[RELEVANT][users]
    seen = all_seen[users]
    _refuse_seen_held_out(held_out, seen, users)
    data = EvaluationData(
        held_out=held_out,
        seen=seen,
        popularity=_count_users_of_items(all_seen),
        user_ids=users,
        item_ids=np.arange(n_items),
        size=size,
    )
    if CANDIDATES in matrices:
        data = data.with_candidates(matrices[CANDIDATES][users])
    return data


def _refuse_seen_held_out(held_out: csr_array, seen: csr_array, user_ids: Int) -> None:
    """Raise InputError if a user has seen a held-out item; both matrices are users x items."""
    user, item = held_out.multiply(seen).nonzero()
    if user.size:
        raise InputError(
            f"relevant: held-out item {item[0]} of user {user_ids[user[0]]} is seen"
            f"{describe_seen_relevant(user)}"
        )


def _count_users_of_items(seen: csr_array) -> Int:
    """Count the users who have seen each item."""
    return np.bincount(seen.indices, minlength=seen.shape[1])


def _infer_size(
    arguments: dict[str, ItemsByUser], items: ItemsByUser, scores: Sequence[object]
) -> Size:
    """Return the numbers of users and items in data by position.

    They are the shape of the first matrix among the arguments and the scores. Without a matrix,
    users are counted in `relevant`, and `items` is the number of items.
    """
    shapes: list[tuple[int, ...]] = [
        getattr(value, "shape", ()) for value in (*arguments.values(), *scores)
    ]
    shape_of_matrix = next((shape for shape in shapes if len(shape) == 2), None)
    if shape_of_matrix is None:
        if items is None:
            raise InputError("relevant and seen are lists; pass items, the number of all items")
        n_users = items_by_position(arguments[RELEVANT], RELEVANT).n_users
        return n_users, whole_number("items", items, 1)
    n_users, n_items = shape_of_matrix
    if items is not None and whole_number("items", items, 1) != n_items:
        raise InputError(f"items is {items}; expected {n_items}, the number of all items")
    return n_users, n_items
