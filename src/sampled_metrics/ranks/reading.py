"""Ranks in full rankings from files, DataFrames, arrays, matrices of scores and lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import NDArray

from sampled_metrics._base.arrays import (
    Float,
    Int,
    check_arguments,
    first_duplicate,
    ranges,
    starts,
)
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, InputWarning, one_line, reading
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics.ranks.kinds import items_of, lists_of, scores_of, table_of
from sampled_metrics.ranks.options import (
    SEVERAL,
    Ranked,
    is_table,
    warn_of_seen_items,
    without_names,
)
from sampled_metrics.ranks.pairs import RELEVANT, Pairs, read_pairs, read_relevant, relevant_rows
from sampled_metrics.ranks.questions import question_ranks
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import (
    COLUMNS,
    Ranks,
    grades_of,
    id_column,
    require,
    require_same,
    require_unique,
)
from sampled_metrics.tables import (
    ITEM,
    RUN,
    USER,
    Table,
    as_numpy,
    is_frame,
    places,
    read_table,
    require_file,
)

WHAT = "ranks, lists or scores"
SEEN_MATRIX = "seen items, users x items"
RECORDS = f"rank records ({', '.join((USER, *COLUMNS))})"


def as_ranks(data: Any, ranked: Ranked) -> Ranks:
    """Return the ranks of relevant items in full rankings, or in lists of the best items.

    The data is `Ranks`; exact ranks from 1, shape (users,); scores, shape (users, items), in a
    DataFrame too; a list of items, best first, for each user of a dictionary; or the name of a
    file, or a DataFrame with the same columns. Tables are CSV, TSV or parquet.

    - ranks: columns `n_candidates`, `n_better`, `n_tied` and maybe `user_id`;
    - ranks without ties: `rank` from 1, of `n_candidates` or else `n_items`;
    - lists, cut anywhere: `user_id`, `item_id` and `rank` or `score`, with `relevant`;
    - a TREC run (`.run`, `.trec` or by its first line), sorted by score as trec_eval does, with
      `relevant`;
    - a matrix of scores, users x items (`.npy`, read block by block, or `.npz` with an array
      `scores`), with `relevant` and `seen`; -inf is no candidate. An `.npz` may also hold
      `held_out` (columns, shape (users,)), `seen` (bool, users x items), and `user_ids` and
      `item_ids`, which tables then hold in the place of row and column numbers from 0. Other files
      of relevant items are `.npy` with a column for each user, `.npz` as scipy's `save_npz` writes,
      or a table or qrels; those of seen items are such an `.npz` or table, or `.npy` of bool.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], Ranked(relevant=[2])).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, Ranked(relevant={"anna": [9]})).best_rank
    array([2])
    """
    least = ranked.min_relevance
    check_arguments(n_items=ranked.n_items, complete=ranked.complete, min_relevance=least)
    ranks = _ranks_of(data, ranked)
    if least == 0.0:
        return ranks
    with reading(data):
        return ranks.at_least(least)


def _ranks_of(data: Any, ranked: Ranked) -> Ranks:
    """Return the ranks of all items with a relevance above 0."""
    if isinstance(data, Ranks):
        ranked.check("Ranks")
        return data
    if hasattr(data, "sampled_ranks"):
        raise InputError("found sampled ranks; `correct` takes them")
    relevant, data = lists_of(ranked.relevant, "relevant"), lists_of(data)
    ranked = ranked._replace(relevant=relevant, seen=lists_of(ranked.seen, "seen"))
    own: dict[str, Any] = {}
    if relevant is not None and is_frame(data):
        ids, data = {"user_ids": data.index, "item_ids": data.columns}, without_names(data)
        own = {name: each for name, each in ids.items() if type(each).__name__ != "RangeIndex"}
    if isinstance(data, str | Path) and Path(data).suffix in {".npy", ".npz"}:
        with reading(data):
            arrays = load_scores(Path(data), WHAT)
            return question_ranks(rank_by_scores(ranked, arrays, Path(data)))
    if isinstance(data, Table) or is_table(data):
        table = data if isinstance(data, Table) else read_table(data, WHAT, trec=RUN)
        ranked = ranked._replace(
            relevant=table_of(relevant, "relevant"), seen=table_of(ranked.seen, "seen")
        )
        with reading(table.path):
            found = table.columns
            has_places = ITEM in found and ("rank" in found or "score" in found)
            if is_frame(data) and set(found) == {USER, ITEM}:  # best first
                user = table.codes(USER)[0]
                score = pa.chunked_array([-np.arange(len(user))])
                table, has_places = replace(table, columns=found | {"score": score}), True
            is_list = has_places and "n_candidates" not in found
            return question_ranks((_of_lists if is_list else _of_table)(table, ranked))
    scores = scores_of(data, _n_users(relevant))
    if scores.ndim == 2:
        return question_ranks(rank_by_scores(ranked, own | {"scores": scores}))
    table = Table(Path("ranks"), {"rank": pa.chunked_array([scores])}, ("rank",))
    return question_ranks(_of_table(table, ranked))


def _n_users(relevant: Any) -> int | None:
    """Count the users of relevant items given by position."""
    if relevant is None or is_table(relevant):
        return None
    if isinstance(relevant, list | tuple):
        return len(relevant)
    return int(items_of(relevant, "relevant").shape[0])


def read_single(path: Path) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = as_ranks(path, Ranked())
    with reading(path):
        return ranks.single()


def read_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    found = {path.stem: read_single(path) for path in paths}
    for path in paths:
        first, here = len(found[names[0]]), len(found[path.stem])
        if here != first:
            raise InputError(f"{here} users, but {paths[0].name} has {first}", path=path)
    return found


def sources(texts: Iterable[str]) -> str:
    """Join the sources of several ranks, each once, with semicolons."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))


