"""Items in tiles, those with the longest vectors first.

Most rankings end after the longest items. The others are therefore not sorted before one of their
tiles is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges
from sampled_metrics.read.comparisons import Positions

FIRST_TILE = 128  # items; a later tile has as many as all tiles before it, up to a maximum
# Items that are sorted at first; then three times as many as are sorted already. To select and sort
# as many of a million takes a fifth of the time of sorting all of them.
FIRST_SORTED = 65_536


class Tile(NamedTuple):
    """Items whose vectors have about the same length.

    Attributes
    ----------
    number
        Position among all tiles.
    items
        The items, longest vectors first.
    length
        Length of the longest vector.
    """

    number: int
    items: Int
    length: float


# A tile; and for several lists of pairs the rows, ascending, and columns of those in the tile.
TileAndPairs: TypeAlias = tuple[Tile, list[Positions]]


class ItemTiles:
    """Tiles of items by descending length of their vectors; threads share them.

    Parameters
    ----------
    lengths
        Lengths of the vectors of all items.
    max_items
        The largest number of items of a tile.
    """

    def __init__(self, lengths: Float, max_items: int) -> None:
        n_items = lengths.size
        self._lengths = lengths
        self._starts = _tile_starts(n_items, max_items)  # of all tiles, and the end of the last
        # Items that are sorted come first, and are in `_tiles`. The others follow in any order, and
        # `_tile_of_item` is a number above all tiles for them.
        self._longest_first = np.arange(n_items)
        self._tiles: list[Tile] = []
        n_tiles = len(self)
        self._tile_of_item = np.full(n_items, n_tiles, np.min_scalar_type(n_tiles))
        self._column_of_item = np.zeros(n_items, np.int64)  # position in its tile
        self._sort_lock = Lock()

    def __len__(self) -> int:
        return self._starts.size - 1

    def iterate(self, pairs: Sequence[Positions]) -> Iterator[TileAndPairs]:
        """Yield each tile, and the pairs of a row and an item whose item is in the tile.

        Parameters
        ----------
        pairs
            Rows and items; rows ascend.

        Yields
        ------
        tile
            The tile.
        pairs_of_tile
            For each of `pairs` the rows, ascending, and the columns of the tile.
        """
        first = 0
        while first < len(self):
            self._sort_tile(first)
            tiles = self._tiles[first:]
            split_pairs = [self._split(*rows_and_items, tiles) for rows_and_items in pairs]
            for place, tile in enumerate(tiles):
                yield tile, [pairs_by_tile[place] for pairs_by_tile in split_pairs]
            first += len(tiles)

    def _sort_tile(self, number: int) -> None:
        """Sort items until the tile of a number is sorted."""
        with self._sort_lock:
            while len(self._tiles) <= number:
                self._sort_next_tiles()

    def _sort_next_tiles(self) -> None:
        """Sort the longest of the items that are not sorted yet, and make tiles of them."""
        first_tile = len(self._tiles)
        start = self._starts[first_tile]
        others = self._longest_first[start:]
        wanted = start + max(FIRST_SORTED, 3 * start)
        end_tile = min(int(self._starts.searchsorted(wanted)), len(self))
        end = self._starts[end_tile]
        if end_tile < len(self):
            others[:] = others[np.argpartition(-self._lengths[others], end - start)]
        longest = others[: end - start]
        longest[:] = longest[np.argsort(-self._lengths[longest])]
        sizes = np.diff(self._starts[first_tile : end_tile + 1])
        self._column_of_item[longest] = concatenate_ranges(0, sizes)
        self._tile_of_item[longest] = np.repeat(np.arange(first_tile, end_tile), sizes)
        for number in range(first_tile, end_tile):
            items = self._longest_first[self._starts[number] : self._starts[number + 1]]
            self._tiles.append(Tile(number, items, float(self._lengths[items[0]])))

    def _split(self, row: Int, item: Int, tiles: Sequence[Tile]) -> list[Positions]:
        """Return, for each of some tiles, the rows of its items and their columns in the tile."""
        tile = self._tile_of_item[item]
        is_in_tiles = (tile >= tiles[0].number) & (tile <= tiles[-1].number)
        if not is_in_tiles.all():
            row, item, tile = row[is_in_tiles], item[is_in_tiles], tile[is_in_tiles]
        by_tile = np.argsort(tile, kind="stable")
        counts = np.bincount(tile - tiles[0].number, minlength=len(tiles))
        ends = counts.cumsum()[:-1]
        rows = np.split(row[by_tile], ends)
        columns = np.split(self._column_of_item[item[by_tile]], ends)
        return list(zip(rows, columns, strict=True))


def _tile_starts(n_items: int, max_items: int) -> Int:
    """Return where tiles start and the last one ends; the first is small, later ones double it.

    Examples
    --------
    >>> _tile_starts(1000, max_items=512)
    array([   0,  128,  256,  512, 1000])
    """
    starts = [0]
    while starts[-1] < n_items:
        size = min(max(starts[-1], FIRST_TILE), max_items)
        starts.append(min(starts[-1] + size, n_items))
    return np.array(starts)
