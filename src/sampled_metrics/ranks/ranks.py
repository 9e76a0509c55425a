"""Ranks of relevant items in full rankings, as counts of better and tied candidates.

Exact metrics under any tie policy and the distribution of sampled ranks follow from them, without a
model or scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, path_of
from sampled_metrics._base.arrays import (
    Array,
    Float,
    Ids,
    Int,
    Rows,
    array_of,
    id_column,
    integers,
    ranges,
    require,
    require_unique,
    select_rows,
    short_repr,
    starts,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import OfUsers
from sampled_metrics.ranks.records import COLUMNS, write_columns

_OF_USERS = ("n_candidates", "n_found", "n_relevant", "depth")


@dataclass(frozen=True, eq=False)
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
    relevance
        Grade of each relevant item: for each user those found, in order, then the others. float64
        above 0, shape (sum of n_relevant,). None if items are relevant or not.
    users
        Ids of the users, integers or text, each once; shape (users,). None if not known.
    source
        Where the ranks come from; repeated in everything made from them.
    n_rows
        Rows of the matrix that `users` number, where it has no ids; 0 otherwise.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG; set by `at_least`.

    Examples
    --------
    >>> ranks = Ranks([5, 5], [0, 2], [1, 0], users=["anna", "bert"])
    >>> ranks.best_rank, ranks.worst_rank
    (array([1, 3]), array([2, 3]))

    Two of three relevant items in a list of the top 10:

    >>> Ranks([0], [1, 5], [0, 0], n_found=[2], n_relevant=[3], depth=[10]).n_found
    array([2])

    Grades 1 and 3 in the wrong order:

    >>> Ranks([9], [0, 1], [0, 0], n_found=[2], relevance=[1, 3]).relevance
    array([1., 3.])
    """

    n_candidates: Int
    n_better: Int
    n_tied: Int
    n_found: Int
    n_relevant: Int
    depth: Int
    relevance: Float | None
    users: Ids | None
    source: str
    n_rows: ClassVar[int] = 0
    min_relevance: ClassVar[float] = 0.0

    def __init__(
        self,
        n_candidates: ArrayLike,
        n_better: ArrayLike,
        n_tied: ArrayLike,
        *,
        n_found: ArrayLike | None = None,
        n_relevant: ArrayLike | None = None,
        depth: ArrayLike | None = None,
        relevance: ArrayLike | None = None,
        users: ArrayLike | None = None,
        source: str = "unknown",
    ) -> None:
        check_arguments(source=source)
        given: dict[str, Any] = {
            "n_candidates": n_candidates,
            "n_better": n_better,
            "n_tied": n_tied,
            "n_found": n_found,
            "n_relevant": n_relevant,
            "depth": depth,
        }
        counts = {
            name: integers(name, values, is_column=True)
            for name, values in given.items()
            if values is not None or name in COLUMNS
        }
        n = counts["n_candidates"]
        if n_found is None:
            _require_lengths(counts, *counts)
        if len(counts) == len(COLUMNS):
            require("n_candidates", n, n >= 2, "at least 2")
        counts.setdefault("n_found", np.ones_like(n))
        counts.setdefault("n_relevant", counts["n_found"])
        counts.setdefault("depth", n)
        order = _check_counts(counts)
        counts.update(n_better=counts["n_better"][order], n_tied=counts["n_tied"][order])
        _check_levels(counts)
        grades = None
        if relevance is not None:
            grades = _checked_relevance(relevance, counts, order)
        ids = None
        if users is not None:
            ids = id_column("users", users, n.size)
            require_unique("user_id", ids)
        self.__dict__.update(counts, relevance=grades, users=ids, source=source)

    @classmethod
    def trusted(cls, n_candidates: Int, n_better: Int, n_tied: Int, **others: Any) -> Self:
        """Make ranks without checking them; only for counts that are valid by construction.

        Arguments are those of the constructor, with each user's items best first.
        """
        made = object.__new__(cls)
        n_found = others.setdefault("n_found", np.ones_like(n_candidates))
        made.__dict__.update(
            n_candidates=n_candidates,
            n_better=n_better,
            n_tied=n_tied,
            n_relevant=n_found,
            depth=n_candidates,
            relevance=None,
            users=None,
            source="unknown",
        )
        made.__dict__.update(others)
        return made

    def _changed(self, **changes: Any) -> Self:
        """Return a copy with other fields, which are not checked."""
        changed = copy(self)
        for derived in ("is_complete", "is_single"):
            changed.__dict__.pop(derived, None)
        changed.__dict__.update(changes)
        return changed

    def __repr__(self) -> str:
        return short_repr(self, *COLUMNS)

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
        if n.size == 0 or not n.all():
            return 0
        return round(float(n.mean()))

    @cached_property
    def is_complete(self) -> bool:
        """Whether every relevant item is found in a ranking of known length."""
        whole = self.depth == self.n_candidates  # 0 if not known, where nothing is found
        return bool((whole & (self.n_found == self.n_relevant)).all())

    @cached_property
    def is_single(self) -> bool:
        """Whether each user has one relevant item, fully ranked among at least two candidates."""
        one = (self.n_relevant == 1) & (self.n_candidates > 1)
        return self.is_complete and bool(one.all())

    @property
    def binary(self) -> Self:
        """The same rankings without grades: items of at least `min_relevance` are relevant."""
        if self.relevance is None:
            return self
        relevant = self.relevance >= self.min_relevance
        user = np.repeat(np.arange(len(self)), self.n_relevant)
        found = ranges(starts(self.n_relevant), self.n_found)
        items = relevant[found]
        return self._changed(
            n_better=self.n_better[items],
            n_tied=self.n_tied[items],
            n_found=np.bincount(user[found][items], minlength=len(self)),
            n_relevant=np.bincount(user[relevant], minlength=len(self)),
            relevance=None,
            min_relevance=0.0,
        )

    def at_least(self, min_relevance: float) -> Self:
        """Take items of at least a grade as relevant, and leave out users who have none.

        NDCG takes all grades of the other users as gains, also lower ones.

        Examples
        --------
        >>> ranks = Ranks([9, 9], [0, 1, 4], [0, 0, 0], n_found=[2, 1], relevance=[1, 3, 2])
        >>> len(ranks.at_least(3)), ranks.at_least(3).binary.n_better
        (1, array([1]))
        """
        check_arguments(min_relevance=min_relevance)
        if self.relevance is None:
            if min_relevance <= 1.0:
                return self
            raise InputError(
                f"min_relevance (--min-relevance) is {min_relevance:g}, but there are no grades; "
                "expected a column relevance, qrels or a matrix with grades"
            )
        user = np.repeat(np.arange(len(self)), self.n_relevant)
        users = np.unique(user[self.relevance >= min_relevance])
        if not users.size:
            raise InputError(
                f"min_relevance (--min-relevance) is {min_relevance:g}, but the highest relevance "
                f"is {self.relevance.max(initial=0.0):g}"
            )
        return self.take(users)._changed(min_relevance=float(min_relevance))

    def single(self) -> Self:
        """Return the ranks if each user has one held-out item, fully ranked, else InputError."""
        if self.is_single:
            return self
        bad = (self.n_relevant != 1) | (self.n_candidates < 2) | (self.n_found != 1)
        bad |= self.depth < self.n_candidates
        first = int(np.argmax(bad))
        user = first + 1
        if self.users is not None:
            user = self.users[first]
        raise InputError(
            f"user {user} has {self.n_relevant[first]} relevant items and a list of "
            f"{self.depth[first]} places ({bad.sum()} such users); "
            "one held-out item each, fully ranked, is needed"
        )

    def take(self, rows: Rows) -> Self:
        """Return the ranks of some users, selected as an array's elements are."""
        users = np.arange(len(self))[rows]
        items = ranges(starts(self.n_found)[users], self.n_found[users])
        relevant = ranges(starts(self.n_relevant)[users], self.n_relevant[users])
        return self._changed(
            n_better=self.n_better[items],
            n_tied=self.n_tied[items],
            **{name: getattr(self, name)[users] for name in _OF_USERS},
            relevance=select_rows(self.relevance, relevant),
            users=select_rows(self.users, users),
        )

    def replace(self, *, source: str, users: Ids | None = None) -> Self:
        """Return the same ranks from another source, and with other ids of the users, each once."""
        check_arguments(source=source)
        if users is None:
            return self._changed(source=source)
        return self._changed(source=source, users=id_column("users", users, len(self)), n_rows=0)

    @classmethod
    def read(
        cls,
        path: Path | str,
        *,
        n_items: int | None = None,
        relevant: OfUsers | None = None,
        seen: OfUsers | None = None,
        min_relevance: float = 0.0,
        complete: bool = False,
    ) -> Ranks:
        """Read ranks, lists or scores; options are as for `evaluate`."""
        from sampled_metrics.inputs.full import as_ranks
        from sampled_metrics.inputs.options import Ranked

        return as_ranks(path_of(path), Ranked(n_items, relevant, seen, complete, min_relevance))

    def write(self, path: Path | str, *, items: Ids | None = None) -> None:
        """Write one row per relevant item as parquet: ids and grades, if any, and three counts.

        Integers are written as int32 if all of a column fit. `items` are the ids of the relevant
        items. Lists that are cut cannot be written. Grades are the column `relevance`.
        """
        if not self.is_complete:
            raise InputError("only full rankings can be written; these are cut at some depth")
        if items is not None:
            items = id_column("items", items, self.n_better.size)
        user = np.repeat(np.arange(len(self)), self.n_found)
        columns = {
            "user_id": select_rows(self.users, user),
            "item_id": items,
            "n_candidates": self.n_candidates[user],
            "n_better": self.n_better,
            "n_tied": self.n_tied,
            "relevance": self.relevance,
        }
        metadata = {b"source": self.source.encode()}
        if self.min_relevance > 0.0:
            metadata[b"min_relevance"] = repr(self.min_relevance).encode()
        narrow = {name: _narrowed(values) for name, values in columns.items()}
        write_columns(path_of(path), narrow, metadata)


