"""Sampled ranks of whatever gives them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.arrays import Ids, Int, first_duplicate, generator
from sampled_metrics._base.asking import ask
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, reading
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
from sampled_metrics.inputs.recognise import (
    SAMPLED,
    Given,
    Lists,
    SampledColumns,
    recognise,
)
from sampled_metrics.inputs.scores import Scores, counts_beside
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.ranks.items import RELEVANT
from sampled_metrics.ranks.sampled import Pairs
from sampled_metrics.tables.arrow import as_numpy
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.table import Table


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
    check_arguments(
        sampling=drawn.sampling,
        tie_policy=drawn.ties,
        seed=drawn.seed,
        n_negatives=drawn.n_negatives,
    )
    _refuse_printed(data)
    given = recognise(data, SAMPLED)
    with reading(given.place):
        return _sampled_of(given.content, drawn)


def _refuse_printed(data: Any) -> None:
    """Raise InputError for numbers that a paper prints."""
    values = [data]
    if isinstance(data, Mapping):
        values = list(data.values())
    if values and all(isinstance(value, int | float) for value in values):
        raise InputError("data: found printed numbers, not ranks; `reported` takes them")


def _sampled_of(given: Given, drawn: Drawn) -> SampledRanks:
    """Take or make sampled ranks of what was recognised."""
    if isinstance(given, SampledRanks):
        drawn.refuse("sampled ranks", "positive", "relevant")
        _require_agreement(drawn, given.n_negatives, given.sampling, given.n_items)
        _question(given, None)
        return given
    if isinstance(given, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(given, np.ndarray):
        drawn.refuse("ranks, not scores", "relevant", "positive")
        return made(drawn, given)
    if isinstance(given, Scores):
        return _of_matrix(given, drawn)
    if isinstance(given, SampledColumns):
        return _of_ranks(given.table, drawn)
    if isinstance(given, Lists) and given.is_by_row:
        problem = f"found lists without scores, columns {', '.join(given.table.names)}"
        raise InputError(f"{problem}; add a column score, or sampled_rank")
    return _of_scores(given.table, drawn)


def _require_agreement(drawn: Drawn, m: Any, sampling: str | None, n_items: Any) -> None:
    """Raise InputError for options that differ from what the data says."""
    require_same("n_negatives", drawn.n_negatives, "n_negatives", m)
    require_same("sampling", drawn.sampling, "sampling", sampling)
    require_same("n_items", drawn.n_items, "n_candidates", n_items)


def _question(sampled: SampledRanks, users: Ids | None) -> None:
    question_samples(
        sampled.sampled_ranks,
        sampled.n_items,
        sampled.n_negatives,
        users,
        distinct=sampled.sampling is Sampling.DISTINCT,
    )


def _of_matrix(given: Scores, drawn: Drawn) -> SampledRanks:
    """Rank the scores in one column, `positive`, among those in the others."""
    drawn.refuse("a matrix of scores", "relevant")
    own_column = given.beside.get("positive")
    require_same("positive", drawn.positive, "an array positive,", own_column)
    if own_column is None and drawn.positive is None:
        raise InputError("found scores; give positive (--positive), the column of held-out items")
    scores = given.matrix()
    positive = own_column
    if positive is None:
        positive = _column_of(given, drawn)
    counts = counts_beside(scores, positive)
    column = np.broadcast_to(positive, len(scores))
    is_own = np.zeros(scores.shape, bool)
    is_own[np.arange(len(scores)), column] = True
    question_padding(scores[~is_own].reshape(len(scores), -1))
    question_scales(scores[is_own], scores[~is_own])
    user_ids = None if given.path is None else given.user_ids
    return ranked(drawn, counts.better, counts.tied, counts.candidates - 1, user_ids)


def _column_of(given: Scores, drawn: Drawn) -> Any:
    """Return the number of the column that is named, or as it is given."""
    if not isinstance(drawn.positive, str) or given.item_ids is None:
        return drawn.positive
    names = list(given.item_ids)
    return names.index(drawn.positive) if drawn.positive in names else drawn.positive


def _of_scores(table: Table, drawn: Drawn) -> SampledRanks:
    """Rank held-out items, by `label` or by `relevant`, among the other rows of the same user."""
    drawn.refuse("a table, not a matrix", "positive")
    exact = next((name for name in ("n_better", "rank") if name in table.columns), None)
    if exact and "label" not in table.columns and drawn.relevant is None:
        problem = f"found exact ranks (column {exact}), not sampled ones"
        raise InputError(f"{problem}; `sampled-metrics evaluate` takes them")
    has_scores = "score" in table.columns
    if not has_scores and "rank" not in table.columns:
        needed = {"label"} & set(table.columns)
        table.require("score" if needed else "sampled_rank")
    if drawn.relevant is None and "label" not in table.columns:
        raise InputError("found scores; add a column label (1 or 0), or give --relevant")
    codes, user_ids = table.codes(USER)
    user = codes.astype(np.int64)
    # Numbers that are higher for better candidates.
    score = table.ordered("score") if has_scores else -table.ordered("rank")
    held = _held_out(table, drawn, user, user_ids)
    n_negatives = np.bincount(user[~held], minlength=len(user_ids))
    if has_scores:
        question_scales(score[held], score[~held])
    if ITEM not in table.columns and np.ptp(n_negatives) == 0:
        by_user = np.argsort(user[~held], kind="stable")
        question_padding(score[~held][by_user].reshape(len(user_ids), -1))
    pairs = None
    if ITEM in table.columns:
        item_codes, item_ids = table.codes(ITEM)
        pairs = Pairs(user, item_codes.astype(np.int64), held, as_numpy(item_ids))
    # Other held-out items of the user are no negatives.
    better, tied = by_score(user, score)
    better_held, tied_held = by_score(user[held], score[held])
    better = better[held] - better_held
    tied = tied[held] - tied_held
    user = user[held]
    if not has_scores:
        ask_of_first_places(better)
    sampled = ranked(drawn, better, tied, n_negatives[user], as_numpy(user_ids)[user])
    sampled.__dict__.update(pairs=pairs)
    return sampled


def _held_out(table: Table, drawn: Drawn, user: Int, user_ids: Any) -> NDArray[np.bool_]:
    """Mark the rows of held-out items, of which each user has one, and negatives."""
    if drawn.relevant is None:
        held = table.marks("label")
    else:
        with reading(drawn.relevant):
            relevant = items_by_id(drawn.relevant, RELEVANT)
        ask_of_grades(relevant.relevance)
        item, item_ids = table.codes(ITEM)
        own = relevant.within(user_ids, item_ids)
        held = own.has(user, item.astype(np.int64))
    for rows, problem in (
        (held, "no held-out item among the candidates of"),
        (~held, "no negatives for"),
    ):
        count = np.bincount(user[rows], minlength=len(user_ids))
        if not count.all():
            first = user_ids[int(np.argmin(count))]
            without = int((count == 0).sum())
            raise InputError(f"{problem} user {first} ({without} users have none)")
    return held


def _of_ranks(table: Table, drawn: Drawn) -> SampledRanks:
    """Take a column of sampled ranks, and what other columns say of them."""
    drawn.refuse("sampled ranks", "positive", "relevant")
    sampling = None
    items = None
    m: Any = None
    if "n_negatives" in table.columns:
        m = table.whole("n_negatives", 1, MOST_ITEMS)
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
    users = None
    if USER in table.columns:
        user, user_ids = table.codes(USER)
        users = as_numpy(user_ids)[user]
    return made(
        drawn,
        ranks,
        users,
        n_items=items,
        m=m,
        sampling=sampling,
        several_items=ITEM in table.columns and USER in table.columns,
        repeated="repetition" in table.columns,
        is_checked=True,
    )


_MOST_MISSING = 0.1  # of the negatives of a row


def made(
    drawn: Drawn,
    ranks: Any,
    users: Any = None,
    *,
    n_items: Any = None,
    m: Any = None,
    sampling: str | None = None,
    several_items: bool = False,
    repeated: bool = False,
    is_checked: bool = False,
) -> SampledRanks:
    """Make sampled ranks of what was found and, where that does not say it, of options.

    What was found is `is_checked` if it is of a table.
    """
    _require_agreement(drawn, m, sampling, n_items)
    if m is None:
        m = drawn.n_negatives
    if n_items is None:
        is_checked = False
        n_items = drawn.n_items
    if m is None:
        raise InputError("the number of negatives is not known; give n_negatives (--n-negatives)")
    if n_items is None:
        raise InputError(
            "no column n_candidates; give n_items (--n-items), those of a full ranking"
        )
    way = Sampling(drawn.sampling or sampling or Sampling.WITHOUT_REPLACEMENT)
    if np.ndim(m):
        ranks, m = _thinned(ranks, m, way, drawn.seed)
    make = SampledRanks.trusted if is_checked else SampledRanks
    sampled = make(ranks, n_items, m, way, users, several_items)
    _question(sampled, None if repeated or several_items else sampled.users)
    return sampled


def ranked(drawn: Drawn, better: Int, tied: Int, n_negatives: Int, users: Any) -> SampledRanks:
    """Make sampled ranks of the negatives above each held-out item, and level with it."""
    question_ties(tied, n_negatives)
    question_ends(tied, better, n_negatives)
    above = better
    if drawn.ties == "random":
        above = better + generator(drawn.seed, "ties").integers(0, tied + 1)
    elif drawn.ties == "pessimistic":
        above = better + tied
    m: Any = n_negatives
    # Of draws whose duplicates are dropped, fewer remain.
    if drawn.sampling == Sampling.DISTINCT and m.max() <= (drawn.n_negatives or 0):
        m = drawn.n_negatives
    several = users is not None and first_duplicate(np.asarray(users)) is not None
    return made(drawn, above + 1, users, m=m, several_items=several)


def _thinned(ranks: Int, m: Int, way: Sampling, seed: int) -> tuple[Int, int]:
    """Keep as many negatives of each row, uniformly chosen among its own."""
    least, most = int(m.min()), int(m.max())
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
