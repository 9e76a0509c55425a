"""How many negatives it takes to order two recommenders correctly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.arrays import Float, whole_number
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, LARGEST, PROBABILITY, SHAPE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import (
    ConditioningError,
    Estimator,
    estimator_matrix,
    parse_estimators,
)
from sampled_metrics.inference import printed
from sampled_metrics.inference.deciding import RANGE_SIZES, RANGE_TOLERANCE, decision
from sampled_metrics.inference.moments import deviations, order_probability
from sampled_metrics.inference.outlook import KindMoments, kind_moments
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.results import Results
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import Measure, parse_measures
from sampled_metrics.ranks import Sampling

N_SIZES = 16
TOLERANCE = 0.02
RANGE = "range"


@dataclass(frozen=True)
class Planned:
    """Negatives that one estimator of one metric needs.

    Attributes
    ----------
    metric, estimator
        What is estimated and how; `range` for the range of the exact difference, see `ranges`.
    n_negatives
        Smallest m, to within 2 %, from which on the wanted probability is reached up to `largest`;
        None if it is not reached at `largest`.
    probability
        Wanted probability that the estimates are ordered as the exact metrics are, or that the
        range excludes 0 on the right side.
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


def plan(
    pairs: Pair | Sequence[Pair],
    metrics: str | Sequence[str],
    estimators: str | Sequence[str] = ESTIMATORS,
    *,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
    probability: float = PROBABILITY,
    largest: int = LARGEST,
) -> Results[Planned]:
    """Find how many negatives order two recommenders correctly with a wanted probability.

    By the range of the difference of the exact metrics, which can be seen to be decided, and by
    estimators, whose order is the right one only if the assumption about the true ranks is. The
    difference of two estimates is taken to be normal, with mean and variance in closed form from
    the distribution of the sampled ranks (section 4.3).

    Parameters
    ----------
    pairs
        The recommenders and their users, or several pairs that are possible: the answer is that of
        the pair which needs the most negatives.
    metrics, estimators
        Their names.
    shape, confidence
        Of the ranges, see `correct`.
    probability
        Wanted probability, from 0.5 to below 1.
    largest
        Most negatives to look at; fewer if a user has fewer candidates.

    Returns
    -------
    One result for the range and one for each estimator, for each metric, metrics outermost.

    Examples
    --------
    >>> from sampled_metrics.inference.population import Population
    >>> pair = Pair(Population.power(1000, 0.5), Population.power(1000, 0.3), 3000, drawn=True)
    >>> [each.n_negatives for each in plan(pair, ["recall@10"], ["sampled", "bv:0.1"])]
    [19, 10, 1]
    """
    if not 0.5 <= probability < 1.0:
        raise InputError(f"probability is {probability}; it must be from 0.5 to below 1")
    possible = [pairs] if isinstance(pairs, Pair) else list(pairs)
    most = min(whole_number("largest", largest), *(pair.most_negatives for pair in possible))
    if most < 1:
        raise InputError(f"the largest number of negatives is {most}; it must be at least 1")
    measures = parse_measures(metrics)
    parsed = parse_estimators(estimators)
    with one_thread():
        results = _planned(possible, measures, parsed, shape, confidence, probability, most)
    return Results(results, partial(printed.planned, largest=largest, shape=shape))


def _planned(
    possible: Sequence[Pair],
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    shape: str,
    confidence: float,
    probability: float,
    most: int,
) -> list[Planned]:
    at = orders(possible, measures, estimators)
    results = []
    for i, measure in enumerate(measures):
        deciding = [
            decision(pair, measure, shape=shape, confidence=confidence) for pair in possible
        ]
        leads: list[tuple[str, _Leads, float, int]] = [
            (RANGE, partial(_of_ranges, deciding), RANGE_TOLERANCE, RANGE_SIZES)
        ]
        for j, estimator in enumerate(estimators):
            leads.append((str(estimator), partial(_of_estimates, at, (i, j)), TOLERANCE, N_SIZES))
        for name, lead, tolerance, n_sizes in leads:
            sizes = geometric_sizes(1, most, n_sizes)
            needed = smallest_from(partial(_least, lead, probability), sizes, tolerance)
            at_most = lead(most)
            worst = possible[int(np.argmin(lead(most if needed is None else needed)))]
            exact_a, exact_b = (float(each.exact([measure])[0]) for each in (worst.a, worst.b))
            results.append(
                Planned(
                    metric=str(measure),
                    estimator=name,
                    n_negatives=needed,
                    probability=probability,
                    at_largest=float(order_probability(np.min(at_most))),
                    largest=most,
                    exact_a=exact_a,
                    exact_b=exact_b,
                    n_items=worst.n_items,
                    n_users=worst.n_users,
                    sampling=str(worst.sampling),
                )
            )
    return results


_Leads = Callable[[int], Float]  # of every pair with m negatives


def _least(leads: _Leads, probability: float, m: int) -> float:
    """How far the worst pair is above the wanted probability."""
    return float(np.min(leads(m)) - ndtri(probability))


def _of_ranges(deciding: Sequence[Callable[[int], float]], m: int) -> Float:
    return np.array([decided(m) for decided in deciding])


def _of_estimates(at: "Callable[[int], Order]", cell: tuple[int, int], m: int) -> Float:
    return at(m).deviations[:, *cell]


class Order(NamedTuple):
    """How clearly estimates are expected to be ordered, shape (pairs, measures, estimators).

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
    pairs: Sequence[Pair], measures: Sequence[Measure], estimators: Sequence[Estimator]
) -> Callable[[int], Order]:
    """Return the function that calculates the `Order` of estimates from m negatives, cached."""
    signs = [np.sign(pair.b.exact(measures) - pair.a.exact(measures))[:, None] for pair in pairs]

    @cache
    def at(m: int) -> Order:
        # Assumed pairs have the same n and kinds of users, so most is calculated once.
        solved = cache(lambda n, sampling: vectors_of(n, measures, estimators, m, sampling))
        moments: dict[tuple[int, int, str], KindMoments] = {}
        found = []
        for pair, sign in zip(pairs, signs, strict=True):
            n, sampling = pair.n_items, Sampling(pair.sampling)
            vectors = solved(n, sampling)
            usable = np.nan_to_num(vectors)
            both = []
            for population in (pair.a, pair.b):
                key = (id(population.ranks), n, str(sampling))
                if key not in moments:
                    moments[key] = kind_moments(population.ranks, usable, sampling)
                both.append(population.of_kinds(moments[key]))
            mean, sd = pair.difference_of(*both)
            leads = deviations(sign * mean, sd)
            leads[np.isnan(vectors).any(axis=-1)] = -np.inf
            found.append(Order(leads, sd))
        return Order(*(np.array(field) for field in zip(*found, strict=True)))

    return at


def vectors_of(
    n: int,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    m: int,
    sampling: Sampling,
) -> Float:
    """Solve for estimators, shape (measures, estimators, m + 1), nan where not determined."""
    try:
        return estimator_matrix(estimators, measures, n, m, sampling=sampling)
    except ConditioningError:
        if len(estimators) == 1:
            return np.full((len(measures), 1, m + 1), np.nan)
    by_estimator = [vectors_of(n, measures, [one], m, sampling) for one in estimators]
    return np.concatenate(by_estimator, axis=1)
