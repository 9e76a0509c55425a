"""Comparisons of scores in any array library, on the device where they are.

Rows are users and columns are items. Only counts come to main memory, and the few scores that other
scores are compared with. `Positions` are the rows and the columns of some scores in a block.
"""

from __future__ import annotations

import sys
from typing import NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.array_types import AnyArray, Array, Bool, Floats, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks, ceil_divide, concatenate_ranges
from sampled_metrics._base.conversion import keeps_own_library, to_numpy
from sampled_metrics._base.threads import map_in_threads

Positions: TypeAlias = tuple[Int, Int]  # rows and columns
CountPair: TypeAlias = tuple[Int, Int]  # scores above and scores level

# With more pairs per row than this, sorting the row is faster than comparing it with each pair.
_PAIRS_TO_SORT_ROW = 16
# With so many pairs per row, a search in the sorted row is faster than comparing it with each pair.
_PAIRS_TO_SEARCH_ROW = 4
# numpy sorts up to so many numbers by a network, several times as fast per number as longer rows.
_COLUMNS_TO_SORT = 512
_COLUMNS_TO_COUNT = 1024  # at a time, a multiple of 8, so that sums of bytes do not overflow
_DEVICE_ENTRIES = 1 << 26  # scores that a device compares at a time: 256 MB in float32


class BlockCounts(NamedTuple):
    """Counts in a block of scores, for its rows and for some pairs of a row and a column.

    Attributes
    ----------
    n_missing
        Scores of -inf in each row.
    n_invalid
        Scores of NaN or inf in each row.
    score
        Score of each pair.
    better, tied
        Scores in the row of each pair above its own, and others equal to it.
    """

    n_missing: Int
    n_invalid: Int
    score: Floats
    better: Int
    tied: Int


def slice_of_rows(row: Int, block: slice) -> slice:
    """Return where the pairs of a block of rows are, given the row of each pair; rows ascend."""
    return slice(*row.searchsorted((block.start, block.stop)).tolist())


def count_above(scores: AnyArray, pairs: Positions, threads: int = 1) -> BlockCounts:
    """Count, for each pair of a row and a column, the scores of its row above its own.

    Rows of pairs ascend. Scores on a device are counted by one thread.
    """
    keeps_library = keeps_own_library(scores)
    row, column = pairs
    pair_score = take_scores(scores, row, column)
    n_rows, width = scores.shape

    def count_block(block: slice) -> BlockCounts:
        in_block = slice_of_rows(row, block)
        return _count_in_block(scores[block, :], row[in_block] - block.start, pair_score[in_block])

    entries = _DEVICE_ENTRIES if keeps_library else CACHE_ENTRIES
    pairs_per_row = ceil_divide(row.size, max(1, n_rows))
    row_blocks = blocks(n_rows, width * pairs_per_row, entries)
    parts = [*map_in_threads(count_block, row_blocks, 1 if keeps_library else threads)]

    def join(field: str) -> Int:
        no_counts = np.zeros(0, np.int64)  # of scores without a row
        return np.concatenate([no_counts, *(getattr(part, field) for part in parts)])

    return BlockCounts(
        n_missing=join("n_missing"),
        n_invalid=join("n_invalid"),
        score=to_numpy(pair_score),
        better=join("better"),
        tied=join("tied"),
    )


def _count_in_block(scores: AnyArray, row: Int, pair_score: AnyArray) -> BlockCounts:
    """Count as `count_above` does in a few rows, by the method that is faster."""
    n_rows, width = scores.shape
    n_missing = np.zeros(n_rows, np.int64)
    n_invalid = np.zeros(n_rows, np.int64)
    if not are_finite(scores):
        n_missing = count_true(scores == -np.inf)
        n_invalid = width - count_true(scores < np.inf)
    has_many_pairs = row.size > _PAIRS_TO_SORT_ROW * n_rows
    count = _count_by_comparing_rows
    if has_many_pairs and not keeps_own_library(scores):
        count = _count_in_sorted_rows
    better, level = count(scores, row, pair_score)
    tied = level - 1  # without the score of the pair itself
    return BlockCounts(n_missing, n_invalid, score=pair_score, better=better, tied=tied)


def are_finite(numbers: AnyArray) -> bool:
    """Return whether all numbers are finite, in two passes without a temporary array."""
    xp = compat.array_namespace(numbers)
    if 0 in numbers.shape or not xp.isdtype(numbers.dtype, "real floating"):
        return True
    return bool(xp.isfinite(xp.min(numbers)) & xp.isfinite(xp.max(numbers)))


