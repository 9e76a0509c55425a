"""Draws of one user's negatives: uniformly, by popularity, or half and half.

Draws by popularity are successive: each takes one of the items that are left, with a probability
proportional to its count. Two ways to draw them are combined:

- Draws from all items, of which excluded and repeated ones are dropped. They take a time that does
  not depend on the number of items, unless most of them are dropped.
- A race: item i finishes after a time with the exponential distribution of rate count_i, and the
  first ones win. Given the items drawn before, the race of the items left continues the draws.
"""

from __future__ import annotations

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics.ranks.sampling import Design

_PROPOSALS = 2  # draws from all items for each negative that is wanted
_ROUNDS = 4  # of draws from all items, before the race


def draw_uniform(rng: np.random.Generator, n_items: int, excluded: Int, m: int) -> Int:
    """Draw m different items uniformly, in random order.

    `excluded` items, in ascending order, are not drawn.

    Examples
    --------
    >>> draw_uniform(np.random.default_rng(0), 4, np.array([0, 2]), 2).tolist()
    [1, 3]
    """
    candidates = rng.permutation(rng.choice(n_items - excluded.size, m, replace=False))
    # The number of an item minus the number of excluded items before it is its place among the
    # candidates.
    candidates_before = excluded - np.arange(excluded.size)
    return candidates + np.searchsorted(candidates_before, candidates, side="right")


class DesignDraws:
    """Draws by a design that depends on the popularity of items.

    Parameters
    ----------
    popularity
        Counts of the items, above 0, shape (items,).
    design
        `popularity` or `half`.

    Examples
    --------
    >>> draws = DesignDraws(np.array([900.0, 1, 1, 900, 1]), Design.HALF)
    >>> draws.draw(np.random.default_rng(0), np.array([0]), 2).tolist()
    [3, 1]
    """

    def __init__(self, popularity: Float, design: Design) -> None:
        self._popularity = popularity
        self._cumulative = np.cumsum(popularity)
        self._design = design
        self._is_taken = np.zeros(popularity.size, dtype=bool)  # all False between two calls

    def draw(self, rng: np.random.Generator, excluded: Int, m: int) -> Int:
        """Draw m different items for one user, in random order.

        `excluded` items, in ascending order, are not drawn.
        """
        by_popularity = m if self._design is Design.POPULARITY else m // 2
        taken = self._is_taken
        taken[excluded] = True
        drawn = self._draw_by_popularity(rng, by_popularity, taken)
        taken[excluded] = False
        taken[drawn] = False
        if by_popularity < m:
            unavailable = np.sort(np.concatenate([excluded, drawn]))
            others = draw_uniform(rng, taken.size, unavailable, m - by_popularity)
            drawn = np.concatenate([drawn, others])
        return rng.permutation(drawn)

    def _draw_by_popularity(self, rng: np.random.Generator, m: int, taken: Bool) -> Int:
        """Draw m items that are not taken, and take them."""
        drawn = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            if drawn.size == m:
                return drawn
            threshold = rng.random(_PROPOSALS * m) * self._cumulative[-1]
            proposed = np.searchsorted(self._cumulative, threshold, side="right")
            proposed = proposed[~taken[proposed]]
            _, first = np.unique(proposed, return_index=True)
            new = proposed[np.sort(first)][: m - drawn.size]
            taken[new] = True
            drawn = np.concatenate([drawn, new])
        n_left = m - drawn.size
        if not n_left:
            return drawn
        items = np.flatnonzero(~taken)
        time = rng.standard_exponential(items.size) / self._popularity[items]
        winners = items[np.argpartition(time, n_left - 1)[:n_left]]
        taken[winners] = True
        return np.concatenate([drawn, winners])
