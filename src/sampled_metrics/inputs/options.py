"""What the caller knows of full rankings and of sampled ranks, beside the data."""

from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError, flag

# Options allowed beside each kind of input; those that are numbers must agree with the input.
_ALLOWED = {
    "Ranks": ("min_relevance",),
    "ranks": ("n_items", "min_relevance"),
    "scores": ("n_items", "relevant", "seen", "min_relevance"),
    "lists": ("n_items", "relevant", "seen", "complete", "min_relevance"),
}


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
    complete
        Whether lists hold all candidates of their users, whose number they then give.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG; 0 for any above 0.
    """

    n_items: int | None = None
    relevant: Any = None
    seen: Any = None
    complete: bool = False
    min_relevance: float = 0.0

    def check(self, kind: str, path: Path | None = None) -> None:
        """Raise InputError for an option that `kind` of input does not allow."""
        for name, value in self._asdict().items():
            is_set = value is not None if name in {"n_items", "relevant", "seen"} else value
            if name in _ALLOWED.get(kind, ("n_items", "relevant")) or not is_set:
                continue
            kinds = [other for other, allowed in _ALLOWED.items() if name in allowed]
            needed = f"{name} ({flag(name)}) needs {' or '.join(kinds)}"
            raise InputError(f"{needed}, found {kind}", path=path)


class Drawn(NamedTuple):
    """What the caller knows of sampled ranks; None is left to what is read.

    Attributes
    ----------
    n_items
        n: candidates of a full ranking, the held-out item included.
    n_negatives, sampling
        m, and how the negatives were drawn.
    positive
        Column of the held-out items in a matrix of scores, from 0 or from -1 backwards; one for
        all, or one per user.
    relevant
        Held-out items of tables or runs that do not mark them.
    ties, seed
        Place among negatives with the same score: `random`, drawn with `seed`, `optimistic` or
        `pessimistic`.
    """

    n_items: ArrayLike | None = None
    n_negatives: int | Int | None = None
    sampling: str | None = None
    positive: ArrayLike | None = None
    relevant: Any = None
    ties: str = "random"
    seed: int = 0

    def refuse(self, kind: str, *names: str) -> None:
        """Raise InputError for options that do not apply to a kind of input."""
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(f"found {kind}; leave {name} ({flag(name)}) out")
