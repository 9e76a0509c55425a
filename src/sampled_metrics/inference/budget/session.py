"""Runs that can be stopped and resumed, and the call that runs one from start to end."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.evaluation import METHODS, Batch, Settings, evaluation
from sampled_metrics.inference.budget.ledger import Ledger
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.pilot import pilot, pilot_users
from sampled_metrics.inference.budget.proxies import Part, Proxy, make_proxy
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.shuffle import stream, uniform
from sampled_metrics.inference.budget.values import parse_metrics

METRICS = ("recall@10", "ndcg@10", "ap")
Scorer = Callable[[Int, Int], ArrayLike]


class Prepared(NamedTuple):
    """Problem and proxies of an evaluation, before any score of a recommender is known."""

    candidates: Candidates
    proxies: tuple[Proxy, ...]
    seed: int

    def frame(self, proxy: Proxy) -> Frame:
        """Strata of all users in the order of a proxy."""
        return Frame(Order(self.candidates, proxy), self.candidates.owner, self.seed)


def prepare(candidates: Candidates, proxy: Any, seed: int) -> Prepared:
    """Make the proxies of an evaluation; `proxy` is one or a list of them."""
    several = proxy if isinstance(proxy, (list, tuple)) else [proxy]
    shape = (candidates.n_users, candidates.n_items)
    made = tuple(make_proxy(one, candidates.seen, shape, seed) for one in several)
    if not made:
        raise InputError("proxy is an empty list; name at least one")
    return Prepared(candidates, made, seed)


def steps(prepared: Prepared, settings: Settings) -> Generator[Batch, Float, BudgetResult]:
    """Yield batches of pairs, take their scores, return the result; a pilot first if need be."""
    candidates, proxies, seed = prepared
    if len(proxies) == 1:
        return (yield from evaluation(prepared.frame(proxies[0]), candidates.item, settings))
    draws = uniform(stream(seed, "pilot"), np.arange(candidates.n_users))
    users = pilot_users(candidates.n_users, draws)
    part = candidates.take(users)
    frames = [Frame(Order(part, Part(one, users)), part.owner, seed, users) for one in proxies]
    ledger = Ledger(candidates.n_users, candidates.n_items)
    trials = yield from ledger.once(pilot(frames, users, part.item, settings))
    best = min(range(len(proxies)), key=lambda number: trials[number].depth)
    each = range(len(settings.names))
    spent = sum(ledger.count(number) - part.owner.size for number in each)
    frame = prepared.frame(proxies[best])
    result = yield from ledger.once(evaluation(frame, candidates.item, settings, spent))
    asked = tuple(ledger.count(number) - candidates.owner.size for number in each)
    return replace(result, n_asked=asked, trials=tuple((one.name, one.depth) for one in trials))


class Answers(NamedTuple):
    """Scores told so far, batch by batch, with checksums of the pairs they belong to."""

    scores: list[Float]
    checks: list[int]


class Session:
    """An evaluation that asks for scores in batches and can be saved between them.

    The state is the scores told so far: resuming repeats the computation with them, which takes
    about a second per recommender.

    Parameters
    ----------
    prepared
        Problem and proxies, from `prepare`.
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
        self, prepared: Prepared, settings: Settings, answers: Answers | None = None
    ) -> None:
        self._steps = steps(prepared, settings)
        self.answers = Answers([], [])
        self.result: BudgetResult | None = None
        self._batch: Batch | None = next(self._steps)
        for scores, check in zip(*(answers or ((), ())), strict=True):
            if self._batch is None or check != _checksum(self._batch):
                raise InputError(
                    f"batch {len(self.answers.scores)} of the saved scores belongs to another "
                    "evaluation; start anew, or use the same data, proxy, budget and seed"
                )
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
        self.answers.scores.append(values)
        self.answers.checks.append(_checksum(self._batch))
        try:
            self._batch = self._steps.send(values)
        except StopIteration as stop:
            self._batch, self.result = None, stop.value

    def finished(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.result is None:
            raise InputError("the evaluation is not complete; ask for the next batch")
        return self.result

    def save(self, path: Path) -> None:
        """Write the scores told so far as `.npz`."""
        with path.open("wb") as file:
            named: dict[str, Any] = {f"scores{i}": x for i, x in enumerate(self.answers.scores)}
            np.savez(file, checks=np.array(self.answers.checks, np.int64), **named)


def read_answers(path: Path) -> Answers:
    """Read the scores that `Session.save` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        checks = arrays["checks"].tolist()
        return Answers([arrays[f"scores{i}"] for i in range(len(checks))], checks)


def _checksum(batch: Batch) -> int:
    return crc32(np.concatenate(batch).astype("<i8").tobytes())


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


def _require_scores(scores: Float, batch: Batch) -> None:
    if scores.shape != batch.users.shape:
        raise InputError(f"{scores.size} scores for {batch.users.size} pairs")
    if np.isnan(scores).any():
        row = int(np.argmax(np.isnan(scores)))
        raise InputError(
            f"score of item {batch.items[row]} for user {batch.users[row]} is NaN", row=row + 1
        )
