"""Questions about the scores that a recommender gives on a budget."""

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.asking import ask
from sampled_metrics._base.errors import reading
from sampled_metrics.budget.state import Scored
from sampled_metrics.budget.strata import Counts

_MANY = 50  # held-out items, whose mean place tells a random order from a poor one
_POOR = 0.55  # mean share below
_TOP = 0.9  # share below near the top
_AT_TOP = 0.3  # share of rows there
_SCORED_AGAIN = 8  # pairs of each recommender that a folder has scores of
_CLOSE = 1e-3  # relative, and of the standard deviation of scores, that no training explains


def question_scores(name: str, counts: Counts) -> None:
    """Ask about scores that are all equal, or in random or reversed order."""
    asked = counts.m[counts.frame.owner]
    if len(asked) < _MANY:
        return
    with reading(name) if name else nullcontext():
        is_equal = counts.tied.sum(axis=1) == asked.sum(axis=1)
        n_equal = int(np.count_nonzero(is_equal))
        if 2 * n_equal >= len(asked):
            ask(
                "recommender",
                f"all scores of {n_equal:,} of {len(asked):,} held-out items and their candidates "
                "are equal: are these scores?",
            )
            return
        n_candidates = counts.frame.n[counts.frame.owner]
        candidates = np.where(asked > 0, n_candidates, 0)
        share = counts.expected_better / np.maximum(asked, 1)
        n_better = (share * candidates).sum(axis=1)
        below = 1.0 - n_better / candidates.sum(axis=1)
        if below.mean() < _POOR and (below >= _TOP).mean() < _AT_TOP:
            ask(
                "recommender",
                f"held-out items are above about {below.mean():.0%} of their candidates, 50 % in a "
                "random order: are higher scores better, and are its arguments users, then items?",
            )


def question_stored(
    name: str, stored: Scored, score: Callable[[Int, Int], NDArray[np.floating]]
) -> None:
    """Ask whether the recommender is that of the stored scores, by some of its pairs again."""
    spread = np.linspace(0, stored.scores.size - 1, _SCORED_AGAIN)
    some = np.unique(spread.astype(int))
    now = score(stored.pairs.users[some], stored.pairs.items[some])
    before = stored.scores[some]
    finite = stored.scores[np.isfinite(stored.scores)]
    margin = _CLOSE * (finite.std() if finite.size else 0.0)
    differ = ~np.isclose(now, before, rtol=_CLOSE, atol=margin)
    if differ.any():
        with reading(name) if name else nullcontext():
            ask(
                "state",
                f"{differ.sum()} of {differ.size} pairs have another score now than in the folder: "
                "was the recommender trained again? Its old scores are used; name a new folder",
            )