def _count_by_comparing_rows(scores: AnyArray, row: Int, pair_score: AnyArray) -> CountPair:
    """Count the scores of its row above each pair, and those level with it; rows ascend."""
    has_one_pair = np.array_equal(row, np.arange(scores.shape[0]))  # in each row
    if not has_one_pair:
        scores = take_rows(scores, row)
    limit = pair_score[:, None]
    return count_true(scores > limit), count_true(scores == limit)


def _count_in_sorted_rows(scores: Array, row: Int, pair_score: Array) -> CountPair:
    """Count as `_count_by_comparing_rows` does, faster where rows have many pairs."""
    ascending = np.sort(scores, axis=1)
    better = np.empty(row.size, np.int64)
    level = np.empty(row.size, np.int64)
    for pair in range(row.size):
        ascending_row = ascending[row[pair]]
        n_below = ascending_row.searchsorted(pair_score[pair])
        n_not_above = ascending_row.searchsorted(pair_score[pair], "right")
        better[pair] = ascending_row.size - n_not_above
        level[pair] = n_not_above - n_below
    return better, level


def count_around_limits(scores: AnyArray, row: Int, low: AnyArray, high: AnyArray) -> CountPair:
    """Count, for each pair of a row and two limits, the scores above both and those between.

    A score is above if score > high, and between if low <= score <= high. Rows ascend, and each has
    at least one pair. If each has exactly one pair, `low` and `high` may also be two numbers.
    """
    has_one_pair_per_row = row.size == len(scores)
    if has_one_pair_per_row:
        return _count_by_comparison(scores, low, high)
    is_searched = _is_search_faster(scores, row)
    searched, compared = np.flatnonzero(is_searched), np.flatnonzero(~is_searched)
    above = np.empty(row.size, np.int64)
    between = np.empty(row.size, np.int64)
    entries = _DEVICE_ENTRIES if keeps_own_library(scores) else CACHE_ENTRIES
    for block in blocks(compared.size, scores.shape[1], entries):
        pair = compared[block]
        some_rows = take_rows(scores, row[pair])
        above[pair], between[pair] = _count_by_comparison(some_rows, low[pair], high[pair])
    if searched.size:
        above[searched], between[searched] = _count_by_search(
            scores, row[searched], low[searched], high[searched]
        )
    return above, between


def _is_search_faster(scores: AnyArray, row: Int) -> Bool:
    """Return whether to count a pair in its sorted row; devices compare a row faster than sort."""
    if keeps_own_library(scores):
        return np.zeros(row.size, bool)
    n_pairs_of_row = np.bincount(row)
    return n_pairs_of_row[row] >= _PAIRS_TO_SEARCH_ROW


def _count_by_comparison(scores: AnyArray, low: AnyArray, high: AnyArray) -> CountPair:
    """Count the scores of each row above and between its own limits by comparing all of them."""
    above = count_true(scores > as_column(high, scores))
    return above, count_true(scores >= as_column(low, scores)) - above


def _count_by_search(scores: Floats, row: Int, low: Floats, high: Floats) -> CountPair:
    """Count as `count_around_limits` does by searching for the limits in sorted rows.

    Each row is sorted once for all its pairs, `_COLUMNS_TO_SORT` columns at a time, and the counts
    of these columns are added up: above = columns - not above, and between = not above - below.
    """
    is_first_of_row = np.diff(row, prepend=-1) > 0
    rows = row[is_first_of_row]  # each once
    sorted_row = is_first_of_row.cumsum() - 1  # of each pair, its position in `rows`
    above = np.zeros(row.size, np.int64)
    between = np.zeros(row.size, np.int64)
    for start in range(0, scores.shape[1], _COLUMNS_TO_SORT):
        columns = scores[:, start : start + _COLUMNS_TO_SORT]
        ascending = _sort_padded(columns[rows])
        n_not_above = _count_below(ascending, sorted_row, high, np.less_equal)
        above += columns.shape[1] - n_not_above
        # Few pairs have a score between their limits; only these are searched for the lower one.
        highest_not_above = ascending[sorted_row, np.maximum(n_not_above - 1, 0)]
        has_between = (n_not_above > 0) & (highest_not_above >= low)
        pair = np.flatnonzero(has_between)
        n_below = _count_below(ascending, sorted_row[pair], low[pair], np.less)
        between[pair] += n_not_above[pair] - n_below
    return above, between


def _sort_padded(scores: Floats) -> Floats:
    """Sort each row, and append inf up to a width that is a power of two."""
    n_rows, width = scores.shape
    padded_width = 1 << (width - 1).bit_length()
    ascending = np.full((n_rows, padded_width), np.inf, scores.dtype)
    ascending[:, :width] = scores
    ascending.sort(axis=1)
    return ascending


