"""Counts of items by inner products of vectors of users and of items."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import MEMORY, Bool, Float, Floats, Int, blocks

Score: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users
Pairs: TypeAlias = tuple[Int, Int]  # places of users within some rows, and items

USERS_AT_A_TIME = 512  # with the items of a tile few enough that scores stay in the cache
TILE_ITEMS = 1024
_MANY = 8  # a row with more than 1 / 8 of the items of a tile close is multiplied as a whole

# Numbers beyond the largest become infinite or NaN without a warning; ranking checks them.
_unlimited = partial(np.errstate, over="ignore", under="ignore", invalid="ignore")


class _Tile(NamedTuple):
    """Some items of about the same length, multiplied by a power of two."""

    vectors: Floats  # shape (items, d)
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

    see Higham, Accuracy and Stability of Numerical Algorithms, 3.1. The vectors of a product in
    float32 are multiplied by powers of two, so that no product is too large or too small for it.
    """

    def __init__(
        self,
        users: Floats,
        items: Floats,
    ) -> None:
        self.users = users
        self.items = items
        self._lengths = _lengths(users)
        lengths = _lengths(items)
        longest_user = self._lengths.max(initial=0.0)
        longest_item = lengths.max(initial=0.0)
        with _unlimited():
            largest = longest_user * longest_item
        limit = np.finfo(np.float64).max
        self.is_finite = bool(largest < limit / 4.0)
        d = items.shape[1]
        of_product = _growth(d, items.dtype)
        of_scores = _growth(d, np.float64)
        self._relative = of_product + of_scores
        smallest = float(np.finfo(items.dtype).tiny)
        self._least = 4.0 * d * smallest
        in_order = np.argsort(lengths, kind="stable")
        self._place = np.empty_like(in_order)
        self._place[in_order] = np.arange(in_order.size)
        parts = blocks(in_order.size, 1, TILE_ITEMS)
        self._tiles = [self._tile(in_order[part], lengths) for part in parts]

    def _tile(
        self,
        items: Int,
        lengths: Float,
    ) -> _Tile:
        longest = lengths[items[-1:]]
        exponents = self._exponents(longest)
        vectors = self._scaled(self.items[items], exponents)
        length = np.ldexp(longest, -exponents)
        return _Tile(vectors, items, int(exponents[0]), float(length[0]))

    @_unlimited()
    def __call__(
        self,
        rows: Int,
        items: Int | slice = slice(None),
    ) -> Float:
        """Return scores in float64, the same for any other users, and equal for equal vectors."""
        users = self.users[rows]
        vectors = self.items[items]
        return np.einsum(
            "uf,if->ui",
            users.astype(np.float64),
            vectors.astype(np.float64),
        )

    def of_pairs(
        self,
        rows: Int,
        items: Int,
    ) -> Float:
        """Return the same scores of single pairs."""
        scores = np.empty(rows.size)
        d = self.items.shape[1]
        for some in blocks(rows.size, d, MEMORY):
            users = self.users[rows[some]]
            vectors = self.items[items[some]]
            scores[some] = np.einsum(
                "pf,pf->p",
                users.astype(np.float64),
                vectors.astype(np.float64),
            )
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
        lengths = self._lengths[rows]
        exponents = self._exponents(lengths)
        lengths = np.ldexp(lengths, -exponents)
        vectors = self._scaled(self.users[rows], exponents)
        better = np.zeros(row.size, np.int64)
        tied = np.full(row.size, -1)  # without the item itself
        n_rows = rows.size
        buffer = np.empty(n_rows * TILE_ITEMS, self.items.dtype)
        most = USERS_AT_A_TIME * TILE_ITEMS
        of_tiles = self._in_tiles(left_out)
        for tile, out in zip(self._tiles, of_tiles, strict=True):
            n_items = tile.items.size
            flat = buffer[: n_rows * n_items]
            scores = flat.reshape(n_rows, n_items)
            np.matmul(vectors, tile.vectors.T, out=scores)
            scores[out] = -np.inf
            margin = self._relative * lengths
            margin *= tile.length
            margin += self._least
            shift = exponents[row] + tile.exponent
            scaled = np.ldexp(own, -shift)
            low, high = self._bounds(scaled, margin[row])
            for some in blocks(row.size, n_items, most):
                part = scores
                if row.size != n_rows:
                    part = scores[row[some]]
                above = part > high[some, np.newaxis]
                close = part >= low[some, np.newaxis]
                close ^= above
                settled = self._settled(
                    user[some],
                    own[some],
                    tile.items,
                    close,
                )
                better[some] += count(above)
                better[some] += settled[0]
                tied[some] += settled[1]
        return better, tied

    def _in_tiles(
        self,
        pairs: Pairs,
    ) -> Iterator[Pairs]:
        """Yield the pairs of each tile, items by their places within it."""
        row = pairs[0]
        place = self._place[pairs[1]]
        order = np.argsort(place)
        ordered = place[order]
        first = 0
        for number in range(len(self._tiles)):
            begin = number * TILE_ITEMS
            last = int(ordered.searchsorted(begin + TILE_ITEMS))
            some = order[first:last]
            yield row[some], place[some] - begin
            first = last

    def _settled(
        self,
        user: Int,
        own: Float,
        items: Int,
        close: Bool,
    ) -> Pairs:
        """Count by scores, for each user, the close items that are above its own and level."""
        n_close = count(close)
        is_whole = n_close * _MANY > items.size
        is_single = n_close > 0
        is_single &= ~is_whole
        single = np.flatnonzero(is_single)
        place, column = np.nonzero(close[single])
        row = single[place]
        scores = self.of_pairs(user[row], items[column])
        of_row = own[row]
        above = row[scores > of_row]
        level = row[scores == of_row]
        better = np.bincount(above, minlength=user.size)
        tied = np.bincount(level, minlength=user.size)
        whole = np.flatnonzero(is_whole)
        if whole.size:
            scores = self(user[whole], items)
            of_whole = own[whole, np.newaxis]
            near = close[whole]
            better[whole] = count(near & (scores > of_whole))
            tied[whole] = count(near & (scores == of_whole))
        return better, tied

    def _exponents(
        self,
        lengths: Float,
    ) -> Int:
        """Return by which powers of two vectors are divided; float64 holds all products."""
        if self.items.dtype == np.float64:
            return np.zeros(lengths.size, np.int64)
        return np.frexp(lengths)[1].astype(np.int64)

    def _scaled(
        self,
        vectors: Floats,
        exponents: Int,
    ) -> Floats:
        if self.items.dtype == np.float64:
            return vectors
        powers = np.ldexp(1.0, -exponents)
        scaled: Floats = vectors * powers[:, np.newaxis]
        return scaled.astype(self.items.dtype)

    def _bounds(
        self,
        own: Float,
        margin: Float,
    ) -> tuple[Floats, Floats]:
        """Return what a product is surely below and above, rounded outwards to its type."""
        kind = self.items.dtype.type
        low = own - margin
        high = own + margin
        below = np.nextafter(low.astype(kind), kind(-np.inf))
        above = np.nextafter(high.astype(kind), kind(np.inf))
        least = np.finfo(kind).min
        return np.maximum(below, least), above


