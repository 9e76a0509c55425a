"""Counts of candidates above a relevant item, by inner products of vectors of users and of items.

Most scores are not needed for them; `Products` explains which are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.array_types import Float, Floats, Int
from sampled_metrics._base.arrays import (
    CACHE_ENTRIES,
    MEMORY_ENTRIES,
    blocks,
    concatenate_ranges,
    count_by_score,
)
from sampled_metrics._base.conversion import is_on_device, to_numpy
from sampled_metrics.inputs.comparisons import (
    Positions,
    as_column,
    count_around_limits,
    count_true,
    input_rounding,
    take_rows,
    to_device,
)

ScoreFunction: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users

# Chosen with make measure PAGE=cores; others took up to 10 % more time.
USERS_AT_A_TIME = 8192  # many, as most may be settled after a few tiles
PAIRS_AT_A_TIME = 1024  # with the items of a tile few enough that scores stay in the cache
FIRST_TILE = 128  # items; a later tile has as many as all before it, at most one of these numbers
TILE_ITEMS = 1024
TILE_ON_DEVICE = 65_536  # on a device
_DENSE_SHARE = 8  # a row with more than 1 / 8 of the items of a tile close is multiplied as a whole

# Numbers beyond the largest become infinite or NaN without a warning; ranking checks them.
_ignore_overflow = partial(np.errstate, over="ignore", under="ignore", invalid="ignore")


class _Tile(NamedTuple):
    """Some items of about the same length, whose vectors are divided by a power of two."""

    items: Int
    exponent: int  # of that power
    length: float  # Euclidean, of the longest vector after it is divided


class _OpenPairs(NamedTuple):
    """Pairs of a user and a relevant item that are not settled, users ascending."""

    number: Int  # among all pairs
    row: Int  # of the user, among all rows
    place: Int  # of the user's vector, among those that are multiplied
    user: Int
    score: Float
    length: Float  # of the user's vector after it is divided by a power of two
    centre: Float  # score after the user's vector is divided
    up_to: Int

    def take(
        self,
        some: Any,
    ) -> _OpenPairs:
        return _OpenPairs(*(values[some] for values in self))

    def rows(self) -> Int:
        """Return the rows of all pairs, each once."""
        return self.row[np.diff(self.row, prepend=-1) > 0]


class _Limits(NamedTuple):
    """Products from `low` to `high` are of items whose scores are compared with a pair's.

    Numbers for each pair; or one for all if the score of its pair is subtracted from each product,
    as comparisons with one number take less than half the time.
    """

    low: Any
    high: Any

    @classmethod
    def around(
        cls,
        centre: Any,
        margin: Any,
        kind: Any,
    ) -> _Limits:
        return cls(kind.type(centre - margin), kind.type(centre + margin))

    def take(
        self,
        some: Any,
    ) -> _Limits:
        if np.ndim(self.low) == 0:
            return self
        return _Limits(self.low[some], self.high[some])

    def are_near(
        self,
        products: Any,
    ) -> Any:
        """Return which products of a row for each pair are between its limits."""
        is_near = products >= as_column(self.low, products)
        return is_near & (products <= as_column(self.high, products))


class InnerProducts:
    """Scores that are inner products of two vectors, float32 or float64, as a function of users.

    Ranks need two counts for each relevant item: the candidates with a higher score, and others
    with the same one. `counts` returns exactly those that all scores in float64 would give, and
    looks at as few scores as it can.

    **Items that cannot matter.** Items are multiplied with the users in tiles, longest vectors
    first. By the inequality of Cauchy and Schwarz |u.v| <= |u| |v|: once the score of a relevant
    item is above the product of the lengths of its user and of the longest item left, all items
    left are below it, and it is settled. Below minus that product, all are above it. Lengths that
    differ much, as those of popular and rare items often do, so spare most of the tiles; equal ones
    spare none.

    **Users who are settled.** A metric with cut-off k is the same for all places after k. With k
    candidates above it an item has a place after k however ties are broken, as tied candidates
    only move it further down; so it is settled too. Candidates are above only if their score is
    higher, never if it is equal. A user all of whose items are settled is not multiplied any
    more. Users with a hit, as long as their items are not longer than others, need all tiles.

    **Which scores are compared in float64.** A matrix product in the type of the vectors has an
    error. In any order of addition a sum of d products is within

        |fl(u.v) - u.v| <= g |u| |v|,   g = d e / (1 - d e),   e half of the type's epsilon,

    see Higham, Accuracy and Stability of Numerical Algorithms, 3.1. Items whose products differ
    from the score of the relevant item by more than this for both sides are above or below it; only
    closer ones are compared by their scores, which are sums in float64. Relevant items of one user
    are compared with each other by scores alone. So neither the type of the product, nor the block
    or the processor changes a count.

    The vectors of a product in float32 are divided by powers of two, so that no product is too
    large or too small for it. Tensors of torch on a device are multiplied there, and vectors of
    close pairs come to main memory.
    """

    def __init__(
        self,
        users: Any,
        items: Any,
    ) -> None:
        self.users = users
        self.items = items
        self.is_there = is_on_device(items)
        self._kind = np.dtype(to_numpy(items[:1, :]).dtype)
        self._lengths = _row_norms(users)
        lengths = _row_norms(items)
        with _ignore_overflow():
            largest = self._lengths.max(initial=0.0) * lengths.max(initial=0.0)
        self.is_finite = bool(largest < np.finfo(np.float64).max / 8.0)
        d = items.shape[1]
        self._relative = (
            _relative_error(d, self._kind)
            + _relative_error(d, np.float64)
            + 3.0 * input_rounding(items)
        )
        self._least = 4.0 * d * float(np.finfo(self._kind).tiny)
        most = TILE_ON_DEVICE if self.is_there else TILE_ITEMS
        self._entries = PAIRS_AT_A_TIME * most
        longest_first = np.argsort(lengths)[::-1]
        sizes = _tile_sizes(longest_first.size, most)
        parts = np.split(longest_first, sizes.cumsum()[:-1])
        self._tiles = [self._tile(part, lengths) for part in parts]
        self._vectors: list[Any] = [None] * sizes.size  # of tiles that were needed so far
        self._copies = Lock()
        self._tile_of = np.empty(longest_first.size, np.min_scalar_type(sizes.size))
        self._tile_of[longest_first] = np.repeat(np.arange(sizes.size), sizes)
        self._column_of = np.empty(longest_first.size, np.int64)
        self._column_of[longest_first] = concatenate_ranges(0, sizes)

    def _tile(
        self,
        items: Int,
        lengths: Float,
    ) -> _Tile:
        longest = lengths[items[:1]]
        exponent = self._exponents(longest)
        length = np.ldexp(longest, -exponent)
        return _Tile(items=items, exponent=int(exponent[0]), length=float(length[0]))

    def _vectors_of(
        self,
        number: int,
    ) -> Any:
        """Return the vectors of a tile, a column for each item, copied when first needed."""
        if self._vectors[number] is None:
            with self._copies:  # else each thread would copy the same tile
                if self._vectors[number] is None:
                    self._vectors[number] = self._copied(self._tiles[number])
        return self._vectors[number]

    def _copied(
        self,
        tile: _Tile,
    ) -> Any:
        """Return the vectors of a tile as columns, divided by its power of two."""
        vectors = self._divided(take_rows(self.items, tile.items), np.array([tile.exponent]))
        vectors = self._with_column(vectors, 1.0).T
        if self.is_there:
            return vectors
        return np.ascontiguousarray(vectors)

    @_ignore_overflow()
    def __call__(
        self,
        rows: Int,
        items: Int | slice = slice(None),
    ) -> Float:
        """Return scores in float64, the same for any other users, and equal for equal vectors."""
        if isinstance(items, slice):
            items = np.arange(self.items.shape[0])[items]
        return np.einsum(
            "uf,if->ui", _float64_rows(self.users, rows), _float64_rows(self.items, items)
        )

    def of_pairs(
        self,
        rows: Int,
        items: Int,
    ) -> Float:
        """Return the same scores of single pairs."""
        scores = np.empty(rows.size)
        size = (
            MEMORY_ENTRIES if self.is_there else CACHE_ENTRIES
        )  # each block of a device is sent by itself
        for some in blocks(rows.size, self.items.shape[1], size):
            users = _float64_rows(self.users, rows[some])
            vectors = _float64_rows(self.items, items[some])
            scores[some] = np.einsum("pf,pf->p", users, vectors)
        return scores

    @_ignore_overflow()
    def counts(
        self,
        rows: Int,
        pairs: Positions,
        left_out: Positions,
        up_to: Int,
    ) -> Positions:
        """Count the items above each of some pairs, and the others level with it.

        Pairs are a place in `rows`, ascending, and an item; every row has one, and each is there
        once. Those that are left out are no candidates, and none of the others. A pair with its
        number `up_to` of items above it, or more, has the counts `up_to` and 0.
        """
        row, item = pairs
        score = self.of_pairs(rows[row], item)
        better, tied = _count_within_rows(row, score)

        # All other candidates, tile by tile.
        relevant = self._by_tile(row, item)
        no_candidates = self._by_tile(*left_out)
        others_left = np.full(rows.size, len(self.items))
        others_left -= np.bincount(row, minlength=rows.size)
        others_left -= np.bincount(left_out[0], minlength=rows.size)
        lengths = self._lengths[rows]
        exponents = self._exponents(lengths)
        lengths = np.ldexp(lengths, -exponents)
        vectors = self._divided(take_rows(self.users, rows), exponents)
        vectors = self._with_column(vectors, 0.0)
        buffer = np.empty(0 if self.is_there else self._entries, self._kind)
        open_vectors = vectors
        place = np.arange(rows.size)  # of each row among `open_vectors`, -1 if it is settled
        open_pairs = _OpenPairs(
            number=np.arange(row.size),
            row=row,
            place=row,
            user=rows[row],
            score=score,
            length=lengths[row],
            centre=np.ldexp(score, -exponents[row]),
            up_to=up_to,
        )
        for number, tile in enumerate(self._tiles):
            furthest = tile.length * open_pairs.length  # from 0, of scores of this or a later tile
            centre = np.ldexp(1.0, -tile.exponent) * open_pairs.centre
            margin = self._relative * (furthest + np.abs(centre)) + self._least
            is_open = better[open_pairs.number] < open_pairs.up_to
            is_below_all = is_open & (centre < -furthest - margin)
            if is_below_all.any():
                below = open_pairs.take(is_below_all)
                better[below.number] += others_left[below.row]
            is_open &= np.abs(centre) <= furthest + margin
            if not is_open.any():
                break
            if not is_open.all():
                open_pairs = open_pairs.take(is_open)
                centre = centre[is_open]
                margin = margin[is_open]
                open_rows = open_pairs.rows()
                open_vectors = take_rows(vectors, open_rows)
                place = np.full(rows.size, -1)
                place[open_rows] = np.arange(open_rows.size)
                open_pairs = open_pairs._replace(place=place[open_pairs.row])
            not_counted = relevant[number], no_candidates[number]
            others_left -= tile.items.size
            for out_row, _ in not_counted:
                others_left += np.bincount(out_row, minlength=rows.size)
            is_subtracted = centre.size == len(open_vectors)  # where each user has one pair
            if is_subtracted:
                open_vectors[:, self.items.shape[1]] = to_device(-centre, open_vectors)
                centre = 0.0
                margin = margin.max()
            above, level = self._count_tile(
                number=number,
                vectors=open_vectors,
                pairs=open_pairs,
                limits=_Limits.around(centre, margin, self._kind),
                not_counted=[(place[out_row], column) for out_row, column in not_counted],
                buffer=buffer,
            )
            better[open_pairs.number] += above
            tied[open_pairs.number] += level
        tied[better >= up_to] = 0
        return np.minimum(better, up_to), tied

    def _by_tile(
        self,
        row: Int,
        item: Int,
    ) -> list[Positions]:
        """Return pairs of a row and the column in a tile, for each tile."""
        tile = self._tile_of[item]
        order = np.argsort(tile, kind="stable")
        counts = np.bincount(tile, minlength=len(self._tiles))
        ends = counts.cumsum()[:-1]
        rows = np.split(row[order], ends)
        columns = np.split(self._column_of[item[order]], ends)
        return list(zip(rows, columns, strict=True))

    def _count_tile(
        self,
        number: int,
        vectors: Any,
        pairs: _OpenPairs,
        limits: _Limits,
        not_counted: list[Positions],
        buffer: Floats,
    ) -> Positions:
        """Count the items of a tile that are above each pair, and those level with it.

        Items that are not counted have the place of the vector of their user, ascending but for -1.
        """
        tile = self._tiles[number]
        of_items = self._vectors_of(number)
        n_items = tile.items.size
        above = np.empty(pairs.place.size, np.int64)
        level = np.zeros(pairs.place.size, np.int64)
        not_counted = [(row[row >= 0], column[row >= 0]) for row, column in not_counted]
        for places in blocks(len(vectors), n_items, self._entries):
            products = _multiply(vectors[places], of_items, buffer)
            for row, column in not_counted:
                here = slice(*row.searchsorted((places.start, places.stop)))
                out_row = to_device(row[here] - places.start, products)
                products[out_row, to_device(column[here], products)] = -np.inf
            some = slice(*pairs.place.searchsorted((places.start, places.stop)))
            row = pairs.place[some] - places.start
            above[some], n_near = count_around_limits(products, row, *limits.take(some))
            near = np.flatnonzero(n_near)
            for some_near in blocks(near.size, n_items, self._entries):
                few = near[some_near]
                pair = few + some.start
                is_near = limits.take(pair).are_near(take_rows(products, row[few]))
                near_above, level[pair] = self._compared(
                    tile, pairs.take(pair), is_near, n_near[few]
                )
                above[pair] += near_above
        return above, level

    def _compared(
        self,
        tile: _Tile,
        pairs: _OpenPairs,
        is_near: Any,
        n_near: Int,
    ) -> Positions:
        """Compare pairs with items of a tile by scores: those that are near each."""
        above = np.zeros(n_near.size, np.int64)
        level = np.zeros(n_near.size, np.int64)
        n_items = tile.items.size
        is_many = n_near * _DENSE_SHARE > n_items
        few = np.flatnonzero(~is_many)
        row, column = np.divmod(_true_positions(take_rows(is_near, few)), n_items)
        pair = few[row]
        scores = self.of_pairs(pairs.user[pair], tile.items[column])
        above += np.bincount(pair[scores > pairs.score[pair]], minlength=n_near.size)
        level += np.bincount(pair[scores == pairs.score[pair]], minlength=n_near.size)
        many = np.flatnonzero(is_many)
        if many.size:
            vectors = _float64_rows(self.items, tile.items)
            is_new = np.append(True, (vectors[1:] != vectors[:-1]).any(axis=1))  # others are equal
            scores = self(pairs.user[many], tile.items[is_new]).take(is_new.cumsum() - 1, axis=1)
            of_pairs = pairs.score[many, np.newaxis]
            of_many = to_numpy(take_rows(is_near, many))
            above[many] = count_true(of_many & (scores > of_pairs))
            level[many] = count_true(of_many & (scores == of_pairs))
        return above, level

    def _exponents(
        self,
        lengths: Float,
    ) -> Int:
        """Return by which powers of two vectors are divided; float64 holds all products."""
        if self._kind == np.float64:
            return np.zeros(lengths.size, np.int64)
        return np.frexp(lengths)[1].astype(np.int64)

    def _divided(
        self,
        vectors: Any,
        exponents: Int,
    ) -> Any:
        """Divide vectors by powers of two."""
        if self._kind == np.float64:
            return vectors
        half = exponents // 2
        for power in (half, exponents - half):  # each of which float32 holds
            powers = np.ldexp(1.0, -power).astype(self._kind)
            vectors = vectors * to_device(powers, vectors)[:, None]
        return vectors

    def _with_column(
        self,
        vectors: Any,
        value: float,
    ) -> Any:
        """Append a column, by which a number may be subtracted from a product.

        On a device zeros follow, as it multiplies eight columns at a time.
        """
        width = 1
        if self.is_there:
            width += -(vectors.shape[1] + 1) % 8
        columns = np.zeros((len(vectors), width), self._kind)
        columns[:, 0] = value
        xp = compat.array_namespace(vectors)
        return xp.concat([vectors, to_device(columns, vectors)], axis=1)


def _count_within_rows(
    row: Int,
    score: Float,
) -> Positions:
    """Count for each pair those of the same row with a higher and with an equal score."""
    if (np.diff(row) > 0).all():
        return np.zeros(row.size, np.int64), np.zeros(row.size, np.int64)
    return count_by_score(row, score)


def _true_positions(marked: Any) -> Int:
    """Return the places of true values, row by row."""
    xp = compat.array_namespace(marked)
    (places,) = xp.nonzero(xp.reshape(marked, (-1,)))
    return to_numpy(places)


def _float64_rows(
    vectors: Any,
    rows: Int,
) -> Float:
    some: Float = to_numpy(take_rows(vectors, rows))
    return some.astype(np.float64, copy=False)


def _row_norms(vectors: Any) -> Float:
    """Return the Euclidean lengths of vectors, float64, also where squares are too large."""
    xp = compat.array_namespace(vectors)
    n, d = vectors.shape
    lengths = np.empty(n)
    for rows in blocks(n, d, 16 * MEMORY_ENTRIES if is_on_device(vectors) else CACHE_ENTRIES):
        some = xp.astype(vectors[rows, :], xp.float64)
        largest = xp.ones_like(some[:, 0])
        if vectors.dtype == xp.float64:
            largest = xp.max(xp.abs(some), axis=1)
            largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
            some = some / largest[:, None]
        squares = xp.sum(some * some, axis=1)
        lengths[rows] = to_numpy(largest * xp.sqrt(squares))
    return lengths


def _multiply(left: Any, right: Any, buffer: Floats) -> Any:
    """Multiply matrices, those of numpy in a buffer, which takes less time than new memory."""
    if not isinstance(left, np.ndarray):
        return left @ right
    rows = left.shape[0]
    columns = right.shape[1]
    out = buffer[: rows * columns]
    return np.matmul(left, right, out=out.reshape(rows, columns))


def _tile_sizes(n_items: int, most: int) -> Int:
    """Return the numbers of items of tiles, first a few, then as many as before together."""
    sizes: list[int] = []
    before = 0
    while before < n_items:
        size = min(max(before, FIRST_TILE), most)
        sizes.append(min(size, n_items - before))
        before += size
    return np.array(sizes)


def _relative_error(
    d: int,
    kind: Any,
) -> float:
    """Return the bound of the relative error of a sum of d products, and of some steps more."""
    half = float(np.finfo(kind).eps) / 2.0
    error = (d + 8) * half
    return error / (1.0 - error)
