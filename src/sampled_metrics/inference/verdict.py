"""Plain words for the difference of two recommenders."""

import math
from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.defaults import LARGEST
from sampled_metrics.estimators import Estimator
from sampled_metrics.inference.intervals import Estimate
from sampled_metrics.inference.plan import N_SIZES, TOLERANCE, Outlooks, Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.sampled_evaluation import SampledRanks
from sampled_metrics.inference.search import smallest_from
from sampled_metrics.metrics.measures import Measure

_DEVIATIONS = 1.96  # that a difference must stand from 0 to be told from it
_MANY_USERS = 10_000_000
ALIKE = "not distinguishable"
REVERSED = " but perhaps by its bias: ranks that fit the samples are ordered the other way"


def order(difference: Estimate, names: tuple[str, str]) -> str | None:
    """Say which is above the other, or None where the interval holds 0.

    >>> order(Estimate(0.2, 0.05, 0.1, 0.3, 50), ("A", "B"))
    'B is above A'
    """
    a, b = names
    if difference.ci_low > 0.0:
        return f"{b} is above {a}"
    if difference.ci_high < 0.0:
        return f"{a} is above {b}"
    return None


def exact_verdict(difference: Estimate, names: tuple[str, str]) -> str:
    """Put a difference between full rankings in words.

    >>> exact_verdict(Estimate(0.01, 0.01, -0.01, 0.03, 1000), ("A", "B"))
    'not distinguishable with 1,000 users; about 3,900 would do'
    """
    apart = order(difference, names)
    if apart:
        return apart
    one = difference.n_users == 1
    words = f"{ALIKE} with " + ("1 user" if one else f"{difference.n_users:,} users")
    if not difference.value or math.isnan(difference.std_error):
        return words
    return f"{words}; {_users(difference.value / difference.std_error, difference.n_users)}"


def _users(deviations: float, n_users: int) -> str:
    """How many users it takes where `n_users` place the difference so far from 0."""
    needed = n_users * (_DEVIATIONS / max(abs(deviations), 1e-9)) ** 2
    if needed > _MANY_USERS:
        return f"more than {_MANY_USERS:,} would be needed"
    return f"about {_two_digits(max(needed, n_users + 1.0)):,} would do"


def _two_digits(number: float) -> int:
    """Round up to two digits: the prediction is no better than that."""
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit


class Projection:
    """What more negatives would do for a comparison of two sampled evaluations.

    The distribution of true ranks behind each is estimated from its sampled ranks
    (`Population.estimated`), and what estimates of these would be is known in closed form. What
    pairing of users saves is taken from the standard error observed.
    """

    def __init__(self, a: SampledRanks, b: SampledRanks) -> None:
        self.n_negatives = a.n_negatives
        first, second = (
            Population.estimated(each.counts.sum(axis=0), each.mean_candidates, each.sampling)
            for each in (a, b)
        )
        self.pair = Pair(first, second, n_users=1, drawn=True, sampling=a.sampling)

    def of(self, measure: Measure, estimator: Estimator, std_error: float) -> "Deviations":
        """Scale the model to the standard error observed."""
        outlooks = Outlooks(self.pair, [measure], [estimator])
        return Deviations(outlooks, float(outlooks.sd(self.n_negatives)[0, 0]) / std_error)


@dataclass(frozen=True)
class Deviations:
    """How many standard errors the difference would be from 0, on the right side.

    Attributes
    ----------
    outlooks
        The same for one user.
    scale
        How many times as many it is for those observed.
    """

    outlooks: Outlooks
    scale: float

    def at(self, m: int) -> float:
        """With m negatives."""
        return self.scale * float(self.outlooks.at(m)[0, 0])

    def of_exact(self) -> float:
        """With full rankings."""
        populations = self.outlooks.pair.a, self.outlooks.pair.b
        (measure,) = self.outlooks.measures
        sd = math.hypot(*(each.sd_of_exact(measure) for each in populations))
        exact_a, exact_b = self.outlooks.exact[:, 0]
        return self.scale * abs(float(exact_b - exact_a)) / sd


def sampled_verdict(
    difference: Estimate,
    names: tuple[str, str],
    measure: Measure,
    estimator: Estimator,
    projection: Projection,
) -> str:
    """Put a difference between estimates in words.

    Where the two cannot be told apart, it says about how many negatives would do, if any would.
    Where they can, it says so if the order is likely to be one of bias: if true ranks that fit
    the sampled ones are ordered the other way, and this estimator is expected to reverse them.
    """
    m = projection.n_negatives
    apart = order(difference, names)
    if estimator.name == "sampled" and measure.kind != "auc":
        words = apart or f"{ALIKE} with {m} negatives"
        return f"{words} on sampled {measure} (which need not order as {measure} does)"
    if not difference.std_error > 0.0:
        return apart or f"{ALIKE} with {m} negatives"
    deviations = projection.of(measure, estimator, difference.std_error)
    if apart:
        reversed_by_bias = measure.kind != "auc" and deviations.at(m) < 0.0
        return f"{apart} by {estimator}{REVERSED}" if reversed_by_bias else apart
    words = f"{ALIKE} with {m} negatives"
    if deviations.of_exact() < _DEVIATIONS:
        return f"{words}; {difference.n_users:,} users may be too few even for full rankings"
    return words + _more(deviations, m, projection.pair.most_negatives)


def _more(deviations: Deviations, m: int, most: int) -> str:
    """How many negatives above m would do; nothing where there are no more."""
    if m >= most:
        return ""
    most = min(max(LARGEST, 2 * m), most)
    sizes = sorted({round(size) for size in np.geomspace(m + 1, most, N_SIZES // 2)})
    enough = smallest_from(lambda size: deviations.at(size) - _DEVIATIONS, sizes, TOLERANCE)
    if enough is None:
        return f"; more than {most:,} would be needed"
    return f"; about {_two_digits(enough):,} would do"
