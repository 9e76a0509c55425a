"""Methods that ask for the scores of uniform random negatives."""

from collections.abc import Iterator

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.estimators.adaptive import adaptive_em
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling import draw_adaptively, histograms
from sampled_metrics.sampling.adaptive import Adaptive
from sampled_metrics.study.beyond.orders import pack, shared_orders
from sampled_metrics.study.beyond.outcomes import Compared
from sampled_metrics.study.beyond.runs import Runs
from sampled_metrics.study.beyond.settings import ADAPTIVE, SHARED, UNIFORM, BeyondSettings


def independent(compared: Compared, settings: BeyondSettings) -> Iterator[Runs]:
    """Yield the runs of all estimators when each recommender ranks negatives of its own."""
    most = int(compared.ranks[0].n_candidates.min()) - 1
    for m in (m for m in settings.budgets if m <= most):
        runs = settings.runs_of(m, (settings.reported,))
        counts = np.stack(
            [
                histograms(
                    ranks, m, [generator(settings.seed, "beyond", name, m, i) for i in range(runs)]
                )
                for name, ranks in zip(compared.names, compared.ranks, strict=True)
            ],
            axis=1,
        )
        yield from _estimated(compared, settings, counts, UNIFORM)
    start = settings.adaptive_start
    for limit in settings.adaptive_limits:
        drawn = [
            [
                draw_adaptively(
                    ranks, start, generator(settings.seed, "adaptive", name, limit, i), limit
                )
                for name, ranks in zip(compared.names, compared.ranks, strict=True)
            ]
            for i in range(settings.runs_of(limit, (settings.adaptive_reported,)))
        ]
        yield adaptive(compared, settings, limit, drawn, UNIFORM)


def shared(compared: Compared, settings: BeyondSettings, held_out: Int) -> Iterator[Runs]:
    """Yield the runs of what is reported when all recommenders rank the same negatives."""
    m, packed = settings.reported, pack(compared.codes, held_out)
    recommenders = range(len(compared.names))
    counts = np.zeros((settings.runs, len(recommenders), m + 1))
    drawn: list[list[Adaptive]] = []
    for i in range(settings.runs):
        parts: list[list[Adaptive]] = [[] for _ in recommenders]
        for order in shared_orders(packed, generator(settings.seed, "shared", i)):
            users = np.arange(len(order.place))
            negatives = np.full(users.size, m)
            for r in recommenders:
                ranks = order.sampled(r, negatives, users)
                counts[i, r] += np.bincount(ranks, minlength=m + 1)
                parts[r].append(
                    order.adaptive(r, settings.adaptive_start, settings.adaptive_reported)
                )
        drawn.append([Adaptive(*map(np.concatenate, zip(*one, strict=True))) for one in parts])
    yield from _estimated(compared, settings, counts, SHARED)
    yield adaptive(compared, settings, settings.adaptive_reported, drawn, SHARED)


def _estimated(
    compared: Compared, settings: BeyondSettings, counts: Float | Int, proxy: str
) -> Iterator[Runs]:
    """Estimate from histograms of shape (runs, recommenders, m + 1)."""
    m = counts.shape[-1] - 1
    scores = np.full(len(counts), float(m))
    for estimator in settings.corrections:
        if not estimator.fitted or m <= settings.largest_fit:
            values = estimates_of(estimator, compared, counts)
            yield Runs(str(estimator), proxy, m, scores, values)


def estimates_of(estimator: Estimator, compared: Compared, counts: Float | Int) -> Float:
    """Estimates from histograms of shape (..., m + 1); float64, shape (..., measures)."""
    users = counts.sum(axis=-1, keepdims=True)

    def vectors(histogram: Float | Int | None) -> Float:
        return estimator_matrix(
            [estimator],
            compared.measures,
            compared.n_items,
            counts.shape[-1] - 1,
            sampling=Sampling.WITHOUT_REPLACEMENT,
            histogram=histogram,
            linearised=False,
        )[:, 0]

    if not estimator.fitted:
        return np.asarray(counts @ vectors(None).T / users, dtype=np.float64)
    flat = counts.reshape(-1, counts.shape[-1])
    fitted = np.stack([one @ vectors(one).T for one in flat])
    return fitted.reshape(*counts.shape[:-1], -1) / users


def adaptive(
    compared: Compared,
    settings: BeyondSettings,
    limit: int,
    drawn: list[list[Adaptive]],
    proxy: str,
) -> Runs:
    """Estimate from numbers of negatives that were doubled until one was above."""
    n = compared.n_items
    credit = np.stack([measure.at(np.arange(1, n + 1), n) for measure in compared.measures])
    values = [
        [credit @ adaptive_em(*one, n, settings.adaptive_iterations) for one in recommenders]
        for recommenders in drawn
    ]
    scores = [np.mean([one.drawn.mean() for one in recommenders]) for recommenders in drawn]
    return Runs(ADAPTIVE, proxy, limit, np.array(scores), np.array(values))
