"""Cutting a step into pieces that run apart, and gathering what they leave behind.

Users and repetitions do not know of each other, so cutting them changes no number: what is
gathered equals what one step makes, byte for byte.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks.ranking import BLOCK_SIZE, Scores, rank_held_out
from sampled_metrics.ranks.records import COLUMNS, Ranks, read_ranks


@dataclass(frozen=True)
class Piece:
    """One of several pieces, nearly equal in size.

    Attributes
    ----------
    number
        Which of them, from 1.
    count
        How many there are; more than there is to cut leaves some of them empty.

    Raises
    ------
    InputError
        There is no such piece.

    >>> [list(Piece(number, 3).of(7)) for number in (1, 2, 3)]
    [[0, 1], [2, 3], [4, 5, 6]]
    """

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"piece {self}; allowed: from 1-of-{self.count} to the last")

    def __str__(self) -> str:
        return f"{self.number}-of-{self.count}"

    def of(self, size: int) -> range:
        """Return the running numbers, of `size`, that are in this piece."""
        first, end = (size * number // self.count for number in (self.number - 1, self.number))
        return range(first, end)


def parse_piece(text: str) -> Piece:
    """Read a piece written like `2-of-3`.

    Raises
    ------
    InputError
        It is not written so, or there is no such piece.

    >>> parse_piece("2-of-3")
    Piece(number=2, count=3)
    """
    found = re.fullmatch(r"([1-9][0-9]*)-of-([1-9][0-9]*)", text)
    if found is None:
        raise InputError(f"piece {text!r}; allowed: one like 2-of-3")
    return Piece(*map(int, found.groups()))


def rank_piece(
    score_block: Callable[[Int], Scores],
    split: Split,
    piece: Piece,
    block_size: int = BLOCK_SIZE,
) -> Ranks:
    """Rank the held-out items of the users in a piece.

    Parameters
    ----------
    score_block
        Scores of all items for some users, by their numbers in the whole split; see
        `rank_held_out`, whose errors these are.
    split
        Of all users; those of the piece are `piece.of(users)`.
    """
    users = piece.of(split.held_out.size)
    rows = slice(users.start, users.stop)

    def of_piece(within: Int) -> Scores:
        numbers = within + users.start
        try:
            return score_block(numbers)
        except IndexError as error:
            raise InputError(f"the recommender knows fewer than {numbers[-1] + 1} users") from error

    return rank_held_out(
        of_piece,
        # a piece of everything needs no copy
        split.train if len(users) == split.held_out.size else split.train[rows],
        split.held_out[rows],
        block_size=block_size,
        user_ids=split.user_ids[rows],
        item_ids=split.item_ids,
    )


def gather_ranks(paths: Sequence[Path], split: Split) -> tuple[Ranks, str]:
    """Put the rank records of all pieces, in their order, behind one another.

    Returns
    -------
    Ranks, str
        Of every user of the split, and the words on where they come from.

    Raises
    ------
    InputError
        A file holds no rank records, they come from different places, or together they are not
        those of the users of the split in its order.
    """
    if not paths:
        raise InputError("no piece of rank records; allowed: all of them")
    pieces = [read_ranks(path) for path in paths]
    sources = list(dict.fromkeys(source for _, _, source in pieces))
    if len(sources) > 1:
        raise InputError(f"pieces of rank records differ: {sources[0]!r} and {sources[1]!r}")
    _check_users(paths, [user for _, user, _ in pieces], split)
    columns = (
        np.concatenate([getattr(records, column) for records, _, _ in pieces]) for column in COLUMNS
    )
    return Ranks(*columns), sources[0]


def _check_users(paths: Sequence[Path], pieces: Sequence[Ids], split: Split) -> None:
    """Raise InputError unless the pieces hold the users of the split, one after the other."""
    first = 0
    for path, users in zip(paths, pieces, strict=True):
        expected = split.user_ids[first : first + users.size]
        if not np.array_equal(users, expected):
            differing = np.flatnonzero(users[: expected.size] != expected)
            place = int(differing[0]) if differing.size else expected.size
            wanted = f"user {expected[place]}" if place < expected.size else "no more users"
            raise InputError(f"{path}: user {users[place]} in row {place}; expected {wanted}")
        first += users.size
    if first != split.user_ids.size:
        raise InputError(
            f"{paths[-1]}: ends with user {first} of {split.user_ids.size}; expected all of them"
        )