def counts_of(table: Table) -> tuple[Int, Int, Int]:
    """Return the three columns of rank records."""
    table.require(*COLUMNS)
    n_candidates = table.whole("n_candidates", 2, MOST_ITEMS)
    n_better = table.whole("n_better", 0, n_candidates - 1)
    return n_candidates, n_better, table.whole("n_tied", 0, n_candidates - 1 - n_better)


def _of_table(table: Table, ranked: Ranked) -> Ranks:
    """Take three columns of counts, or `rank`.

    Rows of one `user_id` are the relevant items of that user; users are in the order in which they
    first appear.
    """
    ranked.check("ranks")
    n_items: Any = ranked.n_items
    if "n_better" in table.columns or "n_tied" in table.columns:
        n_candidates, n_better, n_tied = counts_of(table)
    elif "rank" in table.columns:
        if "n_candidates" in table.columns:
            n_candidates = most = table.whole("n_candidates", 2, MOST_ITEMS)
        elif n_items is None:
            raise InputError("found ranks; give n_items (--n-items) or add a column n_candidates")
        else:
            n_candidates, most = np.full(len(table), n_items), n_items
        rank = table.whole("rank", 1, most)
        row = first_duplicate(table.codes(USER)[0], rank) if USER in table.columns else None
        if row is not None:
            raise table.error("rank", row, rank[row], "each rank once per user")
        n_better, n_tied = rank - 1, np.zeros_like(rank)
    elif "sampled_rank" in table.columns:
        raise InputError("found sampled ranks; `sampled-metrics correct` takes them")
    else:
        raise InputError(
            f"found columns {', '.join(table.names)}; expected {', '.join(COLUMNS)}, or rank, or "
            "user_id, item_id and rank or score"
        )
    ranks = _by_user(table, n_candidates, n_better, n_tied, _relevance_of(table))
    require_same("n_items", n_items, "n_candidates", ranks.n_candidates)
    least = float(table.metadata.get(b"min_relevance", b"0"))
    if least > 0.0:
        return ranks.at_least(least)
    return ranks


def _relevance_of(table: Table) -> Float | None:
    """Return the grades of rank records, if there are any."""
    if "relevance" not in table.columns:
        return None
    relevance = table.finite("relevance")
    table.refuse("relevance", relevance <= 0.0, relevance, "numbers above 0")
    return grades_of(relevance)


def _by_user(
    table: Table, n_candidates: Int, n_better: Int, n_tied: Int, relevance: Float | None
) -> Ranks:
    source = one_line(table.metadata.get(b"source", b"unknown").decode(errors="replace"))
    if USER not in table.columns:
        return Ranks.trusted(n_candidates, n_better, n_tied, relevance=relevance, source=source)
    user, user_ids = table.codes(USER)
    n_found = np.bincount(user)
    order = np.argsort(user, kind="stable")
    first = order[starts(n_found)]
    of_user = n_candidates[first]
    table.refuse(
        "n_candidates",
        n_candidates != of_user[user],
        n_candidates,
        lambda row: f"{of_user[user[row]]}, as in row {first[user[row]] + 1} of the same user",
    )
    return Ranks(
        of_user,
        n_better[order],
        n_tied[order],
        n_found=n_found,
        relevance=None if relevance is None else relevance[order],
        users=as_numpy(user_ids),
        source=source,
    )


