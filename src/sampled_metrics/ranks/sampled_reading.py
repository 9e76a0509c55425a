"""Sampled ranks from files, tables and arrays, with the options that say how they were drawn."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import first_duplicate, integers, whole_number
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import candidates, matrices, trec
from sampled_metrics.ranks.candidates import Placed
from sampled_metrics.ranks.columns import require_same_items
from sampled_metrics.ranks.relevant_items import read_relevant
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import read_table, require_file

WHAT = "sampled ranks"


class Drawn(NamedTuple):
    """What the caller knows of sampled ranks; None is left to what is read.

    Attributes
    ----------
    n_items
        n: candidates of a full ranking, the held-out item included.
    n_negatives, sampling
        m, and how the negatives were drawn.
    positive
        Column of the held-out items in a matrix of scores.
    relevant
        Held-out items of tables or runs that do not mark them.
    ties, seed
        Place among negatives with the same score, see `candidates.of_matrix`.
    """

    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    positive: ArrayLike | None = None
    relevant: Any = None
    ties: str = "random"
    seed: int = 0

    def check(self) -> None:
        """Raise InputError for numbers that no sampled ranks have."""
        m = self.n_negatives
        n = None if self.n_items is None else int(integers("n_items", self.n_items).min())
        if m is not None:
            whole_number("n_negatives", m)
        if m is not None and m < 1:
            raise InputError(f"n_negatives is {m}, expected at least 1")
        if m is not None and n is not None and n <= m:
            raise InputError(f"n_items is {n}, expected more than n_negatives, {m}")


def options(given: dict[str, Any]) -> Drawn:
    """Make `Drawn` of options by name; an unknown one raises InputError."""
    unknown = sorted(set(given) - set(Drawn._fields))
    if unknown:
        raise InputError(f"unknown option {unknown[0]}; known: {', '.join(Drawn._fields)}")
    return Drawn(**given)


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
        return of_table(_read(path), drawn)


def _read(path: Path) -> Table:
    if trec.is_run_file(path, WHAT):
        return trec.read_run(path)
    return read_table(path, WHAT)


def of_table(table: Table, drawn: Drawn) -> SampledRanks:
    """Make sampled ranks of a table, see `read_sampled`."""
    if "sampled_rank" in table:
        return _of_ranks(table, drawn)
    if ("score" in table or "rank" in table) and (drawn.relevant is not None or "label" in table):
        relevant = None if drawn.relevant is None else read_relevant(drawn.relevant)
        return _of_placed(candidates.of_table(table, relevant, drawn.ties, drawn.seed), drawn)
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
    placed = candidates.of_matrix(scores, drawn.positive, drawn.ties, drawn.seed)
    rows = np.arange(placed.ranks.size) if users is None else users
    return _of_placed(placed._replace(users=rows), drawn)


def _of_arrays(arrays: dict[str, Any], drawn: Drawn) -> SampledRanks:
    scores = arrays["scores"]
    if scores.ndim == 1:
        return of_ranks(scores, drawn)
    if "positive" in arrays:
        if drawn.positive is not None and (arrays["positive"] != drawn.positive).any():
            raise InputError("the file holds another array positive; leave --positive out")
        drawn = drawn._replace(positive=arrays["positive"])
    return of_scores(scores, drawn, arrays.get("user_ids"))


def _of_placed(placed: Placed, drawn: Drawn) -> SampledRanks:
    least, most = int(placed.n_negatives.min()), int(placed.n_negatives.max())
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
    several = placed.users is not None and first_duplicate(placed.users) is not None
    return SampledRanks(
        placed.ranks, _n_items(drawn), m, sampling, placed.users, several_items=several
    )


def _of_ranks(table: Table, drawn: Drawn) -> SampledRanks:
    m = _same(table, table.whole("n_negatives", 1)) if "n_negatives" in table else None
    sampling = (
        _same(table, table.ids("sampling").to_numpy(zero_copy_only=False))
        if "sampling" in table
        else None
    )
    m, sampling = _known(drawn, None if m is None else int(m), sampling)
    ranks = table.whole("sampled_rank", 1, m + 1)
    items: Any
    if "n_candidates" in table:
        items = table.whole("n_candidates", m + 1)
        require_same_items(items, drawn.n_items)
    else:
        items = _n_items(drawn)
    several = ITEM in table and USER in table
    if "repetition" in table:
        _require_different_draws(table)
    users: Any = table.ids(USER).to_numpy(zero_copy_only=False) if USER in table else None
    return SampledRanks(ranks, items, m, sampling, users, several_items=several)


def _known(drawn: Drawn, m: int | None, sampling: str | None) -> tuple[int, Sampling]:
    """Settle m and how negatives were drawn from the options and what was found."""
    for name, given, found in (
        ("n_negatives", drawn.n_negatives, m),
        ("sampling", drawn.sampling, sampling),
    ):
        if given is not None and found is not None and str(given) != str(found):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"found {name} {found}, but {option} is {given}; leave {option} out")
    known = m if drawn.n_negatives is None else drawn.n_negatives
    if known is None:
        raise InputError(
            "the number of negatives is not known; give n_negatives (--n-negatives), the held-out "
            "item not counted"
        )
    return known, Sampling(drawn.sampling or sampling or Sampling.WITHOUT_REPLACEMENT)


def _n_items(drawn: Drawn) -> Any:
    if drawn.n_items is None:
        raise InputError(
            "no column n_candidates; add it, or give the number of candidates of a full ranking, "
            "the held-out item included, as n_items (--n-items)"
        )
    return drawn.n_items


def _same(table: Table, values: Any) -> Any:
    if (values != values[0]).any():
        row = int(np.argmax(values != values[0]))
        raise table.error_at(row, f"found {values[row]}; expected {values[0]}, as in row 1")
    return values[0]


def _require_different_draws(table: Table) -> None:
    """Raise InputError for a row with the repetition, user and item (if any) of an earlier one."""
    key = np.unique(table.whole("repetition", 0), return_inverse=True)[1]
    if USER not in table:
        raise InputError("column repetition requires column user_id", path=table.path)
    names = ["repetition", *(name for name in (USER, ITEM) if name in table)]
    for name in names[1:]:
        codes, ids = table.codes(name)
        key = key * len(ids) + codes
    again = first_duplicate(key)
    if again is not None:
        found = ", ".join(f"{name} {table.columns[name][again]}" for name in names)
        raise table.error_at(again, f"duplicate of {found}")
