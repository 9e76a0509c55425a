"""Ranks of relevant items in full rankings, as counts of better and tied candidates.

Exact metrics under any tie policy and the distribution of sampled ranks follow from them, without a
model or scores.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Ids, Int, ranges, starts
from sampled_metrics.ranks import grades as graded
from sampled_metrics.ranks.checks import (
    check_counts,
    count_column,
    id_column,
    not_single,
    require,
    require_lengths,
    require_unique,
)

COLUMNS = ("n_candidates", "n_better", "n_tied")


@dataclass(frozen=True, eq=False, init=False)
class Ranks:
    """Where the relevant items of some users are in their rankings.

    `Ranks(n_candidates, n_better, n_tied)` with arrays of one length holds one held-out item per
    user, fully ranked. The other arguments are for several relevant items per user, and for
    rankings that are known down to some depth only, as a list of the top K is.

    Attributes
    ----------
    n_candidates
        Items ranked for each user, the relevant ones included, or 0 where that is not known;
        int64, shape (users,).
    n_better, n_tied
        For each relevant item found: candidates scored strictly above it, and other candidates
        with exactly its score, relevant or not. Items of one user follow each other, best first;
        int64, shape (items found,).
    n_found
        Relevant items found for each user; default 1. int64, shape (users,).
    n_relevant
        Relevant items of each user, found or not; default `n_found`. int64, shape (users,).
    depth
        Places known of each user's ranking: `n_candidates`, the default, or K for a list of the
        top K; a relevant item not found is below. int64, shape (users,).
    grades
        Grade of each relevant item: for each user those found, in order, then the others. float64
        above 0, shape (sum of n_relevant,). None if items are relevant or not.
    min_grade
        Least grade that makes an item relevant for metrics that ignore grades.
    users
        Ids of the users, integers or text, each once; shape (users,). None if not known.
    source
        Words on where the ranks come from; everything made from them repeats it.

    Examples
    --------
    >>> ranks = Ranks([5, 5], [0, 2], [1, 0], users=["anna", "bert"])
    >>> ranks.best_rank, ranks.worst_rank
    (array([1, 3]), array([2, 3]))

    Two of three relevant items in a list of the top 10:

    >>> Ranks([0], [1, 5], [0, 0], n_found=[2], n_relevant=[3], depth=[10]).n_found
    array([2])
    """

    n_candidates: Int
    n_better: Int
    n_tied: Int
    n_found: Int = field(repr=False)
    n_relevant: Int = field(repr=False)
    depth: Int = field(repr=False)
    grades: Float | None = field(repr=False)
    min_grade: float = field(repr=False)
    users: Ids | None = field(repr=False)
    source: str = field(repr=False)

    def __init__(
        self,
        n_candidates: ArrayLike,
        n_better: ArrayLike,
        n_tied: ArrayLike,
        *,
        n_found: ArrayLike | None = None,
        n_relevant: ArrayLike | None = None,
        depth: ArrayLike | None = None,
        grades: ArrayLike | None = None,
        min_grade: float = 0.0,
        users: ArrayLike | None = None,
        source: str = "unknown",
    ) -> None:
        columns: dict[str, ArrayLike | None]
        columns = {"n_candidates": n_candidates, "n_better": n_better, "n_tied": n_tied}
        columns |= {"n_found": n_found, "n_relevant": n_relevant, "depth": depth}
        counts = {
            name: count_column(name, values)
            for name, values in columns.items()
            if values is not None
        }
        n = counts["n_candidates"]
        if n_found is None:
            require_lengths(**counts)
        if len(counts) == len(COLUMNS):
            require("n_candidates", n, n >= 2, "at least 2")
        counts.setdefault("n_found", np.ones_like(n))
        counts.setdefault("n_relevant", counts["n_found"])
        counts.setdefault("depth", n)
        given_order = counts["n_better"]
        counts |= check_counts(**counts)
        if grades is not None:
            grades = graded.check_grades(grades, min_grade, given_order, counts)
        ids = None if users is None else id_column("users", users, n.size)
        if ids is not None:
            require_unique("user_id", ids)
        self.__dict__.update(counts, grades=grades, min_grade=min_grade, users=ids, source=source)

    @classmethod
    def trusted(cls, n_candidates: Int, n_better: Int, n_tied: Int, **others: Any) -> Self:
        """Make ranks without checking them; only for counts that are valid by construction.

        Arguments are those of the constructor, with each user's items best first.
        """
        made = object.__new__(cls)
        n_found = others.setdefault("n_found", np.ones_like(n_candidates))
        defaults = {"n_relevant": n_found, "depth": n_candidates, "grades": None, "users": None}
        made.__dict__.update(defaults, min_grade=0.0, source="unknown")
        made.__dict__.update(others, n_candidates=n_candidates, n_better=n_better, n_tied=n_tied)
        return made

    def __len__(self) -> int:
        """Return the number of users."""
        return self.n_candidates.size

    @property
    def best_rank(self) -> Int:
        """Rank of each item found if every tie falls in its favour: n_better + 1."""
        return self.n_better + 1

    @property
    def worst_rank(self) -> Int:
        """Rank of each item found if every tie falls against it: n_better + n_tied + 1."""
        return self.n_better + self.n_tied + 1

    @property
    def mean_candidates(self) -> int:
        """Mean number of candidates over users, rounded; 0 if one of them is not known."""
        n = self.n_candidates
        return round(float(n.mean())) if n.size and n.all() else 0

    @cached_property
    def is_complete(self) -> bool:
        """Whether every relevant item is found in a ranking of known length."""
        whole = (self.n_candidates > 0) & (self.depth == self.n_candidates)
        return bool((whole & (self.n_found == self.n_relevant)).all())

    @cached_property
    def is_single(self) -> bool:
        """Whether each user has one relevant item, fully ranked among at least two candidates."""
        one = (self.n_relevant == 1) & (self.n_candidates > 1)
        return self.is_complete and bool(one.all())

    @cached_property
    def ungraded(self) -> Self:
        """The same rankings without grades, items of at least `min_grade` being relevant."""
        if self.grades is None:
            return self
        kept: dict[str, Any] = {"users": self.users, "source": self.source, "depth": self.depth}
        return self.trusted(self.n_candidates, **graded.without_grades(self), **kept)

    def single(self) -> Self:
        """Return the ranks if each user has one held-out item, fully ranked, else InputError."""
        if self.is_single:
            return self
        raise not_single(self)

    def take(self, rows: Int | NDArray[np.bool_] | slice) -> Self:
        """Return the ranks of some users, selected as an array's elements are."""
        users = np.arange(len(self))[rows]
        n_found = self.n_found[users]
        items = ranges(starts(self.n_found)[users], n_found)
        return self.trusted(
            self.n_candidates[users],
            self.n_better[items],
            self.n_tied[items],
            n_found=n_found,
            n_relevant=self.n_relevant[users],
            depth=self.depth[users],
            grades=graded.of_users(self, users),
            min_grade=self.min_grade,
            users=None if self.users is None else self.users[users],
            source=self.source,
        )

    def replace(self, *, users: Ids | None = None, source: str | None = None) -> Self:
        """Return the same ranks with other ids of the users, each once, or another source."""
        changed = copy(self)
        if users is not None:
            changed.__dict__["users"] = id_column("users", users, len(self))
        if source is not None:
            changed.__dict__["source"] = source
        return changed

    @classmethod
    def concat(cls, parts: Sequence["Ranks"]) -> Self:
        """Concatenate the users of several ranks in order.

        Ids are kept if all parts have them; a user in two parts raises InputError.
        """
        columns: dict[str, Any] = {
            name: np.concatenate([part.__dict__[name] for part in parts])
            for name in (*COLUMNS, "n_found", "n_relevant", "depth")
        }
        ids: list[Any] = [part.users for part in parts if part.users is not None]
        users: Any = np.concatenate(ids) if len(ids) == len(parts) else None
        if users is not None:
            require_unique("user_id", users)
        source = "; ".join(dict.fromkeys(part.source for part in parts))
        return cls.trusted(**columns, **graded.joined(parts), users=users, source=source)

    @classmethod
    def read(
        cls,
        path: Path | str,
        *,
        n_items: int | None = None,
        relevant: Path | None = None,
        seen: Path | None = None,
        min_grade: float = 0.0,
        complete: bool = False,
    ) -> "Ranks":
        """Read ranks, lists or scores.

        `sampled_metrics.ranks.reading.read_ranks` has the kinds of files, and
        `sampled_metrics.ranks.options.Ranked` the options.
        """
        from sampled_metrics.ranks.options import Ranked
        from sampled_metrics.ranks.reading import read_ranks

        return read_ranks(Path(path), Ranked(n_items, relevant, seen, min_grade, complete))

    def write(self, path: Path | str, *, items: Ids | None = None) -> None:
        """Write as parquet; see `sampled_metrics.ranks.rank_tables.write_ranks`."""
        from sampled_metrics.ranks.rank_tables import write_ranks

        write_ranks(self, Path(path), items)
