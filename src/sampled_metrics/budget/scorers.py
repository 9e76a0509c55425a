"""Functions that score pairs of users and items, made from what a recommender or proxy is given as.

Inside this package users and items have running numbers. Functions that users pass are called with
ids; matrices and DataFrames are put into the order of the running numbers.
"""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sampled_metrics._base.array_types import Array, Float, Int
from sampled_metrics._base.arrays import MAX_EXACT_INTEGER, blocks
from sampled_metrics._base.calls import place_of
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.candidates import EvaluationData
from sampled_metrics.read.items import BY_USER_REMEDY, RELEVANT, SEEN, require_positions
from sampled_metrics.read.kinds import Kind, kind_of
from sampled_metrics.read.scores import ScoreSource, read_scores, scores_from_vectors

# A function of arrays of users and items, or scores of all items.
RecommenderScores: TypeAlias = Any
# Scores of pairs, by running numbers of users and items; unchecked, of any array library.
PairScorer: TypeAlias = Callable[[Int, Int], object]
_RESULT = "result of recommender"


class TimedScorer:
    """A function that scores pairs in batches, with checks and the time that it took.

    Parameters
    ----------
    score
        Function of running numbers of users and items.
    data
        Names users and items in errors.
    batch_size
        Largest number of pairs of a call; None: all at once.
    report_progress
        Function that is called with the number of pairs of each batch, for a progress bar.

    Attributes
    ----------
    seconds, n_scored
        Time of all calls, and the number of pairs scored.
    """

    def __init__(
        self,
        score: PairScorer,
        data: EvaluationData,
        batch_size: int | None,
        report_progress: Callable[[int], object],
    ) -> None:
        self.seconds = 0.0
        self.n_scored = 0
        self._score = score
        self._data = data
        self._batch_size = batch_size
        self._report_progress = report_progress

    @property
    def seconds_per_score(self) -> float:
        """Mean time of a pair."""
        return self.seconds / self.n_scored

    def score(self, users: Int, items: Int) -> Float:
        """Score pairs of running numbers of users and items; shape (pairs,)."""
        scores = np.empty(users.size)
        for batch in blocks(users.size, 1, self._batch_size or users.size):
            start = perf_counter()
            returned = self._score(users[batch], items[batch])
            self.seconds += perf_counter() - start
            scores[batch] = self._check_scores(returned, users[batch], items[batch])
            self._report_progress(users[batch].size)
        self.n_scored += users.size
        return scores

    def _check_scores(self, returned: object, users: Int, items: Int) -> Float:
        """Return the scores of a batch as float64, or refuse them."""
        scores = numeric_array(returned, _RESULT)
        if scores.shape != users.shape:
            raise InputError(f"{_RESULT} has shape {scores.shape}; expected {users.shape}")
        if _has_inexact_integers(scores):
            raise InputError(
                f"{_RESULT} has whole numbers above 2^53, which are not exact as floats"
            )
        is_wrong = ~(scores < np.inf)
        if is_wrong.any():
            pair = np.argmax(is_wrong)
            item = self._data.item_ids[items[pair]]
            user = self._data.user_ids[users[pair]]
            raise InputError(
                f"score of item {item} for user {user} is {scores[pair]}; expected a finite number"
            )
        return scores.astype(np.float64)


def _has_inexact_integers(scores: Array) -> bool:
    """Whether some scores are integers that float64 cannot represent."""
    if scores.dtype.kind not in "iu":
        return False
    return max(int(scores.max()), -int(scores.min())) > MAX_EXACT_INTEGER


def pair_scorer(name: str, scores: RecommenderScores, data: EvaluationData) -> PairScorer:
    """Return a function of running numbers, from a function of ids or scores of all items.

    `name` is the argument that errors name.
    """
    if kind_of(scores) is Kind.FUNCTION:
        _require_two_arguments(name, scores)
        return lambda users, items: scores(data.user_ids[users], data.item_ids[items])
    matrix = read_all_scores(name, scores, data).matrix()
    matrix_row_of_user = data.score_rows
    return lambda users, items: matrix[matrix_row_of_user[users], items]


def _require_two_arguments(name: str, score: Callable[..., object]) -> None:
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


def read_all_scores(name: str, scores: RecommenderScores, data: EvaluationData) -> ScoreSource:
    """Read scores of all items: a DataFrame, a matrix, vectors of both, or a function of users.

    A DataFrame with ids is put into the order of the data's users and items. `name` is the argument
    that errors name.
    """
    has_ids = data.size is None
    if has_ids:
        scores = _align_to_ids(name, scores, data)
    size = data.size or data.seen.shape
    if kind_of(scores) is Kind.FUNCTION:
        return ScoreSource(scores, size)
    with place_of(name):
        if isinstance(scores, str | Path):
            raise InputError("found the name of a file; expected scores, users x items")
        if isinstance(scores, tuple) and len(scores) == 2:
            scores = scores_from_vectors(*scores)
        source = read_scores(scores)
        if not has_ids:
            require_positions(f"{RELEVANT} and {SEEN}", source.item_ids, BY_USER_REMEDY)
    if source.shape != size:
        raise InputError(f"{name} has shape {source.shape}; expected {size}, users x items")
    return source


def _align_to_ids(name: str, scores: RecommenderScores, data: EvaluationData) -> pd.DataFrame:
    """Put a DataFrame of scores into the order of the data's users and items."""
    if not isinstance(scores, pd.DataFrame):
        raise InputError(f"{name} has no ids; expected a DataFrame with index and columns")
    if not (scores.index.is_unique and scores.columns.is_unique):
        raise InputError(
            f"{name} has a duplicate id; expected one row per user and one column per item"
        )
    return scores.reindex(data.user_ids, columns=data.item_ids)