def _count_below(ascending: Floats, row: Int, limit: Floats, is_below: np.ufunc) -> Int:
    """Count, for each pair of a row and a limit, the scores of the row below the limit.

    All pairs are searched at once by bisection: `last_below` advances by half of the width if the
    score there is below the limit, then by a quarter, and so on down to 1, and once more by 1.

    Parameters
    ----------
    ascending
        Scores in ascending order in each row; the width is a power of two.
    row, limit
        Row and limit of each pair.
    is_below
        `numpy.less`, or `numpy.less_equal` to count scores equal to the limit as well.
    """
    width = ascending.shape[1]
    scores = ascending.reshape(-1)
    first = row * width  # position of the first score of the row
    last_below = first - 1  # of the last score that is known to be below the limit; none so far
    step = width // 2
    while step:
        last_below += step * is_below(scores.take(last_below + step), limit)
        step //= 2
    last_below += is_below(scores.take(last_below + 1), limit)
    return last_below + 1 - first


def subtract_excluded(
    counts: BlockCounts, row: Int, excluded_row: Int, excluded_score: Floats
) -> CountPair:
    """Subtract from the counts of pairs the scores of items that are not candidates.

    In this way no score of the block is overwritten.

    Parameters
    ----------
    counts, row
        Counts of all scores, and the row of each pair; rows ascend.
    excluded_row, excluded_score
        Rows of excluded items, which ascend, and their scores.

    Returns
    -------
    better, tied
        Candidates above the score of each pair, and others equal to it.
    """
    first = excluded_row.searchsorted(row)  # excluded item of the row of each pair
    n_excluded = excluded_row.searchsorted(row, "right") - first
    # Each pair is compared with all excluded items of its row.
    pair = np.repeat(np.arange(row.size), n_excluded)
    compared_score = excluded_score[concatenate_ranges(first, n_excluded)]
    pair_score = counts.score[pair]
    n_above = np.bincount(pair[compared_score > pair_score], minlength=row.size)
    n_level = np.bincount(pair[compared_score == pair_score], minlength=row.size)
    return counts.better - n_above, counts.tied - n_level


def take_scores(scores: AnyArray, row: Int, column: Int) -> AnyArray:
    """Return single scores, on their device."""
    return scores[to_device(row, scores), to_device(column, scores)]


def take_rows(scores: AnyArray, rows: Int) -> AnyArray:
    """Return some rows, on their device."""
    if isinstance(scores, np.ndarray):
        return scores[rows]
    xp = compat.array_namespace(scores)
    return xp.take(scores, to_device(rows, scores), axis=0)


def to_device(values: Array, scores: AnyArray) -> AnyArray:
    """Copy an array to the library and the device of some scores."""
    xp = compat.array_namespace(scores)
    return xp.asarray(np.ascontiguousarray(values), device=compat.device(scores))


def as_column(values: AnyArray, scores: AnyArray) -> AnyArray:
    """Return one number per row of some scores as a column on their device, or a single number."""
    if np.ndim(values) == 0:
        return float(values)
    return to_device(values, scores)[:, None]


def input_rounding(vectors: AnyArray) -> float:
    """Return the largest relative rounding of numbers before torch multiplies them on a device.

    Torch may round float32 to shorter types, see `torch.set_float32_matmul_precision`: to TF32 with
    10 bits after the point for `high`, and to bfloat16 with 7 bits for `medium`.
    """
    if not (keeps_own_library(vectors) and compat.is_torch_array(vectors)):
        return 0.0
    precision = sys.modules["torch"].get_float32_matmul_precision()
    return {"highest": 0.0, "high": 2.0**-10}.get(precision, 2.0**-7)


def count_true(mask: AnyArray) -> Int:
    """Count the true values in each row, several times as fast as `numpy.count_nonzero`.

    The mask has the shape (rows, columns), in the memory of any device.
    """
    if keeps_own_library(mask):
        xp = compat.array_namespace(mask)
        ones = xp.astype(mask, xp.int32)  # half the memory of the int64 in count_nonzero
        counts = xp.sum(ones, axis=1, dtype=xp.int32)
        return to_numpy(counts).astype(np.int64)
    rows, width = mask.shape
    if width % _COLUMNS_TO_COUNT == 0 and width > _COLUMNS_TO_COUNT:
        pieces = np.ascontiguousarray(mask).reshape(-1, _COLUMNS_TO_COUNT)
        return count_true(pieces).reshape(rows, -1).sum(axis=1)
    summands = np.ascontiguousarray(mask).view(np.uint8)  # one byte, 0 or 1, for each value
    fits_in_bytes = width % 8 == 0 and width <= 8 * 255
    if fits_in_bytes:
        # Eight bytes are added at a time, as one number of 64 bits: no sum of a byte exceeds 255.
        sums = summands.view(np.uint64).sum(axis=1)
        summands = sums.view(np.uint8).reshape(rows, 8)
    return summands.sum(axis=1, dtype=np.min_scalar_type(width)).astype(np.int64)
