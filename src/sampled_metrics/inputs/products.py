"""Counts of items by inner products of vectors of users and of items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.arrays import (
    CACHE,
    MEMORY,
    Float,
    Floats,
    Int,
    blocks,
    in_memory,
    is_elsewhere,
    ranges,
)
from sampled_metrics.inputs.devices import (
    Pairs,
    count,
    rounding,
    rows_of,
    there,
)

Score: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users

USERS_AT_A_TIME = 8192  # many, as most may leave after a few tiles
PAIRS_AT_A_TIME = 1024  # with the items of a tile few enough that scores stay in the cache
FIRST_TILE = 128  # items; a later tile has as many as all before it, at most one of these numbers
TILE_ITEMS = 1024
TILE_ELSEWHERE = 65_536  # on a device
_MANY = 8  # a row with more than 1 / 8 of the items of a tile close is multiplied as a whole

# Numbers beyond the largest become infinite or NaN without a warning; ranking checks them.
_unlimited = partial(np.errstate, over="ignore", under="ignore", invalid="ignore")


class _Tile(NamedTuple):
    """Some items of about the same length, multiplied by a power of two."""

    vectors: Any  # a column for each, and a last row of ones; where the given ones are
    items: Int
    exponent: int  # power of two that gives back the vectors
    length: float  # the longest vector's, Euclidean


class Products:
    """Scores that are inner products of two vectors, float32 or float64, as a function of users.

    A score is the sum of the products in float64. Most scores are not needed: a matrix product in
    the type of the vectors tells which items are above another one by more than its error, and
    only close ones are compared by their scores. So neither the type of the product, nor the block
    or the processor changes a count. In any order of addition a sum of d products is within

        |fl(u.v) - u.v| <= g |u| |v|,   g = d e / (1 - d e),   e half of the type's epsilon,

    see Higham, Accuracy and Stability of Numerical Algorithms, 3.1. The score of the other item is
    subtracted as one product more. The vectors of a product in float32 are multiplied by powers of
    two, so that no product is too large or too small for it. Tensors of torch on a device are
    multiplied there, and vectors of close pairs come to main memory.

    Items are multiplied in tiles, longest vectors first. As |u.v| <= |u| |v|, a score further from
    0 than the product of both lengths, for the longest item left, has all of these on one side.
    """

    def __init__(
        self,
        users: Any,
        items: Any,
    ) -> None:
        self.users = users
        self.items = items
        self.is_there = is_elsewhere(items)
        self._kind = np.dtype(in_memory(items[:1, :]).dtype)
        self._lengths = _lengths(users)
        lengths = _lengths(items)
        with _unlimited():
            largest = self._lengths.max(initial=0.0) * lengths.max(initial=0.0)
        self.is_finite = bool(largest < np.finfo(np.float64).max / 8.0)
        d = items.shape[1]
        self._relative = _growth(d, self._kind) + _growth(d, np.float64) + 3.0 * rounding(items)
        self._least = 4.0 * d * float(np.finfo(self._kind).tiny)
        most = TILE_ELSEWHERE if self.is_there else TILE_ITEMS
        self._entries = PAIRS_AT_A_TIME * most
        in_order = np.argsort(lengths)[::-1]
        sizes = _sizes(in_order.size, most)
        parts = np.split(in_order, sizes.cumsum()[:-1])
        self._tiles = [self._tile(part, lengths) for part in parts]
        numbers = np.arange(sizes.size)
        short = np.min_scalar_type(sizes.size)  # which sorts faster
        self._tile_of = np.empty(in_order.size, short)
        self._tile_of[in_order] = np.repeat(numbers, sizes)
        self._column_of = np.empty(in_order.size, np.int64)
        self._column_of[in_order] = ranges(0, sizes)

    def _tile(
        self,
        items: Int,
        lengths: Float,
    ) -> _Tile:
        longest = lengths[items[:1]]
        exponents = self._exponents(longest)
        vectors = self._scaled(rows_of(self.items, items), exponents)
        vectors = self._with_column(vectors, np.ones(items.size)).T
        if not self.is_there:
            vectors = np.ascontiguousarray(vectors)
        return _Tile(
            vectors=vectors,
            items=items,
            exponent=int(exponents[0]),
            length=float(np.ldexp(longest, -exponents)[0]),
        )

    @_unlimited()
    def __call__(
        self,
        rows: Int,
        items: Int | slice = slice(None),
    ) -> Float:
        """Return scores in float64, the same for any other users, and equal for equal vectors."""
        if isinstance(items, slice):
            items = np.arange(self.items.shape[0])[items]
        return np.einsum("uf,if->ui", _exact(self.users, rows), _exact(self.items, items))

    def of_pairs(
        self,
        rows: Int,
        items: Int,
    ) -> Float:
        """Return the same scores of single pairs."""
        scores = np.empty(rows.size)
        size = MEMORY if self.is_there else CACHE  # each block of a device is sent by itself
        for some in blocks(rows.size, self.items.shape[1], size):
            users = _exact(self.users, rows[some])
            vectors = _exact(self.items, items[some])
            scores[some] = np.einsum("pf,pf->p", users, vectors)
        return scores

    @_unlimited()
    def counts(
        self,
        rows: Int,
        pairs: Pairs,
        left_out: Pairs,
        up_to: Int,
    ) -> Pairs:
        """Count the items above each of some pairs, and the others level with it.

        Pairs are a place in `rows`, ascending, and an item; every row has one. Those that are left
        out are no candidates, and none of the others. A pair with its number `up_to` of items above
        it, or more, is done as soon as they are found; its counts are `up_to` and 0.
        """
        row, item = pairs
        user = rows[row]
        own = self.of_pairs(user, item)
        n_pairs = row.size
        better = np.zeros(n_pairs, np.int64)
        tied = np.full(n_pairs, -1)  # without the item itself
        n_out = np.bincount(left_out[0], minlength=rows.size)
        n_left = len(self.items) - n_out  # candidates in this tile and later
        lengths = self._lengths[rows]
        exponents = self._exponents(lengths)
        lengths = np.ldexp(lengths, -exponents)
        vectors = self._scaled(rows_of(self.users, rows), exponents)
        vectors = self._with_column(vectors, np.zeros(rows.size))
        some_vectors = vectors
        buffer = np.empty(0 if self.is_there else self._entries, self._kind)
        here = np.arange(n_pairs)  # pairs that are not done
        place = np.arange(rows.size)  # of each row among `some_vectors`, -1 without any pair here
        for tile, out in zip(self._tiles, self._by_tile(*left_out), strict=True):
            of_row = row[here]
            longest = tile.length * lengths[of_row]
            exponent = exponents[of_row] + tile.exponent
            centre = np.ldexp(own[here], -exponent)
            bound = longest + self._relative * longest + self._least
            is_open = better[here] < up_to[here]
            below_all = here[is_open & (centre < -bound)]
            better[below_all] += n_left[row[below_all]]
            is_open &= np.abs(centre) <= bound
            if not is_open.any():
                break
            if not is_open.all():
                here = here[is_open]
                centre = centre[is_open]
                longest = longest[is_open]
                kept = row[here]
                kept = kept[np.diff(kept, prepend=-1) > 0]
                some_vectors = rows_of(vectors, kept)
                place = np.full(rows.size, -1)
                place[kept] = np.arange(kept.size)
            n_left += np.bincount(out[0], minlength=rows.size)
            n_left -= tile.items.size
            furthest = np.abs(centre).max()
            margin = self._margin(longest.max() + furthest)
            parts = self._differences(
                vectors=some_vectors,
                tile=tile,
                place=place[row[here]],
                centre=centre,
                out=(place[out[0]], out[1]),
                buffer=buffer,
            )
            for some, part in parts:
                of_some = here[some]
                above = count(part > margin)
                n_close = count(part >= -margin) - above
                settled = self._settled(user[of_some], own[of_some], tile, part, n_close, margin)
                better[of_some] += above + settled[0]
                tied[of_some] += settled[1]
        tied[better >= up_to] = 0
        return np.minimum(better, up_to), tied

    def _by_tile(
        self,
        row: Int,
        item: Int,
    ) -> list[Pairs]:
        """Return pairs of a row and the column in a tile, for each tile."""
        tile = self._tile_of[item]
        order = np.argsort(tile, kind="stable")
        counts = np.bincount(tile, minlength=len(self._tiles))
        ends = counts.cumsum()[:-1]
        rows = np.split(row[order], ends)
        columns = np.split(self._column_of[item[order]], ends)
        return list(zip(rows, columns, strict=True))

    def _differences(
        self,
        vectors: Any,
        tile: _Tile,
        place: Int,
        centre: Float,
        out: Pairs,
        buffer: Floats,
    ) -> Iterator[tuple[slice, Any]]:
        """Yield products of vectors and a tile, less a number of each pair; -inf where left out.

        Pairs and those that are left out have the places of their vectors, ascending but for -1.
        """
        is_single = place.size == len(vectors)
        if is_single:
            vectors[:, self.items.shape[1]] = there(-centre, vectors)
        is_here = out[0] >= 0
        out_place = out[0][is_here]
        out_column = out[1][is_here]
        for some in blocks(place.size, tile.items.size, self._entries):
            places = place[some]
            first = int(places[0])
            end = int(places[-1]) + 1
            part = _product(vectors[first:end], tile.vectors, buffer)
            gone = slice(*out_place.searchsorted((first, end)))
            row = there(out_place[gone] - first, part)
            column = there(out_column[gone], part)
            part[row, column] = -np.inf
            if not is_single:
                less = there(centre[some].astype(self._kind), part)
                of_pairs = rows_of(part, places - first)
                part = of_pairs - less[:, None]
            yield some, part

    def _settled(
        self,
        user: Int,
        own: Float,
        tile: _Tile,
        part: Any,
        n_close: Int,
        margin: float,
    ) -> Pairs:
        """Count by scores, for each user, the close items that are above its own and level."""
        is_many = n_close * _MANY > tile.items.size
        few = np.flatnonzero((n_close > 0) & ~is_many)
        xp = compat.array_namespace(part)
        near = abs(rows_of(part, few)) <= margin
        (places,) = xp.nonzero(xp.reshape(near, (-1,)))
        place, column = np.divmod(in_memory(places), tile.items.size)
        row = few[place]
        scores = self.of_pairs(user[row], tile.items[column])
        of_row = own[row]
        better = np.bincount(row[scores > of_row], minlength=user.size)
        tied = np.bincount(row[scores == of_row], minlength=user.size)
        many = np.flatnonzero(is_many)
        if many.size:
            vectors = _exact(self.items, tile.items)
            is_new = np.append(True, (vectors[1:] != vectors[:-1]).any(axis=1))  # others are equal
            scores = self(user[many], tile.items[is_new]).take(is_new.cumsum() - 1, axis=1)
            of_many = own[many, np.newaxis]
            near = in_memory(abs(rows_of(part, many)) <= margin)
            better[many] = count(near & (scores > of_many))
            tied[many] = count(near & (scores == of_many))
        return better, tied

    def _exponents(
        self,
        lengths: Float,
    ) -> Int:
        """Return by which powers of two vectors are divided; float64 holds all products."""
        if self._kind == np.float64:
            return np.zeros(lengths.size, np.int64)
        return np.frexp(lengths)[1].astype(np.int64)

    def _scaled(
        self,
        vectors: Any,
        exponents: Int,
    ) -> Any:
        if self._kind == np.float64:
            return vectors
        half = exponents // 2
        for power in (half, exponents - half):  # each of which float32 holds
            powers = np.ldexp(1.0, -power).astype(self._kind)
            vectors = vectors * there(powers, vectors)[:, None]
        return vectors

    def _with_column(
        self,
        vectors: Any,
        values: Float,
    ) -> Any:
        """Append a column, and on a device zeros, as it multiplies eight columns at a time."""
        width = 1
        if self.is_there:
            width += -(vectors.shape[1] + 1) % 8
        columns = np.zeros((values.size, width), self._kind)
        columns[:, 0] = values
        xp = compat.array_namespace(vectors)
        return xp.concat([vectors, there(columns, vectors)], axis=1)

    def _margin(
        self,
        length: float,
    ) -> float:
        """Return the error of products of at most some length, rounded up to their type."""
        kind = self._kind.type
        margin = kind(self._relative * length + self._least)
        return float(np.nextafter(margin, kind(np.inf)))


def _exact(
    vectors: Any,
    rows: Int,
) -> Float:
    some: Float = in_memory(rows_of(vectors, rows))
    return some.astype(np.float64, copy=False)


def _lengths(vectors: Any) -> Float:
    """Return the Euclidean lengths of vectors, float64, also where squares are too large."""
    xp = compat.array_namespace(vectors)
    n, d = vectors.shape
    lengths = np.empty(n)
    for rows in blocks(n, d, 16 * MEMORY if is_elsewhere(vectors) else CACHE):
        some = xp.astype(vectors[rows, :], xp.float64)
        largest = xp.ones_like(some[:, 0])
        if vectors.dtype == xp.float64:
            largest = xp.max(xp.abs(some), axis=1)
            largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
            some = some / largest[:, None]
        squares = xp.sum(some * some, axis=1)
        lengths[rows] = in_memory(largest * xp.sqrt(squares))
    return lengths


def _product(left: Any, right: Any, buffer: Floats) -> Any:
    """Multiply matrices, those of numpy in a buffer, which takes less time than new memory."""
    if not isinstance(left, np.ndarray):
        return left @ right
    rows = left.shape[0]
    columns = right.shape[1]
    out = buffer[: rows * columns]
    return np.matmul(left, right, out=out.reshape(rows, columns))


def _sizes(n_items: int, most: int) -> Int:
    """Return the numbers of items of tiles, first a few, then as many as before together."""
    sizes: list[int] = []
    before = 0
    while before < n_items:
        size = min(max(before, FIRST_TILE), most)
        sizes.append(min(size, n_items - before))
        before += size
    return np.array(sizes)


def _growth(
    d: int,
    kind: Any,
) -> float:
    """Return the bound of the relative error of a sum of d products, and of some steps more."""
    half = float(np.finfo(kind).eps) / 2.0
    error = (d + 8) * half
    return error / (1.0 - error)
