"""Reading ranks, lists and scores: the name and the columns of a file tell what it holds."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.arrays import whole_number
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import lists, matrices, rank_tables, trec
from sampled_metrics.ranks.checks import require_same
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM
from sampled_metrics.tables.reading import is_frame, require_file

WHAT = "ranks, lists or scores"


def read_ranks(data: Any, ranked: Ranked) -> Ranks:
    r"""Read the ranks of relevant items from a file of ranks, lists or scores, or a DataFrame.

    Tables are CSV, TSV or parquet.

    - ranks: columns `n_candidates`, `n_better`, `n_tied` and maybe `user_id`;
    - ranks without ties: `rank` from 1, of `n_candidates` or else `n_items`;
    - lists, cut anywhere: `user_id`, `item_id` and `rank` or `score`, with `relevant`;
    - a TREC run (`.run`, `.trec` or by its first line), sorted by score as trec_eval does, with
      `relevant`;
    - a matrix of scores, users x items (`.npy`, `.npz`), with `relevant` and `seen`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ranks.csv"
    ...     _ = path.write_text("user_id,rank\nanna,3\nbert,1\n")
    ...     ranks = read_ranks(path, Ranked(n_items=40))
    >>> ranks.users.tolist(), ranks.n_better.tolist()
    (['anna', 'bert'], [2, 0])
    """
    if ranked.n_items is not None and whole_number("n_items", ranked.n_items) < 2:
        raise InputError(f"n_items is {ranked.n_items}, expected at least 2")
    if not is_frame(data):
        data = Path(data)
        require_file(data, WHAT)
        if data.suffix in {".npy", ".npz"}:
            if ranked.complete:
                raise InputError("--complete is for lists, found a matrix", path=data)
            return matrices.from_matrix(data, ranked)
    table = trec.read_table(data, WHAT, trec.RUN)
    return lists.from_lists(table, ranked) if _is_list(table) else _ranks(table, ranked)


def read_single(path: Path) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = read_ranks(path, Ranked())
    with reading(path):
        return ranks.single()


def read_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    return {path.stem: read_single(path) for path in paths}


def sources(texts: Iterable[str]) -> str:
    """Join the words on where ranks come from, each once, with semicolons."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))


def _is_list(table: Table) -> bool:
    """Return whether rows are places of a list; with `n_candidates` they are ranks."""
    has_places = ITEM in table and ("rank" in table or "score" in table)
    return has_places and "n_candidates" not in table


def _ranks(table: Table, ranked: Ranked) -> Ranks:
    for option, is_set in (
        ("--relevant", ranked.relevant is not None),
        ("--seen", ranked.seen is not None),
        ("--min-grade", ranked.min_grade > 0.0),
        ("--complete", ranked.complete),
    ):
        if is_set:
            raise InputError(f"{option} needs lists or scores, found ranks", path=table.path)
    if "n_better" in table or "n_tied" in table:
        ranks = rank_tables.from_counts(table)
    elif "rank" in table:
        ranks = rank_tables.from_plain_ranks(table, ranked.n_items)
    elif "sampled_rank" in table:
        raise InputError(
            "found sampled ranks; `sampled-metrics correct` takes them, as does `compare` with "
            "--n-negatives",
            path=table.path,
        )
    else:
        raise InputError(
            f"found columns {', '.join(table.names)}; expected n_candidates, n_better and n_tied, "
            "or rank, or user_id, item_id and rank or score",
            path=table.path,
        )
    with reading(table.path):
        require_same("n_items", ranked.n_items, "n_candidates", ranks.n_candidates)
    return ranks
