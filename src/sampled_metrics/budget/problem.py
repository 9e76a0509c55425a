"""What is evaluated: held-out items of users and their other candidates, and scores of both."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.arrays import EXACT, Bool, Float, Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import Kind, is_pandas, kind_of
from sampled_metrics._base.sparse import canonical, marked
from sampled_metrics.inputs.held import OfUsers
from sampled_metrics.inputs.items import items_by_id, items_of_arrays, known_items, table_of_items
from sampled_metrics.inputs.questions import ask_of_grades
from sampled_metrics.inputs.scores import Scores, as_array, scores_of
from sampled_metrics.ranks.items import RELEVANT, SEEN
from sampled_metrics.tables.arrow import places
from sampled_metrics.tables.names import ITEM

CANDIDATES = "candidates"
_TABLES = (Kind.FILE, Kind.BY_USER)  # that are no scores of all items
Shape = tuple[int, int]
Scorer = Callable[[Int, Int], Any]  # of pairs, by running numbers of users and items


class Problem(NamedTuple):
    """Held-out items of users, and which other items are their candidates.

    Attributes
    ----------
    held_out, seen
        True at the held-out items of the users evaluated, and at what they have seen; shape (users,
        items).
    events
        Number of users who have seen each item, of all users.
    user_ids, item_ids
        Ids of the users evaluated and of all items; numbers of rows and columns by position.
    shape
        Of what was given by position, maybe with further users; None with ids.
    candidates
        1 at the candidates without seen and held-out items; None if these are all other items.
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
        left = marked(listed)
        others = canonical(left - left.multiply(self.seen + self.held_out))
        without = np.flatnonzero(np.diff(others.indptr) == 0)
        if without.size:
            user = self.user_ids[without[0]]
            problem = f"candidates has none of user {user} but for seen and held-out items"
            raise InputError(f"{problem}; expected some for each user with a held-out item")
        return self._replace(candidates=others)

    def places(self, name: str, scores: Any, shape: Shape | None) -> tuple[Int, Int]:
        """Return the rows and columns of scores that users and items have."""
        if self.shape is not None:
            if shape not in (None, self.shape):
                raise InputError(f"{name} has shape {shape}; expected {self.shape}, as seen has")
            return self.user_ids.astype(np.int64), self.item_ids.astype(np.int64)
        if not is_pandas(scores):
            raise InputError(f"{name} has no ids; expected a DataFrame with index and columns")
        found = []
        for ids, axis in ((self.user_ids, scores.index), (self.item_ids, scores.columns)):
            found.append(places(ids, np.asarray(axis)))
            if (found[-1] < 0).any():
                raise InputError(f"{name} lacks {ids[np.argmin(found[-1])]}, an id of the others")
        return found[0], found[1]


def read_problem(
    relevant: OfUsers,
    seen: OfUsers | None,
    candidates: OfUsers | None = None,
    items: OfUsers | None = None,
    shape: Shape | None = None,
) -> Problem:
    """Take tables of ids, or matrices and lists by position; see `evaluate_on_budget`.

    `shape` is that of scores by position, if they are a matrix.
    """
    given: dict[str, Any] = {RELEVANT: relevant}
    for name, items_of in ((SEEN, seen), (CANDIDATES, candidates)):
        if items_of is not None:
            given[name] = items_of
    if len(given) == 1:
        raise InputError("neither seen nor candidates; give one")
    tables = {name: table_of_items(items_of, name) for name, items_of in given.items()}
    has_ids = [table is not None for table in tables.values()]
    if not any(has_ids):
        return _by_position(given, items, shape)
    if not all(has_ids):
        raise InputError(f"one of {' and '.join(given)} has ids; give all as tables, or none")
    return _by_id(tables, items)


def _by_id(tables: dict[str, Any], items: OfUsers | None) -> Problem:
    """Number the users with held-out items, and the items of all tables."""
    listed = tables.get(CANDIDATES)
    named = [] if listed is None else [listed]
    known = known_items(tables[RELEVANT], tables.get(SEEN), items, named)
    held_out = known.held_out.matrix()
    seen = known.seen.matrix()
    problem = Problem(
        held_out,
        seen,
        _events(seen) + _events(known.seen_by_others.matrix()),
        known.user_ids,
        known.item_ids,
    )
    if listed is None:
        return problem
    return problem.among(items_by_id(listed, CANDIDATES).within(*problem[3:5]).matrix())


