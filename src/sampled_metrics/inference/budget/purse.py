"""Money of an audit: scores that may still be asked, and whom they reach."""

import numpy as np

from sampled_metrics._base.arrays import Int


class Purse:
    """Scores left to ask; where they run out, the users last in the order are dropped.

    Attributes
    ----------
    left
        Scores that may still be asked.
    cut
        Place, in the order of the audit, of the first user that was dropped.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self.cut = np.iinfo(np.int64).max

    def allow(self, rank: Int, cost: Int) -> int:
        """Pay for as many of the first users as there is money for; return their number."""
        allowed = int(np.searchsorted(np.cumsum(cost), self.left, side="right"))
        allowed = min(allowed, int(np.searchsorted(rank, self.cut)))
        if allowed < rank.size:
            self.cut = min(self.cut, int(rank[allowed]))
        self.left -= int(cost[:allowed].sum())
        return allowed
