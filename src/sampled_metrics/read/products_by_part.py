"""Inner products with item vectors that do not fit in memory: in parts, one part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from sampled_metrics._base.array_types import Array, Bool, Float, Floats, Int
from sampled_metrics._base.arrays import ceil_divide, run_starts
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.threads import map_in_threads, one_thread
from sampled_metrics.read.comparisons import CountPair, Positions, are_finite, slice_of_rows
from sampled_metrics.read.products import (
    USERS_AT_A_TIME,
    InnerProducts,
    count_within_rows,
    pair_products,
)


class ProductsByPart:
    """Scores that are inner products of a user vector and an item vector in one of several parts.

    Better and tied items of the parts add up. Only the score of a relevant item, a number, meets
    the items of other parts. The counts are those of `InnerProducts` with all items at once.

    Parameters
    ----------
    users
        Vectors of shape (users, d).
    parts
        Item vectors of shape (items of the part, d), usually files that are mapped into memory;
        items are numbered from part to part.
    dtype
        float32 or float64, in which vectors are multiplied.
    """

    def __init__(self, users: Array, parts: Sequence[Array], dtype: type[np.floating]) -> None:
        self.users = users.astype(dtype, copy=False)
        self.parts = parts
        self.dtype = dtype
        self.sizes = np.array([len(part) for part in parts])
        self._first_items = run_starts(self.sizes)  # of the parts

    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items for some users, in float64."""
        scores = [InnerProducts(self.users, vectors)(rows) for vectors in self._read_parts()]
        return np.concatenate(scores, axis=1)

    def pair_scores(self, rows: Int, items: Int) -> Float:
        """Return the same scores for single pairs."""
        scores = np.empty(rows.size)
        part_of_pair = self._first_items.searchsorted(items, "right") - 1
        for part, (first, vectors) in enumerate(zip(self._first_items, self.parts, strict=True)):
            pairs = np.flatnonzero(part_of_pair == part)
            row_in_part = items[pairs] - first
            distinct_rows, position = np.unique(row_in_part, return_inverse=True)
            some_vectors = vectors[distinct_rows].astype(self.dtype)
            scores[pairs] = pair_products(self.users, some_vectors, rows[pairs], position)
        return scores

    def sample_scores(self, rows: Int, items: Int, is_needed: Bool) -> Float:  # noqa: ARG002
        """Return scores of some users and items, ascending, also of pairs that are not needed."""
        part_of_item = self._first_items.searchsorted(items, "right") - 1
        vectors = [
            vectors[items[part_of_item == part] - first].astype(self.dtype)
            for part, (first, vectors) in enumerate(zip(self._first_items, self.parts, strict=True))
        ]
        return InnerProducts(self.users, np.concatenate(vectors))(rows)

    def counts(
        self,
        rows: Int,
        pairs: Positions,
        excluded: Positions,
        max_better: Int,
        threads: int = 1,
    ) -> CountPair:
        """Count better and tied items for each pair, as `InnerProducts.counts` does."""
        row, item = pairs
        score = self.pair_scores(rows[row], item)
        better, tied = count_within_rows(row, score)

        def add_part(block: slice, products: InnerProducts, not_counted: list[Positions]) -> None:
            """Add the items of a part to the counts of a block of rows."""
            in_block = slice_of_rows(row, block)
            if in_block.start == in_block.stop:
                return
            better[in_block], tied[in_block] = products.count_items(
                rows[block],
                row[in_block] - block.start,
                score[in_block],
                not_counted=[_select_rows(positions, block) for positions in not_counted],
                max_better=max_better[in_block],
                counted=(better[in_block], tied[in_block]),
            )

        n_blocks = max(threads, ceil_divide(rows.size, USERS_AT_A_TIME))
        for first, vectors in zip(self._first_items, self._read_parts(), strict=True):
            products = InnerProducts(self.users, vectors)
            if not products.is_finite:
                raise InputError("products of users and items overflow; divide vectors by a number")
            last = first + len(vectors)
            not_counted = [_restrict(positions, first, last) for positions in (pairs, excluded)]
            add_to_block = partial(add_part, products=products, not_counted=not_counted)
            with one_thread():  # in each of the threads that multiply
                for _ in map_in_threads(add_to_block, _equal_blocks(rows.size, n_blocks), threads):
                    pass
        return better, tied

    def _read_parts(self) -> Iterator[Floats]:
        """Yield the vectors of one part after the other, in memory; they must be finite."""
        for number, part in enumerate(self.parts):
            vectors = np.array(part, self.dtype)
            if not are_finite(vectors):
                raise InputError(f"vectors of items, part {number}, are not finite numbers")
            yield vectors


def _equal_blocks(n_rows: int, n_blocks: int) -> Iterator[slice]:
    """Cut rows into a number of blocks of about the same size."""
    ends = [(number * n_rows) // n_blocks for number in range(n_blocks + 1)]
    return map(slice, ends[:-1], ends[1:])


def _restrict(pairs: Positions, first: int, last: int) -> Positions:
    """Return the pairs whose item is in a part, with the column of the part."""
    row, item = pairs
    is_in_part = (item >= first) & (item < last)
    return row[is_in_part], item[is_in_part] - first


def _select_rows(pairs: Positions, block: slice) -> Positions:
    """Return the pairs of a block of rows, numbered from the first row of the block."""
    row, item = pairs
    in_block = slice_of_rows(row, block)
    return row[in_block] - block.start, item[in_block]
