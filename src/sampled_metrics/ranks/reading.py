"""One function reads any file that says where relevant items stand in full or cut rankings."""

from collections.abc import Callable
from pathlib import Path

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import lists, matrices, trec
from sampled_metrics.ranks import rank_tables as records
from sampled_metrics.ranks.ranks import Ranks, source_of
from sampled_metrics.ranks.relevant_items import read_relevant
from sampled_metrics.tables.columns import ITEM, Table
from sampled_metrics.tables.reading import head, read_table, require_file

WHAT = "ranks, lists or scores"
_RUN_SUFFIXES = (".run", ".trec")


def read_ranks(
    path: Path,
    *,
    n_items: int | None = None,
    relevant: Path | None = None,
    seen: Path | None = None,
) -> Ranks:
    r"""Read ranks, lists or scores, whichever the file holds.

    Its name and columns tell which; tables are CSV, TSV or parquet.

    - rank records: columns `n_candidates`, `n_better`, `n_tied` and, if wanted, `user_id`;
    - exact ranks: `rank` from 1, of `n_items` or a column `n_candidates`; no ties;
    - lists, cut anywhere: `user_id`, `item_id` and `rank` or `score`, with `relevant`;
    - a TREC run (`.run`, `.trec` or by its look): sorted by score as trec_eval does, with
      `relevant`;
    - a matrix of scores, users x items (`.npy`, `.npz`), with `relevant` and `seen`.

    Parameters
    ----------
    path
        The file.
    n_items
        Items ranked for each user, where the file does not say. A column `n_candidates` prevails.
    relevant
        File of the relevant items of each user: a table of `user_id` and `item_id`, qrels, or for
        a matrix `.npy` with a column number a user.
    seen
        File of the items that are no candidates: for a matrix only.

    Raises
    ------
    InputError
        A file is not what it should be; the message names file, column and row, and what is
        allowed. A file that is needed is not given, or one is given that is of no use.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ranks.csv"
    ...     _ = path.write_text("user_id,rank\nanna,3\nbert,1\n")
    ...     ranks = read_ranks(path, n_items=40)
    >>> ranks.users.tolist(), ranks.n_better.tolist()
    (['anna', 'bert'], [2, 0])
    """
    path = Path(path)
    if n_items is not None and n_items < 2:
        raise InputError(f"n_items is {n_items}; allowed: at least 2")
    require_file(path, WHAT)
    if path.suffix in {".npy", ".npz"}:
        return matrices.from_matrix(path, relevant, seen, n_items)
    if seen is not None:
        raise InputError(f"{path} holds no matrix of scores: seen items ({seen}) are of no use")
    return _taken(_read(path), n_items, relevant)


def _read(path: Path) -> Table:
    if path.suffix in _RUN_SUFFIXES or (
        path.suffix != ".parquet" and trec.is_run(head(path, WHAT))
    ):
        return trec.read_run(path)
    return read_table(path, WHAT)


def _taken(table: Table, n_items: int | None, relevant: Path | None) -> Ranks:
    if _is_list(table):
        if relevant is None:
            raise InputError(
                f"{table.path} holds lists: a file of relevant items (--relevant) is needed"
            )
        return lists.from_lists(table, read_relevant(relevant), n_items)
    take = _records(table, n_items)
    if relevant is not None:
        raise InputError(f"{table.path} holds ranks: relevant items ({relevant}) are of no use")
    return take()


def _is_list(table: Table) -> bool:
    """Tell whether rows are places of a list; `n_candidates` says that they are ranks."""
    if "n_candidates" in table or ITEM not in table:
        return False
    return "rank" in table or "score" in table


def _records(table: Table, n_items: int | None) -> Callable[[], Ranks]:
    source = source_of(table.path) if table.path.suffix == ".parquet" else "unknown"
    if "n_better" in table or "n_tied" in table:
        return lambda: records.from_counts(table, source)
    if "rank" in table:
        return lambda: records.from_plain_ranks(table, n_items, source)
    if "sampled_rank" in table:
        raise InputError(
            f"{table.path} holds sampled ranks: `sampled-metrics correct` takes them, as does "
            "`compare` with --n-negatives"
        )
    raise InputError(
        f"{table.path}: found columns {', '.join(table.names)}; expected n_candidates, n_better "
        "and n_tied, or rank, or user_id, item_id and rank or score"
    )


def read_single(path: Path, *, n_items: int | None = None) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = read_ranks(path, n_items=n_items)
    with reading(path):
        return ranks.single()