def _narrowed(values: Array | None) -> Array | None:
    """Return integers as int32 if all of them fit."""
    if values is not None and values.dtype.kind in "iu":
        narrow = values.astype(np.int32)
        if (narrow == values).all():
            return narrow
    return values


def _require_lengths(counts: Mapping[str, Int], *names: str) -> None:
    if len({counts[name].size for name in names}) > 1:
        lengths = ", ".join(f"{name} {counts[name].size}" for name in names)
        raise InputError(f"columns differ in length: {lengths}")


def _check_counts(counts: Mapping[str, Int]) -> Int:
    """Raise InputError unless each count is possible; return the order of items, best first."""
    _require_lengths(counts, *_OF_USERS)
    _require_lengths(counts, "n_better", "n_tied")
    n, found, relevant, depth = (counts[name] for name in _OF_USERS)
    require("n_candidates", n, n >= 0, "at least 0 (0: not known)")
    require("n_relevant", relevant, relevant >= 1, "at least 1")
    require("n_found", found, (found >= 0) & (found <= relevant), "0 to n_relevant")
    known = n > 0
    require("depth", depth, (depth >= 0) & (~known | (depth <= n)), "0 to n_candidates")
    fits = ~known | (relevant - found <= n - depth)
    require("n_relevant", relevant, fits, "at most n_found and the candidates below depth")
    better = counts["n_better"]
    tied = counts["n_tied"]
    if better.size != found.sum():
        raise InputError(f"{better.size} ranks of items, but n_found is {found.sum()} in all")
    user = np.repeat(np.arange(found.size), found)
    above = (better >= 0) & (better < depth[user])
    require("n_better", better, above, "0 to less than its user's n_candidates or depth")
    fits = (tied >= 0) & (~known[user] | (better + tied < n[user]))
    require("n_tied", tied, fits, "at least 0, and n_better + n_tied below n_candidates")
    if (found == 1).all():
        return np.arange(user.size)
    return np.lexsort((better, user))


