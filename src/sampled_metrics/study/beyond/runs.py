"""Repeated evaluations by one method, and how far they are off."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics.study.beyond.outcomes import Compared

VALUES = (
    *("method", "proxy", "budget", "scores_per_user", "recommender", "metric"),
    *("exact", "mean", "bias", "sd", "coverage", "runs"),
)
ORDERS = (
    *("method", "proxy", "budget", "scores_per_user", "pair", "metric", "right"),
    *("significantly_wrong", "runs"),
)


@dataclass(frozen=True)
class Runs:
    """Repeated evaluations of all recommenders by one method."""

    method: str
    proxy: str
    budget: int
    """Method, where it takes the scores that it asks for, and scores per user that it may ask."""
    scores: Float
    """Scores asked per user and recommender, held-out items not counted; shape (runs,)."""
    values: Float
    """Estimates, shape (runs, recommenders, measures)."""
    differences: Float | None = None
    """Of each pair (a, b) of recommenders, b - a as the method ranks by; shape (runs, pairs,
    measures). None if they are those of the values."""
    intervals: Float | None = None
    of_differences: Float | None = None
    """Lower and upper limits of 95 % intervals of both, shape (2, runs, ...); None if the method
    has none that are about the exact metric."""


def value_rows(runs: Iterable[Runs], compared: Compared) -> pd.DataFrame:
    """Mean, bias, standard deviation and coverage over runs, with the columns `VALUES`."""
    exact = compared.exact.mean(axis=2)
    rows: list[tuple[object, ...]] = []
    for repeated in runs:
        mean, sd = repeated.values.mean(axis=0), repeated.values.std(axis=0, ddof=1)
        covered = None
        if repeated.intervals is not None:
            low, high = repeated.intervals
            covered = ((low <= exact) & (exact <= high)).mean(axis=0)
        for r, name in enumerate(compared.names):
            for i, measure in enumerate(compared.measures):
                coverage = None if covered is None else covered[r, i]
                numbers = (exact[r, i], mean[r, i], mean[r, i] - exact[r, i], sd[r, i], coverage)
                rows.append((*_about(repeated), name, str(measure), *numbers, len(repeated.values)))
    return pd.DataFrame(rows, columns=VALUES)


def order_rows(runs: Iterable[Runs], compared: Compared) -> pd.DataFrame:
    """Count runs that order pairs as the exact metrics do, with the columns `ORDERS`.

    Equal estimates count as incorrect. `significantly_wrong` counts runs in which the interval of
    the difference excludes 0 on the wrong side.
    """
    pairs = list(combinations(range(len(compared.names)), 2))
    exact = differences(compared.exact.mean(axis=2), pairs)
    rows: list[tuple[object, ...]] = []
    for repeated in runs:
        leads = repeated.differences
        if leads is None:
            leads = differences(repeated.values, pairs)
        right = (np.sign(leads) == np.sign(exact)).sum(axis=0)
        wrong = None
        if repeated.of_differences is not None:
            low, high = repeated.of_differences
            wrong = np.where(exact > 0, high < 0, low > 0).sum(axis=0)
        for p, (a, b) in enumerate(pairs):
            pair = f"{compared.names[a]} vs {compared.names[b]}"
            for i, measure in enumerate(compared.measures):
                counts = (right[p, i], None if wrong is None else wrong[p, i])
                rows.append((*_about(repeated), pair, str(measure), *counts, len(repeated.values)))
    return pd.DataFrame(rows, columns=ORDERS).astype({"significantly_wrong": "Int64"})


def differences(values: Float, pairs: Sequence[tuple[int, int]]) -> Float:
    """Differences b - a of the second to last axis.

    Examples
    --------
    >>> differences(np.array([[1.0], [3.0]]), [(0, 1)])
    array([[2.]])
    """
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return np.asarray(values[..., b, :] - values[..., a, :], dtype=np.float64)


def _about(repeated: Runs) -> tuple[object, ...]:
    return repeated.method, repeated.proxy, repeated.budget, float(repeated.scores.mean())
