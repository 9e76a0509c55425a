"""Sampled ranks: ranks of held-out items among sampled negatives, and their readers."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import (
    Ids,
    Int,
    first_duplicate,
    generator,
    integers,
    whole_number,
)
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks.options import Ranked, as_array, without_names
from sampled_metrics.ranks.pairs import Pairs, read_relevant
from sampled_metrics.ranks.ranks import (
    Ranks,
    id_column,
    require,
    require_same,
    write_columns,
)
from sampled_metrics.ranks.reading import WHAT as RANKS
from sampled_metrics.ranks.reading import as_ranks, by_score, load_scores
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables import ITEM, RUN, USER, Table, as_numpy, is_frame, read_table

WHAT = "sampled ranks"
TIES = ("random", "optimistic", "pessimistic")


@dataclass(frozen=True, eq=False)
class SampledRanks:
    """Sampled ranks with what is needed to correct them.

    Attributes
    ----------
    sampled_ranks
        Rank of each held-out item among itself and m negatives, 1 to m + 1; int64, shape (rows,).
    n_items
        n: candidates of a full ranking, the held-out item included (the catalogue without the
        user's training items); one number, or one per row, int64.
    n_negatives
        m: negatives drawn for each user, the held-out item not included; below n.
    sampling
        How they were drawn; decides the noise model of the corrections.
    users
        Ids, integers or text, shape (rows,). Rows of one user (repeated draws, or several held-out
        items) are averaged before users are. None if every row is a different user.
    several_items
        Whether rows of one user may be of different held-out items. Their average is then a metric
        of the user for recall and AUC only, which others refuse.

    Examples
    --------
    >>> SampledRanks([1, 4, 1], n_items=[30, 40, 50], n_negatives=3).mean_candidates
    40
    """

    sampled_ranks: Int
    n_items: Int
    n_negatives: int
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT
    users: Ids | None = None
    several_items: bool = False

    def __post_init__(self) -> None:
        ranks, m = integers("sampled_ranks", self.sampled_ranks, is_column=True), self.n_negatives
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        items = integers("n_items", self.n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        _require_more_items(int(items.min()), m)
        require("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        users = None if self.users is None else id_column("users", self.users, ranks.size)
        checked = {"sampled_ranks": ranks, "n_items": items, "users": users}
        self.__dict__.update(checked, sampling=Sampling(self.sampling))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.sampled_ranks.size

    @property
    def mean_candidates(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    def take(self, rows: Int | NDArray[np.bool_] | slice) -> Self:
        """Return some rows, selected as an array's elements are."""
        selected = copy(self)  # not checked again
        selected.__dict__.update(
            sampled_ranks=self.sampled_ranks[rows],
            n_items=self.n_items[rows] if self.n_items.ndim else self.n_items,
            users=None if self.users is None else self.users[rows],
        )
        return selected

    @classmethod
    def read(
        cls,
        path: Path | str,
        n_negatives: int | None = None,
        n_items: int | None = None,
        sampling: str | None = None,
        **options: Any,
    ) -> "SampledRanks":
        """Read sampled ranks, or scores of held-out items and their negatives.

        The first three options are for what the file does not say; `sampled_metrics.ranks.sampled`
        has all in `Drawn`, and the kinds of files in `as_sampled`. Rows of one user are different
        repetitions, or different items in a column `item_id`.
        """
        return as_sampled(Path(path), Drawn(n_items, n_negatives, sampling, **options))

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank as parquet, with how the negatives were drawn."""
        n_items = np.broadcast_to(self.n_items, len(self))
        columns = {
            "user_id": self.users,
            "n_candidates": n_items,
            "n_negatives": np.full(len(self), self.n_negatives),
            "sampling": np.full(len(self), str(self.sampling)),
            "sampled_rank": self.sampled_ranks,
        }
        write_columns(Path(path), columns)


class Drawn(NamedTuple):
    """What the caller knows of sampled ranks; None is left to what is read.

    Attributes
    ----------
    n_items
        n: candidates of a full ranking, the held-out item included.
    n_negatives, sampling
        m, and how the negatives were drawn.
    positive
        Column of the held-out items in a matrix of scores, from 0 or from -1 backwards; one for
        all, or one per user.
    relevant
        Held-out items of tables or runs that do not mark them.
    ties, seed
        Place among negatives with the same score: `random`, drawn with `seed`, `optimistic` or
        `pessimistic`.
    """

    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    positive: ArrayLike | None = None
    relevant: Any = None
    ties: str = "random"
    seed: int = 0

    def made(
        self,
        ranks: Any,
        users: Any = None,
        *,
        n_items: Any = None,
        m: int | None = None,
        sampling: str | None = None,
        several_items: bool = False,
    ) -> SampledRanks:
        """Make sampled ranks of what was found and, where that does not say it, of options."""
        require_same("n_negatives", self.n_negatives, "n_negatives", m)
        require_same("sampling", self.sampling, "sampling", sampling)
        require_same("n_items", self.n_items, "n_candidates", n_items)
        m = self.n_negatives if m is None else m
        n_items = self.n_items if n_items is None else n_items
        if m is None:
            raise InputError(
                "the number of negatives is not known; give n_negatives (--n-negatives)"
            )
        if n_items is None:
            raise InputError(
                "no column n_candidates; give n_items (--n-items), those of a full ranking"
            )
        way = Sampling(self.sampling or sampling or Sampling.WITHOUT_REPLACEMENT)
        return SampledRanks(ranks, n_items, m, way, users, several_items)

    def ranked(self, better: Int, tied: Int, n_negatives: Int, users: Any) -> SampledRanks:
        """Make sampled ranks of the negatives above each held-out item, and level with it."""
        if self.ties not in TIES:
            raise InputError(f"unknown tie policy {self.ties!r}; known: {', '.join(TIES)}")
        if self.ties == "random":
            tied = generator(self.seed, "ties").integers(0, tied + 1)
        above = better if self.ties == "optimistic" else better + tied
        least, m = int(n_negatives.min()), int(n_negatives.max())
        # Of draws whose duplicates are dropped, fewer remain.
        if self.sampling == Sampling.DISTINCT and self.n_negatives and m <= self.n_negatives:
            m = self.n_negatives
        elif least != m:
            raise InputError(
                f"found {least} to {m} negatives per user; expected as many for all, or "
                "--sampling distinct with --n-negatives if duplicates were dropped"
            )
        several = first_duplicate(np.asarray(users)) is not None
        return self.made(above + 1, users, m=m, several_items=several)


def as_sampled(data: Any, drawn: Drawn) -> SampledRanks:
    """Return the sampled ranks that some data gives.

    The data is `SampledRanks`; sampled ranks from 1, shape (users,); scores of held-out items and
    their negatives, shape (users, 1 + m), in a DataFrame too; or a DataFrame or file with

    - a table (CSV, TSV, parquet) with `sampled_rank`, and `user_id`, `n_candidates`, `repetition`,
      `n_negatives` and `sampling` if it has them;
    - a table of pairs with `user_id`, `score` and `label`: 1 for held-out items, 0 for negatives;
    - lists or a TREC run of the candidates, with a file of the held-out items;
    - scores, one row per user (`.npy`, or `.npz` with `scores` and maybe `positive` and
      `user_ids`), with the column of the held-out item.

    Examples
    --------
    >>> scores = [[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]]
    >>> as_sampled(scores, Drawn(n_items=5, positive=0)).sampled_ranks
    array([1, 2])
    """
    if drawn.n_negatives is not None:
        n = None if drawn.n_items is None else int(integers("n_items", drawn.n_items).min())
        _require_more_items(n, drawn.n_negatives)
    if isinstance(data, SampledRanks):
        if drawn.positive is not None or drawn.relevant is not None:
            raise InputError("found sampled ranks; positive and relevant are for scores")
        m, sampling = data.n_negatives, data.sampling
        drawn.made(data.sampled_ranks, n_items=data.n_items, m=m, sampling=sampling)
        return data
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(drawn.positive, str) and drawn.positive in getattr(data, "columns", ()):
        drawn = drawn._replace(positive=list(data.columns).index(drawn.positive))
    data = data if drawn.positive is None else without_names(data)
    if isinstance(data, str | Path) and Path(data).suffix in {".npy", ".npz"}:
        with reading(data):
            arrays = load_scores(Path(data), WHAT)
            return _of_arrays(drawn, *map(arrays.get, ("scores", "positive", "user_ids")))
    if isinstance(data, Table | str | Path) or is_frame(data):
        table = data if isinstance(data, Table) else read_table(data, WHAT, trec=RUN)
        with reading(table.path):
            has_ranks = "sampled_rank" in table.columns
            return (_of_ranks if has_ranks else _of_scores)(table, drawn)
    return _of_arrays(drawn, as_array(data))


def all_alike(
    data: Mapping[str, Any], drawn: Drawn, ranked: Ranked
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    The other of the two dictionaries is empty. Data of both kinds is an error.
    """
    among: dict[str, Any] = {}
    full: dict[str, Any] = {}
    for name, value in data.items():
        with reading(name):
            is_sampled = isinstance(value, SampledRanks)
            if not isinstance(value, Ranks | SampledRanks):
                is_sampled = drawn.positive is not None or drawn.n_negatives is not None
                table = value if is_sampled else without_names(value)
                is_file = isinstance(table, str | Path)
                is_file = is_file and Path(table).suffix not in {".npy", ".npz"}
                if not is_sampled and (is_file or is_frame(table)):
                    value = read_table(table, RANKS, trec=RUN)
                    is_sampled = "sampled_rank" in value.columns or "label" in value.columns
            (among if is_sampled else full)[name] = value
    if among and full:
        raise InputError(
            f"{next(iter(full))} is ranked in full, {next(iter(among))} among samples; "
            "compare like with like"
        )
    for name in data:
        with reading(name):
            if among:
                among[name] = as_sampled(among[name], drawn)
            else:
                full[name] = as_ranks(full[name], ranked)
    return among, full


def _of_arrays(
    drawn: Drawn, scores: Any, positive: Any = None, user_ids: Any = None
) -> SampledRanks:
    """Take ranks, or rank the scores in one column, `positive`, among those in the others."""
    if scores.ndim == 1:
        if drawn.positive is not None:
            raise InputError("found ranks, not scores; leave positive out")
        return drawn.made(scores)
    require_same("positive", drawn.positive, "an array positive,", positive)
    if positive is None and drawn.positive is None:
        raise InputError("found scores; give positive (--positive), the column of held-out items")
    column = np.asarray(drawn.positive if positive is None else positive)
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or scores.shape[1] < 2 or not scores.size:
        found = f"{scores.dtype} of shape {scores.shape}"
        raise InputError(f"scores are {found}; expected numbers, shape (users, 1 + negatives)")
    users, width = scores.shape
    finite = np.isfinite(scores)
    if not finite.all():
        row, bad = np.argwhere(~finite)[0]
        problem = f"the score in column {bad} is {scores[row, bad]}; expected finite numbers"
        raise InputError(problem, row=int(row) + 1)
    whole = column.dtype.kind in "iu" and column.shape in {(), (users,)}
    if not (whole and ((column >= -width) & (column < width)).all()):
        found = f"{column.dtype} of shape {column.shape}"
        raise InputError(f"positive is {found}; expected one of the columns 0 to {width - 1}")
    own = scores[np.arange(users), column][:, None]
    better, tied = (scores > own).sum(axis=1), (scores == own).sum(axis=1) - 1
    ids = np.arange(users) if user_ids is None else user_ids
    return drawn.ranked(better, tied, np.full(users, width - 1), ids)


def _of_scores(table: Table, drawn: Drawn) -> SampledRanks:
    """Rank held-out items, by `label` or by `relevant`, among the other rows of the same user."""
    exact = next((name for name in ("n_better", "rank") if name in table.columns), None)
    if exact and "label" not in table.columns and drawn.relevant is None:
        problem = f"found exact ranks (column {exact}), not sampled ones"
        raise InputError(f"{problem}; `sampled-metrics evaluate` takes them")
    if "score" not in table.columns and "rank" not in table.columns:
        table.require("sampled_rank")
    if drawn.relevant is None and "label" not in table.columns:
        raise InputError("found scores; add a column label (1 or 0), or give --relevant")
    relevant = None if drawn.relevant is None else read_relevant(drawn.relevant)
    codes, user_ids = table.codes(USER)
    user = codes.astype(np.int64)
    score = table.ordered("score") if "score" in table.columns else -table.ordered("rank")
    held = table.whole("label", 0, 1) == 1 if relevant is None else Pairs.of(table).among(relevant)
    n_held, negatives = (np.bincount(user[row], minlength=len(user_ids)) for row in (held, ~held))
    for count, problem in ((n_held, "no held-out item among the candidates of"),
                           (negatives, "no negatives for")):  # fmt: skip
        if not count.all():
            first, without = user_ids[int(np.argmin(count))], int((count == 0).sum())
            raise InputError(f"{problem} user {first} ({without} users have none)")
    # Other held-out items of the user are no negatives.
    among_all, among_held = by_score(user, score), by_score(user[held], score[held])
    better, tied = (a[held] - b for a, b in zip(among_all, among_held, strict=True))
    user = user[held]
    return drawn.ranked(better, tied, negatives[user], as_numpy(user_ids)[user])


def _of_ranks(table: Table, drawn: Drawn) -> SampledRanks:
    same: dict[str, Any] = {}  # values that all rows must have
    if "n_negatives" in table.columns:
        same["n_negatives"] = table.whole("n_negatives", 1, MOST_ITEMS)
    if "sampling" in table.columns:
        same["sampling"] = as_numpy(table.ids("sampling"))
    for name, values in same.items():
        table.refuse(name, values != values[0], values, f"{values[0]}, as in row 1")
    m = int(same["n_negatives"][0]) if "n_negatives" in same else None
    sampling = same["sampling"][0] if "sampling" in same else None
    items = None
    most = drawn.n_negatives if m is None else m
    ranks = table.whole("sampled_rank", 1, None if most is None else most + 1)
    if "n_candidates" in table.columns:
        items = table.whole("n_candidates", 2 if most is None else most + 1, MOST_ITEMS)
    if "repetition" in table.columns:
        table.require(USER)
        ids = [name for name in (USER, ITEM) if name in table.columns]
        repetition = table.whole("repetition", 0)
        again = first_duplicate(repetition, *(table.codes(name)[0] for name in ids))
        if again is not None:
            names = ("repetition", *ids)
            found = ", ".join(f"{name} {table.columns[name][again]}" for name in names)
            raise table.error_at(again, f"duplicate of {found}")
    users, several = None, ITEM in table.columns and USER in table.columns
    if USER in table.columns:
        user, user_ids = table.codes(USER)
        users = as_numpy(user_ids)[user]
    return drawn.made(ranks, users, n_items=items, m=m, sampling=sampling, several_items=several)


def _require_more_items(n_items: int | None, n_negatives: int) -> None:
    """Raise InputError unless there is a negative, and n, where known, is larger than m."""
    if whole_number("n_negatives", n_negatives) < 1:
        raise InputError(f"n_negatives is {n_negatives}, expected at least 1")
    if n_items is not None and n_items <= n_negatives:
        raise InputError(f"n_items is {n_items}, expected more than n_negatives, {n_negatives}")
