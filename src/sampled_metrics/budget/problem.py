"""What is evaluated: seen and relevant items of users, and scores under the same ids."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.arrays import (
    EXACT,
    Bool,
    Ids,
    Int,
    as_array,
    id_column,
    ordered_floats,
    require_unique,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import (
    canonical,
    marked,
)
from sampled_metrics.inputs.items import (
    ask_of_grades,
    items_by_id,
    items_by_position,
    table_of_items,
)
from sampled_metrics.inputs.tables import ITEM, places
from sampled_metrics.ranks.data import OfUsers
from sampled_metrics.sampling.catalogue import known_items

Scorer = Callable[[Int, Int], Any]
Function = Callable[[Ids, Ids], ArrayLike]  # score of each pair of a user and an item


class Grid(NamedTuple):
    """Numbers of users x items; ids are None for the numbers of rows and columns."""

    values: Any
    user_ids: Any = None
    item_ids: Any = None

    @classmethod
    def of(cls, name: str, data: OfUsers) -> "Grid":
        """Take a DataFrame with ids as index and columns, or a sparse or dense matrix."""
        if issparse(data):
            values = canonical(data)
            _require_exact(name, values.data)
        else:
            values = ordered_floats(as_array(data, name))
        if values.ndim != 2 or not all(values.shape):
            raise InputError(f"{name} has shape {values.shape}; expected users x items")
        if not isinstance(data, pd.DataFrame):
            return cls(values)
        ids = []
        for axis, size in zip((data.index, data.columns), values.shape, strict=True):
            ids.append(id_column(f"ids of {name}", axis, size))
            require_unique(f"id of {name}", ids[-1])
        return cls(values, *ids)

    def items(self) -> Any:
        """Return a table of all items, None without ids."""
        if self.item_ids is None:
            return None
        return pd.DataFrame({ITEM: self.item_ids})


class Problem(NamedTuple):
    """What users have seen, what was held out of it, and which other items are candidates.

    Attributes
    ----------
    events
        1 where a user has seen an item; shape (all users, items). Users with held-out items come
        first and are evaluated; the events of the others only train proxies.
    owner, item
        User and item of each held-out row, ordered by user.
    user_ids, item_ids
        Ids of the users evaluated and of all items; numbers of rows and columns if not `by_id`.
    candidates
        1 at the candidates of the users evaluated, without seen and held-out items; None if these
        are all other items.
    """

    events: csr_array
    owner: Int
    item: Int
    user_ids: Ids
    item_ids: Ids
    by_id: bool = True
    candidates: csr_array | None = None

    @classmethod
    def of(
        cls,
        relevant: OfUsers,
        seen: OfUsers | None,
        items: OfUsers | None = None,
        candidates: OfUsers | None = None,
        shape: tuple[int, int] | None = None,
    ) -> "Problem":
        """Take tables of ids, or matrices and lists by position; see `evaluate_on_budget`.

        `shape` is that of scores by position, if they are a matrix.
        """
        others = {"seen": seen, "candidates": candidates}
        others = {name: items_of for name, items_of in others.items() if items_of is not None}
        if not others:
            raise InputError("neither seen (--seen) nor candidates (--candidates); give one")
        tables = _tables({"relevant": relevant, **others})
        if not tables:
            return cls._of_positions(relevant, others, items, shape)
        listed = tables.get("candidates")
        named = [listed] if listed is not None else []
        known = known_items(tables["relevant"], tables.get("seen"), items, named)
        owner, item = known.held_out.matrix().nonzero()
        both = [known.seen.matrix(), known.seen_by_others.matrix()]
        problem = cls(
            events=marked(vstack(both, format="csr")),
            owner=owner,
            item=item,
            user_ids=known.user_ids,
            item_ids=known.item_ids,
        )
        if listed is None:
            return problem
        by_id = items_by_id(listed, "candidates").within(known.user_ids, known.item_ids)
        return problem._among(by_id.matrix())

    @classmethod
    def _of_positions(
        cls,
        relevant: OfUsers,
        others: dict[str, Any],
        items: Any,
        shape: tuple[int, int] | None,
    ) -> "Problem":
        """Take rows and columns, and put users with held-out items first."""
        shape = _shape_of(relevant, others, items, shape)
        if items is not None and whole_number("items", items, 1) != shape[1]:
            raise InputError(f"items is {items}; expected {shape[1]}, the number of all items")
        marks = {name: _marks(name, items_of, shape) for name, items_of in others.items()}
        events = marks.get("seen", csr_array(shape))
        held = items_by_position(relevant, "relevant", shape)
        ask_of_grades(held.relevance)
        row = held.owners
        if not row.size:
            raise InputError("relevant has no items; expected at least one")
        is_seen = np.ravel(events[row, held.item]) != 0
        if is_seen.any():
            user, item = held.pair(int(np.argmax(is_seen)))
            raise InputError(f"relevant: held-out item {item} of user {user} is seen")
        user_ids, owner = np.unique(row, return_inverse=True)
        without = np.setdiff1d(np.arange(shape[0]), user_ids)
        problem = cls(
            events=events[np.append(user_ids, without)],
            owner=owner,
            item=held.item,
            user_ids=user_ids,
            item_ids=np.arange(shape[1]),
            by_id=False,
        )
        if "candidates" not in marks:
            return problem
        return problem._among(marks["candidates"][user_ids])

    def _among(self, candidates: csr_array) -> "Problem":
        """Return the problem with these candidates, but for seen and held-out items."""
        pairs = (self.owner, self.item)
        held_out = csr_array((np.ones(self.owner.size), pairs), self.seen.shape)
        listed = marked(candidates)
        others = canonical(listed - listed.multiply(marked(self.seen + held_out)))
        without = np.flatnonzero(np.diff(others.indptr) == 0)
        if without.size:
            user = self.user_ids[without[0]]
            problem = f"candidates has none of user {user} but for seen and held-out items"
            raise InputError(f"{problem}; expected some for each user with a held-out item")
        return self._replace(candidates=others)

    def n_candidates(self) -> Int:
        """Count the candidates of each user, the held-out items not included."""
        if self.candidates is not None:
            return np.diff(self.candidates.indptr).astype(np.int64)
        return self.seen.shape[1] - np.diff(self.seen.indptr) - np.bincount(self.owner)

    def is_candidate(self, users: Int) -> Bool:
        """Mark the candidates of some users, and maybe their held-out items."""
        if self.candidates is not None:
            return self.candidates[users].toarray() != 0
        return self.seen[users].toarray() == 0

    @property
    def seen(self) -> csr_array:
        """What the users evaluated have seen."""
        return self.events[: self.user_ids.size]

    def scorer(self, name: str, scores: Grid | Function) -> Scorer:
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
        row = places(self.user_ids, grid.user_ids)
        column = places(self.item_ids, grid.item_ids)
        for place, ids in ((row, self.user_ids), (column, self.item_ids)):
            if (place < 0).any():
                raise InputError(f"{name} lacks {ids[np.argmin(place)]}, an id of the others")
        return row, column


def _tables(given: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of what is given by ids, none of what is given by position."""
    tables = {}
    for name, items_of in given.items():
        table = table_of_items(items_of, name)
        if table is not None:
            tables[name] = table
    if tables and len(tables) < len(given):
        names = " and ".join(given)
        raise InputError(f"one of {names} has ids; give all as tables, or none")
    return tables


