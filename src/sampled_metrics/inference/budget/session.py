"""Runs that can be stopped and resumed, and the call that runs one from start to end."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.evaluation import Batch, Settings, evaluation
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.proxies import make_proxy
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.values import parse_metrics

METRICS = ("recall@10", "ndcg@10", "ap")
Scorer = Callable[[Int, Int], ArrayLike]


class Session:
    """An evaluation that asks for scores in batches and can be saved between them.

    The state is the scores told so far: resuming repeats the computation with them, which takes
    about a second per recommender.

    Parameters
    ----------
    frame
        Strata and held-out items, from `prepare`.
    held_items
        Held-out items, one per row of the frame.
    settings
        Metrics, budget and names.
    answers
        Scores told so far, to resume.

    Attributes
    ----------
    result
        The result, None while there is more to ask.
    """

    def __init__(
        self, frame: Frame, held_items: Int, settings: Settings, answers: Sequence[Float] = ()
    ) -> None:
        self._steps: Generator[Batch, Float, BudgetResult] = evaluation(
            frame, held_items, settings
        )
        self.answers: list[Float] = []
        self.result: BudgetResult | None = None
        self._batch: Batch | None = next(self._steps)
        for scores in answers:
            self.tell(scores)

    def ask(self) -> Batch | None:
        """Return the pairs to be scored next; None when the result is ready."""
        return self._batch

    def tell(self, scores: ArrayLike) -> None:
        """Take the scores of the pairs that `ask` returned, in their order."""
        if self._batch is None:
            raise InputError("the evaluation is complete; there is nothing to tell")
        values = np.array(scores, dtype=np.float64)
        _require_scores(values, self._batch)
        self.answers.append(values)
        try:
            self._batch = self._steps.send(values)
        except StopIteration as stop:
            self._batch, self.result = None, stop.value

    def save(self, path: Path) -> None:
        """Write the scores told so far as `.npz`."""
        with path.open("wb") as file:
            np.savez(file, **{f"batch{i}": one for i, one in enumerate(self.answers)})


def read_answers(path: Path) -> list[Float]:
    """Read the scores that `Session.save` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return [arrays[f"batch{i}"] for i in range(len(arrays.files))]


def evaluate_on_budget(
    score: Scorer | Mapping[str, Scorer],
    candidates: Any,
    held_out: Any,
    *,
    budget: float = 100,
    proxy: Any = "popularity",
    metrics: Sequence[str] = METRICS,
    seed: int = 0,
    confidence: float = 0.95,
    n_items: int | None = None,
    batch_size: int | None = None,
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
        seen); a matrix of shape (users, items); or a function like `score`.
    metrics
        Any of recall@k, ndcg@k and ap.
    seed
        Of all random numbers.
    confidence
        Coverage of the intervals.
    n_items
        Size of the catalogue, where candidates are lists.
    batch_size
        Largest number of pairs in one call of `score`; does not change the result.

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
    scorers = dict(score) if isinstance(score, Mapping) else {"score": score}
    problem = Candidates(candidates, held_out, n_items)
    settings = Settings(tuple(scorers), parse_metrics(metrics), budget, confidence=confidence)
    session = Session(prepare(problem, proxy, seed), problem.item, settings)
    functions = list(scorers.values())
    while (batch := session.ask()) is not None:
        session.tell(_scored(functions, batch, batch_size))
    assert session.result is not None
    return session.result


def prepare(problem: Candidates, proxy: Any, seed: int) -> Frame:
    """Order the candidates by a proxy and cut them into strata."""
    shape = (problem.n_users, problem.n_items)
    order = Order(problem, make_proxy(proxy, problem.seen, shape, seed))
    return Frame(order, problem.owner, seed)


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


def _require_scores(scores: Float, batch: Batch) -> None:
    if scores.shape != batch.users.shape:
        raise InputError(f"{scores.size} scores for {batch.users.size} pairs")
    if np.isnan(scores).any():
        row = int(np.argmax(np.isnan(scores)))
        raise InputError(
            f"score of item {batch.items[row]} for user {batch.users[row]} is NaN", row=row + 1
        )
