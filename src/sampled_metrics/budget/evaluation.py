"""Evaluation on a budget: rounds of scores for the model, then the audit."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator

from sampled_metrics._base import settings as base
from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import BUDGET, BUDGET_METRICS, CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics.budget.audit import Audited, audit, estimates
from sampled_metrics.budget.candidates import Candidates, Order, make_proxy
from sampled_metrics.budget.model import Asked, Asking, Counts, Frame, Model, parse_metrics
from sampled_metrics.budget.result import BudgetResult, depth_of
from sampled_metrics.inference.compare import UNDECIDED

MODEL_SHARE = 0.75  # of the budget; the rest is the audit's
# Budget spent at each look of an evaluation that may stop early, and its part of 1 - confidence.
# The parts add up to one, so intervals cover as often as stated, whenever the evaluation stops.
LOOKS = ((0.25, 0.2), (0.5, 0.3), (1.0, 0.5))
FIRST_STEPS, ROUND_STEPS, LAST_STEPS = 30, 6, 40  # of expectation maximisation
ROUNDS_PER_E, LEAST_ROUNDS = 3.0, 4  # rounds for every factor e from the first round to the budget
BATCHES = (5, 10, 10, 12, 15, 20)  # fewest scores asked at once of a user in each stratum ...
BATCH = 25  # ... and beyond the sixth

Scorer = Callable[[Int, Int], ArrayLike]


class Settings(base.Settings):
    """What an evaluation depends on besides its data and the scores; see `evaluate_on_budget`."""

    names: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    metrics: Annotated[tuple[str, ...], Field(strict=False)] = BUDGET_METRICS
    budget: Annotated[float, Field(gt=0.0)] = BUDGET
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = CONFIDENCE
    seed: Annotated[int, Field(ge=0)] = 0
    until_decided: bool = False

    @field_validator("names")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("duplicate name of a recommender")
        return names


class Batch(NamedTuple):
    """Pairs to be scored: running numbers of recommender, user and item, shape (pairs,) each."""

    recommender: Int
    users: Int
    items: Int


class State(NamedTuple):
    """Scores answered so far, a checksum of their pairs, and the pairs to be scored next."""

    answers: Sequence[Float] = ()
    check: int = 0
    batch: Batch | None = None

    @classmethod
    def read(cls, path: Path) -> "State":
        """Read what `Session.save` wrote."""
        what = "the state of an evaluation on a budget"
        arrays = read_arrays(path, what, ("rounds", "check"))
        answers = [arrays[f"scores{number}"] for number in range(int(arrays["rounds"]))]
        complete = "items" not in arrays
        batch = None if complete else Batch(*(arrays[name] for name in Batch._fields))
        return cls(answers, int(arrays["check"]), batch)


START = State()


def evaluate_on_budget(
    score: Scorer | Mapping[str, Scorer],
    seen: Any,
    held_out: Any,
    *,
    proxy: Any = "popularity",
    batch_size: int | None = None,
    **settings: Any,
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
    seen
        What users have seen, nonzero in a sparse matrix of shape (users, items). All other items
        are candidates, so items that must not compete are marked as well.
    held_out
        Held-out item of each user, or a list with an array of them per user.
    proxy
        Cheap scores that tell where to look: `popularity`; `als` (8 factors, trained on what was
        seen; needs the package implicit); a matrix of shape (users, items); or a function like
        `score`.
    batch_size
        Largest number of pairs in one call of `score`; does not change the result.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
    metrics
        Any of recall@k, ndcg@k and ap.
    until_decided
        Stop before the budget is spent, once all orders are decided in every metric. The
        evaluation looks at a quarter, at half and at the end of the budget; the intervals allow
        for it and are somewhat wider.
    confidence, seed
        Coverage of the intervals; seed of all random numbers.

    Returns
    -------
    BudgetResult
        Prints as a table; `to_frame()` has the metrics, `compare()` the orders of all pairs.

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
    scorers = dict(score) if isinstance(score, Mapping) else {"score": score}
    chosen = Settings.of({"names": list(scorers), **settings}, "evaluate_on_budget")
    session = Session.of(Candidates(seen, held_out), proxy, chosen)
    seconds, pairs = np.zeros((2, len(scorers)))
    while (batch := session.ask()) is not None:
        values = np.empty(batch.users.size)
        for number, function in enumerate(scorers.values()):
            mine = np.flatnonzero(batch.recommender == number)
            began = time.perf_counter()
            step = batch_size or max(mine.size, 1)
            for part in (mine[first : first + step] for first in range(0, mine.size, step)):
                found = np.asarray(function(batch.users[part], batch.items[part]))
                if found.shape != part.shape:
                    raise InputError(f"score returned shape {found.shape} for {part.size} pairs")
                values[part] = found
            seconds[number] += time.perf_counter() - began
            pairs[number] += mine.size
        session.tell(values)
    return replace(session.finished(), seconds_per_score=tuple((seconds / pairs).tolist()))


class Session:
    """An evaluation that asks for scores in batches and can be saved between them.

    Resuming repeats the computation, which takes about a second per recommender.

    Parameters
    ----------
    frame
        Users, candidates and their order; `Session.of` makes it.
    settings
        Names, metrics, budget and so on.
    saved
        State to resume from.

    Attributes
    ----------
    state
        Scores answered so far and the pairs to be scored next.
    result
        The result, None while there is more to ask.
    """

    def __init__(self, frame: Frame, settings: Settings, saved: State = START) -> None:
        self._frame, self._settings = frame, settings
        self._metrics = parse_metrics(settings.metrics)
        self._steps = self._evaluation()
        self.result: BudgetResult | None = None
        self.state = State(batch=next(self._steps))
        for scores in saved.answers:
            if self.state.batch is None or scores.shape != self.state.batch.users.shape:
                break
            self.tell(scores)
        if (len(self.state.answers), self.state.check) != (len(saved.answers), saved.check):
            raise InputError("the saved scores belong to another evaluation; start anew")

    @classmethod
    def of(
        cls, candidates: Candidates, proxy: Any, settings: Settings, saved: Path | None = None
    ) -> "Session":
        """Begin an evaluation, or resume the one that was saved."""
        shape = (candidates.n_users, candidates.n_items)
        order = Order(candidates, make_proxy(proxy, candidates.seen, shape, settings.seed))
        state = START if saved is None else State.read(saved)
        return cls(Frame(order, settings.seed), settings, state)

    def ask(self) -> Batch | None:
        """Return the pairs to be scored next; None when the result is ready."""
        return self.state.batch

    def tell(self, scores: ArrayLike) -> None:
        """Take the scores of the pairs that `ask` returned, in their order."""
        answers, check, batch = self.state
        if batch is None:
            raise InputError("the evaluation is complete; there is nothing to tell")
        values = np.array(scores, dtype=np.float64)
        if values.shape != batch.users.shape:
            raise InputError(f"{values.size} scores for {batch.users.size} pairs")
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            pair = f"item {batch.items[row]} for user {batch.users[row]}"
            raise InputError(f"score of {pair} is NaN", row=row + 1)
        check = crc32(np.concatenate(batch).astype("<i8").tobytes(), check)
        try:
            following = self._steps.send(values)
        except StopIteration as stop:
            following, self.result = None, stop.value
        self.state = State([*answers, values], check, following)

    def finished(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.result is None:
            raise InputError("the evaluation is not complete; ask for the next batch")
        return self.result

    def save(self, path: Path) -> None:
        """Write the state as `.npz`, all or nothing."""
        answers, check, batch = self.state
        arrays: dict[str, Any] = {f"scores{i}": scores for i, scores in enumerate(answers)}
        arrays |= {} if batch is None else batch._asdict()
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, rounds=len(answers), check=check, **arrays)

    def _evaluation(self) -> Generator[Batch, Float, BudgetResult]:
        """Yield batches of pairs, take their scores, return the result."""
        frame, settings, count = self._frame, self._settings, len(self._settings.names)
        n_users = frame.order.n.size
        limit = int(settings.budget * n_users)
        first_round = n_users * int(np.count_nonzero(frame.n.any(0)))
        if frame.n.sum() > limit and MODEL_SHARE * limit < first_round:
            needed = np.ceil(first_round / n_users / MODEL_SHARE)
            raise InputError(f"budget is {settings.budget:g}; the first round needs {needed:.0f}")
        items = frame.order.candidates.item
        number = np.repeat(np.arange(count), items.size)
        held = yield Batch(number, np.tile(frame.owner, count), np.tile(items, count))
        models = [Model(Counts(frame, x), self._metrics) for x in held.reshape(count, -1)]
        for share, risk in LOOKS if settings.until_decided else ((1.0, 1.0),):
            if MODEL_SHARE * share * limit < first_round and share < 1.0:
                continue
            result = yield from self._look(models, int(share * limit), risk)
            if all(pair.order != UNDECIDED for pair in result.compare()):
                break
        return result

    def _look(
        self, models: list[Model], limit: int, risk: float
    ) -> Generator[Batch, Float, BudgetResult]:
        """Continue the rounds and audit, at most `limit` scores in all per recommender."""
        # The audit draws users anew, so its intervals hold whatever came before.
        settings, frame = self._settings, self._frame
        already = max(int(model.counts.m.sum()) for model in models)
        total = already + int(MODEL_SHARE * (limit - already))
        if frame.n.sum() <= limit:
            yield from joined([model.counts.ask(model.counts.left) for model in models])
        else:
            yield from joined([explore(model, total) for model in models])
        audits = [audit(m, limit - int(m.counts.m.sum()), already) for m in models]
        audited: list[Audited] = yield from joined(audits)
        level = 1.0 - risk * (1.0 - settings.confidence)
        bounds = np.stack([model.limits().mean(axis=-1) for model in models], axis=1)
        single, pairs = estimates(audited, bounds, level)
        drawn = [set(x.phases[0].users.tolist()) for x in audited if x.phases]
        return BudgetResult(
            names=settings.names,
            metrics=tuple(map(str, self._metrics)),
            estimates=single,
            differences=pairs,
            n_asked=tuple(int(model.counts.m.sum()) for model in models),
            n_held_out=frame.owner.size,
            n_users=frame.order.n.size,
            n_audited=len(set().union(*drawn)),
            n_candidates=int(frame.n.sum()),
            confidence=settings.confidence,
            level=level,
            proxy=frame.order.name,
            depth=tuple(map(depth_of, models, audited)),
        )


def explore(model: Model, total: int) -> Asking:
    """Ask where the metrics vary most, in rounds; the first asks for one score of every stratum."""
    counts = model.counts
    n_users, n_strata = counts.m.shape
    if not counts.m.any():
        yield from counts.ask(np.minimum(1, counts.left))
        model.fit(FIRST_STEPS)
    fewest = np.array([*BATCHES, *[BATCH] * n_strata][:n_strata])
    first, budget = counts.m.sum() / n_users + 3.0, total / n_users
    rounds = max(LEAST_ROUNDS, int(ROUNDS_PER_E * np.log(max(budget / first, 1.0))))
    for limit in [budget] if budget <= first else np.geomspace(first, budget, rounds):
        room = min(int(limit * n_users), total) - int(counts.m.sum())
        gain = model.gain()
        size = np.minimum(np.maximum(fewest, counts.m), counts.left).ravel()
        ranked = np.argsort(-np.where(size > 0, gain.ravel(), -1.0), kind="stable")
        taken = ranked[: np.searchsorted(np.cumsum(size[ranked]), room, side="right")]
        more = np.zeros(size.size, np.int64)
        more[taken] = size[taken]
        if more.any():
            yield from counts.ask(more.reshape(n_users, n_strata))
            model.fit(ROUND_STEPS)
    model.fit(LAST_STEPS)


def joined(tasks: Sequence[Generator[Asked, Float, Any]]) -> Generator[Batch, Float, list[Any]]:
    """Run tasks side by side, a request of each in every batch; return what they return."""
    results: list[Any] = [None] * len(tasks)
    replies: dict[int, Float | None] = dict.fromkeys(range(len(tasks)))
    while True:
        wanted: dict[int, Asked] = {}
        for place, scores in replies.items():
            try:
                wanted[place] = next(tasks[place]) if scores is None else tasks[place].send(scores)
            except StopIteration as stop:
                results[place] = stop.value
        if not wanted:
            return results
        sizes = [asked.user.size for asked in wanted.values()]
        users, items = map(np.concatenate, zip(*wanted.values(), strict=True))
        scores = yield Batch(np.repeat(list(wanted), sizes), users, items)
        replies = dict(zip(wanted, np.split(scores, np.cumsum(sizes)[:-1]), strict=True))
