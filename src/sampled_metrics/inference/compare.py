"""Is A better than B? Differences with error bars, from full or from sampled rankings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.correct import solve
from sampled_metrics.inference.evaluate import prior_shape, user_values
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.moments import ROUNDING, deviations, order_probability
from sampled_metrics.inference.plan import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.verdict import exact_verdict, sampled_verdict
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks

EXACT = "exact"


@dataclass(frozen=True)
class Compared:
    """The difference of one metric between two recommenders.

    Attributes
    ----------
    a, b
        Their names.
    metric, estimator
        What was computed; `exact` from full rankings.
    value_a, value_b
        Their values as fractions, over the common users if users are paired.
    difference
        value_b - value_a.
    std_error, ci_low, ci_high
        Of the difference, see `intervals`.
    probability
        Probability that the observed sign is right, ignoring bias. From the normal distribution,
        at least 0.5; for two equally good recommenders it is 0.75 on average.
    paired
        Whether users were paired.
    n_users
        Number of pairs, or without pairs the smaller number of users.
    n_items
        n, the mean where users differ; None if not known.
    n_negatives, sampling
        m and how negatives were drawn; None for full rankings.
    verdict
        The comparison in words.
    """

    a: str
    b: str
    metric: str
    estimator: str
    value_a: float
    value_b: float
    difference: float
    std_error: float
    ci_low: float
    ci_high: float
    probability: float
    paired: bool
    n_users: int
    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    verdict: str = ""


def compare_exact(
    a: Ranks,
    b: Ranks,
    metrics: Sequence[str],
    *,
    names: tuple[str, str] = ("A", "B"),
    ties: str = "expected",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[Compared]:
    """Compare two recommenders by their full rankings.

    Parameters
    ----------
    a, b
        Ranks of the relevant items. Users that both have are paired; without ids, or without a
        common one, they are two independent samples.
    metrics
        Names of metrics.
    names
        What to call the two.
    ties, confidence, seed
        See `evaluation.evaluate`.

    Raises
    ------
    InputError
        A name is not known, users appear twice, or a metric needs more than is known.

    >>> a, b = (Ranks([100] * 40, [x] * 20 + [50] * 20, [0] * 40, users=range(40))
    ...         for x in (20, 2))
    >>> (result,) = compare_exact(a, b, ["recall@10"])
    >>> result.difference, result.paired, result.verdict
    (0.5, True, 'B is above A')
    """
    rows = common_users(a.users, b.users)
    items = [each.mean_candidates or None for each in (a, b)]
    results = []
    for measure in map(parse_measure, metrics):
        values = [user_values(measure, each, ties, seed) for each in (a, b)]
        means, difference = _difference(values, rows, prior_shape(measure, a), confidence)
        results.append(
            _result(
                names,
                means,
                difference,
                metric=str(measure),
                estimator=EXACT,
                paired=rows is not None,
                n_items=items[0] if items[0] == items[1] else None,
                verdict=exact_verdict(difference, names, confidence),
            )
        )
    return results


def compare_sampled(
    a: SampledRanks,
    b: SampledRanks,
    metrics: Sequence[str] = METRICS,
    estimators: Sequence[str] = ESTIMATORS,
    *,
    names: tuple[str, str] = ("A", "B"),
    per_user: bool = False,
    confidence: float = CONFIDENCE,
) -> list[Compared]:
    """Compare two recommenders by their sampled ranks, uncorrected and corrected.

    Parameters
    ----------
    a, b
        Sampled ranks of both, with the same number of negatives drawn in the same way. Users that
        both have are paired by their ids.
    metrics, estimators
        Their names.
    names
        What to call the two.
    per_user, confidence
        See `correct`.

    >>> users = range(400)
    >>> a = SampledRanks([2, 5] * 200, 3541, 100, users=users)
    >>> b = SampledRanks([1, 5] * 200, 3541, 100, users=users)
    >>> (result,) = compare_sampled(a, b, ["recall@10"], ["bv:0.1"])
    >>> round(result.difference, 3), result.verdict
    (0.421, 'B is above A')
    """
    for field in ("n_negatives", "sampling"):
        first, second = getattr(a, field), getattr(b, field)
        if first != second:
            raise InputError(f"{field} is {first} for one and {second} for the other")
    measures = [parse_measure(name) for name in metrics]
    parsed = [parse_estimator(name) for name in estimators]
    solved = [solve(each, measures, parsed, per_user) for each in (a, b)]
    rows = common_users(solved[0].users, solved[1].users)
    fitted = Pair(_fitted(a), _fitted(b), n_users=1, drawn=True, sampling=a.sampling)
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(parsed):
            values = [each.user_values(i, j) for each in solved]
            prior = Shape.of(solved[0].vectors[i, j])
            means, difference = _difference(values, rows, prior, confidence)
            results.append(
                _result(
                    names,
                    means,
                    difference,
                    metric=str(measure),
                    estimator=str(estimator),
                    paired=rows is not None,
                    n_items=round((a.mean_candidates + b.mean_candidates) / 2),
                    n_negatives=a.n_negatives,
                    sampling=str(a.sampling),
                    verdict=sampled_verdict(
                        difference, names, measure, estimator, fitted, a.n_negatives, confidence
                    ),
                )
            )
    return results


def _fitted(ranks: SampledRanks) -> Population:
    counts = np.bincount(ranks.sampled_ranks - 1, minlength=ranks.n_negatives + 1)
    return Population.estimated(counts, ranks.mean_candidates, ranks.sampling)


def common_users(a: ArrayLike | None, b: ArrayLike | None) -> tuple[Int, Int] | None:
    """Find the users that two evaluations have in common: their rows in both.

    None if ids are missing or no user is common. Numbers are compared to text as text.

    >>> common_users([3, 5, 9], [9, 3, 4])
    (array([0, 2]), array([1, 0]))
    """
    if a is None or b is None:
        return None
    ids = [np.asarray(each) for each in (a, b)]
    if ids[0].dtype.kind != ids[1].dtype.kind:
        ids = [each.astype(str) for each in ids]
    _, first, second = np.intersect1d(ids[0], ids[1], assume_unique=True, return_indices=True)
    return (first, second) if first.size else None


def _difference(
    values: Sequence[Float], rows: tuple[Int, Int] | None, prior: Shape, confidence: float
) -> tuple[tuple[float, float], Estimate]:
    """Calculate both means, over paired users if there are any, and estimate their difference."""
    a, b = values
    if rows is None:
        shape, size = Shape.of_means(Shape.of(a), a.size, Shape.of(b), b.size)
    else:
        a, b = a[rows[0]], b[rows[1]]
        difference = b - a
        difference[np.abs(difference) < ROUNDING] = 0.0
        shape, size = Shape.of(difference), a.size
    means = float(a.mean()), float(b.mean())
    return means, estimate(shape, size, prior.difference(), confidence)


def _result(
    names: tuple[str, str], means: tuple[float, float], difference: Estimate, **others: Any
) -> Compared:
    distance = deviations(abs(difference.value), difference.std_error)
    return Compared(
        a=names[0],
        b=names[1],
        value_a=means[0],
        value_b=means[1],
        difference=difference.value,
        std_error=difference.std_error,
        ci_low=difference.ci_low,
        ci_high=difference.ci_high,
        probability=float(order_probability(distance)),
        n_users=difference.n_users,
        **others,
    )
