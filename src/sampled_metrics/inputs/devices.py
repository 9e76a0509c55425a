"""Scores of other array libraries, such as tensors on a GPU, counted where they are.

Of each row only counts come to main memory, and the scores of items that are ranked or left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.arrays import (
    CACHE,
    Float,
    Floats,
    Int,
    blocks,
    in_memory,
    is_elsewhere,
    ranges,
)
from sampled_metrics._base.threads import in_threads
from sampled_metrics.inputs.products import Pairs, count

_ENTRIES = 1 << 26  # compared at a time on a device


class Counted(NamedTuple):
    """Counts of some rows of scores."""

    gaps: Int  # scores of -inf in each row
    bad: Int  # scores of NaN or inf in each row
    own: Floats  # score of each pair of a row and an item
    better: Int  # scores of its row above each pair
    tied: Int  # others level with it


def counted(
    scores: Any,
    pairs: Pairs,
    threads: int = 1,
) -> Counted:
    """Count the scores above each of some pairs of a row, ascending, and an item."""
    if is_elsewhere(scores):
        return _on_device(scores, pairs)
    row, item = pairs
    own = scores[row, item]
    users, width = scores.shape
    is_floating = scores.dtype.kind == "f"
    gaps = np.zeros(users, np.int64)
    bad = np.zeros(users, np.int64)
    better = np.empty(row.size, np.int64)
    level = np.empty(row.size, np.int64)

    def count_some(some: slice) -> None:
        part = scores[some]
        first, last = row.searchsorted((some.start, some.stop))
        mine = slice(first, last)
        if is_floating:
            is_good = part < np.inf
            gaps[some] = count(part == -np.inf)
            bad[some] = width - count(is_good)
        if last - first != len(part):
            place = row[mine] - some.start
            part = part[place]
        of_pairs = own[mine, np.newaxis]
        better[mine] = count(part > of_pairs)
        level[mine] = count(part == of_pairs)

    for _ in in_threads(count_some, blocks(users, width, CACHE), threads):
        pass
    return Counted(gaps, bad, own, better, level - 1)


def _on_device(
    scores: Any,
    pairs: Pairs,
) -> Counted:
    """Count scores of another library, as many at a time as its device may hold."""
    xp = compat.array_namespace(scores)
    users, width = scores.shape
    row, item = pairs
    own = _gathered(xp, scores, row, item)
    gaps = np.zeros(users, np.int64)
    bad = np.zeros(users, np.int64)
    better = np.empty(row.size, np.int64)
    level = np.empty(row.size, np.int64)
    if xp.isdtype(scores.dtype, "real floating"):
        for some in blocks(users, width, _ENTRIES):
            part = scores[some, :]
            if _is_finite(xp, part):
                continue
            is_gap = part == -xp.inf
            gaps[some] = _count(xp, is_gap)
            is_good = part < xp.inf
            bad[some] = width - _count(xp, is_good)
    for some in blocks(row.size, width, _ENTRIES):
        part = scores[some, :] if row.size == users else rows_of(scores, row[some])
        of_pairs = own[some, None]
        is_above = part > of_pairs
        better[some] = _count(xp, is_above)
        is_level = part == of_pairs
        level[some] = _count(xp, is_level)
    return Counted(gaps, bad, in_memory(own), better, level - 1)


def without(
    found: Counted,
    scores: Any,
    pairs: Pairs,
    left_out: Pairs,
) -> tuple[Int, Int, Int]:
    """Return candidates of each row, and better and tied ones of each pair, without some pairs.

    These are counted as the others are, and subtracted, so that no score is written.
    """
    users, width = scores.shape
    row = pairs[0]
    out_row = left_out[0]
    xp = compat.array_namespace(scores)
    out: Float = in_memory(_gathered(xp, scores, *left_out))
    finite = out_row[out > -np.inf]
    n_gone = np.bincount(finite, minlength=users)
    candidates = width - found.gaps - n_gone
    first = out_row.searchsorted(row)
    last = out_row.searchsorted(row, "right")
    n_out = last - first
    pair = np.repeat(np.arange(row.size), n_out)
    gone = out[ranges(first, n_out)]
    own = found.own[pair]
    above = pair[gone > own]
    level = pair[gone == own]
    n_above = np.bincount(above, minlength=row.size)
    n_level = np.bincount(level, minlength=row.size)
    return candidates, found.better - n_above, found.tied - n_level


def rows_of(
    scores: Any,
    rows: Int,
) -> Any:
    """Return some rows, where they are."""
    xp = compat.array_namespace(scores)
    return xp.take(scores, _there(xp, rows, scores), axis=0)


def _is_finite(
    xp: Any,
    scores: Any,
) -> bool:
    """Return whether no score is NaN or infinite, in two passes without an array between."""
    least = xp.min(scores)
    largest = xp.max(scores)
    return bool(xp.isfinite(least) & xp.isfinite(largest))


def _count(
    xp: Any,
    marked: Any,
) -> Int:
    ones = xp.astype(marked, xp.int32)  # half the bytes of int64, which count_nonzero takes
    counts = xp.sum(ones, axis=1, dtype=xp.int32)
    return in_memory(counts).astype(np.int64)


def _gathered(
    xp: Any,
    scores: Any,
    row: Int,
    item: Int,
) -> Any:
    """Return single scores."""
    place = row * scores.shape[1]
    flat = xp.reshape(scores, (-1,))
    return xp.take(flat, _there(xp, place + item, scores), axis=0)


def _there(
    xp: Any,
    values: Int,
    scores: Any,
) -> Any:
    """Return numbers on the device of the scores."""
    whole = np.ascontiguousarray(values, np.int64)
    device = compat.device(scores)
    return xp.asarray(whole, device=device)
