"""Evaluation on a budget of recommenders that can be called."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import BUDGET, BUDGET_METRICS, CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.evaluation import METHODS, Batch, Settings
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.session import Session, prepare
from sampled_metrics.inference.budget.values import parse_metrics

Scorer = Callable[[Int, Int], ArrayLike]


def evaluate_on_budget(
    score: Scorer | Mapping[str, Scorer],
    candidates: Any,
    held_out: Any,
    *,
    budget: float = BUDGET,
    proxy: Any = "popularity",
    metrics: Sequence[str] = BUDGET_METRICS,
    seed: int = 0,
    method: str = "adaptive",
    confidence: float = CONFIDENCE,
    until_decided: bool = False,
    half_width: float | None = None,
    n_items: int | None = None,
    batch_size: int | None = None,
    progress: bool | Callable[[int], None] | None = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. A recommender that scores the whole catalogue at once is
    better ranked fully (`rank`), which takes less time and leaves no error; the result says how
    long that would take. Intervals and orders are about the exact metrics of the users given.

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
    until_decided
        Stop before the budget is spent, once the order of every two recommenders is decided in
        every metric. The adaptive method looks at a quarter, at half and at the end of the
        budget; the intervals allow for it and are somewhat wider.
    half_width
        Stop in the same way, once no recommender's interval is wider than twice this.
    n_items
        Size of the catalogue, where candidates are lists.
    batch_size
        Largest number of pairs in one call of `score`; does not change the result.
    progress
        Show a bar; by default if standard error is a terminal. Or a function, called after every
        batch with the number of pairs asked so far, held-out items and all recommenders included.

    Returns
    -------
    BudgetResult
        Prints as a table. `rows()` and `to_frame()` have the metrics with intervals and price,
        `compare()` the orders of all pairs of recommenders.

    See Also
    --------
    Session : The same for scores that come from elsewhere, batch by batch.

    Examples
    --------
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
    settings = Settings(
        tuple(scorers),
        parse_metrics(metrics),
        budget,
        method,
        confidence,
        until_decided,
        half_width,
    )
    session = Session(prepare(problem, proxy, seed), settings)
    scoring = _Scoring(list(scorers.values()), batch_size)
    most = min(int(budget * problem.n_users), int(problem.n_others.sum())) + problem.owner.size
    hidden = None if progress is None else progress is not True
    asked = 0
    with tqdm(desc="scores", total=len(scorers) * most, disable=hidden, leave=False) as bar:
        while (batch := session.ask()) is not None:
            session.tell(scoring.scores(batch))
            asked += batch.users.size
            bar.update(batch.users.size)
            if callable(progress):
                progress(asked)
    return replace(session.finished(), seconds_per_score=scoring.seconds_per_score())


class _Scoring:
    """Calls recommenders, and measures how long they take."""

    def __init__(self, functions: list[Scorer], batch_size: int | None) -> None:
        self._functions, self._batch_size = functions, batch_size
        self._seconds, self._pairs = np.zeros(len(functions)), np.zeros(len(functions))

    def scores(self, batch: Batch) -> Float:
        """Score the pairs of a batch, each by its recommender."""
        scores = np.empty(batch.users.size)
        for number, function in enumerate(self._functions):
            mine = np.flatnonzero(batch.recommender == number)
            step = self._batch_size or max(mine.size, 1)
            began = time.perf_counter()
            for first in range(0, mine.size, step):
                pairs = mine[first : first + step]
                values = np.asarray(function(batch.users[pairs], batch.items[pairs]))
                if values.shape != pairs.shape:
                    raise InputError(f"score returned shape {values.shape} for {pairs.size} pairs")
                scores[pairs] = values
            self._seconds[number] += time.perf_counter() - began
            self._pairs[number] += mine.size
        return scores

    def seconds_per_score(self) -> tuple[float, ...]:
        """Return the mean time of a pair, per recommender."""
        return tuple((self._seconds / np.maximum(self._pairs, 1)).tolist())
