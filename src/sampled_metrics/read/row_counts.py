"""Counts of held-out items in rows of scores: of all items, or of a held-out item and negatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from sampled_metrics._base.arguments import ALL_CORES, check_arguments, n_threads
from sampled_metrics._base.array_types import Array, Bool, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks, count_by_score
from sampled_metrics._base.calls import note_meaning, warn_all
from sampled_metrics._base.columns import (
    NO_ITEM_NAMES,
    NO_LABEL,
    index_ids,
    is_no_item,
    refuse_numbered_series,
)
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    as_array,
    numeric_array,
    to_numpy,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import check_sparse
from sampled_metrics.checks.scores import signs_of_batches, signs_of_padding
from sampled_metrics.read.comparisons import BlockCounts, count_above, take_rows
from sampled_metrics.read.items import require_positions


class RowCounts(NamedTuple):
    """Counts of held-out items in rows of scores; a row without a target has none.

    Attributes
    ----------
    candidates
        Candidates of each row.
    better, tied
        Scores above each held-out item, and others equal to it.
    n_found
        Held-out items of each row.
    lost
        Held-out items of each row without a score.
    """

    candidates: Int
    better: Int
    tied: Int
    n_found: Int
    lost: Int

    @property
    def rows(self) -> Int:
        """Row of each held-out item."""
        return np.repeat(np.arange(self.n_found.size), self.n_found)

    @property
    def has_target(self) -> Bool:
        """Whether each row has a held-out item."""
        return self.n_found > 0

    def with_target(self) -> RowCounts:
        """Return the counts of the rows that have a held-out item."""
        rows = self.has_target
        return self._replace(
            candidates=self.candidates[rows], n_found=self.n_found[rows], lost=self.lost[rows]
        )


def count_in_rows(
    scores: Any,
    positive: ArrayLike,
    *,
    column_ids: Any = None,
    is_full: bool = False,
    has_ids: bool = False,
    missing: str = "refuse",
    n_jobs: int = ALL_CORES,
) -> RowCounts:
    """Count, in each row, the scores above the score of a held-out item, and those equal to it.

    Parameters
    ----------
    positive
        Column of the held-out item, one for all rows (negative from the end), or one per row (-1 or
        -100 for none); or labels of the shape of the scores, 1 for held-out items.
    column_ids
        Ids of columns, beside which `positive` must not be ids; see `require_positions`.
    is_full
        Whether rows contain scores of all items: a score of -inf is then not a candidate. Otherwise
        they contain held-out items and negatives, and each held-out item is counted among the
        negatives only; -inf at the end of a row is padding, unless `missing` is "last".
    has_ids
        Whether the ids of columns are known, so that rows may be users of a batch, whose held-out
        items are the columns.
    missing
        With "last", held-out items with a score of -inf are below all others; with "refuse" they
        are an error.

    Examples
    --------
    >>> count_in_rows(np.array([[0.5, 0.7, 0.5, 0.1]]), 0)[:3]
    (array([4]), array([1]), array([1]))
    """
    check_arguments(missing=missing)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise _wrong_shape(scores)
    row, column = held_out_positions(positive, scores.shape, column_ids)
    counts = count_above(scores, (row, column), n_threads(n_jobs))
    held_out = _HeldOut(row, column, counts)
    if is_full:
        return _count_among_all(scores, held_out, missing)
    return _count_among_negatives(scores, held_out, missing, has_ids=has_ids)


class _HeldOut(NamedTuple):
    """Held-out items in rows of scores: their cells, rows ascending, and counts of scores above."""

    row: Int
    column: Int
    counts: BlockCounts

    @property
    def is_lost(self) -> Bool:
        """Whether each held-out item has no score, -inf."""
        return np.isneginf(self.counts.score)

    def count_by_row(self) -> tuple[Int, Int]:
        """Count the held-out items of each row, and those of them without a score."""
        n_rows = self.counts.n_missing.size
        n_found = np.bincount(self.row, minlength=n_rows)
        return n_found, np.bincount(self.row[self.is_lost], minlength=n_rows)


def _count_among_all(scores: Any, held_out: _HeldOut, missing: str) -> RowCounts:
    """Count in rows of scores of all items, of which those of -inf are not candidates.

    With `missing` "last", held-out items of -inf are candidates, tied below all others; otherwise
    they are an error.
    """
    row, column, counts = held_out
    n_found, n_lost = held_out.count_by_row()
    if missing == "refuse":
        bad_row = _first_refused(counts.n_invalid + n_lost, n_found)
        if bad_row is not None:
            raise _score_error(scores, bad_row, held_out_columns=column[row == bad_row])
    else:
        bad_row = _first_refused(counts.n_invalid, n_found)
        if bad_row is not None:
            raise _score_error(scores, bad_row)
    return RowCounts(
        candidates=scores.shape[1] - counts.n_missing + n_lost,
        better=counts.better,
        tied=np.where(held_out.is_lost, n_lost[row] - 1, counts.tied),
        n_found=n_found,
        lost=n_lost,
    )


def _count_among_negatives(
    scores: Any, held_out: _HeldOut, missing: str, *, has_ids: bool
) -> RowCounts:
    """Count in rows of scores of held-out items and negatives; see `count_in_rows`."""
    row, column, counts = held_out
    n_found, n_lost = held_out.count_by_row()
    n_padded = np.zeros(n_found.size, np.int64)
    if not n_lost.any():
        n_padded = _count_padding(scores, counts.n_missing, row, column)
    n_refused = counts.n_invalid
    n_negatives = scores.shape[1] - n_found
    if missing == "refuse":
        n_refused = n_refused + counts.n_missing - n_padded
        n_negatives = n_negatives - n_padded
    else:
        warn_all(signs_of_padding(n_padded, counts.n_missing))
    bad_row = _first_refused(n_refused, n_found)
    if bad_row is not None:
        raise _score_error(scores, bad_row)
    if not has_ids:
        _refuse_batches(row, column, scores.shape[1])
    better, tied = _count_negatives(row, counts, n_negatives)
    return RowCounts(
        candidates=n_negatives + 1, better=better, tied=tied, n_found=n_found, lost=n_lost
    )


def _first_refused(n_refused: Int, n_found: Int) -> int | None:
    """Return the first row with a held-out item and a refused score; others are dropped."""
    is_refused = (n_refused > 0) & (n_found > 0)
    return int(np.argmax(is_refused)) if is_refused.any() else None


def _refuse_batches(row: Int, column: Int, width: int) -> None:
    """Raise InputError for rows whose negatives are held-out items of other rows of a batch."""
    for argument, problem in signs_of_batches(row, column, width):
        raise InputError(f"{argument}: {problem}")


def _count_negatives(row: Int, counts: BlockCounts, n_negatives: Int) -> tuple[Int, Int]:
    """Count the negatives above each held-out item, and level with it.

    These are the scores of its row less the held-out items of the row. An item without a score is
    below all negatives.
    """
    is_lost = np.isneginf(counts.score)
    held_out_better, held_out_tied = count_by_score(row, counts.score)
    better = np.where(is_lost, n_negatives[row], counts.better - held_out_better)
    tied = np.where(is_lost, 0, counts.tied - held_out_tied)
    return better, tied


def _wrong_shape(scores: Any) -> InputError:
    """Make the error for scores that are not rows of several numbers."""
    remedy = ""
    if scores.ndim == 2 and len(scores) > 1:
        remedy = ", such as scores.reshape(-1, 1 + n_negatives)"
    return InputError(
        f"scores are {scores.dtype} of shape {scores.shape}; expected numbers, shape (users, 1 + "
        f"negatives){remedy}"
    )


def _count_padding(scores: Any, n_missing: Int, row: Int, column: Int) -> Int:
    """Count the scores of -inf at the end of each row, if the row has no others.

    Held-out items may follow the padding. A row all of whose negatives are -inf has none.

    Parameters
    ----------
    scores
        Shape (rows, columns).
    n_missing
        Scores of -inf in each row, all of negatives; shape (rows,).
    row, column
        Cells of the held-out items.
    """
    n_rows, width = scores.shape
    first_missing = _first_missing_columns(scores, n_missing)
    is_after = column > first_missing[row]
    n_held_out_after = np.bincount(row[is_after], minlength=n_rows)
    n_negatives_from_first = width - first_missing - n_held_out_after
    n_negatives = width - np.bincount(row, minlength=n_rows)
    is_at_end = n_missing == n_negatives_from_first  # all negatives from the first -inf on are -inf
    has_others = n_missing < n_negatives
    return np.where(is_at_end & has_others, n_missing, 0)


def _first_missing_columns(scores: Any, n_missing: Int) -> Int:
    """Return the column of the first -inf in each row, the number of columns in rows without."""
    n_rows, width = scores.shape
    first_missing = np.full(n_rows, width)
    with_missing = np.flatnonzero(n_missing)
    for block in blocks(with_missing.size, width, CACHE_ENTRIES):
        rows = with_missing[block]
        is_missing = np.isneginf(to_numpy(take_rows(scores, rows)))
        first_missing[rows] = is_missing.argmax(axis=1)
    return first_missing


def note_rows_without_target(n_dropped: int) -> None:
    """Note how many rows were dropped because they have no held-out item."""
    if n_dropped:
        rows = "1 row" if n_dropped == 1 else f"{n_dropped:,} rows"
        note_meaning("positive", f"no held-out item: {NO_ITEM_NAMES} of {rows}, which are dropped")


def pad_rows(rows: Any) -> Any:
    """Convert lists of numbers of different lengths to a matrix, padded with -inf.

    Return other data unchanged.
    """
    are_lists = isinstance(rows, list | tuple) and all(hasattr(row, "__len__") for row in rows)
    if not are_lists or not rows:
        return rows
    lengths = np.array([len(row) for row in rows])
    if lengths.min() < 2 or lengths.min() == lengths.max():
        return rows
    matrix = np.full((lengths.size, lengths.max()), -np.inf)
    for target, row in zip(matrix, rows, strict=True):
        values = numeric_array(row, "scores")
        if values.ndim != 1:
            return rows
        target[: values.size] = values
    return matrix


def _score_error(scores: Any, row: int, held_out_columns: Int | None = None) -> InputError:
    """Make the error for the first score of a row that is not a number, or not of a candidate.

    Any score of -inf is an error or, if `held_out_columns` are passed, that of a held-out item.
    """
    values = to_numpy(scores[row : row + 1, :])[0]
    is_missing = values == -np.inf
    is_invalid = ~(values < np.inf)  # inf or NaN
    if held_out_columns is None:
        is_bad = is_invalid | is_missing
    else:
        is_held_out = np.zeros(values.size, bool)
        is_held_out[held_out_columns] = True
        is_bad = is_invalid | (is_missing & is_held_out)
    first = int(np.argmax(is_bad))
    remedy = ""
    if values[first] == -np.inf:
        remedy = (
            ", or -inf after the last negative of a row that has fewer, or missing='last' "
            "(--missing last) for items that an answer omits"
        )
    elif np.isnan(values[first:]).all() and held_out_columns is None:
        remedy = "; pad rows with fewer negatives with -inf at their end"
    return InputError(
        f"the score in column {first} is {values[first]}; expected finite numbers{remedy}",
        row=row + 1,
    )


def positive_by_row(positive: Any, row_ids: Any) -> Any:
    """Return a Series of columns in the order of the rows of scores; other data as it is.

    Rows without ids (`row_ids` is None) are numbered from 0, one for each entry.
    """
    refuse_numbered_series("positive", positive, row_ids)
    ids = index_ids(positive) if isinstance(positive, pd.Series) else None
    if ids is None:
        return positive
    rows = pd.Index(np.arange(len(ids)) if row_ids is None else row_ids)
    if ids.equals(rows):
        return positive.to_numpy()
    has_one_entry_per_row = ids.is_unique and rows.isin(ids).all()
    if not has_one_entry_per_row:
        raise InputError(
            "the index of positive differs from the ids of the rows of scores; expected the same "
            "ids, or positive.to_numpy() in the order of the rows"
        )
    return positive.loc[rows].to_numpy()


def held_out_positions(
    positive: ArrayLike, shape: tuple[int, ...], column_ids: Any = None
) -> tuple[Int, Int]:
    """Return the rows and the columns of held-out items; rows ascend.

    Parameters
    ----------
    positive
        Columns or labels, see `count_in_rows`.
    shape
        Shape of the scores.
    column_ids
        Ids of columns, see `require_positions`.
    """
    if sparse.issparse(positive):
        check_sparse(positive, "positive")
    array = as_array(arrow_column_to_array(positive), "positive")
    n_rows, width = shape
    are_whole = array.dtype.kind in "iu"
    if array.shape == (n_rows, 1) and are_whole:
        array = array[:, 0]
    are_labels = array.shape == shape and ((array == 0) | (array == 1)).all()
    if are_labels:
        without = np.flatnonzero(~array.any(axis=1))
        if without.size:
            raise InputError("positive has no item; drop rows without one", row=int(without[0]) + 1)
        row, column = np.nonzero(array)
        return row, column
    require_positions("positive", column_ids, "pass the scores as an array")
    is_one_column = are_whole and array.ndim == 0 and -width <= array < width
    if is_one_column:  # for all rows; a negative one counts from the end
        return np.arange(n_rows), np.full(n_rows, array % width)
    if not are_whole or array.shape != (n_rows,):
        raise _wrong_positive(array, tuple(shape))
    is_none = is_no_item(array)
    is_column = (array >= 0) & (array < width)
    if not (is_none | is_column).all():
        raise _wrong_positive(array, tuple(shape))
    row = np.flatnonzero(~is_none)
    return row, array[row].astype(np.int64)


def _wrong_positive(array: Array, shape: tuple[int, ...]) -> InputError:
    """Make the error for `positive` that contains neither columns nor labels of 0 and 1."""
    n_rows, width = shape
    description = f"{array.dtype} of shape {array.shape}" if array.ndim else str(array)
    is_numeric = array.dtype.kind in "iuf"
    remedy = ""
    if is_numeric and array.shape == shape and (array == NO_LABEL).any():
        remedy = (
            f"; for labels of {NO_LABEL}, which mark no candidate, pass positive == 1 and, of all "
            "items, scores of -inf there; of a sample pass pairs of user_id, score and label"
        )
    elif is_numeric and array.shape == shape and array.ndim:
        remedy = (
            "; for grades combine Ranks.from_scores(scores, grades) of the batches with "
            "Ranks.concatenate"
        )
    elif is_numeric and array.shape == (n_rows,) and array.min(initial=0) < 0:
        remedy = (
            f"; {NO_ITEM_NAMES} mark rows without a held-out item; drop rows of other negative "
            "numbers, scores[positive >= 0] and positive[positive >= 0]"
        )
    elif array.ndim == 2 and array.size == n_rows:
        remedy = "; in the order of the rows positive.reshape(-1)"
    return InputError(
        f"positive is {description}; expected one of the columns 0 to {width - 1}, or labels "
        f"of 0 and 1, {shape}{remedy}"
    )
