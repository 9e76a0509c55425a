"""The method as a whole, as a generator of batches: rounds for the model, then the audit."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.audit import Audit, Audited
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Asked, Counts, Frame
from sampled_metrics.inference.budget.estimate import estimates
from sampled_metrics.inference.budget.relevance import offsets, weights
from sampled_metrics.inference.budget.result import BudgetResult, depth_of
from sampled_metrics.inference.budget.rounds import ask, explore, posterior
from sampled_metrics.inference.budget.runs import Run, limits
from sampled_metrics.inference.budget.strata import edges, sizes
from sampled_metrics.inference.budget.sweep import sweep
from sampled_metrics.inference.budget.values import Metric, Tables
from sampled_metrics.inference.compared import UNDECIDED

MODEL_SHARE = 0.75  # of the budget; the rest is the audit's
METHODS = ("adaptive", "scan")
# Budget that has been spent at each look of an evaluation that may stop early, and the part of
# 1 - confidence that the intervals of the look may fail in. The parts add up to one, so that the
# interval reported fails no more often than stated, whenever the evaluation stops.
LOOKS = ((0.25, 0.2), (0.5, 0.3), (1.0, 0.5))


class Batch(NamedTuple):
    """Pairs to be scored; shape (pairs,) each.

    Attributes
    ----------
    recommender
        Running number of the recommender that is to score the pair.
    users, items
        Running numbers of users and items.
    """

    recommender: Int
    users: Int
    items: Int


class Settings(NamedTuple):
    """What a run depends on besides the scores.

    Attributes
    ----------
    names
        Of the recommenders.
    metrics
        Metrics to estimate.
    budget
        Scores per user and recommender, held-out items not counted.
    method
        `adaptive` rounds or `scan` and stop.
    confidence
        Coverage of the intervals.
    until_decided
        Whether to stop before the budget is spent, once the order of every two recommenders is
        decided in every metric.
    half_width
        Stop before the budget is spent, once no recommender's interval is wider than twice this.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    budget: float = 100.0
    method: str = "adaptive"
    confidence: float = 0.95
    until_decided: bool = False
    half_width: float | None = None


class Modelled(NamedTuple):
    """What the rounds leave: outcomes and models of the recommenders."""

    counts: list[Counts]
    classes: list[Classes]
    tables: Tables
    offset: Int

    def means(self) -> Float:
        """Posterior means of the metrics so far, not audited; shape (recommenders, metrics)."""
        rows = []
        for counts, classes, offset in zip(self.counts, self.classes, self.offset, strict=True):
            scale = weights(counts.frame, self.tables.metrics, offset)
            mean = posterior(counts, classes, self.tables, offset).mean * scale
            rows.append(counts.frame.by_user(mean).mean(axis=1))
        return np.stack(rows)


Watch = Callable[[Modelled], None]


def evaluation(
    frame: Frame, held_items: Int, settings: Settings, spent: int = 0, watch: Watch | None = None
) -> Generator[Batch, Float, BudgetResult]:
    """Yield batches of pairs, take their scores, return the result.

    The first batch has the held-out items; the rounds and the batches of the audit follow.
    Nothing but the scores sent decides what is asked next. `spent` scores, of all recommenders
    together, are taken off the budget. `watch` gets the model before its first round, and may look
    at it between batches.
    """
    n_users, count = frame.order.n.size, len(settings.names)
    limit = int(settings.budget * n_users - spent / count)
    least = require_budget(settings.budget, frame.order.n, spent / count)
    model = yield from start(frame, held_items, settings, watch)
    for share, risk in _looks(settings):
        if MODEL_SHARE * share * limit < least and share < 1.0:
            continue
        result = yield from _look(model, settings, int(share * limit), risk)
        if _reached(result, settings):
            break
    return result


def require_budget(budget: float, n_candidates: Int, spent: float) -> int:
    """Return the scores of the first round; InputError if the budget does not suffice for it.

    `spent` scores of each recommender go to a pilot.
    """
    first = int(np.count_nonzero(sizes(n_candidates, edges(int(n_candidates.max()))).any(0)))
    limit = int(budget * n_candidates.size - spent)
    least = n_candidates.size * first
    if n_candidates.sum() > limit and MODEL_SHARE * limit < least:
        needed = np.ceil((first + MODEL_SHARE * spent / n_candidates.size) / MODEL_SHARE)
        rounds = "pilot and first round need up to" if spent else "the first round needs"
        raise InputError(f"budget is {budget:g}; {rounds} {needed:.0f}")
    return least


