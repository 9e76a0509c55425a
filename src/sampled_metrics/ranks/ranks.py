"""`Ranks`: counts of better and tied candidates for each relevant item, and their constructors.

Exact metrics under any tie policy and the distribution of sampled ranks follow from these counts,
without a model or scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import (
    ALL_CORES,
    check_arguments,
    to_path,
    wrong_type,
)
from sampled_metrics._base.array_types import Float, Ids, Int, ItemsByUser, RowSelection
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    run_starts,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.calls import place_of, public
from sampled_metrics._base.columns import (
    id_column,
    id_kind,
    integer_array,
    require_all,
)
from sampled_metrics._base.conversion import (
    as_array,
)
from sampled_metrics._base.defaults import BLOCK_SIZE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import SEPARATORS, write_columns
from sampled_metrics._base.records import set_fields, short_repr
from sampled_metrics._base.units import Units, check_ids
from sampled_metrics.ranks.checks import (
    COUNT_COLUMNS,
    USER_FIELDS,
    check_counts,
    check_levels,
    order_by_rank,
    ordered_grades,
)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ranks:
    """Ranks of relevant items, as counts of better and tied candidates.

    `Ranks(n_candidates, n_better, n_tied)` with arrays of the same length is one held-out item per
    user, fully ranked. The other arguments are for several relevant items per user, and for
    rankings that are known down to a depth only, such as lists of the top K.

    Attributes
    ----------
    n_candidates
        Items ranked for each user, including the relevant ones, or 0 if that is not known;
        int64, shape (users,).
    n_better, n_tied
        For each relevant item found: the number of candidates with a higher score, and of other
        candidates with the same score, relevant or not. Items of one user follow each other, best
        first; int64, shape (items found,).
    n_found
        Relevant items found for each user; default 1. int64, shape (users,).
    n_relevant
        Relevant items of each user, found or not; default `n_found`. int64, shape (users,).
    depth
        Number of ranks of each user's ranking that are known: `n_candidates`, the default, or K
        for a list of the top K. Relevant items that are not found are below. int64, shape (users,).
    relevance
        Grade of each relevant item: for each user the items found, in order, then the others.
        float64 above 0, shape (sum of n_relevant,). None if all relevant items count the same.
    users
        Ids of the users, integers or text, unique unless there are visits; shape (users,). None if
        not known.
    visits
        Ids of visits, such as sessions, if users have several: each row is then a visit with a
        ranking of its own. Metrics are means over visits, and their standard errors treat users as
        independent. None if each row is another user.
    source
        Where the ranks come from; passed on to ranks that are made from these.
    n_rows
        Number of rows of the matrix if `users` are its row numbers; 0 if they are ids.
    n_columns
        Number of columns of the scores that the ranks come from, or of item vectors; 0 if they come
        from elsewhere.
    min_relevance
        Least grade of a relevant item for metrics other than NDCG; set by `at_least`.
    n_missing
        Number of users with relevant items that are missing from their lists or scores and count
        as not found, see `from_lists` and `from_scores`.

    See Also
    --------
    rank : Ranks from scores, vectors or a function.
    evaluate : Metrics of ranks.

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
    visits: Ids | None
    source: str
    n_rows: int
    n_columns: int
    min_relevance: float
    n_missing: int

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
        visits: ArrayLike | None = None,
        source: str = "unknown",
        n_rows: int = 0,
        n_columns: int = 0,
        min_relevance: float = 0.0,
        n_missing: int = 0,
    ) -> None:
        # One held-out item per user, fully ranked, which then must have another candidate.
        is_plain = n_found is None and n_relevant is None and depth is None
        if n_found is None:
            n_found = np.ones_like(as_array(n_candidates, "n_candidates"))
        if n_relevant is None:
            n_relevant = n_found
        if depth is None:
            depth = n_candidates
        set_fields(
            self,
            n_candidates=n_candidates,
            n_better=n_better,
            n_tied=n_tied,
            n_found=n_found,
            n_relevant=n_relevant,
            depth=depth,
            relevance=relevance,
            users=users,
            visits=visits,
            source=source,
            n_rows=n_rows,
            n_columns=n_columns,
            min_relevance=min_relevance,
            n_missing=n_missing,
        )
        self._check(is_plain)

    def _check(self, is_plain: bool) -> None:
        """Convert the fields to arrays and put items best first; raise InputError if impossible.

        `is_plain` ranks were constructed with one item per user, and none of `n_found`,
        `n_relevant` and `depth`; they need at least two candidates.
        """
        check_arguments(source=self.source)
        for name in (*COUNT_COLUMNS, *USER_FIELDS[1:]):
            values = integer_array(getattr(self, name), name, is_column=True)
            set_fields(self, **{name: values})
        if is_plain:
            require_all("n_candidates", self.n_candidates, self.n_candidates >= 2, "at least 2")
        check_counts(self)
        order = order_by_rank(self)
        set_fields(self, n_better=self.n_better[order], n_tied=self.n_tied[order])
        check_levels(self)
        if self.relevance is not None:
            set_fields(self, relevance=ordered_grades(self, self.relevance, order))
        users, visits = _check_units(self.users, self.visits, len(self))
        set_fields(self, users=users, visits=visits)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        relevant: ItemsByUser = None,
        *,
        seen: ItemsByUser = None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        items: ArrayLike | None = None,
        missing: str = "refuse",
        min_relevance: float = 0.0,
        up_to: int | None = None,
        block_size: int = BLOCK_SIZE,
        n_jobs: int = ALL_CORES,
        progress: bool | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Ranks:
        """Rank relevant items by scores of all items.

        Parameters
        ----------
        scores
            Shape (users, items): an array of any library; a DataFrame with ids as index and
            columns; a sparse matrix, with 0 where nothing is stored; or an `.npy` or `.npz` file.
            An item with score -inf is not a candidate.
        relevant
            The column of each user's held-out item, or -1 or -100 for none; a list of columns per
            user; a matrix of grades, which are above 0 for relevant items; or a table or dictionary
            by id.
        seen
            Items that are not candidates, in the same forms; "none" or an empty list if there are
            none.
        users, items
            Ids of rows and columns, if the scores have none; tables and dictionaries contain them.
        visits
            Ids of visits, if rows are visits of `users`. A table of relevant items then needs users
            and visits; items seen by a user are excluded in all visits.
        missing
            `refuse` relevant items without a score, or rank them below all candidates (`last`):
            those whose item or user is not among the ids of the scores, and those with -inf.
        min_relevance
            Least grade of an item that is relevant for metrics other than NDCG.
        up_to
            Rank down to which rankings are computed, as in a list of the best K: an item with
            this many candidates above it is not found. Products of vectors then take a fraction of
            the time. Metrics with a larger cut-off, or without one, refuse such ranks.
        block_size
            Users counted at a time, which bounds the memory.
        n_jobs
            Number of threads, as in joblib; -1 for one per core. Results do not depend on it. A
            function of scores is called by one thread only.
        progress
            Whether to show a progress bar of tqdm; by default if standard error is a terminal and
            tqdm is installed.
        columns
            Mapping from role to column name, see `evaluate`.

        Examples
        --------
        >>> Ranks.from_scores([[0.3, 0.9, 0.5]], relevant=[2])
        Ranks(n_candidates=array([3]), n_better=array([1]), n_tied=array([0]))
        """
        from sampled_metrics.read.scores import ranks_from_scores

        return ranks_from_scores(
            scores,
            relevant,
            seen,
            users=users,
            visits=visits,
            items=items,
            missing=missing,
            min_relevance=min_relevance,
            up_to=up_to,
            block_size=block_size,
            n_jobs=n_jobs,
            progress=progress,
            columns=columns,
        )

    @classmethod
    @public()
    def from_factors(
        cls, user_vectors: ArrayLike, item_vectors: ArrayLike, relevant: ItemsByUser, **options: Any
    ) -> Ranks:
        """Rank by inner products of vectors of users and items, in blocks of users.

        The index of a DataFrame of vectors contains ids, unless it numbers rows from 0 (an unnamed
        `RangeIndex(0, n)`). Options are those of `from_scores`.
        """
        from sampled_metrics.read.scores import scores_from_vectors

        vectors = scores_from_vectors(user_vectors, item_vectors)
        return cls.from_scores(vectors, relevant, **options)

    @classmethod
    @public()
    def from_function(
        cls, score: Any, relevant: ItemsByUser, *, n_items: int | None = None, **options: Any
    ) -> Ranks:
        """Rank by a function from row numbers of users, int64, to the scores of all items.

        It is first called for one user, to find the number of items. Relevant items are passed by
        position, or by id with `users`; options are those of `from_scores`.

        The function may also take two arrays of the same length, users and items, and return a
        score for each pair; then `n_items` is required. Items that many users have seen are scored
        first; with `up_to`, a user is done once that many items are above the relevant ones.

        Examples
        --------
        >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, 0, 2]])
        >>> pairs = lambda users, items: scores[users, items]
        >>> Ranks.from_function(pairs, [2, 1], n_items=5, up_to=2).n_found
        array([0, 1])
        """
        from sampled_metrics.read.scores import scores_from_function

        scores = scores_from_function(score, relevant, n_items, options.get("users"))
        return cls.from_scores(scores, relevant, **options)

    @classmethod
    def from_lists(
        cls,
        recommended: Any,
        relevant: ItemsByUser,
        *,
        seen: ItemsByUser = None,
        n_items: int | None = None,
        complete: bool = False,
        missing: str = "refuse",
        min_relevance: float = 0.0,
        columns: Mapping[str, str] | None = None,
    ) -> Ranks:
        """Find relevant items in recommended lists.

        Parameters
        ----------
        recommended
            A table or file of user, item and rank or score (rows are best first without either); a
            TREC run; or a dictionary from users to lists, or to scores by item.
        relevant, seen
            Tables, files or dictionaries of users and items; rows with label 0 are not relevant.
            "none" or an empty list as `seen` says that no item is to be removed.
        n_items
            Number of candidates of each full ranking, if known.
        complete
            Whether lists contain all candidates of their users.
        missing
            `refuse` users without a list, or rank items that are missing from a list below all
            candidates (`last`), as trec_eval -c does.
        min_relevance
            Least grade of an item that is relevant for metrics other than NDCG.
        columns
            Mapping from role to column name, see `evaluate`.

        Examples
        --------
        >>> Ranks.from_lists({"anna": [7, 9]}, {"anna": [9]}).best_rank
        array([2])
        """
        from sampled_metrics.read.lists import ranks_from_lists

        return ranks_from_lists(
            recommended,
            relevant,
            seen,
            n_items=n_items,
            complete=complete,
            missing=missing,
            min_relevance=min_relevance,
            columns=columns,
        )

    @classmethod
    @public()
    def from_top_k(
        cls,
        ids: ArrayLike,
        relevant: ItemsByUser,
        scores: ArrayLike | None = None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        **options: Any,
    ) -> Ranks:
        """Find relevant items in the arrays of a retriever, shape (users, K).

        Ids are best first unless there are scores; -1 and -100 end a list. Items with score -inf,
        or with the lowest number of 32 bits (which implicit pads lists with), are dropped. `users`
        are the ids of the rows, by default the index of a DataFrame or row numbers; `visits`
        distinguishes rows of the same user. Options are those of `from_lists`.

        Examples
        --------
        >>> Ranks.from_top_k([[7, 9, 2]], [9], scores=[[0.1, 0.8, 0.3]]).best_rank
        array([1])
        """
        from sampled_metrics.read.lists import lists_from_arrays

        recommended = lists_from_arrays(ids, scores, users, visits)
        return cls.from_lists(recommended, relevant, **options)

    @classmethod
    def from_pairs(
        cls, pairs: Any, *, min_relevance: float = 0.0, columns: Mapping[str, str] | None = None
    ) -> Ranks:
        """Rank a table of user, item, score and label that contains all candidates of each user.

        Parameters
        ----------
        pairs
            The table. A label above 0 is the grade of a relevant item, 0 is any other candidate,
            and -100 is none.
        min_relevance
            Least grade of an item that is relevant for metrics other than NDCG.
        columns
            Mapping from role to column name, see `evaluate`.
        """
        from sampled_metrics.read.lists import ranks_from_pairs

        return ranks_from_pairs(pairs, min_relevance=min_relevance, columns=columns)

    @classmethod
    def from_ranks(
        cls,
        ranks: ArrayLike,
        n_items: ArrayLike | None,
        *,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Ranks:
        """Return ranks from exact ranks, which count from 1 and have no ties.

        Parameters
        ----------
        ranks
            Rank of each relevant item; or a table of ranks and users, see `from_table`.
        n_items
            Number of candidates, one for all rows or one per row.
        users, visits
            Ids of the user, and of the visit, of each row; by default the index of a Series. Rows
            with the same ids are items of one ranking.
        columns
            Mapping from role to column name, see `evaluate`.
        """
        from sampled_metrics.read.rank_tables import ranks_from_column

        return ranks_from_column(ranks, n_items, users=users, visits=visits, columns=columns)

    @classmethod
    def read(cls, path: Path | str, *, columns: Mapping[str, str] | None = None) -> Ranks:
        """Read a file written by `write`, or a table with the same columns."""
        file = to_path(path)
        with place_of(file):
            return cls.from_table(file, columns=columns)

    @classmethod
    def from_table(
        cls, table: Any, n_items: int | None = None, *, columns: Mapping[str, str] | None = None
    ) -> Ranks:
        """Return ranks from a table of counts (n_candidates, n_better, n_tied), or of `rank`.

        Rows with the same `user_id` and `visit_id` are relevant items of one ranking; rows with
        `label` 0 are not relevant. A column `rank` has no ties; it needs `n_items`, the number of
        candidates, or a column `n_candidates`.
        """
        from sampled_metrics.read.rank_tables import ranks_from_table

        return ranks_from_table(table, n_items, columns=columns)

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Return the ranks of the users of several `Ranks`, each user once.

        Users without ids are numbered consecutively, as the rows of stacked matrices are.

        Examples
        --------
        >>> parts = [Ranks([9], [0], [0], users=["ann"]), Ranks([9], [3], [0], users=["bob"])]
        >>> Ranks.concatenate(parts).best_rank
        array([1, 4])
        """
        ranks_list = cls._list_of_alike(parts)
        counts = {
            name: np.concatenate([getattr(ranks, name) for ranks in ranks_list])
            for name in (*USER_FIELDS, "n_better", "n_tied")
        }
        relevance = None
        if any(ranks.relevance is not None for ranks in ranks_list):
            relevance = np.concatenate([_grades_or_ones(ranks) for ranks in ranks_list])
        visits = _concatenate_visits(ranks_list)
        users = _concatenate_users(ranks_list)
        if users is not None:
            Units(users, visits).require_unique()
        first = ranks_list[0]
        have_same_columns = all(ranks.n_columns == first.n_columns for ranks in ranks_list)
        return first._copy_with(
            **counts,
            relevance=relevance,
            users=users,
            visits=visits,
            source="; ".join(dict.fromkeys(ranks.source for ranks in ranks_list)),
            n_rows=sum(ranks.n_rows for ranks in ranks_list),
            n_columns=first.n_columns if have_same_columns else 0,
            n_missing=sum(ranks.n_missing for ranks in ranks_list),
        )

    @classmethod
    def _list_of_alike(cls, parts: Iterable[Self]) -> list[Self]:
        """Return ranks to concatenate as a list; raise InputError if they do not fit together."""
        try:
            ranks_list = [] if hasattr(parts, "keys") else list(parts)  # refuse a dictionary
        except TypeError:
            raise InputError(
                f"parts is of type {type(parts).__name__}; expected a list of {cls.__name__}"
            ) from None
        for ranks in ranks_list:
            if not isinstance(ranks, cls):
                raise wrong_type("part", ranks, cls)
        combinations = {  # of the kind of ids, whether they are row numbers, and the least grade
            (id_kind(ranks.users), ranks.n_rows > 0, ranks.min_relevance) for ranks in ranks_list
        }
        if len(combinations) != 1:  # also if there are no ranks
            raise InputError(
                "expected ranks, one or more, with ids of users of one kind in all or in none, and "
                "of the same min_relevance"
            )
        return ranks_list

    def _copy_with(self, **changes: Any) -> Self:
        """Return a copy with other fields, which are valid by construction."""
        ranks = object.__new__(type(self))
        set_fields(ranks, **{field.name: getattr(self, field.name) for field in fields(self)})
        set_fields(ranks, **changes)
        return ranks

    def __repr__(self) -> str:
        return short_repr(self, *COUNT_COLUMNS)

    def __len__(self) -> int:
        """Return the number of users, or of visits."""
        return self.n_candidates.size

    @cached_property
    def user(self) -> Int | None:
        """Number of the user of each visit; None if each row is another user."""
        if self.users is None or self.visits is None:
            return None
        return pd.factorize(self.users)[0].astype(np.int64)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self) if self.user is None else int(self.user.max(initial=-1)) + 1

    @cached_property
    def units(self) -> Units | None:
        """Users, or visits of users, of the rows; None without ids."""
        return None if self.users is None else Units(self.users, self.visits)

    @property
    def best_rank(self) -> Int:
        """Rank of each item found if it comes before all ties: n_better + 1."""
        return self.n_better + 1

    @property
    def worst_rank(self) -> Int:
        """Rank of each item found if it comes after all ties: n_better + n_tied + 1."""
        return self.n_better + self.n_tied + 1

    @property
    def mean_candidates(self) -> int:
        """Mean number of candidates over users, rounded; 0 if a number is not known."""
        if not len(self) or not self.n_candidates.all():  # 0 where it is not known
            return 0
        return round(float(self.n_candidates.mean()))

    @cached_property
    def is_complete(self) -> bool:
        """Whether every relevant item is found in a ranking of known length."""
        is_full = self.depth == self.n_candidates  # both are 0 only where nothing is found
        return bool((is_full & (self.n_found == self.n_relevant)).all())

    @cached_property
    def is_single(self) -> bool:
        """Whether each user has one relevant item and a full ranking of two or more candidates."""
        has_one_item = (self.n_relevant == 1) & (self.n_candidates > 1)
        return self.is_complete and bool(has_one_item.all())

    def _user_of_relevant(self) -> Int:
        """Return the row of the user of each relevant item, found or not, as in `relevance`."""
        return np.repeat(np.arange(len(self)), self.n_relevant)

    def _positions_of_found(self) -> Int:
        """Return where the items found are among the relevant items, as in `relevance`."""
        return concatenate_ranges(run_starts(self.n_relevant), self.n_found)

    @property
    def binary(self) -> Self:
        """The same ranks without grades; items of at least `min_relevance` are relevant.

        Items of lower grades stay candidates: they count in `n_better` and `n_tied` of others.
        """
        if self.relevance is None:
            return self
        is_relevant = self.relevance >= self.min_relevance  # of each item, found or not
        user = self._user_of_relevant()
        found = self._positions_of_found()
        is_kept = is_relevant[found]  # of each item found
        return self._copy_with(
            n_better=self.n_better[is_kept],
            n_tied=self.n_tied[is_kept],
            n_found=np.bincount(user[found][is_kept], minlength=len(self)),
            n_relevant=np.bincount(user[is_relevant], minlength=len(self)),
            relevance=None,
            min_relevance=0.0,
        )

    def at_least(self, min_relevance: float) -> Self:
        """Return ranks in which only items of at least a grade are relevant.

        Users without such an item are dropped. For NDCG, lower grades are gains as well.

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
        is_relevant = self.relevance >= min_relevance
        users = sorted_unique(self._user_of_relevant()[is_relevant])
        if not users.size:
            raise InputError(
                f"min_relevance (--min-relevance) is {min_relevance:g}, but the highest relevance "
                f"is {self.relevance.max(initial=0.0):g}"
            )
        return self.take(users)._copy_with(min_relevance=float(min_relevance))

    def single(self) -> Self:
        """Return the same ranks; raise InputError unless each user has one item, fully ranked."""
        if self.is_single:
            return self
        has_one_item = (self.n_relevant == 1) & (self.n_found == 1)
        is_full = (self.n_candidates >= 2) & (self.depth >= self.n_candidates)
        is_wrong = ~(has_one_item & is_full)
        first = int(np.argmax(is_wrong))
        name = first + 1 if self.users is None else self.users[first]
        raise InputError(
            f"user {name} has {self.n_relevant[first]} relevant items and a list of "
            f"{self.depth[first]} items ({is_wrong.sum()} such users); "
            "one held-out item each, fully ranked, is needed"
        )

    def take(self, rows: RowSelection) -> Self:
        """Return the ranks of some users, selected like elements of an array."""
        users = np.arange(len(self))[rows]

        def positions_of_items(n_items: Int) -> Int:
            """Return where the items of these users are, if all users have so many each."""
            return concatenate_ranges(run_starts(n_items)[users], n_items[users])

        found_items = positions_of_items(self.n_found)
        relevant_items = positions_of_items(self.n_relevant)
        return self._copy_with(
            n_better=self.n_better[found_items],
            n_tied=self.n_tied[found_items],
            **{name: getattr(self, name)[users] for name in USER_FIELDS},
            relevance=select_rows(self.relevance, relevant_items),
            users=select_rows(self.users, users),
            visits=select_rows(self.visits, users),
        )

    def replace(self, *, source: str, users: Ids | None = None) -> Self:
        """Return the same ranks with another source and, if given, other ids of the users."""
        check_arguments(source=source)
        if users is None:
            return self._copy_with(source=source)
        ids = id_column(users, "users", len(self))
        return self._copy_with(source=source, users=ids, visits=None, n_rows=0)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per relevant item, which `evaluate` reads.

        It has ids of users and visits if there are any, the three counts, and grades in a column
        `relevance`. Rankings that end at some depth have a column `depth`; items that are not found
        have `n_better` equal to it.

        Examples
        --------
        >>> scores = np.array([[0.9, 0.5, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4]])
        >>> Ranks.from_scores(scores, [1, 0], users=["anna", "ben"], up_to=2).to_frame()
          user_id  n_candidates  n_better  n_tied  depth
        0    anna             4         1       1      4
        1     ben             4         2       0      2
        """
        return pd.DataFrame(self._columns())

    def _columns(self, items: Ids | None = None) -> dict[str, Any]:
        """Return the columns of `to_frame`, a row for each relevant item; None are omitted.

        `items` are the ids of the relevant items, for a column `item_id`.
        """
        if not self.n_candidates.all():
            raise InputError(
                "the number of candidates is not known; pass n_items, the items of the catalogue"
            )
        user = self._user_of_relevant()
        found = self._positions_of_found()
        n_better = self.depth[user]  # of an item that is not found
        n_better[found] = self.n_better
        n_tied = np.zeros_like(n_better)
        n_tied[found] = self.n_tied
        columns = {
            "user_id": select_rows(self.users, user),
            "visit_id": select_rows(self.visits, user),
            "item_id": None if items is None else id_column(items, "items", user.size),
            "n_candidates": self.n_candidates[user],
            "n_better": n_better,
            "n_tied": n_tied,
            "depth": None if self.is_complete else self.depth[user],
            "relevance": self.relevance,
        }
        return {name: values for name, values in columns.items() if values is not None}

    def write(self, path: Path | str, *, items: Ids | None = None) -> None:
        """Write the rows of `to_frame`, with `items`, the ids of the relevant items.

        The suffix of the path decides between parquet and CSV; `source` and `min_relevance` are
        written to parquet only. Columns of integers are int32 if all their values fit.
        """
        file = to_path(path)
        if self.min_relevance > 0.0 and file.suffix.lower() in SEPARATORS:
            raise InputError("only parquet can store min_relevance; pass a path with .parquet")
        columns = {name: _narrow(values) for name, values in self._columns(items).items()}
        metadata = {b"source": self.source.encode()}
        if self.min_relevance > 0.0:
            metadata[b"min_relevance"] = repr(self.min_relevance).encode()
        write_columns(file, columns, metadata)


def _check_units(
    users: ArrayLike | None, visits: ArrayLike | None, n_rows: int
) -> tuple[Ids | None, Ids | None]:
    """Convert ids of users and of visits, which must differ; drop visits if no user has several."""
    user_ids, visit_ids = check_ids(users, visits, n_rows)
    if user_ids is None:
        return None, None
    units = Units(user_ids, visit_ids)
    units.require_unique()
    return user_ids, visit_ids if units.has_several_visits else None


def _narrow(values: Any) -> Any:
    """Convert whole numbers to int32 if all of them fit; return other values unchanged."""
    if values.dtype.kind not in "iu":
        return values
    narrow = values.astype(np.int32)
    return narrow if (narrow == values).all() else values


def _concatenate_users(parts: Sequence[Ranks]) -> Ids | None:
    """Return the ids of users of all parts; None if a part has none.

    If users are row numbers of matrices, those of a part go on after the rows of the parts before.
    """
    n_rows_before = 0
    ids = []
    for part in parts:
        if part.users is None:
            return None
        are_row_numbers = part.n_rows > 0
        ids.append(np.add(part.users, n_rows_before) if are_row_numbers else part.users)
        n_rows_before += part.n_rows
    return np.concatenate(ids)


def _concatenate_visits(parts: Sequence[Ranks]) -> Ids | None:
    """Return the ids of visits of all parts; None if no part has any."""
    visits: list[Any] = [part.visits for part in parts]
    if len(set(map(id_kind, visits))) != 1:
        raise InputError("expected ids of visits of one kind in all ranks, or in none")
    return None if visits[0] is None else np.concatenate(visits)


def _grades_or_ones(ranks: Ranks) -> Float:
    """Return the grades of relevant items, 1 if there are none."""
    if ranks.relevance is None:
        return np.ones(int(ranks.n_relevant.sum()))
    return ranks.relevance
