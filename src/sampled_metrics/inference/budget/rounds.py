"""Adaptive rounds: scores are asked where the posterior variance of the metrics is largest."""

from collections.abc import Generator

import numpy as np
from scipy.special import roots_legendre

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Asked, Counts
from sampled_metrics.inference.budget.strata import batches
from sampled_metrics.inference.budget.values import Moments, Tables, over_ties

FIRST_STEPS, ROUND_STEPS, LAST_STEPS = 30, 6, 40  # of EM
ROUNDS_PER_E = 3.0  # rounds for every factor e between the first round and the budget
LEAST_ROUNDS = 4
NODES: tuple[Float, Float] = roots_legendre(6)  # of the integral over the order of ties

Asking = Generator[Asked, Float, None]


def explore(counts: Counts, classes: Classes, tables: Tables, offset: Int, total: int) -> Asking:
    """Ask for scores in rounds until there are `total`; the first asks for one of every stratum."""
    n_users, n_strata = counts.m.shape
    if not counts.m.any():
        yield from ask(counts, np.minimum(1, counts.left))
        classes.update(counts, FIRST_STEPS)
    smallest = batches(n_strata)
    for limit in schedule(float(counts.m.sum()) / n_users, total / n_users):
        room = min(int(limit * n_users), total) - int(counts.m.sum())
        gain = _gain(counts, classes, tables, offset)
        size = np.minimum(np.maximum(smallest, counts.m), counts.left).ravel()
        ranked = np.argsort(-np.where(size > 0, gain.ravel(), -1.0), kind="stable")
        taken = ranked[: np.searchsorted(np.cumsum(size[ranked]), room, side="right")]
        more = np.zeros(size.size, np.int64)
        more[taken] = size[taken]
        if more.any():
            yield from ask(counts, more.reshape(n_users, n_strata))
            classes.update(counts, ROUND_STEPS)
    classes.update(counts, LAST_STEPS)


def ask(counts: Counts, more: Int) -> Asking:
    """Ask for `more` scores of each user and stratum and count them."""
    asked = counts.request(more)
    scores = yield asked
    counts.add(asked, scores)


def schedule(asked: float, budget: float) -> Float:
    """Scores per user at the end of each adaptive round, from those asked to the budget.

    Examples
    --------
    >>> schedule(8, 20).round(1)
    array([11. , 13.4, 16.4, 20. ])
    """
    first = asked + 3.0
    if budget <= first:
        return np.array([budget])
    rounds = max(LEAST_ROUNDS, int(ROUNDS_PER_E * np.log(budget / first)))
    return np.geomspace(first, budget, rounds)


def _gain(counts: Counts, classes: Classes, tables: Tables, offset: Int) -> Float:
    """Variance of the metrics per score, for each user and stratum."""
    share = classes.cautious_share(counts)
    known = (counts.better.sum(1) + counts.tied.sum(1) // 2) + offset
    mean = classes.unscored(counts, share)
    variance = tables.moments(classes.fit.posterior, known, mean).variance
    worth = np.array([metric.weight for metric in tables.metrics]) @ variance
    probability = classes.fit.posterior @ share
    spread = probability * (1.0 - probability)
    left = counts.left[counts.frame.owner]
    scale = worth / np.maximum((left * spread).sum(1), 1e-9)
    return counts.frame.by_user((scale[:, np.newaxis] * spread).T).T


def posterior(counts: Counts, classes: Classes, tables: Tables, offset: Int) -> Moments:
    """Posterior of the metrics per held-out row; the order of ties is integrated out."""
    known_better, tied = counts.better.sum(1), counts.tied.sum(1)
    better = known_better + offset
    mean = classes.unscored(counts, classes.fit.share)
    result = tables.moments(classes.fit.posterior, better, mean)
    rows = np.flatnonzero(tied)
    if rows.size:
        share = classes.fit.posterior[rows]
        part = tied[rows] / (2.0 * known_better[rows] + tied[rows])  # of the ties in the mean
        first, second = np.zeros((2, 1))
        for node, weight in zip(*NODES, strict=True):
            root = (node + 1.0) / 2.0
            place, weight = root**3, 1.5 * weight * root**2
            known = better[rows] + np.floor(place * tied[rows] + 0.5).astype(np.int64)
            scale = (1.0 - part) + 2.0 * part * place
            moments = tables.moments(share, known, mean[rows] * scale[:, np.newaxis])
            first = first + weight * moments.mean
            second = second + weight * (moments.variance + moments.mean**2)
        result.mean[:, rows] = first
        result.variance[:, rows] = np.maximum(second - first**2, 0.0)
    known = np.flatnonzero(counts.left.sum(1)[counts.frame.owner] == 0)
    if known.size:
        for index, metric in enumerate(tables.metrics):
            result.mean[index, known] = over_ties(metric, better[known], tied[known])
        result.variance[:, known] = 0.0
    return result
