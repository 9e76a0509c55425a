"""Sampled ranks from files, tables and arrays, with the options that say how they were drawn."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Int, first_duplicate
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import candidates, matrices, trec
from sampled_metrics.ranks.checks import require_same
from sampled_metrics.ranks.options import Drawn
from sampled_metrics.ranks.relevant_items import read_relevant
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.reading import require_file

WHAT = "sampled ranks"


def read_sampled(path: Path, drawn: Drawn) -> SampledRanks:
    """Read sampled ranks, or scores of held-out items and their negatives.

    - a table (CSV, TSV, parquet) with `sampled_rank`, and `user_id`, `n_candidates`, `repetition`,
      `n_negatives` and `sampling` if it has them;
    - a table of pairs with `user_id`, `score` and `label`: 1 for held-out items, 0 for negatives;
    - lists or a TREC run of the candidates, with a file of the held-out items;
    - scores, one row per user (`.npy`, or `.npz` with `scores` and maybe `positive` and
      `user_ids`), with the column of the held-out item.
    """
    drawn.check()
    require_file(path, WHAT)
    with reading(path):
        if path.suffix in {".npy", ".npz"}:
            return _of_arrays(matrices.load_scores(path, WHAT), drawn)
        return of_table(trec.read_table(path, WHAT, trec.RUN), drawn)


def of_table(table: Table, drawn: Drawn) -> SampledRanks:
    """Make sampled ranks of a table, see `read_sampled`."""
    if "sampled_rank" in table:
        return _of_ranks(table, drawn)
    if ("score" in table or "rank" in table) and (drawn.relevant is not None or "label" in table):
        relevant = None if drawn.relevant is None else read_relevant(drawn.relevant)
        return _of_scores(drawn, *candidates.of_table(table, relevant, drawn.ties, drawn.seed))
    if "score" in table and "n_better" not in table:
        raise InputError(
            "found scores, but not which are of held-out items; add a column label (1 or 0), or "
            "give --relevant",
            path=table.path,
        )
    exact = [name for name in ("rank", "n_better") if name in table]
    if exact:
        raise InputError(
            f"found exact ranks (column {exact[0]}), not sampled ones; `sampled-metrics evaluate` "
            "takes them, as does `compare` without --n-negatives",
            path=table.path,
        )
    table.require("sampled_rank")
    raise AssertionError


def of_ranks(ranks: ArrayLike, drawn: Drawn) -> SampledRanks:
    """Make sampled ranks of an array of them, shape (users,)."""
    if drawn.positive is not None:
        raise InputError("found ranks, not scores; leave positive out")
    m, sampling = _known(drawn, None, None)
    return SampledRanks(np.asarray(ranks), _n_items(drawn), m, sampling)


def of_scores(scores: ArrayLike, drawn: Drawn, users: Any = None) -> SampledRanks:
    """Make sampled ranks of an array of scores, shape (users, 1 + m)."""
    if drawn.positive is None:
        raise InputError(
            "found scores, but not which column has the held-out item; give positive (--positive), "
            "such as 0 for the first and -1 for the last"
        )
    ranks, n_negatives = candidates.of_matrix(scores, drawn.positive, drawn.ties, drawn.seed)
    return _of_scores(drawn, ranks, n_negatives, np.arange(ranks.size) if users is None else users)


def _of_arrays(arrays: dict[str, Any], drawn: Drawn) -> SampledRanks:
    scores = arrays["scores"]
    if scores.ndim == 1:
        return of_ranks(scores, drawn)
    if "positive" in arrays:
        if drawn.positive is not None and (arrays["positive"] != drawn.positive).any():
            raise InputError("the file holds another array positive; leave --positive out")
        drawn = drawn._replace(positive=arrays["positive"])
    return of_scores(scores, drawn, arrays.get("user_ids"))


def _of_scores(drawn: Drawn, ranks: Int, n_negatives: Int, users: Any) -> SampledRanks:
    least, most = int(n_negatives.min()), int(n_negatives.max())
    sampling = Sampling(drawn.sampling or Sampling.WITHOUT_REPLACEMENT)
    # Of draws whose duplicates are dropped, fewer remain.
    if sampling is Sampling.DISTINCT and drawn.n_negatives and most <= drawn.n_negatives:
        m = drawn.n_negatives
    elif least != most:
        raise InputError(
            f"found {least} to {most} negatives per user; expected as many for all, or --sampling "
            "distinct with --n-negatives if duplicates were dropped"
        )
    else:
        m, sampling = _known(drawn, most, None)
    several = first_duplicate(np.asarray(users)) is not None
    return SampledRanks(ranks, _n_items(drawn), m, sampling, users, several_items=several)


def _of_ranks(table: Table, drawn: Drawn) -> SampledRanks:
    m = sampling = None
    if "n_negatives" in table:
        m = int(_same(table, "n_negatives", table.whole("n_negatives", 1, MOST_ITEMS)))
    if "sampling" in table:
        ways = as_numpy(table.ids("sampling"))
        sampling = _same(table, "sampling", ways)
    m, sampling = _known(drawn, m, sampling)
    ranks = table.whole("sampled_rank", 1, m + 1)
    items: Any
    if "n_candidates" in table:
        items = table.whole("n_candidates", m + 1, MOST_ITEMS)
        require_same("n_items", drawn.n_items, "n_candidates", items)
    else:
        items = _n_items(drawn)
    several = ITEM in table and USER in table
    if "repetition" in table:
        _require_different_draws(table)
    users: Any = as_numpy(table.ids(USER)) if USER in table else None
    return SampledRanks(ranks, items, m, sampling, users, several_items=several)


def _known(drawn: Drawn, m: int | None, sampling: str | None) -> tuple[int, Sampling]:
    """Settle m and how negatives were drawn from the options and what was found."""
    require_same("n_negatives", drawn.n_negatives, "n_negatives", m)
    require_same("sampling", drawn.sampling, "sampling", sampling)
    m = m if drawn.n_negatives is None else drawn.n_negatives
    if m is None:
        raise InputError(
            "the number of negatives is not known; give n_negatives (--n-negatives), the held-out "
            "item not counted"
        )
    return m, Sampling(drawn.sampling or sampling or Sampling.WITHOUT_REPLACEMENT)


def _n_items(drawn: Drawn) -> Any:
    if drawn.n_items is None:
        raise InputError(
            "no column n_candidates; add it, or give the number of candidates of a full ranking, "
            "the held-out item included, as n_items (--n-items)"
        )
    return drawn.n_items


def _same(table: Table, name: str, values: Any) -> Any:
    """Return the value of all rows."""
    table.refuse(name, values != values[0], values, f"{values[0]}, as in row 1")
    return values[0]


def _require_different_draws(table: Table) -> None:
    """Raise InputError for a row with the repetition, user and item (if any) of an earlier one."""
    repetition = table.whole("repetition", 0)
    if USER not in table:
        raise InputError("column repetition requires column user_id", path=table.path)
    ids = [name for name in (USER, ITEM) if name in table]
    again = first_duplicate(repetition, *(table.codes(name)[0] for name in ids))
    if again is not None:
        found = ", ".join(f"{name} {table.columns[name][again]}" for name in ("repetition", *ids))
        raise table.error_at(again, f"duplicate of {found}")
