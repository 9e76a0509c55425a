"""An evaluation of recommenders that are given as functions or as matrices."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from sampled_metrics._base.arguments import is_function, whole_number
from sampled_metrics._base.defaults import BUDGET, BUDGET_METRICS, CONFIDENCE
from sampled_metrics._base.errors import InputError, ask, collected, reading
from sampled_metrics._base.files import alone_in
from sampled_metrics.budget.candidates import Order, make_proxy
from sampled_metrics.budget.evaluation import Session, Settings, expectation
from sampled_metrics.budget.folder import Folder
from sampled_metrics.budget.problem import Function, Grid, Problem, Scorer, numbers
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.budget.state import Scored
from sampled_metrics.ranks.data import OfUsers

_SCORED_AGAIN = 8  # pairs of each recommender that a folder has scores of
_CLOSE = 1e-3  # relative, and of the standard deviation of scores, that no training explains
_log = logging.getLogger("sampled_metrics")
Recommender: TypeAlias = Function | OfUsers


def evaluate_on_budget(
    recommender: Recommender | Mapping[str, Recommender],
    metrics: str | Sequence[str] = BUDGET_METRICS,
    *,
    relevant: OfUsers,
    seen: OfUsers | None = None,
    candidates: OfUsers | None = None,
    items: OfUsers | None = None,
    proxy: Function | OfUsers = "popularity",
    budget: float = BUDGET,
    until_decided: bool = False,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    batch_size: int | None = None,
    state: str | Path | None = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. A recommender that scores the whole catalogue at once is
    better ranked fully (`rank`), which takes less time and leaves no error; the result says how
    long that would take. Intervals and orders are about the exact metrics of the users given.
    Before the first score a line is logged that says what the budget can be expected to give, as a
    warning where that is little.

    Parameters
    ----------
    recommender
        Function of arrays of users and items that returns a score per pair, larger is better; a
        matrix of scores, users x items; a DataFrame of them with ids as index and columns; or
        several under their names, which are compared on the same users and random numbers.
    metrics
        recall@k, ndcg@k and ap; with one held-out item per user also hr@k, mrr, mrr@k and map@k.
    relevant, seen
        Held-out items, and those that are no candidates. Both as tables of `user_id` and `item_id`
        (files, DataFrames, or dictionaries of a list per user), whose ids functions then get. Or
        by position: `seen` as a matrix, users x items, or a list of columns per user, and the
        column of each user's held-out item, -1 for none, a list of them per user, or a matrix.
    candidates
        Items that are ranked for each user, in the forms of `seen`, by default all; seen items are
        taken out of them, and the held-out items need not be among them. With them `seen` may be
        left out, if the proxy is given as scores.
    items
        Table of all items (`item_id`), if some are in no other table; by position their number,
        where no matrix says it.
    proxy
        Cheap scores that tell where to look: `popularity`; `als` (8 factors, trained on what was
        seen; needs the package implicit); or scores as of a recommender, or in a table.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
    until_decided
        Stop before the budget is spent, once all orders are decided in every metric. The
        evaluation looks at a quarter, at half and at the end of the budget; the intervals allow
        for it and are somewhat wider.
    confidence, seed
        Coverage of the intervals; seed of all random numbers.
    batch_size
        Largest number of pairs in one call of a function; does not change the result.
    state
        Folder that keeps all scores, after each call. The same evaluation goes on from there if it
        was interrupted, also by `sampled-metrics budget`, or if `budget` is larger now. A few pairs
        are then scored again, to see that the recommender is the same.

    Returns
    -------
    BudgetResult
        Prints as a table; `to_frame()` has the metrics, `compare()` the orders of all pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((40, 30))
    >>> held_out = np.arange(40) % 30
    >>> result = evaluate_on_budget(
    ...     lambda users, items: scores[users, items], "HR@5",
    ...     relevant=held_out, seen=np.zeros((40, 30)), budget=29,
    ... )
    >>> exact = np.mean((scores > scores[np.arange(40), held_out, np.newaxis]).sum(axis=1) < 5)
    >>> bool(np.isclose(result.estimates[0][0].value, exact))
    True
    """
    if batch_size is not None:
        whole_number("batch_size", batch_size, 1)
    if state is not None and not isinstance(state, str | Path):
        raise InputError(f"state is a {type(state).__name__}; expected the name of a folder")
    given: Any = recommender
    if not isinstance(given, Mapping) or issparse(given):
        given = {"score": recommender}
    if not given or not all(isinstance(name, str) for name in given):
        raise InputError("recommender has no names; expected at least one, each a text")
    options: dict[str, Any] = {
        "names": tuple(given),
        "metrics": metrics,
        "budget": budget,
        "confidence": confidence,
        "seed": seed,
        "until_decided": until_decided,
    }
    settings = Settings.of(options, "evaluate_on_budget")
    sources = {
        name: scores if is_function(scores) else Grid.of("recommender", scores)
        for name, scores in given.items()
    }
    grids = [source for source in sources.values() if isinstance(source, Grid)]
    if items is None and grids:
        items = grids[0].items()
    shapes = [grid.values.shape for grid in grids if grid.item_ids is None]
    with collected() as notes, ExitStack() as stack:
        problem = Problem.of(relevant, seen, items, candidates, next(iter(shapes), None))
        scorers = {name: problem.scorer("recommender", source) for name, source in sources.items()}
        order = Order(problem, make_proxy(proxy, problem, settings.seed))
        if state is None:
            session = Session(order, settings)
        else:
            path = Path(state)
            Folder.resume(path, order, settings)
            stack.enter_context(alone_in(path))
            session = Folder(path).session()  # as another process may have left it
            _question_stored(session.scored(), scorers)
        _log.log(*expectation(order, settings.budget))
        times = _score(session, list(scorers.values()), batch_size)
    return replace(session.result, seconds_per_score=times, notes=tuple(notes))


