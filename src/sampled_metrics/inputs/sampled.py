"""Sampled ranks of whatever gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.arrays import Array, Bool, Ids, Int, first_duplicate, generator
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, ask, reading
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.inputs.items import items_by_id
from sampled_metrics.inputs.lists import by_score
from sampled_metrics.inputs.options import Drawn
from sampled_metrics.inputs.questions import (
    ask_of_first_places,
    ask_of_grades,
    question_ends,
    question_padding,
    question_samples,
    question_scales,
    question_ties,
)
from sampled_metrics.inputs.recognise import Given, Lists, SampledColumns, recognise
from sampled_metrics.inputs.scores import Scores, counts_beside
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.ranks.items import RELEVANT
from sampled_metrics.ranks.sampled import Pairs
from sampled_metrics.tables.arrow import as_numpy
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.table import Table


def as_sampled(data: object, drawn: Drawn) -> SampledRanks:
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
    check_arguments(
        sampling=drawn.sampling,
        tie_policy=drawn.ties,
        seed=drawn.seed,
        n_negatives=drawn.n_negatives,
    )
    values = [data]
    if isinstance(data, Mapping):
        values = list(data.values())
    if values and all(isinstance(value, int | float) for value in values):
        raise InputError("data: found printed numbers, not ranks; `reported` takes them")
    given = recognise(data, "sampled ranks")
    with reading(given.place):
        return _sampled_of(given.content, drawn)


def _sampled_of(given: Given, drawn: Drawn) -> SampledRanks:
    """Take or make sampled ranks of what was recognised."""
    match given:
        case SampledRanks():
            drawn.refuse("sampled ranks", "positive", "relevant")
            _agreed(drawn, given.n_items, given.n_negatives, given.sampling)
            question_samples(given, None)
            return given
        case Ranks():
            raise InputError("found full rankings, which need no correction; `evaluate` takes them")
        case Scores():
            return _of_matrix(given, drawn)
        case SampledColumns():
            return _of_ranks(given.table, drawn)
        case Lists(is_by_row=True):
            columns = ", ".join(given.table.names)
            problem = f"found lists without scores, columns {columns}"
            raise InputError(f"{problem}; add a column score, or sampled_rank")
        case np.ndarray():
            drawn.refuse("ranks, not scores", "relevant", "positive")
            return made(drawn, given)
    return _of_scores(given.table, drawn)


def _agreed(
    drawn: Drawn, n_items: ArrayLike | None, m: int | Int | None, sampling: str | None
) -> Drawn:
    """Return options with what the data says, from which those that are given may not differ."""
    require_same("n_negatives", drawn.n_negatives, "n_negatives", m)
    require_same("sampling", drawn.sampling, "sampling", sampling)
    require_same("n_items", drawn.n_items, "n_candidates", n_items)
    found: dict[str, Any] = {"n_items": n_items, "n_negatives": m, "sampling": sampling}
    return drawn._replace(**{name: x for name, x in found.items() if x is not None})


def _of_matrix(given: Scores, drawn: Drawn) -> SampledRanks:
    """Rank the scores in one column, `positive`, among those in the others."""
    drawn.refuse("a matrix of scores", "relevant")
    positive: Any = given.beside.get("positive")
    require_same("positive", drawn.positive, "an array positive,", positive)
    if positive is None:
        positive = drawn.positive
    if positive is None:
        raise InputError("found scores; give positive (--positive), the column of held-out items")
    scores = given.matrix()
    names = list(given.beside.get("item_ids", ()))
    if isinstance(positive, str) and positive in names:
        positive = names.index(positive)
    counts = counts_beside(scores, positive)
    is_own = np.zeros(scores.shape, bool)
    is_own[np.arange(len(scores)), positive] = True
    question_padding(scores[~is_own].reshape(len(scores), -1))
    question_scales(scores[is_own], scores[~is_own])
    user_ids = given.beside.get("user_ids") if given.path else None
    return ranked(drawn, counts.better, counts.tied, counts.candidates - 1, user_ids)


def _of_scores(table: Table, drawn: Drawn) -> SampledRanks:
    """Rank held-out items, by `label` or by `relevant`, among the other rows of the same user."""
    drawn.refuse("a table, not a matrix", "positive")
    has_scores = "score" in table.columns
    _require_held_out(table, drawn)
    codes, user_ids = table.codes(USER)
    user = codes.astype(np.int64)
    # Numbers that are higher for better candidates.
    score = table.ordered("score") if has_scores else -table.ordered("rank")
    held = _held_out(table, drawn, user, user_ids)
    n_negatives = np.bincount(user[~held])
    if has_scores:
        question_scales(score[held], score[~held])
    pairs = None
    if ITEM in table.columns:
        item, item_ids = table.codes(ITEM)
        pairs = Pairs(user, item.astype(np.int64), held, as_numpy(item_ids))
    elif np.ptp(n_negatives) == 0:
        by_user = np.argsort(user[~held], kind="stable")
        question_padding(score[~held][by_user].reshape(len(user_ids), -1))
    # Other held-out items of the user are no negatives.
    of_all = by_score(user, score)
    of_held = by_score(user[held], score[held])
    better, tied = (among[held] - own for among, own in zip(of_all, of_held, strict=True))
    if not has_scores:
        ask_of_first_places(better)
    owner = user[held]
    sampled = ranked(drawn, better, tied, n_negatives[owner], as_numpy(user_ids)[owner])
    sampled.__dict__.update(pairs=pairs)
    return sampled


def _require_held_out(table: Table, drawn: Drawn) -> None:
    """Raise InputError unless there are scores, and held-out items are known."""
    columns = table.columns
    is_known = "label" in columns or drawn.relevant is not None
    if not is_known:
        _refuse_exact_ranks(table)
    if "score" not in columns and "rank" not in columns:
        table.require("score" if "label" in columns else "sampled_rank")
    if not is_known:
        raise InputError("found scores; add a column label (1 or 0), or give --relevant")


def _refuse_exact_ranks(table: Table) -> None:
    """Raise InputError for a column of ranks among all candidates."""
    for exact in ("n_better", "rank"):
        if exact in table.columns:
            raise InputError(
                f"found exact ranks (column {exact}), not sampled ones; "
                "`sampled-metrics evaluate` takes them"
            )


def _held_out(table: Table, drawn: Drawn, user: Int, user_ids: pa.Array) -> Bool:
    """Mark the rows of held-out items, of which each user has one, and negatives."""
    if drawn.relevant is None:
        held = table.marks("label")
    else:
        with reading(drawn.relevant):
            relevant = items_by_id(drawn.relevant, RELEVANT)
        ask_of_grades(relevant.relevance)
        item, item_ids = table.codes(ITEM)
        held = relevant.within(user_ids, item_ids).has(user, item.astype(np.int64))
    for rows, problem in (
        (held, "no held-out item among the candidates of"),
        (~held, "no negatives for"),
    ):
        without = np.flatnonzero(np.bincount(user[rows], minlength=len(user_ids)) == 0)
        if without.size:
            first = user_ids[int(without[0])]
            raise InputError(f"{problem} user {first} ({without.size} users have none)")
    return held


def _of_ranks(table: Table, drawn: Drawn) -> SampledRanks:
    """Take a column of sampled ranks, and what other columns say of them."""
    drawn.refuse("sampled ranks", "positive", "relevant")
    columns = table.columns
    sampling = None
    items = None
    m = None
    if "n_negatives" in columns:
        m = table.whole("n_negatives", 1, MOST_ITEMS)
    if "sampling" in columns:
        way, ways = table.codes("sampling")
        sampling = str(ways[0])
        table.refuse("sampling", way > 0, table.ids("sampling"), f"{sampling}, as in row 1")
    most = drawn.n_negatives if m is None else m
    ranks = table.whole("sampled_rank", 1, None if most is None else most + 1)
    if "n_candidates" in columns:
        least = 2 if most is None else int(np.max(most)) + 1
        items = table.whole("n_candidates", least, MOST_ITEMS)
    if "repetition" in columns:
        _require_different_repetitions(table)
    users = _users_of_rows(table)
    drawn = _agreed(drawn, items, m, sampling)
    several_items = {USER, ITEM} <= columns.keys()
    is_checked = items is not None
    return made(drawn, ranks, users, several_items, "repetition" in columns, is_checked)


def _users_of_rows(table: Table) -> Ids | None:
    """Return the user of each row; None without a column of them."""
    if USER not in table.columns:
        return None
    user, user_ids = table.codes(USER)
    return as_numpy(user_ids)[user]


def _require_different_repetitions(table: Table) -> None:
    """Raise InputError for the first row with the repetition of an earlier one of its user."""
    repetition = table.whole("repetition", 0)
    ids = [USER, *(table.columns.keys() & {ITEM})]
    again = first_duplicate(repetition, *(table.codes(name)[0] for name in ids))
    if again is not None:
        names = ("repetition", *ids)
        found = ", ".join(f"{name} {table.columns[name][again]}" for name in names)
        raise table.error_at(again, f"duplicate of {found}")


_MOST_MISSING = 0.1  # of the negatives of a row


def made(
    drawn: Drawn,
    ranks: Array,
    users: ArrayLike | None = None,
    several_items: bool = False,
    repeated: bool = False,
    is_checked: bool = False,
) -> SampledRanks:
    """Make sampled ranks of what was found and of options; a table is checked already."""
    m = drawn.n_negatives
    if m is None:
        raise InputError("the number of negatives is not known; give n_negatives (--n-negatives)")
    if drawn.n_items is None:
        raise InputError(
            "no column n_candidates; give n_items (--n-items), those of a full ranking"
        )
    way = Sampling(drawn.sampling or Sampling.WITHOUT_REPLACEMENT)
    if isinstance(m, np.ndarray):
        ranks, m = _thinned(ranks, m, way, drawn.seed)
    make: Any = SampledRanks.trusted if is_checked else SampledRanks
    sampled = make(ranks, drawn.n_items, m, way, users, several_items)
    question_samples(sampled, None if repeated or several_items else sampled.users)
    return sampled


def ranked(
    drawn: Drawn, better: Int, tied: Int, n_negatives: Int, users: ArrayLike | None
) -> SampledRanks:
    """Make sampled ranks of the negatives above each held-out item, and level with it."""
    question_ties(tied, n_negatives)
    question_ends(tied, better, n_negatives)
    above = better
    if drawn.ties == "random":
        above = better + generator(drawn.seed, "ties").integers(0, tied + 1)
    elif drawn.ties == "pessimistic":
        above = better + tied
    m: int | Int | None = n_negatives
    # Of draws whose duplicates are dropped, fewer remain.
    if drawn.sampling == Sampling.DISTINCT and n_negatives.max() <= (drawn.n_negatives or 0):
        m = drawn.n_negatives
    several_items = users is not None and first_duplicate(np.asarray(users)) is not None
    return made(_agreed(drawn, None, m, None), above + 1, users, several_items)


def _thinned(ranks: Int, m: Int, way: Sampling, seed: int) -> tuple[Int, int]:
    """Keep as many negatives of each row, uniformly chosen among its own."""
    least = int(m.min())
    most = int(m.max())
    if least == most:
        return ranks, least
    if way is Sampling.DISTINCT or least < (1.0 - _MOST_MISSING) * most:
        raise InputError(
            f"found {least} to {most} negatives per user; expected as many for all, at most a "
            "tenth fewer, or --sampling distinct with --n-negatives if duplicates were dropped"
        )
    rows = f"{(m > least).sum():,} of {m.size:,} rows have more than {least} negatives"
    ask("n_negatives", f"{rows}, up to {most}: of those, {least} are kept at random (seed {seed})")
    above = generator(seed, "thinned").hypergeometric(ranks - 1, m - (ranks - 1), least)
    return 1 + above, least
