"""The method as a whole, as a generator of batches: rounds for the model, then the audit."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.audit import Audit
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.estimate import estimates
from sampled_metrics.inference.budget.relevance import offsets, weights
from sampled_metrics.inference.budget.result import BudgetResult, depth_of
from sampled_metrics.inference.budget.rounds import ask, explore, posterior
from sampled_metrics.inference.budget.runs import Audited, Run, limits, start_run
from sampled_metrics.inference.budget.sweep import sweep
from sampled_metrics.inference.budget.together import Batches, alone, together
from sampled_metrics.inference.budget.values import Metric, Tables

MODEL_SHARE = 0.75  # of the budget; the rest is the audit's
METHODS = ("adaptive", "scan")


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
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    budget: float = 100.0
    method: str = "adaptive"
    confidence: float = 0.95


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

    The first batch has the held-out items; about ten rounds and fifteen batches of the audit
    follow. Nothing but the scores sent decides what is asked next. `spent` scores, of all
    recommenders together, are taken off the budget. `watch` gets the model before its first round,
    and may look at it between batches.
    """
    n_users, count = frame.order.n.size, len(settings.names)
    limit = int(settings.budget * n_users - spent / count)
    total = int(MODEL_SHARE * limit)
    n_strata = np.count_nonzero(frame.n.any(0))
    if frame.n.sum() <= limit:
        total = limit
    elif total < n_users * n_strata:
        least = np.ceil((n_strata + spent / n_users / count) / MODEL_SHARE)
        raise InputError(f"budget is {settings.budget:g}; the first round needs {least:.0f}")
    model = yield from modelled(frame, held_items, settings, total, watch)
    scale = [weights(frame, settings.metrics, one) for one in model.offset]
    runs = [
        start_run(
            counts,
            classes,
            posterior(counts, classes, model.tables, model.offset[i]),
            scale[i],
            model.offset[i],
            model.tables,
        )
        for i, (counts, classes) in enumerate(zip(model.counts, model.classes, strict=True))
    ]
    money = count * limit - sum(int(counts.m.sum()) for counts in model.counts)
    audit = Audit(runs, frame, model.tables, np.stack(scale), model.offset, money)
    audited = yield from _joined(audit.run())
    bounds = np.stack(
        [
            limits(counts, scale[i], model.offset[i], model.tables).mean(axis=-1)
            for i, counts in enumerate(model.counts)
        ],
        axis=1,
    )
    return _result(frame, settings, runs, audited, bounds)


def modelled(
    frame: Frame,
    held_items: Int,
    settings: Settings,
    total: int,
    watch: Watch | None = None,
) -> Generator[Batch, Float, Modelled]:
    """Ask for the held-out items and in rounds, and fit the model; at most `total` scores each."""
    count = len(settings.names)
    number = np.repeat(np.arange(count), held_items.size)
    held = Batch(number, np.tile(frame.owner, count), np.tile(held_items, count))
    held_scores = (yield held).reshape(count, -1)
    counts = [Counts(frame, scores, number) for number, scores in enumerate(held_scores)]
    tables = Tables(settings.metrics, int(frame.order.n.max()))
    offset = np.stack([offsets(frame, one.held_scores) for one in counts])
    classes = [Classes(frame) for _ in counts]
    model = Modelled(counts, classes, tables, offset)
    if watch is not None:
        watch(model)
    if frame.n.sum() <= total:
        asking = [ask(one, one.left) for one in counts]
    else:
        rounds = explore if settings.method == "adaptive" else sweep
        asking = [
            rounds(counts[i], classes[i], tables, offset[i], total) for i in range(len(counts))
        ]
    yield from _joined(together([alone(one) for one in asking]))
    return model


def _joined(inner: Batches) -> Generator[Batch, Float, Any]:
    """Join the requests of askers into one batch, and hand out its scores."""
    replies: list[Float] | None = None
    while True:
        try:
            wanted = next(inner) if replies is None else inner.send(replies)
        except StopIteration as stop:
            return stop.value
        size = [asked.user.size for asked in wanted]
        batch = Batch(
            np.repeat([asked.recommender for asked in wanted], size),
            np.concatenate([asked.user for asked in wanted]),
            np.concatenate([asked.item for asked in wanted]),
        )
        replies = np.split((yield batch), np.cumsum(size)[:-1])


def _result(
    frame: Frame, settings: Settings, runs: list[Run], audited: Audited, bounds: Float
) -> BudgetResult:
    mean = np.stack([run.mean for run in runs])
    sums = [i for i, metric in enumerate(settings.metrics) if metric.cutoff is None]
    single, pairs = estimates(mean, audited, bounds, sums, settings.confidence)
    return BudgetResult(
        names=settings.names,
        metrics=tuple(str(metric) for metric in settings.metrics),
        estimates=single,
        differences=pairs,
        posterior_mean=mean,
        posterior_variance=np.stack([run.variance for run in runs]),
        n_asked=tuple(int(run.counts.m.sum()) for run in runs),
        n_held_out=frame.owner.size,
        n_users=frame.order.n.size,
        n_audited=audited.users.size,
        n_candidates=int(frame.n.sum()),
        confidence=settings.confidence,
        proxy=frame.order.name,
        depth=tuple(depth_of(run, frame, audited, i) for i, run in enumerate(runs)),
    )