def _of_lists(table: Table, ranked: Ranked) -> Ranks:
    """Rank the relevant items by their places in the users' lists, without the items seen.

    Users are in the order in which they first appear among the relevant items, with the length of
    their list as `depth`; lists of other users are ignored. A column `rank` has no ties and holds
    1, 2, 3 ... for each user, in any order of rows. With `score` alone, higher is better and equal
    scores are tied; items below the cut count as not tied with the last of the list.
    """
    ranked.check("lists")
    n_items = ranked.n_items
    if ranked.relevant is None:
        raise InputError("lists need a file of relevant items, --relevant")
    if ranked.complete and n_items is not None:
        raise InputError("--complete lists say how many items are ranked; leave --n-items out")
    relevant = read_relevant(ranked.relevant, ranked.min_relevance)
    lists, score = _scored_lists(table, relevant, ranked)
    n_better, n_tied = by_score(lists.user, score)
    list_of = places(relevant.user_ids, lists.user_ids)
    without = np.flatnonzero(list_of < 0)
    if without.size:
        user = relevant.user_ids[int(without[0])]
        raise InputError(f"no list for user {user} ({without.size} users have none)")
    item = places(relevant.item_ids, lists.item_ids)[relevant.item]
    key = np.where(item < 0, -1, lists.key(list_of[relevant.user], item))
    row = places(key, lists.key(lists.user, lists.item))
    missing = np.flatnonzero(row < 0)
    if ranked.complete and missing.size:
        user, item = relevant.pair(missing[0])
        raise InputError(f"no relevant item {item} in the list of user {user}: not --complete")
    length = lists.n_items()
    if n_items and not missing.size and length.size >= SEVERAL and length.max() < n_items:
        problem = f"the lists hold every relevant item, but end at {length.min()} to {length.max()}"
        remedy = "if nothing is cut off, give --complete and not --n-items"
        warnings.warn(f"{problem} of {n_items} candidates; {remedy}", InputWarning, stacklevel=2)
    order = np.lexsort((row < 0, relevant.user))  # each user's items found, then the others
    found = order[row[order] >= 0]
    n_relevant, depth = relevant.n_items(), length[list_of]
    return Ranks(
        depth if ranked.complete else np.full(n_relevant.size, n_items or 0),
        n_better[row[found]],
        n_tied[row[found]],
        n_found=np.bincount(relevant.user[found], minlength=n_relevant.size),
        n_relevant=n_relevant,
        depth=depth,
        relevance=None if relevant.relevance is None else relevant.relevance[order],
        users=as_numpy(relevant.user_ids),
    )


def _scored_lists(table: Table, relevant: Pairs, ranked: Ranked) -> tuple[Pairs, NDArray[Any]]:
    """Return the items of all lists without those seen, and scores that give their order."""
    lists = Pairs.of(table)
    length, longest = lists.n_items(), int(np.argmax(lists.n_items()))
    if ranked.n_items is not None and length[longest] > ranked.n_items:
        found = f"the list of user {lists.user_ids[longest]} has {length[longest]} items"
        raise InputError(f"{found}, expected at most {ranked.n_items}")
    score: NDArray[Any]
    if "rank" in table.columns:
        rank = table.whole("rank", 1)
        wanted = np.empty_like(rank)
        wanted[np.lexsort((rank, lists.user))] = ranges(1, length)
        table.refuse(
            "rank",
            rank != wanted,
            rank,
            lambda row: f"1 to {length[lists.user[row]]} once each for user {lists.pair(row)[0]}",
        )
        score = -rank
    else:
        score = table.ordered("score")
        if ranked.seen is None and (length == len(lists.item_ids)).all():
            warn_of_seen_items(length.size, len(lists.item_ids))
    if ranked.seen is not None:
        seen = Pairs.of(read_pairs(ranked.seen, "seen items"), unique=False)
        both = np.flatnonzero(relevant.among(seen))
        if both.size:
            user, item = relevant.pair(both[0])
            raise InputError(f"item {item} of user {user} is both relevant and seen")
        unseen = ~lists.among(seen)
        lists = lists._replace(user=lists.user[unseen], item=lists.item[unseen])
        score = score[unseen]
    return lists, score