def _looks(settings: Settings) -> tuple[tuple[float, float], ...]:
    early = settings.until_decided or settings.half_width is not None
    return LOOKS if early and settings.method == "adaptive" else ((1.0, 1.0),)


def _reached(result: BudgetResult, settings: Settings) -> bool:
    """Whether all that the settings ask for before the budget is spent has been reached."""
    decided = all(one.order != UNDECIDED for one in result.compare())
    width = settings.half_width
    narrow = width is None or all(
        one.high - one.low <= 2.0 * width for row in result.estimates for one in row
    )
    return narrow and (decided or not settings.until_decided)


def _look(
    model: Modelled, settings: Settings, limit: int, risk: float
) -> Generator[Batch, Float, BudgetResult]:
    """Continue the rounds and audit, at most `limit` scores in all per recommender.

    The audit draws users anew, and the model is fixed before: the intervals of a look hold whatever
    came before it.
    """
    frame = model.counts[0].frame
    already = max(int(counts.m.sum()) for counts in model.counts)
    total = already + int(MODEL_SHARE * (limit - already))
    yield from rounds(model, settings.method, limit if frame.n.sum() <= limit else total)
    runs = [
        Run(*parts[:2], model.tables, parts[2])
        for parts in zip(model.counts, model.classes, model.offset, strict=True)
    ]
    audits = [Audit(run, limit - int(run.counts.m.sum()), already) for run in runs]
    audited = yield from _joined([one.run_all() for one in audits])
    return _result(frame, settings, runs, audited, risk)


def start(
    frame: Frame, held_items: Int, settings: Settings, watch: Watch | None = None
) -> Generator[Batch, Float, Modelled]:
    """Ask for the held-out items; return the model before its first round."""
    count = len(settings.names)
    number = np.repeat(np.arange(count), held_items.size)
    held = Batch(number, np.tile(frame.owner, count), np.tile(held_items, count))
    held_scores = (yield held).reshape(count, -1)
    counts = [Counts(frame, scores, number) for number, scores in enumerate(held_scores)]
    tables = Tables(settings.metrics, int(frame.order.n.max()))
    offset = np.stack([offsets(frame, one.held_scores) for one in counts])
    model = Modelled(counts, [Classes(frame) for _ in counts], tables, offset)
    if watch is not None:
        watch(model)
    return model


def rounds(model: Modelled, method: str, total: int) -> Generator[Batch, Float, None]:
    """Ask in rounds and fit the model; at most `total` scores per recommender, earlier included."""
    if model.counts[0].frame.n.sum() <= total:
        asking = [ask(one, one.left) for one in model.counts]
    else:
        asker = explore if method == "adaptive" else sweep
        parts = zip(model.counts, model.classes, model.offset, strict=True)
        asking = [asker(*part[:2], model.tables, part[2], total) for part in parts]
    yield from _joined(asking)


def _joined(tasks: Sequence[Generator[Asked, Float, Any]]) -> Generator[Batch, Float, list[Any]]:
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
        size = [asked.user.size for asked in wanted.values()]
        batch = Batch(
            np.repeat([asked.recommender for asked in wanted.values()], size),
            np.concatenate([asked.user for asked in wanted.values()]),
            np.concatenate([asked.item for asked in wanted.values()]),
        )
        replies = dict(zip(wanted, np.split((yield batch), np.cumsum(size)[:-1]), strict=True))


def _result(
    frame: Frame, settings: Settings, runs: list[Run], audited: list[Audited], risk: float
) -> BudgetResult:
    bounds = np.stack([limits(run).mean(axis=-1) for run in runs], axis=1)
    sums = [i for i, metric in enumerate(settings.metrics) if metric.cutoff is None]
    level = 1.0 - risk * (1.0 - settings.confidence)
    single, pairs = estimates(audited, bounds, sums, level)
    return BudgetResult(
        names=settings.names,
        metrics=tuple(str(metric) for metric in settings.metrics),
        estimates=single,
        differences=pairs,
        posterior_mean=np.stack([one.view.mean for one in audited]),
        posterior_variance=np.stack([one.view.variance for one in audited]),
        n_asked=tuple(int(run.counts.m.sum()) for run in runs),
        n_held_out=frame.owner.size,
        n_users=frame.order.n.size,
        n_audited=len(set().union(*(one.users.tolist() for one in audited))),
        n_candidates=int(frame.n.sum()),
        confidence=settings.confidence,
        level=level,
        proxy=frame.order.name,
        depth=tuple(depth_of(*pair) for pair in zip(runs, audited, strict=True)),
    )
