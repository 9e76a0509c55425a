"""How many negatives it takes to order two recommenders correctly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import LARGEST, PROBABILITY
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    ConditioningError,
    Estimator,
    estimator_matrix,
    parse_estimator,
)
from sampled_metrics.inference.moments import deviations, order_probability
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling

N_SIZES = 16
TOLERANCE = 0.02
_BISECTIONS = 80


@dataclass(frozen=True)
class Planned:
    """Negatives that one estimator of one metric needs.

    Attributes
    ----------
    metric, estimator
        What is estimated and how.
    n_negatives
        Smallest m, to within 2 %, from which on the wanted probability is reached up to `largest`;
        None if it is not reached at `largest`.
    probability
        Wanted probability that the estimates are ordered as the exact metrics are.
    at_largest
        That probability at `largest`.
    largest
        Most negatives looked at.
    exact_a, exact_b
        Exact metrics, as fractions.
    n_items, n_users
        n and number of users.
    sampling
        How negatives are drawn.
    """

    metric: str
    estimator: str
    n_negatives: int | None
    probability: float
    at_largest: float
    largest: int
    exact_a: float
    exact_b: float
    n_items: int
    n_users: int
    sampling: str


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or assumed, to be evaluated with negatives.

    Attributes
    ----------
    a, b
        Their users by true rank.
    n_users
        Users of the evaluation.
    drawn
        Whether users are drawn anew from the populations, so that they vary too; otherwise only
        the negatives do, which both recommenders draw independently.
    paired
        Whether user i of one is user i of the other, so that what they share cancels.
    sampling
        How negatives are drawn.
    """

    a: Population
    b: Population
    n_users: int
    drawn: bool = False
    paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampling", Sampling(self.sampling))
        if self.n_users < 1:
            raise InputError(f"n_users is {self.n_users}; it must be at least 1")

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        means = [each.share @ each.ranks.n_candidates for each in (self.a, self.b)]
        return round(float(np.mean(means)))

    @property
    def most_negatives(self) -> int:
        """The most that every user has candidates for."""
        return int(min(each.ranks.n_candidates.min() for each in (self.a, self.b))) - 1

    def difference(self, vectors: Float) -> tuple[Float, Float]:
        """Calculate the expected difference b - a of the estimates and its standard deviation.

        For vectors of shape (..., m + 1), two arrays of shape (...).
        """
        a, b = (each.outlook(vectors, self.sampling) for each in (self.a, self.b))
        variance = a.within + b.within
        if self.drawn and self.paired and self.a.kind is not None and self.b.kind is not None:
            users = b.by_kind[..., self.b.kind] - a.by_kind[..., self.a.kind]
            variance = variance + users.var(axis=-1)
        elif self.drawn:
            variance = a.total + b.total
        return b.mean - a.mean, np.sqrt(variance / self.n_users)


def plan(
    pair: Pair,
    metrics: Sequence[str],
    estimators: Sequence[str],
    *,
    probability: float = PROBABILITY,
    largest: int = LARGEST,
) -> list[Planned]:
    """Find how many negatives order two recommenders correctly with a wanted probability.

    The difference of the two estimates is taken to be normal, with mean and variance in closed
    form from the distribution of the sampled ranks (section 4.3).

    Parameters
    ----------
    pair
        The recommenders and their users.
    metrics, estimators
        Their names.
    probability
        Wanted probability, from 0.5 to below 1.
    largest
        Most negatives to look at; fewer if a user has fewer candidates.

    Returns
    -------
    One result for each metric and estimator, metrics outermost.

    >>> pair = Pair(Population.power(1000, 0.5), Population.power(1000, 0.45), 3000, drawn=True)
    >>> [each.n_negatives for each in plan(pair, ["recall@10"], ["sampled", "bv:0.1"])]
    [14, 1]
    """
    if not 0.5 <= probability < 1.0:
        raise InputError(f"probability is {probability}; it must be from 0.5 to below 1")
    most = min(largest, pair.most_negatives)
    if most < 1:
        raise InputError(f"the largest number of negatives is {most}; it must be at least 1")
    measures = [parse_measure(name) for name in metrics]
    parsed = [parse_estimator(name) for name in estimators]
    at, wanted = orders(pair, measures, parsed), float(ndtri(probability))
    exact_a, exact_b = pair.a.exact(measures), pair.b.exact(measures)
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(parsed):

            def lead(m: int, cell: tuple[int, int] = (i, j)) -> float:
                return float(at(m).deviations[cell]) - wanted

            results.append(
                Planned(
                    metric=str(measure),
                    estimator=str(estimator),
                    n_negatives=smallest_from(lead, geometric_sizes(1, most, N_SIZES), TOLERANCE),
                    probability=probability,
                    at_largest=float(order_probability(at(most).deviations[i, j])),
                    largest=most,
                    exact_a=float(exact_a[i]),
                    exact_b=float(exact_b[i]),
                    n_items=pair.n_items,
                    n_users=pair.n_users,
                    sampling=str(pair.sampling),
                )
            )
    return results


class Order(NamedTuple):
    """How clearly estimates are expected to be ordered, shape (measures, estimators).

    Attributes
    ----------
    deviations
        Expected difference over its standard deviation, positive if ordered as the exact metrics
        are; -inf where an estimator is not determined.
    sd
        Standard deviation of the difference.
    """

    deviations: Float
    sd: Float


def orders(
    pair: Pair, measures: Sequence[Measure], estimators: Sequence[Estimator]
) -> Callable[[int], Order]:
    """Return the function that calculates the `Order` of estimates from m negatives, cached."""
    sign = np.sign(pair.b.exact(measures) - pair.a.exact(measures))[:, None]

    @cache
    def at(m: int) -> Order:
        vectors = vectors_of(pair, measures, estimators, m)
        mean, sd = pair.difference(np.nan_to_num(vectors))
        leads = deviations(sign * mean, sd)
        leads[np.isnan(vectors).any(axis=-1)] = -np.inf
        return Order(leads, sd)

    return at


def vectors_of(
    pair: Pair, measures: Sequence[Measure], estimators: Sequence[Estimator], m: int
) -> Float:
    """Solve for a pair's n; shape (measures, estimators, m + 1), nan where not determined."""
    try:
        return estimator_matrix(estimators, measures, pair.n_items, m, sampling=pair.sampling)
    except ConditioningError:
        if len(estimators) == 1:
            return np.full((len(measures), 1, m + 1), np.nan)
    by_estimator = [vectors_of(pair, measures, [estimator], m) for estimator in estimators]
    return np.concatenate(by_estimator, axis=1)


def population_with(measure: Measure, level: float, n: int) -> Population:
    """Find the population P(rank <= k) = (k/n)^exponent that has a given exact metric.

    The metric must be at least that of a random ranking and below 1.

    >>> measure = parse_measure("recall@10")
    >>> round(float(population_with(measure, 0.1, 1000).exact([measure])[0]), 9)
    0.1
    """
    low, high = 1e-6, 1.0
    worst, best = (float(Population.power(n, a).exact([measure])[0]) for a in (high, low))
    if not worst <= level <= best:
        raise InputError(
            f"{measure} is {level:g}; it must be from {worst:.4g} (a random ranking of {n} items) "
            f"to {best:.4g}"
        )
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        if Population.power(n, middle).exact([measure])[0] > level:
            low = middle
        else:
            high = middle
    return Population.power(n, high)
