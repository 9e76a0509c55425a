"""Exact metrics from rank records, under a stated tie policy."""

from collections.abc import Callable, Iterable

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks


def random_rank(records: Ranks, rng: np.random.Generator) -> Int:
    """Rank with the held-out item at a uniformly random place among its ties.

    Drawn from b + 1 ... b + e + 1, each equally likely; int64, shape (users,).
    """
    return records.best_rank + rng.integers(0, records.n_tied + 1)


def expected_values(measure: Measure, records: Ranks) -> Float:
    """Expectation of the metric over a uniformly random order of the tied candidates.

    That is the mean of M(b + 1) ... M(b + e + 1), from differences of the cumulative sum of M;
    for AUC, linear in the rank, it is the value at the middle rank b + 1 + e/2. Relative
    accuracy is about 1e-12 for a million candidates.

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> expected_values(parse_measure("ap"), Ranks([9, 9], [0, 1], [2, 0])).round(4)
    array([0.6111, 0.5   ])
    """
    if measure.needs_candidates:
        return measure.at(records.best_rank + records.n_tied / 2.0, records.n_candidates)
    untied = records.n_tied == 0
    last = int(records.worst_rank[~untied].max(initial=0))
    cumulative = np.zeros(last + 1)
    np.cumsum(measure.at(np.arange(1, last + 1), last), out=cumulative[1:])
    values = measure.at(records.best_rank, records.n_candidates)
    below, above = records.n_better[~untied], records.worst_rank[~untied]
    values[~untied] = (cumulative[above] - cumulative[below]) / (above - below)
    return values


def _random_values(measure: Measure, records: Ranks, rng: np.random.Generator | None) -> Float:
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    return measure.at(random_rank(records, rng), records.n_candidates)


_POLICIES: dict[str, Callable[[Measure, Ranks, np.random.Generator | None], Float]] = {
    "expected": lambda measure, records, _: expected_values(measure, records),
    "optimistic": lambda measure, records, _: measure.at(records.best_rank, records.n_candidates),
    "pessimistic": lambda measure, records, _: measure.at(records.worst_rank, records.n_candidates),
    "random": _random_values,
}
POLICIES = tuple(_POLICIES)


def exact_values(
    measure: Measure,
    records: Ranks,
    ties: str = "expected",
    rng: np.random.Generator | None = None,
) -> Float:
    """Exact metric of every record, as fractions; float64, shape (users,).

    Parameters
    ----------
    measure
        What to compute.
    records
        The full rankings.
    ties
        `expected` (mean over a uniformly random order), `random` (one such order, drawn with
        `rng`), `optimistic` (the held-out item first) or `pessimistic` (last).
    rng
        Source of the random order; only `random` uses it.

    Raises
    ------
    InputError
        The policy is not known, or `random` has no generator.

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> records = Ranks([101], [0], [9])
    >>> [exact_values(parse_measure("recall@5"), records, ties).item()
    ...  for ties in ("optimistic", "expected", "pessimistic")]
    [1.0, 0.5, 0.0]
    """
    if ties not in _POLICIES:
        raise InputError(f"unknown tie policy {ties!r}; known: {', '.join(POLICIES)}")
    return _POLICIES[ties](measure, records, rng)


def means_over_orders(
    measure: Measure, records: Ranks, generators: Iterable[np.random.Generator]
) -> Float:
    """Mean of an exact metric over users, for one random order of the ties a generator.

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> seeds = (np.random.default_rng(seed) for seed in range(2))
    >>> means_over_orders(parse_measure("auc"), Ranks([3], [1], [0]), seeds)
    array([0.5, 0.5])
    """
    return np.array([exact_values(measure, records, "random", rng).mean() for rng in generators])
