"""The same random order of each user's candidates for all recommenders."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.sampling.adaptive import Adaptive, next_size
from sampled_metrics.study.beyond.outcomes import BETTER, EQUAL, SEEN, WORSE, Codes

_ENTRIES = 1 << 22  # of a block of users
MOST = 31  # recommenders, two bits each


class SharedOrder:
    """Random orders of the candidates of some users.

    Parameters
    ----------
    packed
        Outcomes from `pack`.
    rng
        Source of the orders.

    Attributes
    ----------
    drawn
        Number of candidates up to each place, shape (users, items).
    place
        Where the held-out item comes among ties, from 0 to 1; shape (users,).
    """

    def __init__(self, packed: NDArray[Any], rng: np.random.Generator) -> None:
        self._packed = rng.permuted(packed, axis=1)
        self.place = rng.random(len(packed))
        self.drawn: NDArray[np.int32] = np.cumsum(self._packed >= 0, axis=1, dtype=np.int32)

    def sampled(self, recommender: int, m: Int, rows: Int) -> Int:
        """Sampled ranks - 1 of some users among their first m candidates, m of each user."""
        last = m[:, np.newaxis]
        drawn = self.drawn[rows]
        columns = int((drawn < last).sum(axis=1).max()) + 1
        drawn, packed = drawn[:, :columns], self._packed[rows, :columns]
        codes = np.where((packed >= 0) & (drawn <= last), (packed >> (2 * recommender)) & 3, WORSE)
        better = np.count_nonzero(codes == BETTER, axis=1)
        tied = np.count_nonzero(codes == EQUAL, axis=1)
        return better + (self.place[rows] * (tied + 1)).astype(np.int64)

    def adaptive(self, recommender: int, start: int, largest: int) -> Adaptive:
        """Double the negatives until one is above or there are no more, at most `largest`."""
        most = np.minimum(self.drawn[:, -1], largest)
        rows = np.arange(most.size)
        drawn = np.minimum(start, most)
        above = self.sampled(recommender, drawn, rows)
        while (rows := np.flatnonzero((above == 0) & (drawn < most))).size:
            drawn[rows] = next_size(drawn[rows], most[rows])
            above[rows] = self.sampled(recommender, drawn[rows], rows)
        return Adaptive(drawn, above)


def shared_orders(packed: NDArray[Any], rng: np.random.Generator) -> Iterator[SharedOrder]:
    """Draw orders for blocks of users."""
    for rows in blocks(len(packed), packed.shape[1], _ENTRIES):
        yield SharedOrder(packed[rows], rng)


def pack(codes: Sequence[Codes], held_out: Int) -> NDArray[Any]:
    """Pack the outcomes of all recommenders into one number per item, -1 if not a candidate."""
    if len(codes) > MOST:
        raise InputError(f"{len(codes)} recommenders; at most {MOST} share their negatives")
    kind = np.int16 if len(codes) <= 7 else np.int32 if len(codes) <= 15 else np.int64
    packed = np.zeros(codes[0].shape, kind)
    for number, of_recommender in enumerate(codes):
        packed |= np.left_shift(of_recommender, 2 * number, dtype=kind)
    packed[codes[0] == SEEN] = -1
    packed[np.arange(held_out.size), held_out] = -1
    return packed
