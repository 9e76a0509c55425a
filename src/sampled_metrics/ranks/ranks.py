"""Ranks of relevant items in full rankings, as counts of better and tied candidates.

Exact metrics under any tie policy and the distribution of sampled ranks follow from them, without a
model or scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import (
    ALL_CORES,
    check_arguments,
    check_n_items,
    require_same,
    to_path,
    whole_number,
    wrong_type,
)
from sampled_metrics._base.array_types import Float, Ids, Int, RowSelection
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    first_duplicate,
    nontrivial_grades,
    run_starts,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.columns import (
    id_column,
    id_kind,
    integer_array,
    require_all,
    require_unique,
)
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    is_arrow_table,
    records_to_frame,
    to_array,
)
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, one_line, reading
from sampled_metrics._base.files import SEPARATORS, write_columns
from sampled_metrics._base.records import set_fields, short_repr
from sampled_metrics._base.visits import join_ids as joined_ids
from sampled_metrics._base.visits import row_unit_ids, users_and_visits
from sampled_metrics.inputs import lists
from sampled_metrics.inputs import scores as scores_module
from sampled_metrics.inputs.counting import BLOCK_SIZE, RankCounts
from sampled_metrics.inputs.items import relevant_rows
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, NamesByRole, naming
from sampled_metrics.inputs.tables import Table, arrow_to_numpy, read_table

COLUMNS = ("n_candidates", "n_better", "n_tied")
RECORDS = f"rank records ({', '.join((USER, *COLUMNS))})"
_NO_SIZE = "found ranks; give n_items (--n-items) or add a column n_candidates"
_OF_USERS = ("n_candidates", "n_found", "n_relevant", "depth")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ranks:
    """Where the relevant items of some users are in their rankings.

    `Ranks(n_candidates, n_better, n_tied)` with arrays of one length holds one held-out item per
    user, fully ranked. Further arguments are for several relevant items per user, and for
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
        Grade of each relevant item: for each user the items found, in order, then the rest. float64
        above 0, shape (sum of n_relevant,). None if items are relevant or not.
    users
        Ids of the users, integers or text, each once unless there are visits; shape (users,). None
        if not known.
    visits
        Ids of visits, such as sessions, of which users have several: each row is then a visit of
        its user, with a ranking of its own. Metrics are means over visits, their errors those of
        independent users. None if each row is another user.
    source
        Where the ranks come from; repeated in everything made from them.
    n_rows
        Rows of the matrix that `users` number, where it has no ids; 0 otherwise.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG; set by `at_least`.
    n_missing
        Users whose lists lack items that count as not found, see `from_lists`.
    is_checked
        Whether counts are valid by construction, so that they are not checked again.

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
        min_relevance: float = 0.0,
        n_missing: int = 0,
        is_checked: bool = False,
    ) -> None:
        is_plain = n_found is None and n_relevant is None and depth is None
        if n_found is None:
            n_found = np.ones_like(to_array("n_candidates", n_candidates))
        if n_relevant is None:
            n_relevant = n_found
        if depth is None:
            depth = n_candidates
        set_fields(self, n_candidates=n_candidates, n_better=n_better, n_tied=n_tied)
        set_fields(self, n_found=n_found, n_relevant=n_relevant, depth=depth)
        set_fields(self, relevance=relevance, users=users, visits=visits)
        set_fields(self, min_relevance=min_relevance)
        set_fields(self, source=source, n_rows=n_rows, n_missing=n_missing)
        if not is_checked:
            self._check(is_plain)

    def _check(self, is_plain: bool) -> None:
        """Raise InputError unless counts are possible; put each user's items in order."""
        check_arguments(source=self.source)
        for name in (*COLUMNS, *_OF_USERS[1:]):
            values = integer_array(name, getattr(self, name), is_column=True)
            set_fields(self, **{name: values})
        n = self.n_candidates
        if is_plain:
            require_all("n_candidates", n, n >= 2, "at least 2")
        order = _check_counts(self)
        set_fields(self, n_better=self.n_better[order], n_tied=self.n_tied[order])
        _check_levels(self)
        if self.relevance is not None:
            set_fields(self, relevance=_checked_relevance(self, self.relevance, order))
        ids = row_unit_ids(self.users, self.visits, n.size)
        if ids is not None:
            require_unique("users" if self.visits is None else "visits of user", ids)
            users, visits = users_and_visits(ids)
            set_fields(self, users=users, visits=visits)

    @classmethod
    def of_counts(cls, counts: RankCounts, min_relevance: float) -> Self:
        """Take counts that are valid by construction."""
        fields = counts._asdict()
        if counts.users is not None:
            fields["users"], fields["visits"] = users_and_visits(counts.users)
        return cls(**fields, is_checked=True).at_least(min_relevance)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        relevant: Any = None,
        *,
        seen: Any = None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        items: ArrayLike | None = None,
        min_relevance: float = 0.0,
        up_to: int | None = None,
        block_size: int = BLOCK_SIZE,
        n_jobs: int = ALL_CORES,
        progress: bool | None = None,
        columns: NamesByRole = None,
    ) -> Self:
        """Rank relevant items by scores of all items.

        Parameters
        ----------
        scores
            Users x items, of any library; a DataFrame with ids as index and columns; sparse, with 0
            where nothing is stored; or an `.npy` or `.npz` file. -inf is no candidate.
        relevant
            Column of each user's held-out item, -1 without one; a list of columns per user; numbers
            above 0 in a matrix, which are grades; or a table or dictionary by id.
        seen
            Items that are no candidates, likewise.
        users, items
            Ids of rows and columns, if the scores have none; tables and dictionaries hold them.
        visits
            Ids of visits, if rows are visits of `users`, who may have several. Relevant items in a
            table are then by user and visit; seen ones by user are those of all visits.
        min_relevance
            Least grade of an item that is relevant for metrics other than NDCG.
        up_to
            Places down to which rankings are looked at: an item with as many candidates above it
            is not found, as in a list of the best K. Products of vectors then take a fraction of
            the time. Metrics at a larger cut-off, or without one, refuse such ranks.
        block_size
            Users counted at a time, which bounds the memory.
        n_jobs
            Threads that multiply and count, as in joblib; -1 for one per core. The result does not
            depend on it, and a function is called by this thread alone.
        progress
            Whether a bar of tqdm shows how many users are ranked; by default if standard error is a
            terminal and tqdm is installed.
        columns
            Names of columns of tables by role, see `evaluate`.

        Examples
        --------
        >>> Ranks.from_scores([[0.3, 0.9, 0.5]], relevant=[2])
        Ranks(n_candidates=array([3]), n_better=array([1]), n_tied=array([0]))
        """
        check_arguments(min_relevance=min_relevance, up_to=up_to, block_size=block_size)
        rows = scores_module.read_scores(scores)
        with naming(columns):
            counts = scores_module.count_scores(
                rows,
                relevant,
                seen,
                users=users if visits is None else row_unit_ids(users, visits, rows.shape[0]),
                items=items,
                min_relevance=min_relevance,
                up_to=up_to,
                block_size=block_size,
                n_jobs=n_jobs,
                progress=progress,
            )
        return cls.of_counts(counts, min_relevance)

    @classmethod
    def from_factors(
        cls, user_vectors: ArrayLike, item_vectors: ArrayLike, relevant: Any, **options: Any
    ) -> Self:
        """Rank by inner products, never all at once; options as for `from_scores`.

        The index of a DataFrame of vectors holds ids, unless it is of running numbers.
        """
        return cls.from_scores(
            scores_module.scores_from_vectors(user_vectors, item_vectors), relevant, **options
        )

    @classmethod
    def from_function(
        cls, score: Any, relevant: Any, *, n_items: int | None = None, **options: Any
    ) -> Self:
        """Rank by a function from rows of users, int64, to the scores of all items for them.

        It is called for the first row alone before, which tells the number of items. Relevant items
        are given by position, or by id with `users`; options are as for `from_scores`.

        A function of two arrays of one length, users and items, that returns a score for each pair
        needs `n_items`. It is asked about items that many have seen first; with `up_to` a user
        drops out once so many items are above the relevant ones.

        Examples
        --------
        >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, 0, 2]])
        >>> pairs = lambda users, items: scores[users, items]
        >>> Ranks.from_function(pairs, [2, 1], n_items=5, up_to=2).n_found
        array([0, 1])
        """
        made = scores_module.scores_from_function(score, relevant, n_items, options.get("users"))
        return cls.from_scores(made, relevant, **options)

    @classmethod
    def from_lists(
        cls,
        recommended: Any,
        relevant: Any,
        *,
        seen: Any = None,
        n_items: int | None = None,
        complete: bool = False,
        missing: str = "refuse",
        min_relevance: float = 0.0,
        columns: NamesByRole = None,
    ) -> Self:
        """Find relevant items in recommended lists.

        Parameters
        ----------
        recommended
            A table or file of user, item and rank or score, best first if it has neither; a TREC
            run; or a dictionary of lists, or of scores by item, for each user.
        relevant, seen
            Tables, files or dictionaries of users and items; rows of label 0 are not relevant.
        n_items
            Candidates of each full ranking, if known.
        complete
            Whether lists hold all candidates of their users.
        missing
            `refuse` users without a list, or rank items that a list lacks behind all candidates
            (`last`), as trec_eval -c does.
        min_relevance
            Least grade of an item that is relevant for metrics other than NDCG.
        columns
            Names of columns of tables by role, see `evaluate`.

        Examples
        --------
        >>> Ranks.from_lists({"anna": [7, 9]}, {"anna": [9]}).best_rank
        array([2])
        """
        check_arguments(complete=complete, min_relevance=min_relevance)
        n_items = check_n_items(n_items)
        with naming(columns):
            counts = lists.count_lists(
                lists.read_lists(recommended),
                relevant,
                seen,
                n_items=n_items,
                complete=complete,
                missing=missing,
                min_relevance=min_relevance,
            )
        return cls.of_counts(counts, min_relevance)

    @classmethod
    def from_top_k(
        cls,
        ids: ArrayLike,
        relevant: Any,
        scores: ArrayLike | None = None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Find relevant items in the arrays of a retriever, users x K; -1 ends a list.

        Scores decide the order if they are given, -inf for items that are left out, or the lowest
        number of 32 bits, which implicit fills lists with; else the ids are best first. `users` are
        the ids of rows, by default their numbers, and `visits` tell the rows of a user apart.
        Options are as for `from_lists`.

        Examples
        --------
        >>> Ranks.from_top_k([[7, 9, 2]], [9], scores=[[0.1, 0.8, 0.3]]).best_rank
        array([1])
        """
        made = lists.lists_from_arrays(ids, scores, users, visits)
        return cls.from_lists(made, relevant, **options)

    @classmethod
    def from_pairs(
        cls, pairs: Any, *, min_relevance: float = 0.0, columns: NamesByRole = None
    ) -> Self:
        """Rank labelled candidates, all of each user: user, item, score and label in a table."""
        with naming(columns):
            counts = lists.count_labelled_pairs(pairs)
        return cls.of_counts(counts, min_relevance)

    @classmethod
    def from_ranks(
        cls,
        ranks: ArrayLike,
        n_items: ArrayLike | None,
        *,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        columns: NamesByRole = None,
    ) -> Self:
        """Take exact ranks from 1, without ties, among `n_items` candidates.

        Ranks of one user, or of one of the `visits` of a user, are those of items in one ranking.
        Instead of ranks and users, a table of both, see `from_table`.
        """
        ranks = records_to_frame(ranks)
        if is_arrow_table(ranks):
            if users is not None or visits is not None:
                raise InputError(
                    "users and visits do not go with a table; give columns user_id and visit_id"
                )
            number: Any = n_items
            return cls.from_table(
                ranks,
                None if number is None else whole_number("n_items", number),
                columns=columns,
            )
        ranks = arrow_column_to_array(ranks)
        table: dict[str, Any] = {"rank": ranks}
        size: Any = n_items
        if users is not None:
            table[USER] = users
        if visits is not None:
            row_unit_ids(users, visits, to_array("ranks", ranks).size)  # which needs users
            table[VISIT] = visits
        if size is not None and to_array("n_items", size).ndim:
            table["n_candidates"] = size
            size = None
        return cls.from_table(table, size)

    @classmethod
    def read(cls, path: Path | str, *, columns: NamesByRole = None) -> Self:
        """Read a file of `write`, or a table with the same columns."""
        file = to_path(path)
        with reading(file):
            return cls.from_table(file, columns=columns)

    @classmethod
    def from_table(
        cls, table: Any, n_items: int | None = None, *, columns: NamesByRole = None
    ) -> Self:
        """Take a table of counts (n_candidates, n_better, n_tied), or of `rank` without ties.

        Rows of one `user_id`, or of one `visit_id` of a user, are relevant items of one ranking;
        rows of `label` 0 are not relevant.
        """
        n_items = check_n_items(n_items)
        with naming(columns):
            table = read_table(table, RECORDS)
        counts = counts_of(table, n_items)
        rows, grades = relevant_rows(table)
        if "relevance" in table.columns:
            relevance = table.finite_numbers("relevance")
            is_wrong = np.zeros(relevance.size, bool)
            is_wrong[rows] = relevance[rows] <= 0.0
            table.refuse("relevance", is_wrong, relevance, "numbers above 0")
            grades = nontrivial_grades(relevance[rows])
        source = one_line(table.metadata.get(b"source", b"unknown").decode(errors="replace"))
        if table.unit_columns()[0] in table.columns:
            ranks = cls(**_by_user(table, counts, rows, grades), source=source)
        else:
            of_rows = [count[rows] for count in counts]
            ranks = cls(*of_rows, relevance=grades, source=source, is_checked=True)
        require_same("n_items", n_items, "n_candidates", ranks.n_candidates)
        least = float(table.metadata.get(b"min_relevance", b"0"))
        return ranks.at_least(least) if least > 0.0 else ranks

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Put the users of several ranks after each other, each user once.

        Users without ids are numbered on, as the rows of matrices below each other.

        Examples
        --------
        >>> parts = [Ranks([9], [0], [0], users=["ann"]), Ranks([9], [3], [0], users=["bob"])]
        >>> Ranks.concatenate(parts).best_rank
        array([1, 4])
        """
        try:
            given = [] if hasattr(parts, "keys") else list(parts)
        except TypeError:
            problem = f"parts is of type {type(parts).__name__}; expected a list of {cls.__name__}"
            raise InputError(problem) from None
        for part in given:
            if not isinstance(part, cls):
                raise wrong_type("part", part, cls)
        if len({(id_kind(x.users), x.n_rows > 0, x.min_relevance) for x in given}) != 1:
            raise InputError(
                "expected ranks, one or more, with ids of users of one kind in all or in none, and "
                "of the same min_relevance"
            )
        visits = _visits_of(given)
        names = (*_OF_USERS, "n_better", "n_tied")
        joined = {name: np.concatenate([getattr(part, name) for part in given]) for name in names}
        relevance = None
        if any(part.relevance is not None for part in given):
            relevance = np.concatenate([_grades(part) for part in given])
        n_rows = np.array([part.n_rows for part in given])
        users: Any = given[0].users
        if users is not None:
            ids: list[Any] = [part.users for part in given]
            if n_rows.any():
                ids = [own + before for own, before in zip(ids, run_starts(n_rows), strict=True)]
            users = np.concatenate(ids)
            require_unique(USER, users if visits is None else joined_ids(users, visits))
        return given[0]._changed(
            **joined,
            relevance=relevance,
            users=users,
            visits=visits,
            source="; ".join(dict.fromkeys(part.source for part in given)),
            n_rows=int(n_rows.sum()),
            n_missing=sum(part.n_missing for part in given),
        )

    def _changed(self, **changes: Any) -> Self:
        changes["is_checked"] = True
        return replace(self, **changes)

    def __repr__(self) -> str:
        return short_repr(self, *COLUMNS)

    def __len__(self) -> int:
        """Return the number of users, or of visits."""
        return self.n_candidates.size

    @cached_property
    def user(self) -> Int | None:
        """Number of the user of each visit; None where each row is another user."""
        if self.users is None or self.visits is None:
            return None
        return pd.factorize(self.users)[0].astype(np.int64)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self) if self.user is None else int(self.user.max(initial=-1)) + 1

    @property
    def unit_ids(self) -> Ids | None:
        """Ids of users, or of visits of users, each once."""
        if self.users is None or self.visits is None:
            return self.users
        return joined_ids(self.users, self.visits)

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
        found = concatenate_ranges(run_starts(self.n_relevant), self.n_found)
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

        NDCG takes all grades of the users left as gains, also lower ones.

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
        users = sorted_unique(user[self.relevance >= min_relevance])
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

    def take(self, rows: RowSelection) -> Self:
        """Return the ranks of some users, selected as an array's elements are."""
        users = np.arange(len(self))[rows]
        items = concatenate_ranges(run_starts(self.n_found)[users], self.n_found[users])
        relevant = concatenate_ranges(run_starts(self.n_relevant)[users], self.n_relevant[users])
        return self._changed(
            n_better=self.n_better[items],
            n_tied=self.n_tied[items],
            **{name: getattr(self, name)[users] for name in _OF_USERS},
            relevance=select_rows(self.relevance, relevant),
            users=select_rows(self.users, users),
            visits=select_rows(self.visits, users),
        )

    def replace(self, *, source: str, users: Ids | None = None) -> Self:
        """Return the same ranks from another source, and with other ids of the users, each once."""
        check_arguments(source=source)
        if users is None:
            return self._changed(source=source)
        ids = id_column("users", users, len(self))
        return self._changed(source=source, users=ids, visits=None, n_rows=0)

    def write(self, path: Path | str, *, items: Ids | None = None) -> None:
        """Write one row per relevant item: ids and grades, if any, and three counts.

        As parquet or CSV, by the suffix of the path. Integers are written as int32 if all of a
        column fit. `items` are the ids of the relevant items. Lists that are cut cannot be written.
        Grades are the column `relevance`. Text does not hold `source` and `min_relevance`.
        """
        if not self.is_complete:
            raise InputError("only full rankings can be written; these are cut at some depth")
        file = to_path(path)
        if self.min_relevance > 0.0 and file.suffix.lower() in SEPARATORS:
            raise InputError("min_relevance is kept by parquet alone; give a path in .parquet")
        if items is not None:
            items = id_column("items", items, self.n_better.size)
        user = np.repeat(np.arange(len(self)), self.n_found)
        columns = {
            USER: select_rows(self.users, user),
            VISIT: select_rows(self.visits, user),
            ITEM: items,
            "n_candidates": self.n_candidates[user],
            "n_better": self.n_better,
            "n_tied": self.n_tied,
            "relevance": self.relevance,
        }
        for name, values in columns.items():
            if values is not None and values.dtype.kind in "iu":
                narrow = values.astype(np.int32)
                if (narrow == values).all():
                    columns[name] = narrow
        metadata = {b"source": self.source.encode()}
        if self.min_relevance > 0.0:
            metadata[b"min_relevance"] = repr(self.min_relevance).encode()
        write_columns(file, columns, metadata)


