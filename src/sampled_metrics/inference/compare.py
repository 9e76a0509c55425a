"""Is A better than B? Differences with error bars, from full or from sampled rankings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.evaluate import prior_shape, user_values
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.sampled_evaluation import SampledRanks
from sampled_metrics.inference.verdict import Projection, exact_verdict, sampled_verdict
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks

EXACT = "exact"
_ROUNDING = 1e-13  # of metrics, which are of order 1


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
        The two values as fractions, over the users that both have if they are paired.
    difference
        value_b - value_a.
    std_error, ci_low, ci_high
        Of the difference, see `intervals`.
    probability
        That the difference expected from this estimator has the sign observed, judged by the
        standard error alone: how sure the order is, bias apart. From the normal distribution, at
        least 0.5; of two equally good recommenders it is 0.75 on average.
    paired
        Whether users were matched.
    n_users
        Users matched, or else the smaller number of users.
    n_items
        n, the mean where users differ, or None where it is not known.
    n_negatives, sampling
        m and how negatives were drawn; None for full rankings.
    verdict
        The same in words.
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
    >>> (found,) = compare_exact(a, b, ["recall@10"])
    >>> found.difference, found.paired, found.verdict
    (0.5, True, 'B is above A')
    """
    pairing = _Pairing(common_users(a.users, b.users))
    items = [each.mean_candidates or None for each in (a, b)]
    results = []
    for measure in map(parse_measure, metrics):
        values = [user_values(measure, each, ties, seed) for each in (a, b)]
        means, found = pairing.difference(values, prior_shape(measure, a), confidence)
        results.append(
            replace(
                _result(names, str(measure), EXACT, means, found, pairing.paired),
                n_items=items[0] if items[0] == items[1] else None,
                verdict=exact_verdict(found, names),
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
    confidence: float = CONFIDENCE,
) -> list[Compared]:
    """Compare two recommenders by their sampled ranks, uncorrected and corrected.

    Parameters
    ----------
    a, b
        The two evaluations, with the same number of negatives drawn in the same way; their
        `users`, if given, decide who is paired.
    metrics, estimators
        Their names.
    names
        What to call the two.
    confidence
        Nominal coverage of the intervals.

    Raises
    ------
    InputError
        A name is not known, or the two were not sampled alike.

    >>> users = range(400)
    >>> a = SampledRanks([2, 5] * 200, 3541, 100, users=users)
    >>> b = SampledRanks([1, 5] * 200, 3541, 100, users=users)
    >>> (found,) = compare_sampled(a, b, ["recall@10"], ["bv:0.1"])
    >>> round(found.difference, 3), found.verdict
    (0.421, 'B is above A')
    """
    _check_alike(a, b)
    pairing = _Pairing(common_users(*(each.by_user and each.by_user[0] for each in (a, b))))
    projection = Projection(a, b)
    measures = [parse_measure(name) for name in metrics]
    chosen = [parse_estimator(name) for name in estimators]
    vectors = [each.vectors(chosen, measures) for each in (a, b)]
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(chosen):
            values = [each.values(of[i, j]) for each, of in zip((a, b), vectors, strict=True)]
            prior = Shape.of(vectors[0][i, j])
            means, found = pairing.difference(values, prior, confidence)
            results.append(
                replace(
                    _result(names, str(measure), str(estimator), means, found, pairing.paired),
                    n_items=round((a.mean_candidates + b.mean_candidates) / 2),
                    n_negatives=a.n_negatives,
                    sampling=str(a.sampling),
                    verdict=sampled_verdict(found, names, measure, estimator, projection),
                )
            )
    return results


def common_users(a: ArrayLike | None, b: ArrayLike | None) -> tuple[Int, Int] | None:
    """Places in both of the users that two evaluations have in common.

    None where ids are missing or none is in common. Numbers and texts are compared as texts.

    Raises
    ------
    InputError
        A user appears twice in one.

    >>> common_users([3, 5, 9], [9, 3, 4])
    (array([0, 2]), array([1, 0]))
    """
    if a is None or b is None:
        return None
    ids = [np.asarray(each) for each in (a, b)]
    if ids[0].dtype.kind != ids[1].dtype.kind:
        ids = [each.astype(str) for each in ids]
    for each in ids:
        names, count = np.unique(each, return_counts=True)
        if names.size != each.size:
            raise InputError(f"user {names[count > 1][0]} appears twice; allowed: once")
    _, first, second = np.intersect1d(ids[0], ids[1], assume_unique=True, return_indices=True)
    return (first, second) if first.size else None


@dataclass(frozen=True)
class _Pairing:
    """Which users of two evaluations are the same; `rows` are their places in both, or None."""

    rows: tuple[Int, Int] | None

    @property
    def paired(self) -> bool:
        return self.rows is not None

    def difference(
        self, values: Sequence[Float], prior: Shape, confidence: float
    ) -> tuple[tuple[float, float], Estimate]:
        """Means of both, and the estimate of their difference."""
        if self.rows is not None:
            a, b = (each[rows] for each, rows in zip(values, self.rows, strict=True))
            difference = b - a
            difference[np.abs(difference) < _ROUNDING] = 0.0
            shape, size = Shape.of(difference), a.size
        else:
            a, b = values
            shape, size = Shape.of_means(Shape.of(a), a.size, Shape.of(b), b.size)
        means = float(a.mean()), float(b.mean())
        return means, estimate(shape, size, prior.difference(), confidence)


def _result(
    names: tuple[str, str],
    metric: str,
    estimator: str,
    means: tuple[float, float],
    found: Estimate,
    paired: bool,
) -> Compared:
    return Compared(
        a=names[0],
        b=names[1],
        metric=metric,
        estimator=estimator,
        value_a=means[0],
        value_b=means[1],
        difference=found.value,
        std_error=found.std_error,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        probability=_probability(found),
        paired=paired,
        n_users=found.n_users,
    )


def _probability(difference: Estimate) -> float:
    if difference.value == 0.0:
        return 0.5
    if difference.std_error == 0.0:
        return 1.0
    return float(ndtr(abs(difference.value) / difference.std_error))


def _check_alike(a: SampledRanks, b: SampledRanks) -> None:
    for field in ("n_negatives", "sampling"):
        ours, theirs = getattr(a, field), getattr(b, field)
        if ours != theirs:
            raise InputError(f"{field} is {ours} and {theirs}; allowed: the same for both")