def _score(session: Session, scorers: Sequence[Scorer], size: int | None) -> tuple[float, ...]:
    """Score and keep all that the session asks; return the mean time of a pair by recommender."""
    seconds = np.zeros(len(scorers))
    pairs = np.zeros(len(scorers))
    while (batch := session.state.next) is not None:
        for number, score in enumerate(scorers):
            mine = np.flatnonzero((batch.recommender == number) & batch.missing)
            step = size or max(mine.size, 1)
            for first in range(0, mine.size, step):
                part = mine[first : first + step]
                began = time.perf_counter()
                found = score(batch.users[part], batch.items[part])
                batch.scores[part] = numbers("result of recommender", found, part.shape)
                seconds[number] += time.perf_counter() - began
                pairs[number] += part.size
                session.save()
        session.tell(batch.scores)
        session.save()
        _log.info("%s scores so far", f"{sum(map(len, session.state.answers)):,}")
    if not pairs.all():
        return ()
    return tuple((seconds / pairs).tolist())


def _question_stored(stored: Scored, scorers: Mapping[str, Scorer]) -> None:
    """Ask whether recommenders are those of the stored scores, by some of their pairs again."""
    for number, (name, score) in enumerate(scorers.items()):
        mine = stored.take(stored.recommender == number)
        if not mine.scores.size:
            continue
        spread = np.linspace(0, mine.scores.size - 1, _SCORED_AGAIN)
        some = np.unique(spread.astype(int))
        before = mine.scores[some]
        finite = mine.scores[np.isfinite(mine.scores)]
        margin = _CLOSE * (finite.std() if finite.size else 0.0)
        now = score(mine.users[some], mine.items[some])
        differ = ~np.isclose(now, before, rtol=_CLOSE, atol=margin)
        if differ.any():
            with reading(name * (len(scorers) > 1)):
                ask(
                    "state",
                    f"{differ.sum()} of {differ.size} pairs have another score now than in the "
                    "folder: was the recommender trained again? Its old scores are used; name a "
                    "new folder",
                )