def _visits_of(parts: Sequence[Ranks]) -> Ids | None:
    """Return the ids of visits of all parts, of one kind in all or in none."""
    visits: list[Any] = [part.visits for part in parts]
    if len(set(map(id_kind, visits))) != 1:
        raise InputError("expected ids of visits of one kind in all ranks, or in none")
    return None if visits[0] is None else np.concatenate(visits)


def _grades(ranks: Ranks) -> Float:
    """Return the grades of relevant items, 1 without any."""
    if ranks.relevance is None:
        return np.ones(int(ranks.n_relevant.sum()))
    return ranks.relevance


def counts_of(table: Table, n_items: int | None = None) -> tuple[Int, Int, Int]:
    """Return candidates, better and tied ones of each row of a table of counts or of ranks."""
    if "n_better" not in table.columns and "n_tied" not in table.columns:
        return _counts_of_ranks(table, n_items)
    table.require(*COLUMNS)
    n_candidates = table.whole_numbers("n_candidates", 2, MAX_ITEMS)
    n_better = table.whole_numbers("n_better", 0, n_candidates - 1)
    return n_candidates, n_better, table.whole_numbers("n_tied", 0, n_candidates - 1 - n_better)


def _counts_of_ranks(table: Table, n_items: int | None) -> tuple[Int, Int, Int]:
    if "rank" not in table.columns and {USER, ITEM} <= table.columns.keys():
        raise InputError(
            f"found columns {', '.join(table.names)}; of lists call the scores score, or the "
            "places rank"
        )
    if "rank" not in table.columns:
        raise InputError(
            f"found columns {', '.join(table.names)}; expected {', '.join(COLUMNS)}, or rank, or "
            "user_id, item_id and rank or score"
        )
    most: int | Int | None = n_items
    if "n_candidates" in table.columns:
        most = table.whole_numbers("n_candidates", 2, MAX_ITEMS)
    if most is None:
        raise InputError(_NO_SIZE)
    rank = table.whole_numbers("rank", 1, most)
    if USER in table.columns:
        user = table.units()[0]
        row = first_duplicate(user, rank)
        if row is not None:
            raise table.error(
                "rank",
                row,
                rank[row],
                f"each rank once per user; number rows that are visits of a user, with rankings of "
                f"their own, in a column {VISIT} (visits=); of items that are level give "
                f"{', '.join(COLUMNS)}",
            )
        if "label" not in table.columns:
            lists.refuse_lists(table, user, rank)
    return np.full_like(rank, most), rank - 1, np.zeros_like(rank)


