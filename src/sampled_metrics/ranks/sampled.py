"""Sampled ranks: ranks of held-out items among sampled negatives, and their readers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import (
    Ids,
    Int,
    array_of,
    check_arguments,
    first_duplicate,
    generator,
    integers,
    path_of,
    short_repr,
    whole_number,
)
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, flag, reading
from sampled_metrics.ranks.kinds import lists_of, table_of
from sampled_metrics.ranks.options import Ranked, as_array, without_names
from sampled_metrics.ranks.pairs import Pairs, ask_of_grades, read_relevant
from sampled_metrics.ranks.questions import ask, question_samples, question_ties
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


@dataclass(frozen=True, eq=False, init=False, repr=False)
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
    sampling: Sampling
    users: Ids | None
    several_items: bool
    n_rows: ClassVar[int] = 0  # as those of `Ranks`

    def __init__(
        self,
        sampled_ranks: ArrayLike,
        n_items: ArrayLike,
        n_negatives: int,
        sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
        users: ArrayLike | None = None,
        several_items: bool = False,
    ) -> None:
        check_arguments(sampling=sampling, several_items=several_items)
        m, ranks = n_negatives, integers("sampled_ranks", sampled_ranks, is_column=True)
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        items = integers("n_items", n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        if int(items.min()) <= whole_number("n_negatives", m, 1):
            raise InputError(f"n_items is {items.min()}, expected more than n_negatives, {m}")
        whole_number("n_items", int(items.max()), 2, MOST_ITEMS)
        require("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        ids = None if users is None else id_column("users", users, ranks.size)
        self.__dict__.update(sampled_ranks=ranks, n_items=items, n_negatives=int(m), users=ids)
        self.__dict__.update(sampling=Sampling(sampling), several_items=several_items)

    def __repr__(self) -> str:
        return short_repr(self, "sampled_ranks", "n_items", "n_negatives", "sampling", "users")

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
        *,
        positive: ArrayLike | None = None,
        relevant: Any = None,
        ties: str = "random",
        seed: int = 0,
    ) -> SampledRanks:
        """Read sampled ranks, or scores of held-out items and their negatives.

        Options are for what the file does not say, as those of `correct`. Rows of one user are
        different repetitions, or different items in a column `item_id`.
        """
        drawn = Drawn(n_items, n_negatives, sampling, positive, relevant, ties, seed)
        return as_sampled(path_of(path), drawn)

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
        write_columns(path_of(path), columns)


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

    n_items: ArrayLike | None = None
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
        m: Any = None,
        sampling: str | None = None,
        several_items: bool = False,
        repeated: bool = False,
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
        ranks, m = self._thinned(ranks, m, way) if np.ndim(m) else (ranks, m)
        made = SampledRanks(ranks, n_items, m, way, users, several_items)
        once = None if repeated or several_items else made.users
        about = made.sampled_ranks, made.n_items, made.n_negatives
        question_samples(*about, once, distinct=way is Sampling.DISTINCT)
        return made

    def _thinned(self, ranks: Int, m: Int, way: Sampling) -> tuple[Int, int]:
        """Keep as many negatives of each row, uniformly chosen among its own."""
        least, most = int(m.min()), int(m.max())
        if least < most and (way is Sampling.DISTINCT or least < 0.9 * most):
            raise InputError(
                f"found {least} to {most} negatives per user; expected as many for all, at most a "
                "tenth fewer, or --sampling distinct with --n-negatives if duplicates were dropped"
            )
        if least < most:
            rows = f"{(m > least).sum():,} of {m.size:,} rows have more than {least} negatives"
            ask(f"{rows}, up to {most}: of those, {least} are kept at random (seed {self.seed})")
            rng = generator(self.seed, "thinned")
            ranks = 1 + rng.hypergeometric(ranks - 1, m - (ranks - 1), least)
        return ranks, least

    def refuse(self, kind: str, *names: str) -> None:
        """Raise InputError for options that do not apply to a kind of input."""
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(f"found {kind}; leave {name} ({flag(name)}) out")

    def ranked(self, better: Int, tied: Int, n_negatives: Int, users: Any) -> SampledRanks:
        """Make sampled ranks of the negatives above each held-out item, and level with it."""
        if self.ties not in TIES:
            raise InputError(f"unknown tie policy {self.ties!r}; known: {', '.join(TIES)}")
        question_ties(tied, n_negatives)
        if self.ties == "random":
            tied = generator(self.seed, "ties").integers(0, tied + 1)
        above = better if self.ties == "optimistic" else better + tied
        m: Any = n_negatives
        # Of draws whose duplicates are dropped, fewer remain.
        if self.sampling == Sampling.DISTINCT and m.max() <= (self.n_negatives or 0):
            m = self.n_negatives
        several = users is not None and first_duplicate(np.asarray(users)) is not None
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
    check_arguments(sampling=drawn.sampling, ties=drawn.ties, seed=drawn.seed)
    if drawn.n_negatives is not None:
        whole_number("n_negatives", drawn.n_negatives, 1)
    if isinstance(data, SampledRanks):
        drawn.refuse("sampled ranks", "positive", "relevant")
        require_same("n_negatives", drawn.n_negatives, "n_negatives", data.n_negatives)
        require_same("sampling", drawn.sampling, "sampling", data.sampling)
        require_same("n_items", drawn.n_items, "n_candidates", data.n_items)
        return data
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if drawn.relevant is not None or not isinstance(data, str | Path):
        data, drawn = _in_memory(data, drawn)
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


def _in_memory(data: Any, drawn: Drawn) -> tuple[Any, Drawn]:
    """Return data that people hold as a table or an array, and relevant items as a table."""
    values = data.values() if isinstance(data, Mapping) else [data]
    if values and all(isinstance(value, int | float) for value in values):
        raise InputError("data: found printed numbers, not ranks; `reported` takes them")
    if isinstance(drawn.positive, str) and drawn.positive in getattr(data, "columns", ()):
        drawn = drawn._replace(positive=list(data.columns).index(drawn.positive))
    relevant = table_of(lists_of(drawn.relevant, "relevant"), "relevant")
    data = lists_of(data) if drawn.positive is None else without_names(data)
    return data, drawn._replace(relevant=relevant)


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
    if full and drawn.sampling is not None:
        raise InputError("sampling (--sampling) is for sampled rankings, these are full")
    for name in data:
        with reading(name):
            if among:
                ranked.check("sampled ranks")
                among[name] = as_sampled(among[name], drawn)
            else:
                full[name] = as_ranks(full[name], ranked)
    return among, full


def _of_arrays(
    drawn: Drawn, scores: Any, positive: Any = None, user_ids: Any = None
) -> SampledRanks:
    """Take ranks, or rank the scores in one column, `positive`, among those in the others."""
    drawn.refuse("a matrix of scores" if scores.ndim > 1 else "ranks, not scores", "relevant")
    if scores.ndim == 1:
        drawn.refuse("ranks, not scores", "positive")
        return drawn.made(scores)
    require_same("positive", drawn.positive, "an array positive,", positive)
    if positive is None and drawn.positive is None:
        raise InputError("found scores; give positive (--positive), the column of held-out items")
    column = array_of("positive", drawn.positive if positive is None else positive)
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
        if whole and not column.ndim:
            found = str(column)
        raise InputError(f"positive is {found}; expected one of the columns 0 to {width - 1}")
    own = scores[np.arange(users), column][:, None]
    better, tied = (scores > own).sum(axis=1), (scores == own).sum(axis=1) - 1
    return drawn.ranked(better, tied, np.full(users, width - 1), user_ids)


def _of_scores(table: Table, drawn: Drawn) -> SampledRanks:
    """Rank held-out items, by `label` or by `relevant`, among the other rows of the same user."""
    drawn.refuse("a table, not a matrix", "positive")
    exact = next((name for name in ("n_better", "rank") if name in table.columns), None)
    if exact and "label" not in table.columns and drawn.relevant is None:
        problem = f"found exact ranks (column {exact}), not sampled ones"
        raise InputError(f"{problem}; `sampled-metrics evaluate` takes them")
    if "score" not in table.columns and "rank" not in table.columns:
        table.require("sampled_rank")
    if drawn.relevant is None and "label" not in table.columns:
        raise InputError("found scores; add a column label (1 or 0), or give --relevant")
    relevant = None
    if drawn.relevant is not None:
        relevant = read_relevant(drawn.relevant)
        ask_of_grades(relevant.relevance)
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
    drawn.refuse("sampled ranks", "positive", "relevant")
    sampling, items = None, None
    m: Any = None
    if "n_negatives" in table.columns:
        m = table.whole("n_negatives", 1, MOST_ITEMS)
        m = int(m[0]) if (m == m[0]).all() else m
    if "sampling" in table.columns:
        way, ways = table.codes("sampling")
        sampling = str(ways[0])
        if len(ways) > 1:
            other = int(np.argmax(way != way[0]))
            raise table.error("sampling", other, ways[way[other]], f"{sampling}, as in row 1")
    most = drawn.n_negatives if m is None else m
    ranks = table.whole("sampled_rank", 1, None if most is None else most + 1)
    if "n_candidates" in table.columns:
        least = 2 if most is None else int(np.max(most)) + 1
        items = table.whole("n_candidates", least, MOST_ITEMS)
    if "repetition" in table.columns:
        ids = [USER, ITEM] if ITEM in table.columns else [USER]
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
    said: dict[str, Any] = {"n_items": items, "m": m, "sampling": sampling}
    repeated = "repetition" in table.columns
    return drawn.made(ranks, users, **said, several_items=several, repeated=repeated)
