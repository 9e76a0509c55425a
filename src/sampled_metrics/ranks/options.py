"""What a caller knows of rankings beside the data, as options of commands and functions."""

from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import integers, whole_number
from sampled_metrics._base.errors import InputError


class Ranked(NamedTuple):
    """What the caller knows of full rankings.

    Attributes
    ----------
    n_items
        Candidates of each ranking, if there is no column `n_candidates`.
    relevant
        Relevant items of lists and scores: for files and DataFrames a table of `user_id` and
        `item_id` or qrels, or for a matrix `.npy` with one column number per user; for arrays a
        column for each user, or a matrix, users x items; for a dictionary of lists a dictionary.
    seen
        Items that are no candidates, of lists and scores, likewise.
    min_grade
        Least grade, in qrels or a column `relevance`, that makes an item relevant; by default any
        above 0. NDCG takes all grades above 0 as gains. Users without a relevant item are left
        out.
    complete
        Whether lists hold all candidates of their users, whose number they then give.
    """

    n_items: int | None = None
    relevant: Any = None
    seen: Any = None
    min_grade: float = 0.0
    complete: bool = False


class Drawn(NamedTuple):
    """What the caller knows of sampled ranks; None is left to what is read.

    Attributes
    ----------
    n_items
        n: candidates of a full ranking, the held-out item included.
    n_negatives, sampling
        m, and how the negatives were drawn.
    positive
        Column of the held-out items in a matrix of scores.
    relevant
        Held-out items of tables or runs that do not mark them.
    ties, seed
        Place among negatives with the same score, see `candidates.of_matrix`.
    """

    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    positive: ArrayLike | None = None
    relevant: Any = None
    ties: str = "random"
    seed: int = 0

    @classmethod
    def of(cls, options: dict[str, Any]) -> Self:
        """Take options by name; an unknown one raises InputError."""
        unknown = sorted(set(options) - set(cls._fields))
        if unknown:
            raise InputError(f"unknown option {unknown[0]}; known: {', '.join(cls._fields)}")
        return cls(**options)

    def check(self) -> None:
        """Raise InputError for numbers that no sampled ranks have."""
        if self.n_negatives is not None:
            n = None if self.n_items is None else int(integers("n_items", self.n_items).min())
            require_more_items(n, self.n_negatives)


def require_more_items(n_items: int | None, n_negatives: int) -> None:
    """Raise InputError unless there is a negative, and n, where known, is larger than m."""
    if whole_number("n_negatives", n_negatives) < 1:
        raise InputError(f"n_negatives is {n_negatives}, expected at least 1")
    if n_items is not None and n_items <= n_negatives:
        raise InputError(f"n_items is {n_items}, expected more than n_negatives, {n_negatives}")