def _by_position(given: dict[str, Any], items: Any, shape: Shape | None) -> Problem:
    """Number the users with held-out items by their rows, and items by columns."""
    shape = _shape_of(given, items, shape)
    found = {name: items_of_arrays(part, name, shape) for name, part in given.items()}
    ask_of_grades(found[RELEVANT].relevance)
    users = np.flatnonzero(found[RELEVANT].sizes)
    if not users.size:
        raise InputError("relevant has no items; expected at least one")
    none = csr_array(shape, dtype=bool)
    rows = {name: part._replace(n_items=shape[1]).matrix() for name, part in found.items()}
    seen = rows.get(SEEN, none)
    held_out = rows[RELEVANT][users]
    user, item = held_out.multiply(seen[users]).nonzero()
    if user.size:
        raise InputError(f"relevant: held-out item {item[0]} of user {users[user[0]]} is seen")
    columns = np.arange(shape[1])
    problem = Problem(held_out, seen[users], _events(seen), users, columns, shape)
    if CANDIDATES not in rows:
        return problem
    return problem.among(rows[CANDIDATES][users])


def _events(seen: csr_array) -> Int:
    """Count the users who have seen each item."""
    return np.bincount(seen.indices, minlength=seen.shape[1])


def _shape_of(given: dict[str, Any], items: Any, shape: Shape | None) -> Shape:
    """Return the number of users and of items of what is given by position."""
    found = [np.shape(part) for part in given.values() if len(getattr(part, "shape", ())) == 2]
    if not found and shape is not None:
        found = [shape]
    if found:
        if items is not None and whole_number("items", items, 1) != found[0][1]:
            raise InputError(f"items is {items}; expected {found[0][1]}, the number of all items")
        return found[0]
    if items is None:
        raise InputError("relevant and seen are lists; give items, the number of all items")
    return items_of_arrays(given[RELEVANT], RELEVANT).n_users, whole_number("items", items, 1)


class Recommender:
    """A function that scores pairs, with the time that it took, and all that it was asked."""

    def __init__(self, score: Scorer, problem: Problem, batch_size: int | None) -> None:
        self.seconds = 0.0
        self.asked: list[tuple[Int, Int, Float]] = []  # users, items and scores of each call
        self._score = score
        self._problem = problem
        self._batch_size = batch_size

    @property
    def seconds_per_score(self) -> float:
        """Mean time of a pair."""
        return self.seconds / max(sum(users.size for users, _, _ in self.asked), 1)

    def score(self, users: Int, items: Int) -> Float:
        """Score pairs of running numbers of users and items."""
        scores = np.empty(users.size)
        step = self._batch_size or max(users.size, 1)
        for first in range(0, users.size, step):
            part = slice(first, first + step)
            began = time.perf_counter()
            found = self._score(users[part], items[part])
            self.seconds += time.perf_counter() - began
            scores[part] = self._checked(found, users[part], items[part])
        self.asked.append((users, items, scores))
        return scores

    def _checked(self, scores: Any, users: Int, items: Int) -> Float:
        """Return an answer as float64."""
        name = "result of recommender"
        array = as_array(scores, name)
        if array.shape != users.shape:
            raise InputError(f"{name} has shape {array.shape}; expected {users.shape}")
        if array.dtype.kind in "iu" and max(int(array.max()), -int(array.min())) > EXACT:
            raise InputError(f"{name} has whole numbers above 2^53, which are not exact as floats")
        is_wrong = np.isnan(array) | (array == np.inf)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            item_id = self._problem.item_ids[items[row]]
            pair = f"item {item_id} for user {self._problem.user_ids[users[row]]}"
            problem = f"score of {pair} is {array[row]}; expected a finite number"
            raise InputError(problem, row=row + 1)
        return array.astype(np.float64)


def all_scores(name: str, given: Any) -> Scores:
    """Take scores of all items: a DataFrame, a matrix, factors, or a function of users."""
    kind = kind_of(given)
    if kind in _TABLES:
        raise InputError(f"{name}: found {type(given).__name__}; expected scores, users x items")
    found = scores_of(given, kind, name)
    if not isinstance(found, Scores):
        raise InputError(f"{name} has shape {np.shape(found)}; expected users x items")
    return found


def by_pairs(name: str, given: Any, problem: Problem) -> Scorer:
    """Return a function of running numbers, given one of ids, or scores of all items."""
    if kind_of(given) is Kind.FUNCTION:
        return lambda users, items: given(problem.user_ids[users], problem.item_ids[items])
    scores = all_scores(name, given)
    row, column = problem.places(name, given, scores.shape)
    matrix = scores.matrix()
    return lambda users, items: matrix[row[users], column[items]]


def items_of_frame(given: Any) -> Any:
    """Return a table of the items of scores in a DataFrame, None for other scores."""
    if is_pandas(given):
        return given.columns.to_frame(index=False, name=ITEM)
    return None
