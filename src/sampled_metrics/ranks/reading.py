"""Reading ranks, lists and scores: the name and the columns of a file tell what it holds."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.arrays import whole_number
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import lists, matrices, rank_tables, trec
from sampled_metrics.ranks.columns import require_same_items
from sampled_metrics.ranks.parquet import source_of
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import Pairs, read_pairs, read_relevant
from sampled_metrics.tables.columns import ITEM, Table
from sampled_metrics.tables.reading import is_frame, read_table, require_file

WHAT = "ranks, lists or scores"


def read_ranks(
    path: Any,
    *,
    n_items: int | None = None,
    relevant: Any = None,
    seen: Any = None,
    min_grade: float = 0.0,
    complete: bool = False,
) -> Ranks:
    r"""Read the ranks of relevant items from a file of ranks, lists or scores.

    Tables are CSV, TSV or parquet.

    - ranks: columns `n_candidates`, `n_better`, `n_tied` and maybe `user_id`;
    - ranks without ties: `rank` from 1, of `n_candidates` or else `n_items`;
    - lists, cut anywhere: `user_id`, `item_id` and `rank` or `score`, with `relevant`;
    - a TREC run (`.run`, `.trec` or by its first line), sorted by score as trec_eval does, with
      `relevant`;
    - a matrix of scores, users x items (`.npy`, `.npz`), with `relevant` and `seen`.

    Parameters
    ----------
    path
        The file, or a DataFrame with the columns of a table.
    n_items
        Items ranked for each user, if there is no column `n_candidates`.
    relevant
        File of the relevant items of each user: a table of `user_id` and `item_id`, qrels, or for
        a matrix `.npy` with one column number per user.
    seen
        File of the items that are no candidates, for a matrix or lists.
    min_grade
        Least grade, in qrels or a column `relevance`, that makes an item relevant; by default any
        above 0. NDCG takes all grades above 0 as gains. Users without a relevant item are left
        out.
    complete
        Whether lists hold all candidates of their users, whose number they then give.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ranks.csv"
    ...     _ = path.write_text("user_id,rank\nanna,3\nbert,1\n")
    ...     ranks = read_ranks(path, n_items=40)
    >>> ranks.users.tolist(), ranks.n_better.tolist()
    (['anna', 'bert'], [2, 0])
    """
    if n_items is not None and whole_number("n_items", n_items) < 2:
        raise InputError(f"n_items is {n_items}, expected at least 2")
    if is_frame(path):
        return _of_table(read_table(path, WHAT), n_items, relevant, seen, min_grade, complete)
    path = Path(path)
    require_file(path, WHAT)
    if path.suffix in {".npy", ".npz"}:
        if complete:
            raise InputError("--complete is for lists, found a matrix", path=path)
        return matrices.from_matrix(path, relevant, seen, n_items, min_grade)
    return _of_table(_read(path), n_items, relevant, seen, min_grade, complete)


def _of_table(
    table: Table,
    n_items: int | None,
    relevant: Any,
    seen: Any,
    min_grade: float,
    complete: bool,
) -> Ranks:
    path = table.path
    if _is_list(table):
        if relevant is None:
            raise InputError("lists need a file of relevant items, --relevant", path=path)
        if complete and n_items is not None:
            raise InputError("--complete lists say how many items are ranked; leave --n-items out")
        known = None if seen is None else Pairs.encode(read_pairs(seen, "seen items"))
        wanted = read_relevant(relevant, min_grade)
        return lists.from_lists(table, wanted, n_items, min_grade, known, complete)
    for option, given in (
        ("--relevant", relevant is not None),
        ("--seen", seen is not None),
        ("--min-grade", min_grade > 0.0),
        ("--complete", complete),
    ):
        if given:
            raise InputError(f"{option} needs lists or scores, found ranks", path=path)
    return _ranks(table, n_items)


def _read(path: Path) -> Table:
    return trec.read_run(path) if trec.is_run_file(path, WHAT) else read_table(path, WHAT)


def _is_list(table: Table) -> bool:
    """Return whether rows are places of a list; with `n_candidates` they are ranks."""
    has_places = ITEM in table and ("rank" in table or "score" in table)
    return has_places and "n_candidates" not in table


def _ranks(table: Table, n_items: int | None) -> Ranks:
    source = source_of(table.path) if table.path.suffix == ".parquet" else "unknown"
    if "n_better" in table or "n_tied" in table:
        return _with_items(rank_tables.from_counts(table, source), table, n_items)
    if "rank" in table:
        ranks = rank_tables.from_plain_ranks(table, n_items, source)
        return _with_items(ranks, table, n_items)
    if "sampled_rank" in table:
        raise InputError(
            "found sampled ranks; `sampled-metrics correct` takes them, as does `compare` with "
            "--n-negatives",
            path=table.path,
        )
    raise InputError(
        f"found columns {', '.join(table.names)}; expected n_candidates, n_better and n_tied, or "
        "rank, or user_id, item_id and rank or score",
        path=table.path,
    )


def _with_items(ranks: Ranks, table: Table, n_items: int | None) -> Ranks:
    """Return the ranks, or raise InputError if the table has other numbers of candidates."""
    with reading(table.path):
        require_same_items(ranks.n_candidates, n_items)
    return ranks


def read_single(path: Path, *, n_items: int | None = None) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = read_ranks(path, n_items=n_items)
    with reading(path):
        return ranks.single()


def sources(texts: Iterable[str]) -> str:
    """Join the words on where ranks come from, each once.

    Examples
    --------
    >>> sources(["trained here", "scores; trained here"])
    'scores; trained here'
    """
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))


def read_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    return {path.stem: read_single(path) for path in paths}
