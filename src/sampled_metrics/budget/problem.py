"""What is evaluated: seen and relevant items of users, and scores under the same ids."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from sampled_metrics._base.arrays import Ids, Int, integers
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical, marked
from sampled_metrics.ranks.kinds import items_of, lists_of
from sampled_metrics.ranks.options import as_array
from sampled_metrics.ranks.pairs import ask_of_grades, read_known_items
from sampled_metrics.ranks.ranks import grades_of, id_column, require_unique
from sampled_metrics.tables import ITEM, is_frame, places

Scorer = Callable[[Int, Int], Any]


class Grid(NamedTuple):
    """Numbers of users x items; ids are None for the numbers of rows and columns."""

    values: Any
    user_ids: Any = None
    item_ids: Any = None

    @classmethod
    def of(cls, name: str, data: Any) -> "Grid":
        """Take a DataFrame with ids as index and columns, or a sparse or dense matrix."""
        values = canonical(data) if issparse(data) else as_array(data, name)
        if values.ndim != 2 or not all(values.shape):
            raise InputError(f"{name} has shape {values.shape}; expected users x items")
        if not is_frame(data):
            return cls(values)
        n_users, n_items = values.shape
        user_ids = id_column(f"ids of {name}", data.index, n_users)
        item_ids = id_column(f"ids of {name}", data.columns, n_items)
        require_unique(f"id of {name}", user_ids)
        require_unique(f"id of {name}", item_ids)
        return cls(values, user_ids, item_ids)

    def items(self) -> Any:
        """Return a table of all items, None without ids."""
        if self.item_ids is None:
            return None
        import pandas as pd

        return pd.DataFrame({ITEM: self.item_ids})


class Problem(NamedTuple):
    """What users have seen and what was held out of it; all other items are candidates.

    Attributes
    ----------
    events
        1 where a user has seen an item; shape (all users, items). Users with held-out items come
        first and are evaluated; the events of the others only train proxies.
    owner, item
        User and item of each held-out row, ordered by user.
    user_ids, item_ids
        Ids of the users evaluated and of all items; numbers of rows and columns if not `by_id`.
    """

    events: csr_array
    owner: Int
    item: Int
    user_ids: Ids
    item_ids: Ids
    by_id: bool = True

    @classmethod
    def of(cls, relevant: Any, seen: Any, items: Any = None) -> "Problem":
        """Take tables of ids, or a matrix of what users have seen and columns of held-out items.

        A table of `items` names those that are in no other.
        """
        relevant = lists_of(relevant, "relevant")
        if _is_table(relevant) and _is_table(seen):
            known = read_known_items(relevant, seen, items)
            events = marked(vstack([known.seen, known.seen_by_others], format="csr"))
            owner, item = csr_array(known.held_out).sorted_indices().nonzero()
            return cls(events, owner, item, known.user_ids, known.item_ids)
        if _is_table(relevant) or _is_table(seen):
            raise InputError("one of relevant and seen has ids; give both as tables, or none")
        return cls._of_matrix(relevant, seen)

    @classmethod
    def _of_matrix(cls, relevant: Any, seen: Any) -> "Problem":
        """Take a matrix of what users have seen, and put users with held-out items first."""
        events = canonical(Grid.of("seen", seen).values)
        if np.isnan(events.data).any():
            raise InputError("seen has NaN; expected 0 or 1")
        events = marked(events)
        row, item = _held_out(relevant, events)
        user_ids, owner = np.unique(row, return_inverse=True)
        others = np.setdiff1d(np.arange(events.shape[0]), user_ids)
        return cls(
            events=events[np.append(user_ids, others)],
            owner=owner,
            item=item,
            user_ids=user_ids,
            item_ids=np.arange(events.shape[1]),
            by_id=False,
        )

    @property
    def seen(self) -> csr_array:
        """What the users evaluated have seen."""
        return self.events[: self.user_ids.size]

    def scorer(self, name: str, scores: Any) -> Scorer:
        """Return a function of running numbers, given one of ids, or a matrix."""
        if not isinstance(scores, Grid):
            return lambda users, items: scores(self.user_ids[users], self.item_ids[items])
        row, column = self.places(name, scores)
        return lambda users, items: np.ravel(scores.values[row[users], column[items]])

    def places(self, name: str, grid: Grid) -> tuple[Any, Any]:
        """Return the rows and columns of a matrix."""
        if not self.by_id:
            _require_shape(name, grid.values.shape, self.events.shape)
            return self.user_ids, self.item_ids
        if grid.user_ids is None:
            raise InputError(f"{name} has no ids; expected a DataFrame with index and columns")
        row = _places(name, self.user_ids, grid.user_ids)
        column = _places(name, self.item_ids, grid.item_ids)
        return row, column


def _is_table(data: Any) -> bool:
    return isinstance(data, str | Path) or is_frame(data)


def _places(name: str, ids: Ids, among: Ids) -> Int:
    """Place of each id among those of a grid."""
    found = places(ids, among)
    if (found < 0).any():
        raise InputError(f"{name} lacks {ids[np.argmin(found)]}, an id of the others")
    return found


def _require_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise InputError(f"{name} has shape {shape}; expected {expected}, as seen has")


def numbers(name: str, values: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of numbers of a shape; anything else is an InputError."""
    array = as_array(values, name)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    return array


def _held_out(relevant: Any, seen: csr_array) -> tuple[Int, Int]:
    """Return row and column of each held-out item."""
    held: Any = items_of(relevant, "relevant", seen.shape)
    _require_shape("relevant", held.shape, seen.shape[: held.ndim])
    if held.ndim == 2:
        table = canonical(held)
        ask_of_grades(grades_of(table.data.astype(np.float64)))
        row, item = table.nonzero()
    else:
        row = np.arange(held.size)
        item = integers("relevant", held)
    if not row.size:
        raise InputError("relevant has no items; expected at least one")
    _refuse(row, item, (item < 0) | (item >= seen.shape[1]), "not in the catalogue")
    _refuse(row, item, np.ravel(seen[row, item]) != 0, "seen")
    return row, item


def _refuse(row: Int, item: Int, is_bad: NDArray[np.bool_], problem: str) -> None:
    if is_bad.any():
        at = int(np.argmax(is_bad))
        raise InputError(f"relevant: held-out item {item[at]} of user {row[at]} is {problem}")
