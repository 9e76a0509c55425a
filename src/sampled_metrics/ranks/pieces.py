"""Ranking the users of a split in pieces, one job each, and gathering their ranks.

Users are independent of each other, so the gathered ranks equal those of a single job.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.tiles import Tiles
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks.counting import Score
from sampled_metrics.ranks.ranking import BLOCK_SIZE, Vectors, rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.reading import read_single


@dataclass(frozen=True)
class Piece:
    """Piece `number`, from 1, of `count` nearly equal ones, of which some may be empty.

    Examples
    --------
    >>> [list(Piece(number, 3).of(7)) for number in (1, 2, 3)]
    [[0, 1], [2, 3], [4, 5, 6]]
    """

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(
                f"piece {self} does not exist; the last is {self.count}-of-{self.count}"
            )

    def __str__(self) -> str:
        return f"{self.number}-of-{self.count}"

    def of(self, size: int) -> range:
        """Return the running numbers, of `size`, that are in this piece."""
        first, end = (size * number // self.count for number in (self.number - 1, self.number))
        return range(first, end)


def parse_piece(text: str) -> Piece:
    """Read a piece written like `2-of-3`."""
    numbers = re.fullmatch(r"([1-9][0-9]*)-of-([1-9][0-9]*)", text)
    if numbers is None:
        raise InputError(f"piece {text!r} is not written like 2-of-3")
    return Piece(*map(int, numbers.groups()))


def rank_piece(
    score: Score | Vectors | Tiles, split: Split, piece: Piece, block_size: int = BLOCK_SIZE
) -> Ranks:
    """Rank the held-out items of the users in a piece.

    `score` is of all users of the split; see `rank`, whose errors these are.
    """
    users = piece.of(split.held_out.size)
    ends = np.clip(np.arange(split.held_out.size + 1), users.start, users.stop) - users.start
    items = split.held_out[users.start : users.stop]
    # Users without an item to rank are left out and never scored.
    relevant = csr_array(
        (np.ones(items.size), items, ends), shape=(split.held_out.size, split.item_ids.size)
    )
    return rank(
        score,
        split.seen,
        relevant,
        block_size=block_size,
        users=split.evaluated_ids,
        items=split.item_ids,
    )


def gather_ranks(paths: Sequence[Path], split: Split) -> Ranks:
    """Concatenate the ranks of all pieces, of one source and with the split's users in order."""
    pieces: list[Ranks] = []
    for number, path in enumerate(paths, start=1):
        users = Piece(number, len(paths)).of(split.held_out.size)
        if not users:  # more pieces than users: the file has no rows
            continue
        ranks = read_single(path)
        wanted = split.user_ids[users.start : users.stop]
        if ranks.users is None or not np.array_equal(ranks.users, wanted):
            expected = f"{users.start + 1} to {users.stop} of the split, in order"
            raise InputError(f"users are not number {expected}", path=path)
        if pieces and ranks.source != pieces[0].source:
            sources = f"{pieces[0].source!r} and {ranks.source!r}"
            raise InputError(f"pieces of ranks differ in source: {sources}", path=path)
        pieces.append(ranks)
    if not pieces:
        raise InputError("no pieces of ranks to gather")
    return Ranks.concat(pieces)
