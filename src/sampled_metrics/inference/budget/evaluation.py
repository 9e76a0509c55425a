"""The method as a whole, as a generator of batches: rounds for the model, then the audit."""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.audit import Audit, Audited, Run, start_run
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.estimate import estimates
from sampled_metrics.inference.budget.relevance import offsets, weights
from sampled_metrics.inference.budget.result import BudgetResult, depth_of
from sampled_metrics.inference.budget.rounds import explore, posterior
from sampled_metrics.inference.budget.together import Batches, alone, together
from sampled_metrics.inference.budget.values import Metric, Tables

MODEL_SHARE = 0.75  # of the budget; the rest is the audit's


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
    model_share
        Share of the budget that the rounds may use.
    confidence
        Coverage of the intervals.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    budget: float = 100.0
    model_share: float = MODEL_SHARE
    confidence: float = 0.95


def evaluation(
    frame: Frame, held_items: Int, settings: Settings
) -> Generator[Batch, Float, BudgetResult]:
    """Yield batches of pairs, take their scores, return the result.

    The first batch has the held-out items; about ten rounds and as many batches of the audit
    follow. Nothing but the scores sent decides what is asked next.
    """
    n_users, count = frame.order.n.size, len(settings.names)
    limit = int(settings.budget * n_users)
    total = int(settings.model_share * limit)
    if frame.n.sum() <= limit:
        total = limit
    elif total < n_users * np.count_nonzero(frame.n.any(0)):
        least = np.ceil(np.count_nonzero(frame.n.any(0)) / settings.model_share)
        raise InputError(f"budget is {settings.budget:g}; the first round needs {least:.0f}")
    counts = []
    for number in range(count):
        scores = yield Batch(np.full(held_items.size, number), frame.owner, held_items)
        counts.append(Counts(frame, scores, number))
    tables = Tables(settings.metrics, int(frame.order.n.max()))
    offset = np.stack([offsets(frame, one.held_scores) for one in counts])
    classes = [Classes(frame) for _ in counts]
    rounds = [explore(counts[i], classes[i], tables, offset[i], total) for i in range(count)]
    yield from _joined(together([alone(one) for one in rounds]))
    scale = [weights(frame, settings.metrics, one) for one in offset]
    runs = [
        start_run(
            counts[i],
            classes[i],
            posterior(counts[i], classes[i], tables, offset[i]),
            scale[i],
            offset[i],
            tables,
        )
        for i in range(count)
    ]
    spent = sum(int(one.m.sum()) for one in counts)
    audit = Audit(runs, frame, tables, np.stack(scale), offset, count * limit - spent)
    audited = yield from _joined(audit.run())
    return _result(frame, settings, runs, audited)


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
    frame: Frame, settings: Settings, runs: list[Run], audited: Audited
) -> BudgetResult:
    mean = np.stack([run.mean for run in runs])
    exact = all(not run.open.any() for run in runs)
    sums = [i for i, metric in enumerate(settings.metrics) if metric.cutoff is None]
    single, pairs = estimates(mean, audited, exact, sums, settings.confidence)
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
        proxy=frame.order.name,
        depth=tuple(depth_of(run, frame, audited, i) for i, run in enumerate(runs)),
    )
