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
    drawn = rng.permutation(rng.choice(n_items - excluded.size, m, replace=False))
    # `drawn` are positions among the candidates. The item there has as many excluded items before
    # it as have at most that many candidates before them.
    candidates_before_excluded = excluded - np.arange(excluded.size)
    return drawn + np.searchsorted(candidates_before_excluded, drawn, side="right")


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
        # Items that the user cannot draw, or has drawn. All False between two calls: to set it up
        # for each user would take a time that depends on the number of items.
        self._is_taken = np.zeros(popularity.size, dtype=bool)

    def draw(self, rng: np.random.Generator, excluded: Int, m: int) -> Int:
        """Draw m different items for one user, in random order.

        `excluded` items, in ascending order, are not drawn.
        """
        n_by_popularity = m if self._design is Design.POPULARITY else m // 2
        drawn = self._draw_by_popularity(rng, excluded, n_by_popularity)
        n_uniform = m - n_by_popularity
        if n_uniform:
            unavailable = np.sort(np.concatenate([excluded, drawn]))
            others = draw_uniform(rng, self._popularity.size, unavailable, n_uniform)
            drawn = np.concatenate([drawn, others])
        return rng.permutation(drawn)

    def _draw_by_popularity(self, rng: np.random.Generator, excluded: Int, m: int) -> Int:
        """Draw m different items that are not excluded, with probabilities proportional to counts.

        Some rounds draw from all items, and keep those that are new. What is missing after these is
        drawn by a race of the items left.
        """
        taken = self._is_taken
        taken[excluded] = True
        drawn = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            n_left = m - drawn.size
            if not n_left:
                break
            new = self._propose(rng, _PROPOSALS * m, taken)[:n_left]
            taken[new] = True
            drawn = np.concatenate([drawn, new])
        if drawn.size < m:
            winners = self._race(rng, m - drawn.size, taken)
            drawn = np.concatenate([drawn, winners])
        taken[excluded] = False
        taken[drawn] = False
        return drawn

    def _propose(self, rng: np.random.Generator, n_draws: int, taken: Bool) -> Int:
        """Draw from all items with replacement; return those not taken, in the order drawn."""
        threshold = rng.random(n_draws) * self._cumulative[-1]
        items = np.searchsorted(self._cumulative, threshold, side="right")
        available = items[~taken[items]]
        _, first_draw = np.unique(available, return_index=True)
        return available[np.sort(first_draw)]

    def _race(self, rng: np.random.Generator, m: int, taken: Bool) -> Int:
        """Return the first m items of a race of those not taken, in no particular order."""
        items = np.flatnonzero(~taken)
        time = rng.standard_exponential(items.size) / self._popularity[items]
        return items[np.argpartition(time, m - 1)[:m]]
