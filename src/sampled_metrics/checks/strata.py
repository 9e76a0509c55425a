"""Signs of a mistake in scores that were computed on a budget, and counted by strata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sampled_metrics._base.array_types import Float
from sampled_metrics.checks import Signs
from sampled_metrics.checks.metrics import Ends, are_most_tied

if TYPE_CHECKING:
    from sampled_metrics.budget.counts import StratumCounts

_MANY_ROWS = 50  # held-out rows: their mean place distinguishes a random order from a poor one
# A poor or reversed order: few held-out items are near the top, and on average they are hardly
# above half of their candidates (0.5 is a random order).
_RANDOM_SHARE_BELOW = 0.55
_TOP_SHARE_BELOW = 0.9
_LEAST_ROWS_AT_TOP = 0.3


def signs_of_changed_scores(n_changed: int, n_again: int) -> Signs:
    """Look for scores that changed when `n_again` pairs were scored again."""
    if n_changed:
        yield (
            "recommender",
            f"{n_changed} of {n_again} pairs have another score when scored again with other "
            "pairs: are scores normalised within a call, sorted, or random (dropout)? Return the "
            "score of each pair alone, in the order of the arguments",
        )


def signs_in_strata(counts: StratumCounts) -> Signs:
    """Look for scores that are all equal, or in random or reversed order."""
    user_of_row = counts.strata.user_of_row  # of each held-out item
    n_rows = len(user_of_row)
    if n_rows < _MANY_ROWS:
        return
    n_scored = counts.n_scored[user_of_row].sum(axis=1)  # in all strata
    is_tied_with_all = counts.n_tied == n_scored
    n_equal = np.count_nonzero(is_tied_with_all)
    if 2 * n_equal >= n_rows:
        yield (
            "recommender",
            f"all scores of {n_equal:,} of {n_rows:,} held-out items and their candidates "
            "are equal: are these scores?",
        )
        return
    shares_below = _shares_below(counts)
    mean_below = shares_below.mean()
    share_at_top = (shares_below >= _TOP_SHARE_BELOW).mean()
    if mean_below < _RANDOM_SHARE_BELOW and share_at_top < _LEAST_ROWS_AT_TOP:
        yield (
            "recommender",
            f"held-out items are above about {100.0 * mean_below:.0f} % of their candidates, "
            "50 % in a random order; check that higher scores are better, and that its arguments "
            "are users, then items",
        )


def _shares_below(counts: StratumCounts) -> Float:
    """Estimate the share of the candidates below each held-out item, shape (held-out rows,).

    In each stratum, scored candidates stand for all others: the share above is
    sum(share_better * n_candidates) / sum(n_candidates), sums over strata with scored candidates.
    """
    user_of_row = counts.strata.user_of_row
    n_scored = counts.n_scored[user_of_row]  # shape (held-out rows, strata)
    n_candidates = np.where(n_scored > 0, counts.strata.sizes[user_of_row], 0)
    share_better = counts.expected_better / np.maximum(n_scored, 1)
    n_better = (share_better * n_candidates).sum(axis=1)
    return np.asarray(1.0 - n_better / np.maximum(n_candidates.sum(axis=1), 1))


def signs_of_ties_in_strata(n_tied: int, n_rows: int, ends: Iterable[Ends]) -> Signs:
    """Look for ties of most held-out items, whose order changes metrics.

    `ends` of metrics are computed only if most items are tied.
    """
    if n_rows < _MANY_ROWS or not are_most_tied(n_tied, n_rows):
        return
    changed = [each.name for each in ends if each.differ]
    if changed:
        yield (
            "recommender",
            f"{n_tied:,} of {n_rows:,} held-out items have the same score as other candidates, and "
            "metrics depend on how these ties are broken (assumed at random): "
            f"{', '.join(changed)}; were scores rounded, or stored in low precision?",
        )
