"""Evaluation on a budget of recommenders that can be called."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.evaluation import METHODS, Batch, Settings
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.session import Session, prepare
from sampled_metrics.inference.budget.values import parse_metrics

METRICS = ("recall@10", "ndcg@10", "ap")
Scorer = Callable[[Int, Int], ArrayLike]


def evaluate_on_budget(
    score: Scorer | Mapping[str, Scorer],
    candidates: Any,
    held_out: Any,
    *,
    budget: float = 100,
    proxy: Any = "popularity",
    metrics: Sequence[str] = METRICS,
    seed: int = 0,
    method: str = "adaptive",
    confidence: float = 0.95,
    n_items: int | None = None,
    batch_size: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. A recommender that scores the whole catalogue at once is
    better ranked fully, which takes less time and leaves no error.

    Parameters
    ----------
    score
        Function of arrays of users and items that returns a score per pair, larger is better; or
        several under their names, which are compared on the same users, strata and random numbers.
    candidates
        What users have seen, nonzero in a sparse matrix of shape (users, items): everything else
        is a candidate. Or a list with an array of candidate items per user.
    held_out
        Held-out item of each user, or a list with an array of several.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
    proxy
        Cheap scores that tell where to look: `popularity`; `als` (8 factors, trained on what was
        seen); a matrix of shape (users, items); or a function like `score`. Of a list of them, a
        pilot on a few users takes the one that fits best.
    metrics
        Any of recall@k, ndcg@k and ap.
    seed
        Of all random numbers.
    method
        `adaptive` rounds; or `scan`, which scores in the proxy's order and stops.
    confidence
        Coverage of the intervals.
    n_items
        Size of the catalogue, where candidates are lists.
    batch_size
        Largest number of pairs in one call of `score`; does not change the result.
    progress
        Called after every batch with the number of pairs asked so far, held-out items and all
        recommenders included; the budget bounds it.

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((40, 30))
    >>> from scipy.sparse import csr_array
    >>> result = evaluate_on_budget(
    ...     lambda users, items: scores[users, items], csr_array((40, 30)), np.arange(40) % 30,
    ...     budget=29, metrics=["recall@5"],
    ... )
    >>> own = scores[np.arange(40), np.arange(40) % 30]
    >>> exact = np.mean((scores > own[:, np.newaxis]).sum(axis=1) < 5)
    >>> bool(np.isclose(result.estimates[0][0].value, exact))
    True
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    scorers = dict(score) if isinstance(score, Mapping) else {"score": score}
    problem = Candidates(candidates, held_out, n_items)
    settings = Settings(tuple(scorers), parse_metrics(metrics), budget, method, confidence)
    session = Session(prepare(problem, proxy, seed), settings)
    functions = list(scorers.values())
    asked = 0
    while (batch := session.ask()) is not None:
        session.tell(_scored(functions, batch, batch_size))
        asked += batch.users.size
        if progress is not None:
            progress(asked)
    return session.finished()


def _scored(functions: list[Scorer], batch: Batch, batch_size: int | None) -> Float:
    scores = np.empty(batch.users.size)
    for number, function in enumerate(functions):
        mine = np.flatnonzero(batch.recommender == number)
        step = batch_size or max(mine.size, 1)
        for first in range(0, mine.size, step):
            pairs = mine[first : first + step]
            values = np.asarray(function(batch.users[pairs], batch.items[pairs]))
            if values.shape != pairs.shape:
                raise InputError(f"score returned shape {values.shape} for {pairs.size} pairs")
            scores[pairs] = values
    return scores
