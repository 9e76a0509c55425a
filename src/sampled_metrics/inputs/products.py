"""Counts of items by inner products of vectors of users and of items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import array_api_compat as compat
import numpy as np

from sampled_metrics._base.arrays import (
    CACHE,
    MEMORY,
    Float,
    Int,
    blocks,
    in_memory,
    is_elsewhere,
)
from sampled_metrics.inputs.devices import (
    Pairs,
    count,
    rounding,
    rows_of,
    there,
    without,
)

Score: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users

USERS_AT_A_TIME = 1024  # with the items of a tile few enough that scores stay in the cache
TILE_ITEMS = 1024
TILE_ELSEWHERE = 65_536  # items of a tile on a device
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
        in_order = np.argsort(lengths)
        size = TILE_ELSEWHERE if self.is_there else TILE_ITEMS
        parts = blocks(in_order.size, 1, size)
        self._tiles = [self._tile(in_order[part], lengths) for part in parts]

    def _tile(
        self,
        items: Int,
        lengths: Float,
    ) -> _Tile:
        longest = lengths[items[-1:]]
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
    ) -> Pairs:
        """Count the items above each of some pairs, and the others level with it.

        Pairs are a place in `rows`, ascending, and an item; every row has one. Those that are left
        out are no candidates, and none of the others.
        """
        row, item = pairs
        user = rows[row]
        own = self.of_pairs(user, item)
        is_single = row.size == rows.size
        better = np.zeros(row.size, np.int64)
        tied = np.full(row.size, -1)  # without the item itself
        lengths = self._lengths[rows]
        exponents = self._exponents(lengths)
        lengths = np.ldexp(lengths, -exponents)[row]
        vectors = self._scaled(rows_of(self.users, rows), exponents)
        vectors = self._with_column(vectors, np.zeros(rows.size))
        buffer = np.empty((rows.size, TILE_ITEMS), self._kind)
        for tile in self._tiles:
            width = tile.items.size
            most = 2.0 * tile.length * lengths  # twice as much as any score
            scaled = np.ldexp(own, -exponents[row] - tile.exponent)
            centre = np.clip(scaled, -most, most)
            margin = self._margin(most.max() / 2.0 + np.abs(centre).max())
            if is_single:
                vectors[:, self.items.shape[1]] = there(-centre, vectors)
            if self.is_there:
                scores = vectors @ tile.vectors
            else:
                scores = np.matmul(vectors, tile.vectors, out=buffer[:, :width])
            for some in blocks(row.size, width, USERS_AT_A_TIME * width):
                part = scores
                if not is_single:
                    of_pairs = there(centre[some].astype(self._kind), scores)
                    part = rows_of(scores, row[some]) - of_pairs[:, None]
                above = count(part > margin)
                n_close = count(part >= -margin) - above
                settled = self._settled(user[some], own[some], tile, part, n_close, margin)
                better[some] += above + settled[0]
                tied[some] += settled[1]
        out = self.of_pairs(rows[left_out[0]], left_out[1])
        return without(better, tied, own, row, left_out[0], out)

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


def _growth(
    d: int,
    kind: Any,
) -> float:
    """Return the bound of the relative error of a sum of d products, and of some steps more."""
    half = float(np.finfo(kind).eps) / 2.0
    error = (d + 8) * half
    return error / (1.0 - error)