def count(marked: Bool) -> Int:
    """Count the true values of each row, several times as fast as `numpy.count_nonzero`."""
    width = marked.shape[1]
    numbers = marked.view(np.uint8)
    if width % 8 == 0 and width <= 8 * 255:  # eight sums at a time, none above 255
        sums = numbers.view(np.uint64).sum(axis=1)
        numbers = sums.view(np.uint8).reshape(len(marked), 8)
    return numbers.sum(axis=1, dtype=np.min_scalar_type(width)).astype(np.int64)


def _lengths(vectors: Floats) -> Float:
    """Return the Euclidean lengths of vectors, float64, also where squares are too large."""
    lengths = np.empty(len(vectors))
    for rows in blocks(len(vectors), vectors.shape[1], MEMORY):
        some = vectors[rows].astype(np.float64)
        sizes = np.abs(some)
        largest = sizes.max(axis=1, initial=0.0)
        divisor = np.where(largest > 0.0, largest, 1.0)
        some /= divisor[:, np.newaxis]
        squares = np.square(some)
        lengths[rows] = largest * np.sqrt(squares.sum(axis=1))
    return lengths


def _growth(
    d: int,
    kind: Any,
) -> float:
    """Return the bound of the relative error of a sum of d products, and of some steps more."""
    half = float(np.finfo(kind).eps) / 2.0
    error = (d + 4) * half
    return error / (1.0 - error)
