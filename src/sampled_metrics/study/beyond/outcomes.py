"""Outcomes: whether each item is better than the held-out item of each user, by one recommender.

No method asks more of scores than that, so a byte per user and item stands for them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_array, replacing
from sampled_metrics.datasets.split import Split
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks

WORSE, EQUAL, BETTER, SEEN = range(4)
Codes = NDArray[np.int8]


def outcomes(score: Callable[[Int], NDArray[Any]], split: Split) -> Codes:
    """Compare all items with each user's held-out item; int8, shape (users, items).

    A larger code is a better item. Items seen in training are `SEEN`, the held-out item is
    `EQUAL`.
    """
    codes = np.empty(split.seen.shape, np.int8)
    users = np.arange(split.held_out.size)
    for rows in blocks(users.size, split.item_ids.size):
        scores = score(users[rows])
        own = scores[np.arange(len(scores)), split.held_out[rows], np.newaxis]
        codes[rows] = (scores >= own).astype(np.int8) + (scores > own)
        seen = split.train[rows]
        codes[rows][np.repeat(np.arange(len(scores)), np.diff(seen.indptr)), seen.indices] = SEEN
    return codes


class Compared(NamedTuple):
    """Outcomes of several recommenders on the same users."""

    names: tuple[str, ...]
    codes: tuple[Codes, ...]
    """Recommenders and their outcomes."""
    ranks: tuple[Ranks, ...]
    """Their full rankings."""
    measures: tuple[Measure, ...]
    """Metrics."""
    exact: Float
    """Exact metrics of each user, ties in expectation; (recommenders, measures, users)."""

    @classmethod
    def of(cls, codes: Mapping[str, Codes], measures: Sequence[Measure]) -> "Compared":
        """Rank fully by outcomes."""
        ranks = [_ranks(one) for one in codes.values()]
        exact = [[values(measure, one) for measure in measures] for one in ranks]
        return cls(
            tuple(codes), tuple(codes.values()), tuple(ranks), tuple(measures), np.array(exact)
        )

    @property
    def n_items(self) -> int:
        """Mean number of candidates, the held-out item included, rounded."""
        return self.ranks[0].mean_candidates


def _ranks(codes: Codes) -> Ranks:
    better, equal, seen = (
        np.count_nonzero(codes == code, axis=1) for code in (BETTER, EQUAL, SEEN)
    )
    return Ranks(codes.shape[1] - seen, better, equal - 1)


def save_outcomes(path: Path, codes: Codes) -> None:
    """Write outcomes as `.npy`."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, codes, allow_pickle=False)


def load_outcomes(paths: Sequence[Path], split: Split) -> dict[str, Codes]:
    """Read outcomes by recommender, the stem of the file."""
    codes = {path.stem: read_array(path, "outcomes") for path in paths}
    for path in paths:
        if codes[path.stem].shape != split.seen.shape:
            raise InputError("outcomes of other users or items than the split has", path=path)
    return codes
