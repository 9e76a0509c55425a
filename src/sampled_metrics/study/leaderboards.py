"""The recommenders of a study's leaderboard, with those whose ranks are kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sampled_metrics.ranks import Ranks
from sampled_metrics.study.config import KEPT
from sampled_metrics.study.reading import read_by_name

OF_PAPER = {"X": "ALS 16 (X)", "Y": "item-kNN, all (Y)", "Z": "item-kNN, 10 (Z)"}


def contenders(own: Mapping[str, Ranks], kept: Sequence[Path], is_paper: bool) -> dict[str, Ranks]:
    """Name recommenders for a board, and add kept ones of the same users and candidates.

    Kept ranks have running numbers instead of ids of users, so users are paired by row.
    """
    found = {}
    for name, ranks in own.items():
        found[OF_PAPER.get(name, name) if is_paper else name] = ranks
    first = next(iter(own.values()))
    titles = {Path(name).name: title for name, title in KEPT.items()}
    for name, ranks in read_by_name(kept).items():
        if np.array_equal(ranks.n_candidates, first.n_candidates):
            found[titles[name]] = ranks
    source = "by row"
    return {
        name: ranks.replace(users=np.arange(len(ranks)), source=source)
        for name, ranks in found.items()
    }
