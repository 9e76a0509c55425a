"""Full ranking: from a recommender's scores to rank records, block by block of users."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.split import Split
from sampled_metrics.errors import InputError
from sampled_metrics.ranks import RankRecords
from sampled_metrics.recommenders.base import Recommender

BLOCK_SIZE = 512


def rank_held_out(
    recommender: Recommender, split: Split, block_size: int = BLOCK_SIZE
) -> RankRecords:
    """Rank every user's held-out item among all items but the user's training items.

    Parameters
    ----------
    recommender
        Fitted on `split.train`.
    split
        Training data and held-out items.
    block_size
        Users scored at a time: memory is that many rows of float64 scores; the result is the
        same for any.

    Raises
    ------
    InputError
        A score is not finite, the message names the user and the item; or the recommender was
        trained on other users or items.
    """
    users = np.arange(split.held_out.size)
    counts = np.empty((3, users.size), dtype=np.int64)
    for first in range(0, users.size, block_size):
        block = users[first : first + block_size]
        scores = _scores(recommender, block, split)
        _require_finite(scores, block, split)
        counts[:, block] = _count(scores, block, split)
    return RankRecords(*counts)


def _scores(
    recommender: Recommender, block: NDArray[np.int64], split: Split
) -> NDArray[np.float64]:
    expected = (block.size, split.item_ids.size)
    try:
        scores = recommender.score(block)
    except IndexError:
        raise InputError(f"the recommender knows fewer than {block[-1] + 1} users") from None
    if scores.shape != expected:
        raise InputError(f"the recommender gives scores of shape {scores.shape}, not {expected}")
    return scores


def _count(
    scores: NDArray[np.float64], block: NDArray[np.int64], split: Split
) -> tuple[NDArray[np.int64], ...]:
    """Candidates, those above and those tied, for a block of users; spoils the scores."""
    own = np.take_along_axis(scores, split.held_out[block, np.newaxis], axis=1)
    begin, end = split.train.indptr[block[0]], split.train.indptr[block[-1] + 1]
    seen = np.diff(split.train.indptr[block[0] : block[-1] + 2])
    scores[np.repeat(np.arange(block.size), seen), split.train.indices[begin:end]] = -np.inf
    n_better = np.count_nonzero(scores > own, axis=1)
    n_tied = np.count_nonzero(scores == own, axis=1) - 1
    return scores.shape[1] - seen, n_better, n_tied


def _require_finite(scores: NDArray[np.float64], block: NDArray[np.int64], split: Split) -> None:
    finite = np.isfinite(scores)
    if finite.all():
        return
    row, item = (int(place) for place in np.argwhere(~finite)[0])
    raise InputError(
        f"score of item {split.item_ids[item]} for user {split.user_ids[block[row]]} is "
        f"{scores[row, item]}; expected a finite number"
    )