def _checked_relevance(relevance: ArrayLike, counts: Mapping[str, Int], order: Int) -> Float:
    """Raise InputError unless grades fit; return them with those of the items found in order."""
    n_relevant = counts["n_relevant"]
    grades = array_of("relevance", relevance, np.float64).copy()
    expected = (n_relevant.sum(),)
    if grades.shape != expected:
        raise InputError(f"relevance has shape {grades.shape}; expected {expected}")
    good = np.isfinite(grades) & (grades > 0.0)
    require("relevance", grades, good, "a finite number above 0")
    found = ranges(starts(n_relevant), counts["n_found"])
    grades[found] = grades[found][order]
    return grades


def _check_levels(counts: Mapping[str, Int]) -> None:
    """Raise InputError unless items of a user are tied or apart, at most n_tied + 1 tied."""
    better = counts["n_better"]
    tied = counts["n_tied"]
    user = np.repeat(np.arange(counts["n_found"].size), counts["n_found"])
    same = (np.diff(better) == 0) & (np.diff(tied) == 0)
    apart = (np.diff(user) > 0) | (np.diff(better) > tied[:-1])
    place = np.arange(user.size)
    before = np.maximum(place - tied - 1, 0)  # the item that is one too many, if it is tied
    crowded = (place > tied) & (user[before] == user) & (better[before] == better)
    crowded[1:] |= ~(same | apart)
    if crowded.any():
        row = int(np.argmax(crowded))
        raise InputError(
            f"user in row {user[row] + 1}: items with {better[row - 1]} better and {tied[row - 1]} "
            f"tied, {better[row]} better and {tied[row]} tied; ranks of two items overlap"
        )
