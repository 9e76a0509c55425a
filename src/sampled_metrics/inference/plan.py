"""How many negatives it takes to order two recommenders correctly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import LARGEST, PROBABILITY
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    ConditioningError,
    Estimator,
    estimator_matrix,
    parse_estimator,
)
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.search import smallest_from
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks.sampling import Sampling

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
        Smallest m, to within 2 %, from which on, up to `largest`, the wanted probability is
        reached; None if it is not reached at `largest`.
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
        Users that take part.
    drawn
        Whether they are drawn anew from the populations, so that they vary too; else only the
        negatives do, which both recommenders draw independently.
    paired
        Whether user i of one is user i of the other, so that what they share cancels.
    sampling
        How negatives are drawn.

    Raises
    ------
    InputError
        The sampling is not known, or there is no user.
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
            raise InputError(f"n_users is {self.n_users}; allowed: at least 1")

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        means = [each.share @ each.records.n_candidates for each in (self.a, self.b)]
        return round(float(np.mean(means)))

    @property
    def most_negatives(self) -> int:
        """The most that every user has candidates for."""
        return int(min(each.records.n_candidates.min() for each in (self.a, self.b))) - 1

    def difference(self, vectors: Float) -> tuple[Float, Float]:
        """Expected difference b - a of the estimates, and its standard deviation.

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
        Most negatives to look at; fewer where a user has fewer candidates.

    Raises
    ------
    InputError
        A name or a number is not allowed.

    >>> pair = Pair(Population.power(1000, 0.5), Population.power(1000, 0.45), 3000, drawn=True)
    >>> [each.n_negatives for each in plan(pair, ["recall@10"], ["sampled", "bv:0.1"])]
    [14, 1]
    """
    if not 0.5 <= probability < 1.0:
        raise InputError(f"probability is {probability}; allowed: from 0.5 to below 1")
    most = min(largest, pair.most_negatives)
    if most < 1:
        raise InputError(f"largest number of negatives is {most}; allowed: at least 1")
    outlooks = Outlooks(
        pair, [parse_measure(name) for name in metrics], [parse_estimator(e) for e in estimators]
    )
    sizes = sorted({round(m) for m in np.geomspace(1, most, N_SIZES)})
    return [
        _planned(outlooks, i, j, probability, sizes)
        for i in range(len(metrics))
        for j in range(len(estimators))
    ]


class Outlooks:
    """Standard deviations by which estimates are expected to stand in the right order."""

    def __init__(
        self, pair: Pair, measures: Sequence[Measure], estimators: Sequence[Estimator]
    ) -> None:
        self.pair, self.measures, self.estimators = pair, measures, estimators
        self.exact = np.array([pair.a.exact(measures), pair.b.exact(measures)])
        self._known: dict[int, tuple[Float, Float]] = {}

    def at(self, m: int) -> Float:
        """Shape (measures, estimators); -inf where an estimator is not determined."""
        return self._of(m)[0]

    def sd(self, m: int) -> Float:
        """Standard deviation of the difference of the estimates; shape (measures, estimators)."""
        return self._of(m)[1]

    def _of(self, m: int) -> tuple[Float, Float]:
        if m not in self._known:
            vectors = vectors_of(self.pair, self.measures, self.estimators, m)
            mean, sd = self.pair.difference(np.nan_to_num(vectors))
            right = np.sign(self.exact[1] - self.exact[0])[:, None] * mean
            certain = np.where(right == 0.0, 0.0, np.copysign(np.inf, right))
            deviations = np.divide(right, sd, out=certain, where=sd > 0.0)
            deviations[np.isnan(vectors).any(axis=-1)] = -np.inf
            self._known[m] = deviations, sd
        return self._known[m]


def _planned(
    outlooks: Outlooks, measure: int, estimator: int, probability: float, sizes: list[int]
) -> Planned:
    wanted = float(ndtri(probability))
    found = smallest_from(
        lambda m: float(outlooks.at(m)[measure, estimator]) - wanted, sizes, TOLERANCE
    )
    exact_a, exact_b = outlooks.exact[:, measure]
    return Planned(
        metric=str(outlooks.measures[measure]),
        estimator=str(outlooks.estimators[estimator]),
        n_negatives=found,
        probability=probability,
        at_largest=float(ndtr(outlooks.at(sizes[-1])[measure, estimator])),
        largest=sizes[-1],
        exact_a=float(exact_a),
        exact_b=float(exact_b),
        n_items=outlooks.pair.n_items,
        n_users=outlooks.pair.n_users,
        sampling=str(outlooks.pair.sampling),
    )


def vectors_of(
    pair: Pair, measures: Sequence[Measure], estimators: Sequence[Estimator], m: int
) -> Float:
    """Vectors for a pair's n, shape (measures, estimators, m + 1); nan where not determined."""
    try:
        return estimator_matrix(estimators, measures, pair.n_items, m, sampling=pair.sampling)
    except ConditioningError:
        if len(estimators) == 1:
            return np.full((len(measures), 1, m + 1), np.nan)
    each = [vectors_of(pair, measures, [estimator], m) for estimator in estimators]
    return np.concatenate(each, axis=1)


def population_with(measure: Measure, level: float, n: int) -> Population:
    """Take from the family P(rank <= k) = (k/n)^exponent the one with a given exact metric.

    Raises
    ------
    InputError
        No member has that metric: it is below that of a random ranking, or not below 1.

    >>> measure = parse_measure("recall@10")
    >>> round(float(population_with(measure, 0.1, 1000).exact([measure])[0]), 9)
    0.1
    """
    low, high = 1e-6, 1.0
    worst, best = (float(Population.power(n, a).exact([measure])[0]) for a in (high, low))
    if not worst <= level <= best:
        raise InputError(
            f"{measure} is {level:g}; allowed: {worst:.4g} (a random ranking of {n} items) "
            f"to {best:.4g}"
        )
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        if Population.power(n, middle).exact([measure])[0] > level:
            low = middle
        else:
            high = middle
    return Population.power(n, high)