def _by_user(
    table: Table, counts: tuple[Int, Int, Int], rows: RowSelection, grades: Float | None
) -> dict[str, Any]:
    """Put those rows of each user together that are relevant."""
    n_candidates, n_better, n_tied = counts
    user, user_ids = table.units()
    order = np.argsort(user, kind="stable")
    first = order[run_starts(np.bincount(user))]
    of_user = n_candidates[first]
    table.refuse(
        "n_candidates",
        n_candidates != of_user[user],
        n_candidates,
        lambda row: f"{of_user[user[row]]}, as in row {first[user[row]] + 1} of the same user",
    )
    n_found = np.bincount(user[rows], minlength=of_user.size)
    has_items = n_found > 0
    order = np.argsort(user[rows], kind="stable")
    users, visits = users_and_visits(arrow_to_numpy(user_ids)[has_items])
    return {
        "n_candidates": of_user[has_items],
        "n_better": n_better[rows][order],
        "n_tied": n_tied[rows][order],
        "n_found": n_found[has_items],
        "relevance": select_rows(grades, order),
        "users": users,
        "visits": visits,
    }


def _check_counts(ranks: Ranks) -> Int:
    """Raise InputError unless each count is possible; return the order of items, best first."""
    for names in (_OF_USERS, ("n_better", "n_tied")):
        lengths = {name: getattr(ranks, name).size for name in names}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns differ in length: {lengths}")
    n, found, relevant, depth = (getattr(ranks, name) for name in _OF_USERS)
    require_all("n_candidates", n, n >= 0, "at least 0 (0: not known)")
    require_all("n_relevant", relevant, relevant >= 1, "at least 1")
    require_all("n_found", found, (found >= 0) & (found <= relevant), "0 to n_relevant")
    known = n > 0
    require_all("depth", depth, (depth >= 0) & (~known | (depth <= n)), "0 to n_candidates")
    fits = ~known | (relevant - found <= n - depth)
    require_all("n_relevant", relevant, fits, "at most n_found and the candidates below depth")
    better = ranks.n_better
    tied = ranks.n_tied
    if better.size != found.sum():
        raise InputError(f"{better.size} ranks of items, but n_found is {found.sum()} in all")
    user = np.repeat(np.arange(found.size), found)
    above = (better >= 0) & (better < depth[user])
    require_all("n_better", better, above, "0 to less than its user's n_candidates or depth")
    fits = (tied >= 0) & (~known[user] | (better + tied < n[user]))
    require_all("n_tied", tied, fits, "at least 0, and n_better + n_tied below n_candidates")
    if (found == 1).all():
        return np.arange(user.size)
    return np.lexsort((better, user))


def _checked_relevance(ranks: Ranks, relevance: ArrayLike, order: Int) -> Float:
    """Raise InputError unless grades fit; put the grades of items found in order."""
    grades = to_array("relevance", relevance, np.float64).copy()
    expected = (ranks.n_relevant.sum(),)
    if grades.shape != expected:
        raise InputError(f"relevance has shape {grades.shape}; expected {expected}")
    good = np.isfinite(grades) & (grades > 0.0)
    require_all("relevance", grades, good, "a finite number above 0")
    found = concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)
    grades[found] = grades[found][order]
    return grades


def _check_levels(ranks: Ranks) -> None:
    """Raise InputError unless items of a user are tied or apart, at most n_tied + 1 tied."""
    better = ranks.n_better
    tied = ranks.n_tied
    user = np.repeat(np.arange(ranks.n_found.size), ranks.n_found)
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
