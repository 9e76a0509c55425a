"""Questions about valid data that chance alone would hardly give."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.asking import ask

_MANY = 50  # users
_LEAST_BY_CHANCE = 8.0  # relevant items in lists, from which on more than these would be found


def question_lists(length: Int, n_relevant: Int, n_found: int, n_items: int) -> None:
    """Ask about cut lists that hold every relevant item, or no more of them than by chance.

    There are `n_items` items at least, and a length and relevant items of each user.
    """
    longest = int(length.max(initial=0))
    if length.size < _MANY or 2 * longest >= n_items:
        return
    expected = float((length * n_relevant).sum()) / n_items
    if n_found == n_relevant.sum():
        ask(
            "data",
            f"lists of {longest} or fewer of {n_items:,} items hold every relevant item of "
            f"{length.size:,} users: were users without a hit left out, or are these sampled "
            "candidates? `correct` takes those",
        )
    elif expected >= _LEAST_BY_CHANCE and n_found <= expected + 2.0 * np.sqrt(expected):
        ask(
            "relevant",
            f"lists hold {n_found:,} of {n_relevant.sum():,} relevant items, and {expected:.0f} by "
            "chance: are ids of items the same in both?",
        )


def question_column(scores: NDArray[np.floating], own: NDArray[np.floating], column: int) -> None:
    """Ask whether a column is padding, as it has one score for all users and no other column has.

    `own` are the scores of held-out items.
    """
    if len(scores) < _MANY:
        return
    first = scores[0, column]
    if not np.isfinite(first) or (scores[:, column] != first).any():
        return
    share = float((own <= first).mean())
    n_constant = int(np.count_nonzero((scores == scores[0]).all(axis=0)))
    if share > 0.1 and n_constant == 1:
        ask(
            "data",
            f"column {column} has the same score for all users, {first:g}, which {share:.0%} of "
            "held-out items are not above: is it padding? Leave it out, or give it as seen",
        )
