"""The data of an evaluation: held-out items of users, their candidates, and scores of both."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics._base.arguments import is_function, whole_number
from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import MAX_EXACT_INTEGER, blocks
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.sparse import canonical_csr, indicator_matrix
from sampled_metrics.inputs.items import (
    RELEVANT,
    SEEN,
    describe_seen_relevant,
    items_by_id,
    items_by_position,
    read_item_table,
)
from sampled_metrics.inputs.roles import ITEM
from sampled_metrics.inputs.scores import ScoreSource, read_scores, scores_from_vectors
from sampled_metrics.inputs.warnings import warn_about_unused_grades
from sampled_metrics.ranks.data import ItemsByUser
from sampled_metrics.sampling.catalogue import read_catalogue

CANDIDATES = "candidates"
Shape = tuple[int, int]
Scorer = Callable[[Int, Int], Any]  # scores pairs by running numbers of users and items


class Problem(NamedTuple):
    """Held-out items of users, and their candidates.

    Attributes
    ----------
    held_out, seen
        True at the held-out items of the users evaluated, and at items that they have seen; shape
        (users, items).
    events
        Number of users who have seen each item, of all users.
    user_ids, item_ids
        Ids of the users evaluated and of all items; numbers of rows and columns by position.
    shape
        Shape of data given by position, maybe with further users; None with ids.
    candidates
        1 at the candidates without seen and held-out items; None if all items are candidates.
    """

    held_out: csr_array
    seen: csr_array
    events: Int
    user_ids: Ids
    item_ids: Ids
    shape: Shape | None = None
    candidates: csr_array | None = None

    @property
    def owner(self) -> Int:
        """User of each held-out item, in ascending order."""
        return self.held_out.nonzero()[0]

    @property
    def item(self) -> Int:
        """Held-out items, ordered by user."""
        return self.held_out.nonzero()[1]

    def n_candidates(self) -> Int:
        """Count the candidates of each user, the held-out items not included."""
        if self.candidates is not None:
            return np.diff(self.candidates.indptr).astype(np.int64)
        n_items = self.seen.shape[1]
        return n_items - np.diff(self.seen.indptr) - np.diff(self.held_out.indptr)

    def is_candidate(self, users: Int) -> Bool:
        """Mark the candidates of some users, and maybe their held-out items."""
        if self.candidates is not None:
            return self.candidates[users].toarray() != 0
        return ~self.seen[users].toarray()

    def among(self, listed: csr_array) -> "Problem":
        """Return the problem with these candidates, but for seen and held-out items."""
        left = indicator_matrix(listed)
        others = canonical_csr(left - left.multiply(self.seen + self.held_out))
        without = np.flatnonzero(np.diff(others.indptr) == 0)
        if without.size:
            user = self.user_ids[without[0]]
            problem = f"candidates has none of user {user} but for seen and held-out items"
            raise InputError(f"{problem}; expected some for each user with a held-out item")
        return self._replace(candidates=others)

    @property
    def rows(self) -> Int:
        """Rows of the users in scores of all items."""
        if self.shape is None:
            return np.arange(self.user_ids.size)
        return self.user_ids.astype(np.int64)


def read_problem(
    relevant: ItemsByUser,
    seen: ItemsByUser | None,
    candidates: ItemsByUser | None = None,
    items: ItemsByUser | None = None,
    scores: Sequence[Any] = (),
) -> Problem:
    """Take tables of ids, or matrices and lists by position; see `evaluate_on_budget`.

    `scores` of all items say which items there are, if nothing else does.
    """
    given: dict[str, Any] = {RELEVANT: relevant, SEEN: seen, CANDIDATES: candidates}
    given = {name: items_of for name, items_of in given.items() if items_of is not None}
    if len(given) == 1:
        raise InputError("neither seen nor candidates; give one")
    tables = {name: read_item_table(items_of, name) for name, items_of in given.items()}
    has_ids = [table is not None for table in tables.values()]
    if all(has_ids):
        frames = [frame for frame in scores if isinstance(frame, pd.DataFrame)]
        if frames and items is None:
            items = frames[0].columns.to_frame(index=False, name=ITEM)
        return _by_id(tables, items)
    if any(has_ids):
        raise InputError(f"one of {' and '.join(given)} has ids; give all as tables, or none")
    return _by_position(given, items, scores)


def _by_id(tables: dict[str, Any], items: ItemsByUser | None) -> Problem:
    """Number the users with held-out items, and the items of all tables."""
    listed = [tables[CANDIDATES]] if CANDIDATES in tables else []
    known = read_catalogue(tables[RELEVANT], tables.get(SEEN), items, listed)
    seen = known.seen.matrix()
    events = _events(seen) + _events(known.seen_by_others.matrix())
    ids = (known.user_ids, known.item_ids)
    problem = Problem(known.held_out.matrix(), seen, events, *ids)
    for table in listed:
        problem = problem.among(items_by_id(table, CANDIDATES).restrict_to(*ids).matrix())
    return problem


def _by_position(given: dict[str, Any], items: Any, scores: Sequence[Any]) -> Problem:
    """Number the users with held-out items by their rows, and items by columns."""
    shape = _shape_of(given, items, scores)
    found = {name: items_by_position(part, name, shape) for name, part in given.items()}
    warn_about_unused_grades(found[RELEVANT].relevance)
    users = np.flatnonzero(found[RELEVANT].sizes)
    if not users.size:
        raise InputError("relevant has no items; expected at least one")
    rows = {name: part._replace(n_items=shape[1]).matrix() for name, part in found.items()}
    all_seen = rows.get(SEEN, csr_array(shape, dtype=bool))
    held_out = rows[RELEVANT][users]
    seen = all_seen[users]
    user, item = held_out.multiply(seen).nonzero()
    if user.size:
        raise InputError(
            f"relevant: held-out item {item[0]} of user {users[user[0]]} is seen"
            f"{describe_seen_relevant(user)}"
        )
    problem = Problem(held_out, seen, _events(all_seen), users, np.arange(shape[1]), shape)
    if CANDIDATES in rows:
        problem = problem.among(rows[CANDIDATES][users])
    return problem


def _events(seen: csr_array) -> Int:
    """Count the users who have seen each item."""
    return np.bincount(seen.indices, minlength=seen.shape[1])


def _shape_of(given: dict[str, Any], items: Any, scores: Sequence[Any]) -> Shape:
    """Return the numbers of users and items in data given by position."""
    for part in (*given.values(), *scores):
        if len(getattr(part, "shape", ())) == 2:
            n_items = part.shape[1]
            if items is not None and whole_number("items", items, 1) != n_items:
                raise InputError(f"items is {items}; expected {n_items}, the number of all items")
            return part.shape
    if items is None:
        raise InputError("relevant and seen are lists; give items, the number of all items")
    return items_by_position(given[RELEVANT], RELEVANT).n_users, whole_number("items", items, 1)


class Recommender:
    """A function that scores pairs, and the time that it took.

    Attributes
    ----------
    seconds, n_scored
        Time of all calls, and the number of pairs.
    update
        Function that takes the number of pairs of each call, for a bar.
    """

    update: Any

    def __init__(self, score: Scorer, problem: Problem, batch_size: int | None) -> None:
        self.seconds = 0.0
        self.n_scored = 0
        self._score = score
        self._problem = problem
        self._batch_size = batch_size

    def score(self, users: Int, items: Int) -> Float:
        """Score pairs of running numbers of users and items."""
        scores = np.empty(users.size)
        for part in blocks(users.size, 1, self._batch_size or users.size):
            began = perf_counter()
            found = self._score(users[part], items[part])
            self.seconds += perf_counter() - began
            scores[part] = self._checked(found, users[part], items[part])
            self.update(len(found))
        self.n_scored += users.size
        return scores

    def _checked(self, scores: Any, users: Int, items: Int) -> Float:
        """Return an answer as float64."""
        name = "result of recommender"
        array = numeric_array(scores, name)
        if array.shape != users.shape:
            raise InputError(f"{name} has shape {array.shape}; expected {users.shape}")
        if (
            array.dtype.kind in "iu"
            and max(int(array.max()), -int(array.min())) > MAX_EXACT_INTEGER
        ):
            raise InputError(f"{name} has whole numbers above 2^53, which are not exact as floats")
        is_wrong = ~(array < np.inf)
        if is_wrong.any():
            row = np.argmax(is_wrong)
            item = self._problem.item_ids[items[row]]
            user = self._problem.user_ids[users[row]]
            raise InputError(
                f"score of item {item} for user {user} is {array[row]}; expected a finite number"
            )
        return array.astype(np.float64)


def all_scores(name: str, given: Any, problem: Problem) -> ScoreSource:
    """Take scores of all items: a DataFrame, a matrix, factors, or a function of users.

    With ids the rows and columns are put into the order of the problem's users and items.
    """
    if problem.shape is None:
        if not isinstance(given, pd.DataFrame):
            raise InputError(f"{name} has no ids; expected a DataFrame with index and columns")
        if not (given.index.is_unique and given.columns.is_unique):
            raise InputError(f"{name} has an id twice; expected one row a user, one column an item")
        given = given.reindex(problem.user_ids, columns=problem.item_ids)
    shape = problem.shape or problem.seen.shape
    if is_function(given):
        return ScoreSource(given, shape)
    with reading(name):
        if isinstance(given, str | Path):
            raise InputError("found the name of a file; expected scores, users x items")
        if isinstance(given, tuple) and len(given) == 2:
            given = scores_from_vectors(*given)
        found = read_scores(given)
    if found.shape != shape:
        raise InputError(f"{name} has shape {found.shape}; expected {shape}, users x items")
    return found


def by_pairs(name: str, given: Any, problem: Problem) -> Scorer:
    """Return a function of running numbers, given one of ids, or scores of all items."""
    if is_function(given):
        return lambda users, items: given(problem.user_ids[users], problem.item_ids[items])
    matrix = all_scores(name, given, problem).matrix()
    row = problem.rows
    return lambda users, items: matrix[row[users], items]