def _shape_of(
    relevant: OfUsers, others: dict[str, Any], items: Any, shape: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the number of users and of items of what is given by position."""
    for given in (*others.values(), relevant):
        found = tuple(getattr(given, "shape", ()))
        if len(found) == 2:
            return found
    if shape is not None:
        return shape
    for name, given in others.items():
        if not isinstance(given, list | tuple):
            raise InputError(
                f"{name} is of type {type(given).__name__}; expected a matrix or lists"
            )
        if items is None:
            raise InputError(f"{name} is a list; give items, the number of all items, as well")
    n_users = items_by_position(relevant, "relevant").n_users
    return n_users, whole_number("items", items, 1)


def _marks(name: str, given: OfUsers, shape: tuple[int, int]) -> csr_array:
    """Return ones where a matrix, or lists of columns, have the items of users."""
    if isinstance(given, list | tuple):
        _require_shape(name, (len(given), shape[1]), shape)
        return marked(items_by_position(given, name, shape).matrix())
    table = canonical(Grid.of(name, given).values)
    if np.isnan(table.data).any():
        raise InputError(f"{name} has NaN; expected 0 or 1")
    _require_shape(name, table.shape, shape)
    return marked(table)


def _require_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise InputError(f"{name} has shape {shape}; expected {expected}, as seen has")


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Any:
    """Return an array of numbers of a shape; anything else is an InputError."""
    array = as_array(values, name)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    _require_exact(name, array)
    return array


def _require_exact(name: str, array: NDArray[Any]) -> None:
    """Raise InputError for whole numbers that are not compared exactly."""
    if array.dtype.kind in "iu" and array.size:
        largest = max(int(array.max()), -int(array.min()))
        if largest > EXACT:
            raise InputError(f"{name} has {largest}; expected whole numbers of at most 2^53")
