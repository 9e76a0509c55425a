"""Scores of other array libraries, such as tensors on a GPU, counted where they are.

Of each row only counts come to main memory, and the scores of items that are ranked or left out.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.array_types import Array, Floats, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks, concatenate_ranges
from sampled_metrics._base.conversion import is_on_device, to_numpy
from sampled_metrics._base.threads import map_in_threads

Positions: TypeAlias = tuple[Int, Int]  # places of users within some rows, and items
_PAIRS_TO_SORT_ROW = 16  # pairs a row above which sorting it is faster than comparing it with each
_PAIRS_TO_SEARCH_ROW = (
    4  # pairs a row from which a search in sorted rows is faster than comparisons
)
_COLUMNS_TO_SORT = 512  # columns; numpy sorts so many by a network, several times as fast as more
_DEVICE_ENTRIES = 1 << 26  # compared at a time on a device


class BlockCounts(NamedTuple):
    """Counts of some rows of scores."""

    gaps: Int  # scores of -inf in each row
    bad: Int  # scores of NaN or inf in each row
    own: Floats  # score of each pair of a row and an item
    better: Int  # scores of its row above each pair
    tied: Int  # others level with it


def count_above(
    scores: Any,
    pairs: Positions,
    threads: int = 1,
) -> BlockCounts:
    """Count the scores above each of some pairs of a row, ascending, and an item."""
    xp = compat.array_namespace(scores)
    is_there = is_on_device(scores)
    row, item = pairs
    own = take_scores(scores, row, item)
    users, width = scores.shape
    is_floating = xp.isdtype(scores.dtype, "real floating")
    gaps = np.zeros(users, np.int64)
    bad = np.zeros(users, np.int64)
    better = np.empty(row.size, np.int64)
    level = np.empty(row.size, np.int64)

    def count_some(some: slice) -> None:
        part = scores[some, :]
        first, last = row.searchsorted((some.start, some.stop)).tolist()
        mine = slice(first, last)
        # Of most blocks two passes, without an array between, tell that all scores are finite.
        if is_floating and not xp.isfinite(xp.min(part)) & xp.isfinite(xp.max(part)):
            gaps[some] = count_true(part == -xp.inf)
            bad[some] = width - count_true(part < xp.inf)
        if last - first > _PAIRS_TO_SORT_ROW * part.shape[0] and not is_there:
            in_order = np.sort(part, axis=1)
            for pair in range(first, last):
                values = in_order[row[pair] - some.start]
                not_above = values.searchsorted(own[pair], "right")
                better[pair] = width - not_above
                level[pair] = not_above - values.searchsorted(own[pair])
            return
        if last - first != part.shape[0]:
            part = take_rows(part, row[mine] - some.start)
        of_pairs = own[mine, None]
        better[mine] = count_true(part > of_pairs)
        level[mine] = count_true(part == of_pairs)

    most = _DEVICE_ENTRIES if is_there else CACHE_ENTRIES
    size = width * -(-row.size // max(1, users))  # where rows have several pairs
    for _ in map_in_threads(count_some, blocks(users, size, most), 1 if is_there else threads):
        pass
    return BlockCounts(gaps, bad, to_numpy(own), better, level - 1)


def count_around_limits(
    scores: Any,
    row: Int,
    low: Any,
    high: Any,
) -> Positions:
    """Count for pairs of a row and two limits the scores above both, and those between them.

    Rows are ascending, and each has a pair. Limits may be two numbers if each has one pair.
    """
    if row.size == len(scores):
        return _count_by_comparison(scores, low, high)
    above = np.empty(row.size, np.int64)
    near = np.empty(row.size, np.int64)
    is_sorted = np.bincount(row)[row] >= _PAIRS_TO_SEARCH_ROW
    if is_on_device(scores):
        is_sorted[:] = False
    by_comparison = np.flatnonzero(~is_sorted)
    most = _DEVICE_ENTRIES if is_on_device(scores) else CACHE_ENTRIES
    for some in blocks(by_comparison.size, scores.shape[1], most):
        pair = by_comparison[some]
        above[pair], near[pair] = _count_by_comparison(
            take_rows(scores, row[pair]), low[pair], high[pair]
        )
    pair = np.flatnonzero(is_sorted)
    if pair.size:
        above[pair], near[pair] = _count_by_search(scores, row[pair], low[pair], high[pair])
    return above, near


def _count_by_comparison(
    scores: Any,
    low: Any,
    high: Any,
) -> Positions:
    """Count by comparison with the limits of each row."""
    above = count_true(scores > as_column(high, scores))
    return above, count_true(scores >= as_column(low, scores)) - above


def _count_by_search(
    scores: Floats,
    row: Int,
    low: Floats,
    high: Floats,
) -> Positions:
    """Count by binary search in rows that are sorted once, some columns at a time."""
    is_first = np.diff(row, prepend=-1) > 0
    rows = row[is_first]
    place = is_first.cumsum() - 1
    n_above = np.zeros(row.size, np.int64)
    n_near = np.zeros(row.size, np.int64)
    for start in range(0, scores.shape[1], _COLUMNS_TO_SORT):
        some = scores[:, start : start + _COLUMNS_TO_SORT]
        width = some.shape[1]
        in_order = np.full((rows.size, 1 << (width - 1).bit_length()), np.inf, scores.dtype)
        in_order[:, :width] = some[rows]
        in_order.sort(axis=1)
        not_above = _count_until(in_order, place, high, np.less_equal)
        n_above += width - not_above
        highest = in_order[place, np.maximum(not_above - 1, 0)]  # that is not above
        near = np.flatnonzero((highest >= low) & (not_above > 0))
        n_near[near] += not_above[near]
        n_near[near] -= _count_until(in_order, place[near], low[near], np.less)
    return n_above, n_near


def _count_until(
    in_order: Floats,
    row: Int,
    limit: Floats,
    is_before: np.ufunc,
) -> Int:
    """Count the scores of a row that are before a limit; the width is a power of two."""
    scores = in_order.reshape(-1)
    first = row * in_order.shape[1]
    last = first - 1  # place of the last score that was seen to be before
    step = in_order.shape[1] // 2
    while step:
        last += step * is_before(scores.take(last + step), limit)
        step //= 2
    last += is_before(scores.take(last + 1), limit)
    return last + 1 - first


def subtract_excluded(
    better: Int,
    tied: Int,
    own: Floats,
    row: Int,
    out_row: Int,
    out: Floats,
) -> Positions:
    """Subtract from the counts of pairs the scores of their rows that are left out.

    So no score is written. Rows of both are ascending.
    """
    first = out_row.searchsorted(row)
    last = out_row.searchsorted(row, "right")
    n_out = last - first
    pair = np.repeat(np.arange(row.size), n_out)
    gone = out[concatenate_ranges(first, n_out)]
    others = own[pair]
    above = pair[gone > others]
    level = pair[gone == others]
    n_above = np.bincount(above, minlength=row.size)
    n_level = np.bincount(level, minlength=row.size)
    return better - n_above, tied - n_level


def take_scores(
    scores: Any,
    row: Int,
    item: Int,
) -> Any:
    """Return single scores, where they are."""
    return scores[to_device(row, scores), to_device(item, scores)]


def take_rows(
    scores: Any,
    rows: Int,
) -> Any:
    """Return some rows, where they are."""
    if isinstance(scores, np.ndarray):
        return scores[rows]
    xp = compat.array_namespace(scores)
    return xp.take(scores, to_device(rows, scores), axis=0)


def to_device(
    values: Array,
    scores: Any,
) -> Any:
    """Return an array on the device of some scores."""
    xp = compat.array_namespace(scores)
    return xp.asarray(np.ascontiguousarray(values), device=compat.device(scores))


def as_column(
    values: Any,
    scores: Any,
) -> Any:
    """Return a number for each row of some scores as a column, or one number for all."""
    if np.ndim(values) == 0:
        return float(values)
    return to_device(values, scores)[:, None]


def input_rounding(vectors: Any) -> float:
    """Return by how much numbers may be rounded before a product, relative to them.

    This is a setting of torch for products in float32 on a device.
    """
    if not (is_on_device(vectors) and compat.is_torch_array(vectors)):
        return 0.0
    precision = sys.modules["torch"].get_float32_matmul_precision()
    return {"highest": 0.0, "high": 2.0**-10}.get(precision, 2.0**-7)


def count_true(marked: Any) -> Int:
    """Count the true values of each row, several times as fast as `numpy.count_nonzero`."""
    if is_on_device(marked):
        xp = compat.array_namespace(marked)
        ones = xp.astype(marked, xp.int32)  # half the bytes of int64, which count_nonzero takes
        counts = xp.sum(ones, axis=1, dtype=xp.int32)
        return to_numpy(counts).astype(np.int64)
    width = marked.shape[1]
    numbers = np.ascontiguousarray(marked).view(np.uint8)
    if width % 8 == 0 and width <= 8 * 255:  # eight sums at a time, none above 255
        sums = numbers.view(np.uint64).sum(axis=1)
        numbers = sums.view(np.uint8).reshape(len(marked), 8)
    return numbers.sum(axis=1, dtype=np.min_scalar_type(width)).astype(np.int64)