def by_score(users: Int, score: NDArray[Any]) -> tuple[Int, Int]:
    """Count, for each row, the others of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = np.lexsort((-score, users))
    user, ordered = users[order], score[order]
    begins = np.flatnonzero(np.append(True, (np.diff(user) != 0) | (np.diff(ordered) != 0)))
    level = np.diff(np.append(begins, score.size))
    n_better, n_tied = np.empty(score.size, np.int64), np.empty(score.size, np.int64)
    n_better[order] = np.repeat(ranges(0, np.bincount(users))[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied


def rank_by_scores(ranked: Ranked, own: Mapping[str, Any], path: Path | None = None) -> Ranks:
    """Rank relevant items by the array `scores` of a file or in memory, and others beside it."""
    ranked.check("scores", path)
    scores = own["scores"]
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not scores.size:
        found = f"{scores.dtype} of shape {scores.shape}"
        raise InputError(f"scores are {found}; expected numbers, users x items")
    if "seen_indptr" in own:
        raise InputError("compressed seen items are not read; give a file by seen (--seen)")
    require_same("n_items", ranked.n_items, "number of items", scores.shape[1])
    ids: dict[str, Any] = {name: own.get(name) for name in ("user_ids", "item_ids")}
    for (name, values), size in zip(ids.items(), scores.shape, strict=True):
        if values is not None:
            ids[name] = id_column(name, values, size)
            require_unique(name, ids[name])
    axes = list(zip((USER, ITEM), ids.values(), scores.shape, strict=True))
    relevant = _relevant(ranked, scores.shape, axes, own.get("held_out"))
    seen = _seen(ranked, scores.shape, axes, own)
    ranks = rank(
        getattr(scores, "function", lambda rows: scores[rows]),
        seen,
        relevant,
        users=ids["user_ids"],
        items=ids["item_ids"],
    )
    if seen is None and (ranks.n_candidates == scores.shape[1]).all():
        warn_of_seen_items(*scores.shape)
    return ranks


def load_scores(path: Path, what: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz`, or that of an `.npy` as `scores`."""
    require_file(path, what)
    if path.suffix == ".npy":
        return {"scores": read_array(path, what, mmap_mode="r")}
    return read_arrays(path, "arrays with scores", ("scores",))


def _matrix(given: Any, what: str, axes: Any) -> Any:
    """Return relevant or seen items, given or in a file, as columns or users x items."""
    if not is_table(given):
        return items_of(given, what, tuple(size for *_, size in axes))
    path = Path() if is_frame(given) else Path(given)
    if path.suffix == ".npy":
        require_file(path, what)
        return read_array(path, what)
    if path.suffix == ".npz":
        require_file(path, what)
        read_arrays(path, f"{what}, as scipy.sparse.save_npz writes", ("format",))
        try:
            return scipy.sparse.load_npz(path)
        except Exception as error:
            raise InputError(f"not {what} ({error})", path=path) from error
    table = read_pairs(given, what)
    row, item = (
        table.whole(name, 0, size - 1)
        if ids is None
        else table.places(name, ids, "an id of the scores")
        for name, ids, size in axes
    )
    values: NDArray[Any] = np.ones(row.size, dtype=bool)
    if what == RELEVANT:
        Pairs.of(table)  # refuses duplicates
        rows, grades = relevant_rows(table)
        row = row[rows]
        item = item[rows]
        values = values[rows] if grades is None else grades
    return scipy.sparse.csr_array((values, (row, item)), shape=[size for *_, size in axes])


def _relevant(ranked: Ranked, shape: tuple[int, ...], axes: Any, held_out: Any) -> Any:
    """Return the relevant items of the matrix's own file or of another."""
    given, name = ranked.relevant, "held_out" if ranked.relevant is None else RELEVANT
    if given is None and held_out is None:
        raise InputError(
            "found scores; give relevant (--relevant) or, if these are scores of a held-out item "
            "and its negatives, use `correct` with positive (--positive)"
        )
    if given is not None and held_out is not None:
        raise InputError(f"held_out and {given} both give relevant items")
    with reading(given):
        marked = _matrix(held_out if given is None else given, RELEVANT, axes)
        is_column = marked.shape == shape[:1] and marked.dtype.kind in "iu"
        if marked.shape != shape and not is_column:
            found = f"{marked.dtype} of shape {marked.shape}"
            raise InputError(
                f"{RELEVANT} are {found}; expected {shape[0]} whole numbers or shape {shape}"
            )
        if is_column:
            good = (marked >= 0) & (marked < shape[1])
            require(name, marked, good, f"0 to {shape[1] - 1}")
    return marked


def _seen(ranked: Ranked, shape: tuple[int, ...], axes: Any, own: Mapping[str, Any]) -> Any:
    """Return the seen items of the matrix's own file or of another, None without either."""
    if "seen" in own and ranked.seen is not None:
        raise InputError(f"seen and {ranked.seen} both give seen items")
    if "seen" not in own and ranked.seen is None:
        return None
    with reading(ranked.seen):
        marked = own["seen"] if "seen" in own else _matrix(ranked.seen, SEEN_MATRIX, axes)
        if marked.shape != shape or marked.dtype.kind not in "biuf":
            found = f"{marked.dtype} of shape {marked.shape}"
            raise InputError(f"seen items are {found}; expected bool or numbers of shape {shape}")
    return marked
