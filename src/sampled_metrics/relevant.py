"""Several relevant items a user: where they stand in the ranking (section 3, eq. 2-6).

The same three integers as a rank record, once for every relevant item: candidates, those
strictly better, those tied, other relevant items among them. A ranking may be known only down
to some depth, as a top-K list is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.errors import InputError
from sampled_metrics.ranks import Int, RankRecords


@dataclass(frozen=True)
class RelevantRanks:
    """Places of the relevant items of some users.

    Attributes
    ----------
    user
        Of every relevant item found, the index of its user in the arrays below; int64, shape
        (found,), not decreasing.
    n_better, n_tied
        Candidates scored strictly above it and other candidates with exactly its score, whether
        relevant or not; int64, shape (found,).
    n_relevant
        Relevant items |R| of each user, found or not; int64, shape (users,), at least 1.
    n_candidates
        Items ranked for each user, or 0 where that is not known; int64, shape (users,).
    depth
        Places known of each user's ranking: `n_candidates`, or K for a list of the top K; a
        relevant item not found stands somewhere below. int64, shape (users,).

    Raises
    ------
    InputError
        The arrays do not fit together.
    """

    user: Int
    n_better: Int
    n_tied: Int
    n_relevant: Int
    n_candidates: Int
    depth: Int

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.n_relevant.size

    @classmethod
    def from_records(cls, records: RankRecords) -> "RelevantRanks":
        """Take one relevant item a user, each fully ranked."""
        users = np.arange(len(records))
        one, n = np.ones_like(users), records.n_candidates
        return cls(users, records.n_better, records.n_tied, one, n, n)

    def records(self) -> RankRecords:
        """Return rank records, one a user.

        Raises
        ------
        InputError
            A user has several relevant items, or the whole ranking is not known.
        """
        several = self.n_relevant > 1
        if several.any():
            raise InputError(
                f"{int(several.sum())} users have several relevant items; allowed: one held-out "
                "item a user"
            )
        self._require_all(self.depth < np.maximum(self.n_candidates, 1))
        return RankRecords(self.n_candidates, self.n_better, self.n_tied)

    def _require_all(self, unknown: NDArray[np.bool_]) -> None:
        if unknown.any():
            raise InputError(
                f"the whole ranking is not known of {int(unknown.sum())} users (lists end at rank "
                f"{int(self.depth[unknown].min())}); allowed: full rankings"
            )
