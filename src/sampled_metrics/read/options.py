"""`Reading`: the options of one call, and the reader that they choose for each kind of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sampled_metrics._base.arguments import (
    ALL_CORES,
    check_arguments,
    check_n_items,
    require_same,
)
from sampled_metrics._base.array_types import Array, Data, ItemsByUser
from sampled_metrics._base.calls import place_of, public, warn_all
from sampled_metrics._base.columns import is_no_item
from sampled_metrics._base.conversion import numeric_array, to_numpy
from sampled_metrics._base.errors import InputError, NoRelevantItemsError, cli_option
from sampled_metrics.checks.ranks import signs_in_ranks
from sampled_metrics.checks.samples import signs_in_sampled_ranks
from sampled_metrics.ranks.checks import COUNT_COLUMNS
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.read.early_stop import EarlyStop
from sampled_metrics.read.kinds import Kind, kind_of, recommenders_error
from sampled_metrics.read.lists import Lists, lists_from_arrays
from sampled_metrics.read.pair_scores import PairScores
from sampled_metrics.read.products import InnerProducts
from sampled_metrics.read.roles import ITEM, USER, VISIT, NamesByRole, check_roles
from sampled_metrics.read.row_counts import pad_rows
from sampled_metrics.read.scores import (
    ScoreSource,
    note_missing_seen,
    pair_error,
    ranks_from_scores,
    read_array,
    scores_from_function,
    scores_from_vectors,
)
from sampled_metrics.read.tables import Table, as_table, read_table

_ROWS_CHECKED = 1000  # at the beginning of an array, to see whether it contains whole numbers
# Options of full rankings that not all data accepts, and arguments of `Ranks.from_lists`.
_FULL = ("n_items", "complete", "min_relevance", "missing", "relevant", "seen")
# Options of sampled ranks, and of those that scores of negatives accept as well.
_OF_NEGATIVES = ("n_items", "n_negatives", "sampling")
_OF_SCORED_NEGATIVES = ("counts", "cluster", "ties", "seed", "missing")


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """How data becomes ranks: the options of `evaluate` and `correct` that say what it means.

    Examples
    --------
    >>> Reading(relevant=[2]).ranks([[0.3, 0.9, 0.5]]).best_rank
    array([2])
    >>> Reading(relevant={"anna": [9]}).ranks({"anna": [7, 9]}).best_rank
    array([2])
    >>> Reading(n_items=5, positive=0).sampled([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]]).sampled_ranks
    array([1, 2])
    """

    n_items: Any = None
    complete: bool = False
    min_relevance: float = 0.0
    missing: str = "refuse"
    relevant: ItemsByUser | None = None
    seen: ItemsByUser | None = None
    positive: Any = None
    n_negatives: int | None = None
    sampling: str | None = None
    ties: str = "random"
    seed: int = 0
    counts: Any = None
    items: Any = None
    users: Any = None
    cluster: Any = None
    n_jobs: int = ALL_CORES
    progress: bool | None = None
    early_stop: EarlyStop | None = None  # for rankings by vectors or by a function of pairs

    def _select(self, *names: str) -> dict[str, Any]:
        """Return some of the options as keyword arguments."""
        return {name: getattr(self, name) for name in names}

    def refuse_others(self, noun: str, *allowed: str, among: tuple[str, ...] = _FULL) -> None:
        """Raise InputError for the first option that was passed and is not allowed with a `noun`.

        Only options in `among` are refused.
        """
        for name, value in self._select(*among).items():
            if name in allowed or value is None:
                continue
            default = getattr(Reading, name)
            was_passed = default is None or value != default
            if was_passed:
                raise InputError(f"{name} ({cli_option(name)}) cannot be used with {noun}; drop it")

    def ranks(self, data: Data) -> Ranks:
        """Return the ranks of relevant items in full rankings, or in lists of the best items."""
        n_items = check_n_items(self.n_items)
        check_arguments(
            complete=self.complete, min_relevance=self.min_relevance, missing=self.missing
        )
        with place_of(data):
            form = read_data(data, self.relevant, n_items)
            ranks = self._construct_ranks(form)
            if not len(ranks):
                raise InputError("no user has a relevant item; expected at least one")
            if self.min_relevance > ranks.min_relevance:
                ranks = ranks.at_least(self.min_relevance)
            warn_all(signs_in_ranks(ranks))
            return ranks

    def _construct_ranks(self, form: Any) -> Ranks:
        """Call the constructor for a form of data, with the options that it accepts."""
        if isinstance(form, Ranks):
            self.refuse_others("Ranks", "min_relevance")
            return form
        if isinstance(form, SampledRanks):
            raise InputError("found sampled ranks; use `correct`")
        if isinstance(form, Table):
            return self._ranks_from_table(form)
        if isinstance(form, Lists):
            return self._ranks_from_lists(form)
        if isinstance(form, ScoreSource):
            return self._ranks_from_scores(form)
        if self.relevant is not None:
            raise InputError(
                "relevant (--relevant) cannot be used with ranks, one number for each user; drop "
                "it, and compare with Ranks.from_scores(scores, relevant); pass scores of one "
                "user as a row, data[None] and relevant[None]"
            )
        self.refuse_others("ranks", "n_items", "min_relevance")
        return Ranks.from_ranks(form, self.n_items)

    def _ranks_from_lists(self, lists: Table | Lists) -> Ranks:
        return Ranks.from_lists(lists, **self._select(*_FULL))

    def _ranks_from_table(self, table: Table) -> Ranks:
        """Distinguish tables of lists, of counts, of ranks and of labelled pairs."""
        columns = table.columns.keys()
        if "sampled_rank" in columns:
            raise InputError("found sampled ranks; use `sampled-metrics correct`")
        if {"score", "label"} <= columns and self.relevant is None:
            return self._ranks_from_labelled_pairs(table)
        has_order = not columns.isdisjoint(("rank", "score"))
        is_ordered_list = ITEM in columns and has_order and "n_candidates" not in columns
        is_list_by_row = columns - {USER, VISIT} == {ITEM}
        if is_ordered_list and self.relevant is None:
            self._refuse_lists_with_labels_or_complete(table)
        if is_ordered_list or is_list_by_row:
            return self._ranks_from_lists(table)
        if has_order and self.relevant is not None and table.unknown_columns:
            raise InputError(
                f"found no column of items among {', '.join(table.names)}: lists need one, such as "
                f"{ITEM}; for ranks of relevant items drop relevant (--relevant)"
            )
        if not columns.isdisjoint(("rank", *COUNT_COLUMNS)):
            self.refuse_others("ranks", "n_items", "min_relevance")
        return Ranks.from_table(table, self.n_items)

    def _ranks_from_labelled_pairs(self, table: Table) -> Ranks:
        if not self.complete:
            raise InputError(
                "found labelled pairs; if they are of all candidates, pass complete=True "
                "(--complete) or use Ranks.from_pairs; for pairs of held-out items and "
                "sampled negatives, use `correct`"
            )
        self.refuse_others("labelled pairs", "complete", "min_relevance")
        return Ranks.from_pairs(table, min_relevance=self.min_relevance)

    def _refuse_lists_with_labels_or_complete(self, table: Table) -> None:
        """Raise InputError for lists without `relevant` that were meant as labelled pairs."""
        if "label" in table.columns:
            raise InputError(
                "found lists with labels; pass relevant (--relevant), which may be the same table: "
                "its rows of label 0 are not relevant"
            )
        if self.complete:
            column = "rating" if "rating" in table.unknown_columns else "NAME"
            raise NoRelevantItemsError(
                "found pairs without labels; pass relevant (--relevant), or name the column of "
                f"labels or grades, columns={{'label': '{column}'}} (--column label={column})"
            )

    def _ranks_from_scores(self, scores: ScoreSource) -> Ranks:
        self.refuse_others("scores", "relevant", "seen", "n_items", "min_relevance", "missing")
        require_same("n_items", self.n_items, "number of items", scores.shape[1])
        computes_pairs = isinstance(scores.rows, InnerProducts | PairScores)
        ranks = ranks_from_scores(
            scores,
            self.relevant,
            self.seen,
            missing=self.missing,
            min_relevance=self.min_relevance,
            n_jobs=self.n_jobs,
            progress=self.progress,
            early_stop=self.early_stop if computes_pairs else None,
        )
        n_items = scores.shape[1]
        if self.seen is None and (ranks.n_candidates == n_items).all():
            note_missing_seen(len(ranks), n_items)
        return ranks

    def sampled(self, data: Data) -> SampledRanks:
        """Return the sampled ranks of any kind of data."""
        check_arguments(
            tie_policy=self.ties,
            missing=self.missing,
            n_negatives=self.n_negatives,
            sampling=self.sampling,
            seed=self.seed,
        )
        with place_of(data):
            sampled = self._construct_sampled(data)
            warn_all(signs_in_sampled_ranks(sampled))
            return sampled

    def _construct_sampled(self, data: Any) -> SampledRanks:
        """Call the constructor for the kind of data, with the options that it accepts."""
        self._refuse_without_counts()
        if isinstance(data, Ranks):
            raise InputError("found full rankings, which need no correction; use `evaluate`")
        if isinstance(data, SampledRanks):
            self._refuse_counts()
            self.refuse_others("sampled ranks", among=("positive", "relevant"))
            for name, value in self._select(*_OF_NEGATIVES).items():
                require_same(name, value, name, getattr(data, name))
            return data
        form = _read_sampled(data, self.relevant)
        if isinstance(form, ScoreSource):
            return self._sampled_from_scores(data)
        if isinstance(form, Table):
            return self._sampled_from_table(form)
        if self.positive is not None:
            raise InputError(
                "positive (--positive) cannot be used with ranks, one number for each row; "
                "pass scores of a held-out item and its negatives as rows, "
                "scores.reshape(-1, 1 + n_negatives)"
            )
        return self._sampled_from_table(read_table({"sampled_rank": form}, "sampled ranks"))

    def _sampled_from_scores(self, scores: Any) -> SampledRanks:
        if self.relevant is not None:
            raise InputError(
                "relevant (--relevant) cannot be used with a matrix of scores; drop it, and "
                "pass the columns of held-out items by positive (--positive)"
            )
        options = self._select(*_OF_NEGATIVES, *_OF_SCORED_NEGATIVES, "items", "users")
        return SampledRanks.from_scores(scores, self.positive, **options)

    def _sampled_from_table(self, table: Table) -> SampledRanks:
        """Distinguish tables of sampled ranks from those of held-out items and negatives."""
        self.refuse_others("a table or ranks", among=("positive", "items", "users"))
        if "sampled_rank" in table.columns:
            self._refuse_counts()
            self.refuse_others("sampled ranks", among=("relevant",))
            return SampledRanks.from_table(table, **self._select(*_OF_NEGATIVES, "seed"))
        options = self._select(*_OF_NEGATIVES, *_OF_SCORED_NEGATIVES)
        return SampledRanks.from_pairs(table, self.relevant, **options)

    def _refuse_without_counts(self) -> None:
        """Raise InputError for an option that has a meaning only with counts of items."""
        for name in ("items", "users", "cluster"):
            if self.counts is None and getattr(self, name) is not None:
                raise InputError(
                    f"{name} ({cli_option(name)}) needs counts (--counts), the events of "
                    "training or a count for each item; pass them, or drop it"
                )

    def _refuse_counts(self) -> None:
        """Raise InputError for counts of items beside ranks, which lack the ids of negatives."""
        if self.counts is not None:
            raise InputError(
                "counts (--counts) need the ids of the negatives: pass pairs of user_id, item_id, "
                "score and label, or scores with positive (--positive) and items (--items); for "
                "printed metrics, pass counts to `reported`"
            )


@public(columns=check_roles)
def as_ranks(data: Data, *, columns: NamesByRole = None, **options: Any) -> Ranks:
    """Return the ranks of data; see `Reading`."""
    return Reading(**options).ranks(data)


@public(columns=check_roles)
def as_sampled_ranks(data: Data, *, columns: NamesByRole = None, **options: Any) -> SampledRanks:
    """Return the sampled ranks of data; see `Reading`."""
    return Reading(**options).sampled(data)


def read_data(data: Data, relevant: ItemsByUser | None = None, n_items: int | None = None) -> Any:
    """Read data once, into one of the forms that ranks are made from.

    These are `Ranks`, `SampledRanks`, a `Table`, `Lists` of a retriever, a `ScoreSource`, or an
    array with one number for each user. Two matrices are distinguished by `relevant`,
    and a function needs it, or `n_items`.
    """
    if isinstance(data, Ranks | SampledRanks | Table | Lists | ScoreSource):
        return data
    kind = kind_of(data)
    if kind is Kind.RECOMMENDERS:
        raise recommenders_error("evaluate")
    if kind is Kind.PAIR:
        return _read_pair(data, relevant)
    if kind is Kind.FUNCTION:
        return scores_from_function(data, relevant, n_items)
    table = _read_table(data, kind, relevant, "rank", "ranks, lists or scores")
    if table is not None:
        return table
    form = read_array(data, kind=kind)
    if isinstance(form, ScoreSource) and form.sparse_matrix is None:
        _refuse_ids(form)
    return form


def _read_sampled(data: Data, relevant: ItemsByUser | None) -> Any:
    """Read sampled ranks, or scores among negatives: a `Table`, a `ScoreSource` or an array."""
    kind = kind_of(data)
    if kind is Kind.RECOMMENDERS:
        raise recommenders_error("correct")
    if kind is Kind.PAIR:
        refuse_vectors(data, "use `evaluate`")
        raise InputError(
            "found two arrays; pass the scores of candidates alone, and the columns of held-out "
            "items by positive, such as 0, or (ids == held_out[:, None]).argmax(axis=1)"
        )
    table = _read_table(data, kind, relevant, "sampled_rank", "sampled ranks")
    return read_array(pad_rows(data), "sampled ranks") if table is None else table


def _read_table(
    data: Data, kind: Kind, relevant: ItemsByUser | None, ranks: str, noun: str
) -> Table | None:
    """Read data with ids as a table; numbers of a Series by user are ranks without `relevant`."""
    table = as_table(data, noun, ranks=ranks if relevant is None else None, kind=kind)
    is_list = table is not None and not table.is_by_item
    if kind is Kind.BY_USER and relevant is None and is_list:
        raise NoRelevantItemsError(
            "found a dictionary of lists by user, which needs relevant (--relevant); for ranks by "
            "recommender, use `compare`"
        )
    return table


def _read_pair(data: tuple[Any, Any], relevant: ItemsByUser | None) -> ScoreSource | Lists:
    """Distinguish the ids and scores of a retriever, in any order, from vectors.

    Ids are whole numbers, and scores are not; neither are vectors.
    """
    arrays = numeric_array(data[0]), numeric_array(data[1])
    first, second = arrays
    is_first_whole, is_second_whole = (array.dtype.kind in "iu" for array in arrays)
    has_ids = is_first_whole or is_second_whole
    if not has_ids and _may_be_vectors(arrays, relevant):
        vectors = scores_from_vectors(*data)
        if first.shape != second.shape:
            return vectors
        return vectors._replace(pair_width=first.shape[1])  # relevant items decide
    if is_first_whole == is_second_whole:
        raise pair_error()
    ids, scores = (first, second) if is_first_whole else (second, first)
    return lists_from_arrays(ids, scores)


def _may_be_vectors(arrays: tuple[Array, Array], relevant: ItemsByUser | None) -> bool:
    """Return whether two arrays of floats may be vectors of users and of items.

    They are if their shapes differ, because each entry of a list has a score. Otherwise they may be
    if neither has whole numbers only, as columns of lists are; relevant items then decide, see
    `ScoreSource.pair_width`.
    """
    if arrays[0].shape != arrays[1].shape:
        return True
    first_rows = [array[:_ROWS_CHECKED] for array in arrays]
    return relevant is not None and not any((rows == np.rint(rows)).all() for rows in first_rows)


def refuse_vectors(data: Data, remedy: str) -> None:
    """Raise InputError for vectors of users and items: sampling would save hardly any time.

    These are two matrices of floats with the same number of columns.
    """
    if kind_of(data) is not Kind.PAIR:
        return
    users, items = (numeric_array(part) for part in data)
    if users.shape[1] == items.shape[1] and {users.dtype.kind, items.dtype.kind} == {"f"}:
        raise InputError(
            "found vectors of users and of items; exact metrics at a cut-off need only part of "
            f"their scores: {remedy}"
        )


def _refuse_ids(scores: ScoreSource) -> None:
    """Raise InputError if the first rows are different whole numbers, which are probably ids."""
    first_rows = scores.rows(np.arange(min(scores.shape[0], _ROWS_CHECKED)))
    is_float = "float" in str(first_rows.dtype)  # of any library
    if is_float:
        return
    numbers = to_numpy(first_rows)
    if numbers.dtype.kind in "iu" and _look_like_ids(numbers):
        raise InputError(
            "each row has distinct integers; for ids, best first, use "
            "Ranks.from_top_k(ids, relevant); for scores, convert them to float"
        )


def _look_like_ids(rows: Array) -> bool:
    """Return whether the numbers of each row are different, except -1 or -100 at its end."""
    ordered = np.sort(np.where(is_no_item(rows), -1, rows), axis=1)
    is_repeated = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != -1)
    return bool(ordered[:, 0].min() >= -1) and not is_repeated.any()
