"""What ranks and scores from elsewhere share: the ids of a split and all of its candidates."""

from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.ranking import Score, Scores, rank
from sampled_metrics.tables.reading import naming


def id_column(ids: Ids) -> Any:
    """Ids as a column of pyarrow, int64 or text."""
    import pyarrow as pa

    return pa.array(ids, pa.string()) if ids.dtype.kind == "U" else pa.array(ids.astype(np.int64))


def require_all(path: Path, kind: str, there: Any, ids: Ids) -> None:
    """Raise InputError unless the file has every user or item of the split."""
    missing = np.flatnonzero(~there)
    if missing.size:
        raise InputError(
            f"{path}: {kind} {ids[missing[0]]} is missing; allowed: every {kind} of the split "
            f"({missing.size:,} of {ids.size:,} are missing)"
        )


def rank_complete(path: Path, score_block: Score, split: Split) -> Ranks:
    """Rank a split's held-out items by scores of all candidates; -inf where there is none.

    Raises
    ------
    InputError
        A candidate has no score: a partial list cannot give a rank. A score is NaN or +inf.
    """

    def checked(users: Int) -> Scores:
        scores = score_block(users)
        _require_scores(scores, users, split)
        return scores

    with naming(path):
        return rank(
            checked,
            split.train,
            split.held_out,
            users=split.user_ids,
            items=split.item_ids,
        )


def _require_scores(scores: Scores, users: Int, split: Split) -> None:
    absent = np.isneginf(scores)
    seen = split.train[users]
    absent[np.repeat(np.arange(users.size), np.diff(seen.indptr)), seen.indices] = False
    if absent.any():
        row = int(np.argmax(absent.any(axis=1)))
        items = np.flatnonzero(absent[row])
        candidates = scores.shape[1] - seen.indptr[row + 1] + seen.indptr[row]
        raise InputError(
            f"{items.size:,} of {candidates:,} candidates of user {split.user_ids[users[row]]} "
            f"have no score, the first is item {split.item_ids[items[0]]}; allowed: a score of "
            "every item that the user has not seen in training"
        )
