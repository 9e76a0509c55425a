"""Data of an evaluation on a budget: held-out items, candidates, and functions that score pairs.

Users and items have running numbers, and all data is in sparse matrices, users x items. A held-out
row is one held-out item of a user; rows are ordered by user.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import MAX_EXACT_INTEGER, blocks
from sampled_metrics._base.calls import place_of, warn_all
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical_csr, indicator_matrix
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_unused_grades
from sampled_metrics.read.items import (
    BY_USER_REMEDY,
    RELEVANT,
    SEEN,
    Size,
    describe_seen_relevant,
    has_seen_items,
    items_by_id,
    items_by_position,
    read_item_table,
    require_positions,
)
from sampled_metrics.read.kinds import Kind, kind_of
from sampled_metrics.read.options import ItemsByUser
from sampled_metrics.read.roles import ITEM
from sampled_metrics.read.scores import ScoreSource, read_scores, scores_from_vectors
from sampled_metrics.sampling.catalogue import read_catalogue

CANDIDATES = "candidates"
PairScorer = Callable[[Int, Int], Any]  # scores of pairs, by running numbers of users and items


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
        """Return the data with these candidates, except seen and held-out items."""
        marked = indicator_matrix(listed)
        candidates = canonical_csr(marked - marked.multiply(self.seen + self.held_out))
        users_without = np.flatnonzero(np.diff(candidates.indptr) == 0)
        if users_without.size:
            raise InputError(
                f"candidates has none of user {self.user_ids[users_without[0]]} except seen and "
                "held-out items; expected some for each user with a held-out item"
            )
        return self._replace(candidates=candidates)

    @property
    def score_rows(self) -> Int:
        """Rows of the users evaluated in a matrix of scores."""
        if self.size is None:
            return np.arange(self.user_ids.size)
        return self.user_ids.astype(np.int64)


def read_data(
    relevant: ItemsByUser,
    seen: ItemsByUser | None,
    *,
    candidates: ItemsByUser | None = None,
    items: ItemsByUser | None = None,
    scores: Sequence[Any] = (),
) -> EvaluationData:
    """Read tables of ids, or matrices and lists by position.

    Parameters
    ----------
    relevant, seen, candidates, items
        As in `evaluate_on_budget`.
    scores
        Scores of recommenders, which say how many items there are if nothing else does.
    """
    arguments: dict[str, Any] = {RELEVANT: relevant, SEEN: seen, CANDIDATES: candidates}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if len(arguments) == 1:
        raise InputError(
            "neither seen nor candidates is given; pass one of them, or seen='none' if users have "
            "seen nothing"
        )
    if not has_seen_items(seen):
        arguments.pop(SEEN, None)
    tables = {name: read_item_table(value, name) for name, value in arguments.items()}
    has_ids = [table is not None for table in tables.values()]
    if all(has_ids):
        frames = [frame for frame in scores if isinstance(frame, pd.DataFrame)]
        if frames and items is None:
            items = frames[0].columns.to_frame(index=False, name=ITEM)
        return _data_from_tables(tables, items)
    if any(has_ids):
        raise InputError(f"one of {' and '.join(arguments)} has ids; give all as tables, or none")
    return _data_from_positions(arguments, items, scores)


def _data_from_tables(tables: dict[str, Any], items: ItemsByUser | None) -> EvaluationData:
    """Build the data from tables of ids, by name of argument.

    Its users are those with held-out items, and its items those of all tables; both get running
    numbers.
    """
    listed = [tables[CANDIDATES]] if CANDIDATES in tables else []
    catalogue = read_catalogue(tables[RELEVANT], tables.get(SEEN), items, listed)
    seen = catalogue.seen.matrix()
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
    for table in listed:
        candidates = items_by_id(table, CANDIDATES).restrict_to(Units(data.user_ids), data.item_ids)
        data = data.with_candidates(candidates.matrix())
    return data


def _data_from_positions(
    arguments: dict[str, Any], items: Any, scores: Sequence[Any]
) -> EvaluationData:
    """Build the data from matrices and lists, where users are rows and items are columns.

    Its users are those with held-out items, with their rows as ids; its items are all columns.

    Parameters
    ----------
    arguments
        Values of `relevant`, `seen` and `candidates`, as far as they are given.
    items, scores
        As in `read_data`; they say how many items there are if no argument does.

    Raises
    ------
    InputError
        If there is no held-out item, if one is seen, or if a user has no candidates.
    """
    size = _infer_size(arguments, items, scores)
    by_name = {name: items_by_position(value, name, size) for name, value in arguments.items()}
    warn_all(signs_of_unused_grades(by_name[RELEVANT].relevance))
    users = np.flatnonzero(by_name[RELEVANT].sizes)
    if not users.size:
        raise InputError("relevant has no items; expected at least one")
    n_items = size[1]
    matrices = {name: value._replace(n_items=n_items).matrix() for name, value in by_name.items()}
    all_seen = matrices.get(SEEN, csr_array(size, dtype=bool))
    held_out = matrices[RELEVANT][users]
    seen = all_seen[users]
    user, item = held_out.multiply(seen).nonzero()
    if user.size:
        raise InputError(
            f"relevant: held-out item {item[0]} of user {users[user[0]]} is seen"
            f"{describe_seen_relevant(user)}"
        )
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


def _count_users_of_items(seen: csr_array) -> Int:
    """Count the users who have seen each item."""
    return np.bincount(seen.indices, minlength=seen.shape[1])


def _infer_size(arguments: dict[str, Any], items: Any, scores: Sequence[Any]) -> Size:
    """Return the numbers of users and items in data by position."""
    for value in (*arguments.values(), *scores):
        if len(getattr(value, "shape", ())) == 2:
            n_items = value.shape[1]
            if items is not None and whole_number("items", items, 1) != n_items:
                raise InputError(f"items is {items}; expected {n_items}, the number of all items")
            return value.shape
    if items is None:
        raise InputError("relevant and seen are lists; give items, the number of all items")
    return items_by_position(arguments[RELEVANT], RELEVANT).n_users, whole_number("items", items, 1)


class TimedScorer:
    """A function that scores pairs in batches, with checks and the time that it took.

    Attributes
    ----------
    seconds, n_scored
        Time of all calls, and the number of pairs scored.
    report_progress
        Function that is called with the number of pairs of each batch, for a progress bar.
    """

    report_progress: Any

    def __init__(self, score: PairScorer, data: EvaluationData, batch_size: int | None) -> None:
        self.seconds = 0.0
        self.n_scored = 0
        self._score = score
        self._data = data
        self._batch_size = batch_size

    def score(self, users: Int, items: Int) -> Float:
        """Score pairs of running numbers of users and items."""
        scores = np.empty(users.size)
        for part in blocks(users.size, 1, self._batch_size or users.size):
            start = perf_counter()
            batch = self._score(users[part], items[part])
            self.seconds += perf_counter() - start
            scores[part] = self._check_scores(batch, users[part], items[part])
            self.report_progress(len(batch))
        self.n_scored += users.size
        return scores

    def _check_scores(self, scores: Any, users: Int, items: Int) -> Float:
        """Return the scores of a batch as float64, or refuse them."""
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
            item = self._data.item_ids[items[row]]
            user = self._data.user_ids[users[row]]
            raise InputError(
                f"score of item {item} for user {user} is {array[row]}; expected a finite number"
            )
        return array.astype(np.float64)


def read_all_scores(name: str, scores: Any, data: EvaluationData) -> ScoreSource:
    """Read scores of all items: a DataFrame, a matrix, vectors of both, or a function of users.

    A DataFrame with ids is put into the order of the data's users and items. `name` is the argument
    that errors name.
    """
    if data.size is None:
        if not isinstance(scores, pd.DataFrame):
            raise InputError(f"{name} has no ids; expected a DataFrame with index and columns")
        if not (scores.index.is_unique and scores.columns.is_unique):
            raise InputError(f"{name} has an id twice; expected one row a user, one column an item")
        scores = scores.reindex(data.user_ids, columns=data.item_ids)
    size = data.size or data.seen.shape
    if kind_of(scores) is Kind.FUNCTION:
        return ScoreSource(scores, size)
    with place_of(name):
        if isinstance(scores, str | Path):
            raise InputError("found the name of a file; expected scores, users x items")
        if isinstance(scores, tuple) and len(scores) == 2:
            scores = scores_from_vectors(*scores)
        source = read_scores(scores)
        if data.size is not None:
            require_positions(" and ".join((RELEVANT, SEEN)), source.item_ids, f"{BY_USER_REMEDY}")
    if source.shape != size:
        raise InputError(f"{name} has shape {source.shape}; expected {size}, users x items")
    return source


def _require_two_arguments(name: str, score: Callable[..., Any]) -> None:
    """Raise InputError for a function that cannot be called with users and items."""
    try:
        parameters = signature(score)
    except (TypeError, ValueError):  # some functions in C have no signature
        return
    try:
        parameters.bind("users", "items")
    except TypeError as error:
        raise InputError(
            f"{name} cannot be called with users and items ({error}); expected a function that "
            "scores pairs"
        ) from error


def pair_scorer(name: str, scores: Any, data: EvaluationData) -> PairScorer:
    """Return a function of running numbers, from a function of ids or scores of all items."""
    if kind_of(scores) is Kind.FUNCTION:
        _require_two_arguments(name, scores)
        return lambda users, items: scores(data.user_ids[users], data.item_ids[items])
    matrix = read_all_scores(name, scores, data).matrix()
    row = data.score_rows
    return lambda users, items: matrix[row[users], items]
