"""Counts of better items where scores are inner products of user vectors and item vectors.

`InnerProducts` returns the counts that the scores of all items in float64 would give, but computes
only some of these scores: it skips items and users that cannot change a count, and multiplies
the others in the type of the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.array_types import AnyArray, Bool, Float, Floats, Int
from sampled_metrics._base.arrays import (
    CACHE_ENTRIES,
    MEMORY_ENTRIES,
    blocks,
    count_by_score,
)
from sampled_metrics._base.conversion import keeps_own_library, to_numpy
from sampled_metrics._base.threads import map_with_pool
from sampled_metrics.read.comparisons import (
    CountPair,
    Positions,
    as_column,
    count_around_limits,
    count_true,
    input_rounding,
    slice_of_rows,
    take_rows,
    to_device,
)
from sampled_metrics.read.item_tiles import ItemTiles, Tile, TileAndPairs

ScoreFunction: TypeAlias = Callable[[Int], Any]  # from rows of users to scores of all items

# Chosen with make measure PAGE=cores; others took up to 10 % more time.
USERS_AT_A_TIME = 8192  # many, as most may be settled after a few tiles
PAIRS_AT_A_TIME = 1024  # so that their scores of the items of a tile stay in the cache
TILE_ITEMS = 1024  # in a tile at most, in main memory; more if there would be more than MAX_TILES
MAX_TILES = 512
MAX_TILE_ITEMS = 4096
TILE_ON_DEVICE = 65_536  # at most, on a device
# Threads share tiles after this many, and after 1 / 24 of all. If rankings end at a depth, most
# pairs are settled by then, and often all: threads take longer to start than to count the rest.
_TILES_BEFORE_SHARING = 5
_SHARE_BEFORE_SHARING = 1 / 24
# Threads count as many tiles at a time as this share of those before. Some pairs could be settled
# by the first of them already, so that more would be counted in vain.
_SHARE_OF_TILES = 1 / 4
_MAX_KEPT = 1 << 24  # numbers in item vectors whose copies are always kept: 64 MB in float32
_MAX_EXPONENT = 125  # of a power of two and its inverse that float32 holds with all digits
_NORM_ENTRIES_ON_DEVICE = 16 * MEMORY_ENTRIES  # of vectors that a device converts at a time: 128 MB
# If more than 1 / _DENSE_SHARE of the items of a tile are close to a pair, the scores of all items
# of the tile are computed in float64 at once, as this is faster than one by one.
_DENSE_SHARE = 8

# Products beyond the largest number become inf or NaN without a warning; counting checks for them.
_ignore_overflow = partial(np.errstate, over="ignore", under="ignore", invalid="ignore")


class _OpenPairs(NamedTuple):
    """Pairs of a user and a relevant item whose counts are not settled; users ascend.

    A pair is settled if no further item can change its counts. `number` and `row` stay the same as
    long as the pair is open. `vector_row` changes, because the vectors of users without an open
    pair are taken out of the matrix.
    """

    number: Int  # position of the pair among all pairs of a call of `InnerProducts.counts`
    row: Int  # position of the user among all rows of the call
    vector_row: Int  # row of the user's vector in the matrix of vectors that are still multiplied
    user: Int
    score: Float
    length: Float  # of the user's vector, divided by a power of two
    scaled_score: Float  # divided by the same power of two
    max_better: Int

    def take(self, selection: Any) -> _OpenPairs:
        return _OpenPairs(*(values[selection] for values in self))

    def distinct_rows(self) -> Int:
        """Return the rows of all pairs, each once."""
        return self.row[np.diff(self.row, prepend=-1) > 0]

    def number_vectors(self, n_rows: int) -> tuple[_OpenPairs, Int]:
        """Return the pairs with `vector_row` for the vectors of their users only.

        Also return `vector_row` of each of the `n_rows` rows of the call, -1 without a pair.
        """
        rows = self.distinct_rows()
        vector_row = np.full(n_rows, -1)
        vector_row[rows] = np.arange(rows.size)
        return self._replace(vector_row=vector_row[self.row]), vector_row


class _Limits(NamedTuple):
    """Products below `low` or above `high` are decided; those between need float64.

    The limits are one number per pair, or one number for all pairs after the score of its pair was
    subtracted from each product: comparisons with one number take less than half the time.
    """

    low: AnyArray
    high: AnyArray

    @classmethod
    def around(cls, centre: AnyArray, margin: AnyArray, dtype: Any) -> _Limits:
        return cls(dtype.type(centre - margin), dtype.type(centre + margin))

    def take(self, pairs: Any) -> _Limits:
        if np.ndim(self.low) == 0:
            return self
        return _Limits(self.low[pairs], self.high[pairs])

    def contain(self, products: AnyArray) -> AnyArray:
        """Return which products, one row per pair, are between the limits of the pair."""
        is_near = products >= as_column(self.low, products)
        return is_near & (products <= as_column(self.high, products))


class _Workspace(NamedTuple):
    """Memory of one thread, which is faster than new memory for each tile.

    Attributes
    ----------
    products
        Memory for products of users and items of a tile; None on a device.
    item_vectors
        Memory for vectors of a tile; None if they are kept for other users.
    """

    products: Floats | None
    item_vectors: Floats | None


class _Share(NamedTuple):
    """What one thread counts of a group of tiles.

    Attributes
    ----------
    tiles
        Tiles; with each the pairs of a row and a column that are not counted.
    vectors
        Vectors of the users who are multiplied, whose last column is overwritten.
    workspace
        Memory that only this thread uses.
    """

    tiles: list[TileAndPairs]
    vectors: AnyArray
    workspace: _Workspace


class InnerProducts:
    """Scores that are inner products of a user vector and an item vector, float32 or float64.

    A rank needs two counts for each relevant item: how many candidates score higher, and how many
    others score the same. Three ideas save most of the work.

    **Items that cannot matter.** Items are multiplied in tiles, those with the longest vectors
    first. By the inequality of Cauchy and Schwarz, |u.v| <= |u| |v|. As soon as the score of a
    relevant item is above |u| times the length of the longest vector left, all items left score
    lower, and the counts are settled; if the score is below minus this product, all items left
    score higher. Where lengths differ much, as those of popular and rare items often do, most tiles
    are skipped. Where all lengths are equal, none is.

    **Users who are settled.** A metric with cut-off k has the same value for all ranks beyond k.
    A relevant item with k better candidates is beyond k however ties are broken, so its counts are
    settled as well. A user whose relevant items are all settled is not multiplied any more. Users
    with a hit need all tiles, unless their items are longer than others.

    **Scores that need float64.** A matrix product in the type of the vectors has a rounding error.
    In any order of addition, a sum of d products differs from the exact one by at most

        |fl(u.v) - u.v| <= g |u| |v|,   g = d e / (1 - d e),   e half of the type's epsilon

    (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). A product that differs
    from the score of the relevant item by more than the error of both is on the right side of it.
    Only closer ones are computed again, as sums in float64. Relevant items of one user are always
    compared in float64. Counts therefore do not depend on the type of the product, the block size
    or the processor.

    Vectors in float32 are divided by powers of two first, so that no product overflows or
    underflows. Tensors of torch on a device are multiplied there; only vectors of close pairs come
    to main memory.

    Parameters
    ----------
    users, items
        Vectors, shapes (users, d) and (items, d), of numpy or of a library that keeps them, see
        `keeps_own_library`.

    Attributes
    ----------
    user_lengths, item_lengths
        Lengths of the vectors, see `_row_lengths`; not finite if a vector is not.
    is_finite
        Whether no product overflows.
    """

    def __init__(self, users: AnyArray, items: AnyArray) -> None:
        self.users = users
        self.items = items
        self.keeps_library = keeps_own_library(items)
        self._dtype = np.dtype(to_numpy(items[:1, :]).dtype)
        self.user_lengths = _row_lengths(users)
        self.item_lengths = _row_lengths(items)
        with _ignore_overflow():
            largest = self.user_lengths.max(initial=0.0) * self.item_lengths.max(initial=0.0)
        self.is_finite = bool(largest < np.finfo(np.float64).max / 8.0)  # with some room
        # Bound of the difference of a product and a score: relative to |u| |v|, and absolute where
        # products underflow.
        d = items.shape[1]
        self._relative_error = (
            _sum_error(d, self._dtype) + _sum_error(d, np.float64) + 3.0 * input_rounding(items)
        )
        self._absolute_error = 4.0 * d * float(np.finfo(self._dtype).tiny)
        self._max_items = TILE_ON_DEVICE if self.keeps_library else _max_tile_items(len(items))
        self._entries = PAIRS_AT_A_TIME * (TILE_ON_DEVICE if self.keeps_library else TILE_ITEMS)
        self._tiles = ItemTiles(self.item_lengths, self._max_items)
        self._vectors_of_tiles: list[AnyArray | None] = [None] * len(self._tiles)
        self._copy_locks = [Lock() for _ in range(len(self._tiles))]

    def _vectors_of_tile(self, tile: Tile, memory: Floats | None) -> AnyArray:
        """Return the scaled vectors of a tile, one column per item.

        They are copied to `memory`, or without it to new memory when they are first needed.
        """
        if memory is not None:
            return self._copy_vectors(tile, memory)
        if self._vectors_of_tiles[tile.number] is None:
            with self._copy_locks[tile.number]:  # else each thread would copy it
                if self._vectors_of_tiles[tile.number] is None:
                    self._vectors_of_tiles[tile.number] = self._copy_vectors(tile)
        return self._vectors_of_tiles[tile.number]

    def _copy_vectors(self, tile: Tile, memory: Floats | None = None) -> AnyArray:
        """Return the vectors of a tile, divided by a power of two, and a last row of ones."""
        exponents = self._exponents(np.array([tile.length]))
        vectors = take_rows(self.items, tile.items)
        if self.keeps_library:
            return self._append_column(self._divide(vectors, exponents), 1.0).T
        n_items, d = vectors.shape
        shape = d + 1, n_items
        columns = np.empty(shape, self._dtype) if memory is None else _reshape_start(memory, shape)
        columns[:d] = vectors.T
        columns[d] = 1.0
        for factor in self._factors(exponents):
            columns[:d] *= factor
        return columns

    @_ignore_overflow()
    def __call__(self, rows: Int, items: Int | slice = slice(None)) -> Float:
        """Return scores in float64, users x items.

        The score of a pair does not depend on the other users, and equal vectors have equal scores.
        """
        if isinstance(items, slice):
            items = np.arange(self.items.shape[0])[items]
        return np.einsum("uf,if->ui", _float64_rows(self.users, rows), self._float64_items(items))

    def _float64_items(self, items: Int) -> Float:
        return _float64_rows(self.items, items)

    def pair_scores(self, rows: Int, items: Int) -> Float:
        """Return the same scores for single pairs."""
        return pair_products(self.users, self.items, rows, items)

    def sample_scores(self, rows: Int, items: Int, is_needed: Bool) -> Float:  # noqa: ARG002
        """Return scores of some users and items, also of pairs that are not needed."""
        return self(rows, items)

    @_ignore_overflow()
    def counts(
        self,
        rows: Int,
        pairs: Positions,
        excluded: Positions,
        max_better: Int,
        *,
        threads: int = 1,
        keeps_copies: bool = True,
    ) -> CountPair:
        """Count, for each pair, the candidates that score higher and those that score the same.

        The relevant items of a user are compared with each other first.

        Parameters
        ----------
        rows
            Some users.
        pairs
            Relevant items: positions in `rows`, ascending, and items. Each row has one or more, and
            each pair occurs once.
        excluded
            Pairs that are not candidates, such as items that were seen; none of them is relevant.
        max_better
            For each pair, a number of better candidates that settles it: with as many or more, its
            counts are `max_better` and 0, whatever the exact number is.
        threads
            Number of threads that share the tiles of items.
        keeps_copies
            Whether to keep copies of many item vectors for other users; copies of few are kept.

        Returns
        -------
        better, tied
            Candidates with a higher score, and others with the same score; shape (pairs,).
        """
        row, item = pairs
        score = self.pair_scores(rows[row], item)
        return self.count_items(
            rows,
            row,
            score,
            not_counted=(pairs, excluded),
            max_better=max_better,
            counted=count_within_rows(row, score),
            threads=threads,
            keeps_copies=keeps_copies,
        )

    @_ignore_overflow()
    def count_items(
        self,
        rows: Int,
        row: Int,
        score: Float,
        *,
        not_counted: Sequence[Positions],
        max_better: Int,
        counted: CountPair,
        threads: int = 1,
        keeps_copies: bool = True,
    ) -> CountPair:
        """Add to counts the items that score higher than a score, and those that score the same.

        Items follow in groups of tiles, whose tiles are counted by several threads. Before each
        group the pairs that it and later ones cannot change are taken out, and with them the
        vectors of users who have no other pair; for the three positions of a pair see `_OpenPairs`.

        Parameters
        ----------
        rows, row, score
            Some users; positions in `rows`, ascending, at least one of each; and the score to
            compare with for each of these, which may be that of an item of another catalogue.
        not_counted
            Pairs of positions in `rows`, ascending, and items that are not counted.
        max_better
            As in `counts`.
        counted
            Counts so far, which this changes.
        threads, keeps_copies
            As in `counts`; on a device there is one thread, and copies are kept.
        """
        better, tied = counted
        # Candidates of each row in this and later tiles.
        n_left = _count_candidates(len(self.items), not_counted, rows.size)
        vectors, open_pairs = self._open_pairs(rows, row, score, max_better)
        open_vectors = vectors
        vector_row = np.arange(rows.size)  # of each row among `open_vectors`, -1 if it is settled
        n_threads = 1 if self.keeps_library else threads
        workspaces = [self._workspace(keeps_copies) for _ in range(n_threads)]
        tiles = self._tiles.iterate(not_counted)
        with ThreadPoolExecutor(n_threads) as pool:  # starts no thread before the first call
            for group in _groups(tiles, len(self._tiles), n_threads):
                longest_tile, _ = group[0]
                # This also adds to `better` for pairs that all candidates left outrank.
                is_open = self._settle_pairs(open_pairs, longest_tile, better, n_left)
                if not is_open.any():
                    break
                if not is_open.all():
                    open_pairs, vector_row = open_pairs.take(is_open).number_vectors(rows.size)
                    open_vectors = take_rows(vectors, open_pairs.distinct_rows())
                above, level = self._count_group(
                    group,
                    vectors=open_vectors,
                    vector_row=vector_row,
                    pairs=open_pairs,
                    workspaces=workspaces,
                    pool=pool,
                )
                better[open_pairs.number] += above
                tied[open_pairs.number] += level
                # Relevant items are counted already, and excluded ones not at all.
                for tile, not_in_tile in group:
                    n_left -= _count_candidates(tile.items.size, not_in_tile, rows.size)
        # A pair with `max_better` or more may be settled at any tile, so its counts are incomplete.
        tied[better >= max_better] = 0
        return np.minimum(better, max_better), tied

    def _open_pairs(
        self, rows: Int, row: Int, score: Float, max_better: Int
    ) -> tuple[Any, _OpenPairs]:
        """Return the scaled vectors of some users with one more column, and all pairs as open.

        The column meets a column of ones in the vectors of items: a number in it is added to all
        products of the user. It is 0 at first.
        """
        lengths = self.user_lengths[rows]
        exponents = self._exponents(lengths)
        lengths = np.ldexp(lengths, -exponents)
        vectors = self._divide(take_rows(self.users, rows), exponents)
        pairs = _OpenPairs(
            number=np.arange(row.size),
            row=row,
            vector_row=row,
            user=rows[row],
            score=score,
            length=lengths[row],
            scaled_score=np.ldexp(score, -exponents[row]),
            max_better=max_better,
        )
        return self._append_column(vectors, 0.0), pairs

    def _workspace(self, keeps_copies: bool) -> _Workspace:
        """Return memory for products of a tile and, if copies are not kept, for its vectors."""
        if self.keeps_library:
            return _Workspace(None, None)
        d = self.items.shape[1]
        products = np.empty(self._entries, self._dtype)
        if keeps_copies or self.items.shape[0] * d <= _MAX_KEPT:
            return _Workspace(products, None)
        return _Workspace(products, np.empty(self._max_items * (d + 1), self._dtype))

    def _settle_pairs(self, pairs: _OpenPairs, tile: Tile, better: Int, n_left: Int) -> Bool:
        """Settle pairs whose score is beyond all products of a tile and of later ones.

        This changes `better`: the candidates left are added to it where all of them score higher.
        Where all of them score lower, nothing is added.

        Parameters
        ----------
        better, n_left
            Better candidates so far, by `number` of the pairs; and candidates in this and later
            tiles, by `row`.

        Returns
        -------
        is_open
            Which of the pairs stay open.
        """
        centre, largest, margin = self._scale_to_tile(pairs, tile)
        is_open = better[pairs.number] < pairs.max_better
        is_below_all = is_open & (centre < -largest - margin)
        if is_below_all.any():
            below = pairs.take(is_below_all)
            better[below.number] += n_left[below.row]
        return is_open & (np.abs(centre) <= largest + margin)

    def _scale_to_tile(self, pairs: _OpenPairs, tile: Tile) -> tuple[Float, Float, Float]:
        """Return numbers of pairs in the scale of the products of a tile.

        Returns
        -------
        centre, largest, margin
            Score of each pair, the largest possible product, and a bound of the rounding error of a
            product minus the score. A score that is far above or below all products is moved
            towards them, so that it does not overflow.
        """
        (exponent,) = self._exponents(np.array([tile.length]))
        largest = np.ldexp(tile.length, -exponent) * pairs.length
        beyond_all = 2.0 * largest + 4.0 * self._absolute_error
        centre = np.ldexp(1.0, -exponent) * pairs.scaled_score
        centre = np.clip(centre, -beyond_all, beyond_all)
        margin = self._relative_error * (largest + np.abs(centre)) + self._absolute_error
        return centre, largest, margin

    def _count_group(
        self,
        group: list[TileAndPairs],
        *,
        vectors: AnyArray,
        vector_row: Int,
        pairs: _OpenPairs,
        workspaces: list[_Workspace],
        pool: Executor,
    ) -> CountPair:
        """Count the items of a group of tiles above each pair, and those level with it.

        Parameters
        ----------
        group
            Tiles, and pairs that are not counted.
        vectors, vector_row
            Vectors of users with open pairs, and the position of each row among them, or -1.
        workspaces, pool
            Memory for each thread, and threads.
        """
        shares = [
            _Share(
                tiles=group[first :: len(workspaces)],
                vectors=vectors if len(group) == 1 else vectors.copy(),
                workspace=workspace,
            )
            for first, workspace in enumerate(workspaces[: len(group)])
        ]
        count = partial(self._count_tiles, pairs=pairs, vector_row=vector_row)
        above, level = zip(*map_with_pool(count, shares, pool), strict=True)
        return np.sum(above, axis=0), np.sum(level, axis=0)

    @_ignore_overflow()
    def _count_tiles(self, share: _Share, *, pairs: _OpenPairs, vector_row: Int) -> CountPair:
        """Count the items of some tiles above each pair, and those level with it.

        `vector_row` is the position of each row in the vectors, or -1 if its user is settled.
        """
        above = np.zeros(pairs.number.size, np.int64)
        level = np.zeros(pairs.number.size, np.int64)
        for tile, not_in_tile in share.tiles:
            centre, _, margin = self._scale_to_tile(pairs, tile)
            n_above, n_level = self._count_tile(
                tile=tile,
                vectors=share.vectors,
                pairs=pairs,
                limits=self._set_limits(share.vectors, centre, margin),
                not_counted=[(vector_row[tile_row], column) for tile_row, column in not_in_tile],
                workspace=share.workspace,
            )
            above += n_above
            level += n_level
        return above, level

    def _set_limits(self, vectors: AnyArray, centre: Float, margin: Float) -> _Limits:
        """Return limits around the centres of pairs, or around 0 for all of them.

        If each user has one open pair, this writes its score to the extra column of the vectors,
        which subtracts it from all products. One `low` and one `high` around 0 then serve all
        pairs, which is faster (see `_Limits`). The largest margin is safe: it only leaves more
        products to float64. Pairs never return, so the condition holds for all later tiles as well,
        and each of them overwrites the column.
        """
        if centre.size != len(vectors):
            return _Limits.around(centre, margin, self._dtype)
        vectors[:, self.items.shape[1]] = to_device(-centre, vectors)
        return _Limits.around(0.0, margin.max(), self._dtype)

    def _count_tile(
        self,
        *,
        tile: Tile,
        vectors: AnyArray,
        pairs: _OpenPairs,
        limits: _Limits,
        not_counted: list[Positions],
        workspace: _Workspace,
    ) -> CountPair:
        """Count the items of a tile above each pair, and those level with it.

        `not_counted` are rows of users in `vectors`, ascending, or -1 for users who are settled,
        and columns of the tile.
        """
        item_vectors = self._vectors_of_tile(tile, workspace.item_vectors)
        n_items = tile.items.size
        above = np.empty(pairs.vector_row.size, np.int64)
        level = np.zeros(pairs.vector_row.size, np.int64)
        open_cells = [(row[row >= 0], column[row >= 0]) for row, column in not_counted]
        for block in blocks(len(vectors), n_items, self._entries):
            products = _multiply(vectors[block], item_vectors, workspace.products)
            for cell_row, cell_column in open_cells:
                cells_in_block = slice_of_rows(cell_row, block)
                masked_row = to_device(cell_row[cells_in_block] - block.start, products)
                masked_column = to_device(cell_column[cells_in_block], products)
                products[masked_row, masked_column] = -np.inf
            in_block = slice_of_rows(pairs.vector_row, block)
            product_row = pairs.vector_row[in_block] - block.start
            above[in_block], n_near = count_around_limits(
                products, product_row, *limits.take(in_block)
            )
            # Pairs with products near their score are compared again, some of them at a time.
            has_near = np.flatnonzero(n_near)
            for some in blocks(has_near.size, n_items, self._entries):
                pair_in_block = has_near[some]
                pair = pair_in_block + in_block.start
                products_of_pair = take_rows(products, product_row[pair_in_block])
                is_near = limits.take(pair).contain(products_of_pair)
                n_near_above, level[pair] = self._compare_in_float64(
                    tile, pairs.take(pair), is_near, n_near[pair_in_block]
                )
                above[pair] += n_near_above
        return above, level

    def _compare_in_float64(
        self, tile: Tile, pairs: _OpenPairs, is_near: AnyArray, n_near: Int
    ) -> CountPair:
        """Count the scores above each pair, and level with it, among items of a tile near it.

        Parameters
        ----------
        is_near, n_near
            Which items are near each pair, shape (pairs, items of the tile); and how many.
        """
        above = np.zeros(n_near.size, np.int64)
        level = np.zeros(n_near.size, np.int64)
        n_items = tile.items.size
        is_dense = n_near * _DENSE_SHARE > n_items
        sparse = np.flatnonzero(~is_dense)
        row, column = np.divmod(_true_positions(take_rows(is_near, sparse)), n_items)
        pair = sparse[row]
        scores = self.pair_scores(pairs.user[pair], tile.items[column])
        above += np.bincount(pair[scores > pairs.score[pair]], minlength=n_near.size)
        level += np.bincount(pair[scores == pairs.score[pair]], minlength=n_near.size)
        dense = np.flatnonzero(is_dense)
        if dense.size:
            scores = self._scores_of_tile(pairs.user[dense], tile)
            limits = pairs.score[dense, np.newaxis]
            near_dense = to_numpy(take_rows(is_near, dense))
            above[dense] = count_true(near_dense & (scores > limits))
            level[dense] = count_true(near_dense & (scores == limits))
        return above, level

    def _scores_of_tile(self, users: Int, tile: Tile) -> Float:
        """Return the scores of all items of a tile; equal vectors in a row are multiplied once."""
        vectors = self._float64_items(tile.items)
        is_new = np.append(True, (vectors[1:] != vectors[:-1]).any(axis=1))
        column_of_item = is_new.cumsum() - 1  # among the items that are multiplied
        return self(users, tile.items[is_new]).take(column_of_item, axis=1)

    def _exponents(self, lengths: Float) -> Int:
        """Return the powers of two that vectors are divided by, 0 in float64, which needs none."""
        if self._dtype == np.float64:
            return np.zeros(lengths.size, np.int64)
        return np.frexp(lengths)[1].astype(np.int64)

    def _divide(self, vectors: AnyArray, exponents: Int) -> AnyArray:
        """Divide vectors by powers of two."""
        for factors in self._factors(exponents):
            vectors = vectors * to_device(factors, vectors)[:, None]
        return vectors

    def _factors(self, exponents: Int) -> list[Floats]:
        """Return factors that divide by powers of two; two for each if float32 cannot hold one.

        None in float64, where vectors are not divided.
        """
        if self._dtype == np.float64:
            return []
        parts = [exponents]
        if np.abs(exponents).max(initial=0) > _MAX_EXPONENT:
            half = exponents // 2
            parts = [half, exponents - half]
        return [np.ldexp(1.0, -part).astype(self._dtype) for part in parts]

    def _append_column(self, vectors: AnyArray, value: float) -> AnyArray:
        """Append a column that lets a product subtract a number, see `counts`.

        On a device columns of zeros follow, as it multiplies eight columns at a time.
        """
        width = 1
        if self.keeps_library:
            width += -(vectors.shape[1] + 1) % 8
        columns = np.zeros((len(vectors), width), self._dtype)
        columns[:, 0] = value
        xp = compat.array_namespace(vectors)
        return xp.concat([vectors, to_device(columns, vectors)], axis=1)


def pair_products(users: AnyArray, items: AnyArray, rows: Int, columns: Int) -> Float:
    """Return the inner product of a user and an item, given by their positions, in float64."""
    products = np.empty(rows.size)
    # Each block of vectors on a device is copied by itself, so that larger ones are faster.
    entries = MEMORY_ENTRIES if keeps_own_library(items) else CACHE_ENTRIES
    for block in blocks(rows.size, items.shape[1], entries):
        user_vectors = _float64_rows(users, rows[block])
        item_vectors = _float64_rows(items, columns[block])
        products[block] = np.einsum("pf,pf->p", user_vectors, item_vectors)
    return products


def _max_tile_items(n_items: int) -> int:
    """Return how many items a tile has at most in main memory, so that tiles are not too many.

    Examples
    --------
    >>> [_max_tile_items(n_items) for n_items in (100_000, 1_000_000, 10_000_000)]
    [1024, 2048, 4096]
    """
    max_items = TILE_ITEMS
    while max_items * MAX_TILES < n_items and max_items < MAX_TILE_ITEMS:
        max_items *= 2
    return max_items


def _groups(
    tiles: Iterator[TileAndPairs], n_tiles: int, threads: int
) -> Iterator[list[TileAndPairs]]:
    """Yield groups of tiles that threads count at the same time, single tiles first.

    Examples
    --------
    >>> [len(group) for group in _groups(iter(range(40)), 40, threads=2)]
    [1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7, 2]
    """
    n_single = max(_TILES_BEFORE_SHARING, int(n_tiles * _SHARE_BEFORE_SHARING))
    n_before = 0
    while n_before < n_tiles:
        is_single = threads == 1 or n_before < n_single
        size = 1 if is_single else max(threads, int(n_before * _SHARE_OF_TILES))
        group = list(islice(tiles, size))
        yield group
        n_before += len(group)


def _count_candidates(n_items: int, not_counted: Sequence[Positions], n_rows: int) -> Int:
    """Return how many of some items each row has, without the pairs that are not counted."""
    n_candidates = np.full(n_rows, n_items)
    for row, _ in not_counted:
        n_candidates -= np.bincount(row, minlength=n_rows)
    return n_candidates


def count_within_rows(row: Int, score: Float) -> CountPair:
    """Count, for each pair, the pairs of its row with a higher and with an equal score."""
    if (np.diff(row) > 0).all():  # one pair per row
        return np.zeros(row.size, np.int64), np.zeros(row.size, np.int64)
    return count_by_score(row, score)


def _true_positions(mask: AnyArray) -> Int:
    """Return the positions of true values in a flattened mask."""
    xp = compat.array_namespace(mask)
    (positions,) = xp.nonzero(xp.reshape(mask, (-1,)))
    return to_numpy(positions)


def _float64_rows(vectors: AnyArray, rows: Int) -> Float:
    some: Float = to_numpy(take_rows(vectors, rows))
    return some.astype(np.float64, copy=False)


@_ignore_overflow()
def _row_lengths(vectors: AnyArray) -> Float:
    """Return the Euclidean lengths of vectors in float64; those in float32 may be a little more.

    A sum of squares in float32 is increased by the bound of its rounding error. It is computed
    again in float64 if a square overflows, or if squares are so small that they lose digits.
    """
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32:
        return _row_norms(vectors)
    d = vectors.shape[1]
    float32 = np.finfo(np.float32)
    squares = np.einsum("if,if->i", vectors, vectors)
    lengths = np.sqrt(squares.astype(np.float64)) * (1.0 + _sum_error(d, np.float32))
    is_precise = (squares > d * float32.tiny / float32.eps) & np.isfinite(squares)
    lengths[~is_precise] = _row_norms(vectors[~is_precise])
    return lengths


def _row_norms(vectors: AnyArray) -> Float:
    """Return the Euclidean lengths of vectors in float64, also where squares would overflow."""
    xp = compat.array_namespace(vectors)
    n, d = vectors.shape
    norms = np.empty(n)
    entries = _NORM_ENTRIES_ON_DEVICE if keeps_own_library(vectors) else CACHE_ENTRIES
    for block in blocks(n, d, entries):
        some_vectors = xp.astype(vectors[block, :], xp.float64)
        scale = xp.ones_like(some_vectors[:, 0])
        if vectors.dtype == xp.float64:  # squares of smaller types do not overflow float64
            largest = xp.max(xp.abs(some_vectors), axis=1)
            scale = xp.where(largest > 0.0, largest, scale)
            some_vectors = some_vectors / scale[:, None]
        squares = xp.sum(some_vectors * some_vectors, axis=1)
        norms[block] = to_numpy(scale * xp.sqrt(squares))
    return norms


def _multiply(left: AnyArray, right: AnyArray, memory: Floats | None) -> AnyArray:
    """Multiply matrices; numpy writes to some memory, which is faster than new memory."""
    if memory is None:
        return left @ right
    shape = left.shape[0], right.shape[1]
    return np.matmul(left, right, out=_reshape_start(memory, shape))


def _reshape_start(memory: Floats, shape: tuple[int, int]) -> Floats:
    """Return the first numbers of a flat array in another shape."""
    return memory[: shape[0] * shape[1]].reshape(shape)


def _sum_error(d: int, dtype: Any) -> float:
    """Bound the relative error of a sum of d products, and of the few steps before and after it."""
    half_epsilon = float(np.finfo(dtype).eps) / 2.0
    error = (d + 8) * half_epsilon
    return error / (1.0 - error)
