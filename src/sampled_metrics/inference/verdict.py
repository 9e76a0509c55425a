"""Plain words for the difference of two recommenders."""

import math
from collections.abc import Callable

from sampled_metrics._base.defaults import CONFIDENCE, LARGEST
from sampled_metrics.estimators import Estimator
from sampled_metrics.inference.intervals import Estimate, normal_quantile
from sampled_metrics.inference.moments import deviations
from sampled_metrics.inference.plan import N_SIZES, TOLERANCE, Pair, orders
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import Measure

_MANY_USERS = 10_000_000
_ALIKE = "not distinguishable"
_REVERSED = " but perhaps by its bias: ranks that fit the samples are ordered the other way"


def order(difference: Estimate, names: tuple[str, str]) -> str | None:
    """Say which recommender is above the other, or None if the interval holds 0.

    >>> order(Estimate(0.2, 0.05, 0.1, 0.3, 50), ("A", "B"))
    'B is above A'
    """
    a, b = names
    if difference.ci_low > 0.0:
        return f"{b} is above {a}"
    if difference.ci_high < 0.0:
        return f"{a} is above {b}"
    return None


def exact_verdict(
    difference: Estimate, names: tuple[str, str], confidence: float = CONFIDENCE
) -> str:
    """Put a difference between full rankings in words.

    If the two cannot be told apart, the verdict says how many users it would take with the same
    confidence.

    >>> exact_verdict(Estimate(0.01, 0.01, -0.01, 0.03, 1000), ("A", "B"))
    'not distinguishable with 1,000 users; about 3,900 would do'
    """
    apart = order(difference, names)
    if apart:
        return apart
    one = difference.n_users == 1
    words = f"{_ALIKE} with " + ("1 user" if one else f"{difference.n_users:,} users")
    if not difference.value or math.isnan(difference.std_error):
        return words
    observed = max(abs(difference.value / difference.std_error), 1e-9)
    needed = difference.n_users * (normal_quantile(confidence) / observed) ** 2
    if needed > _MANY_USERS:
        return f"{words}; more than {_MANY_USERS:,} would be needed"
    return f"{words}; about {_two_digits(max(needed, difference.n_users + 1.0)):,} would do"


def sampled_verdict(
    difference: Estimate,
    names: tuple[str, str],
    measure: Measure,
    estimator: Estimator,
    fitted: Pair,
    n_negatives: int,
    confidence: float = CONFIDENCE,
) -> str:
    """Put a difference between estimates in words.

    If the two cannot be told apart, the verdict says about how many negatives it would take with
    the same confidence. If they can, it says whether the order is likely to be one of bias: true
    ranks that fit the sampled ones are ordered the other way, and this estimator is expected to
    reverse them.

    Parameters
    ----------
    difference
        Of the estimates, b - a.
    names
        Of the recommenders.
    measure, estimator, n_negatives
        What was estimated, and how.
    fitted
        Populations fitted to the sampled ranks of both (`Population.estimated`), `n_users` 1 and
        `drawn`.
    confidence
        Nominal coverage of the interval of the difference.
    """
    apart = order(difference, names)
    words = f"{_ALIKE} with {n_negatives} negatives"
    if estimator.name == "sampled" and measure.kind != "auc":
        return f"{apart or words} on sampled {measure} (which need not order as {measure} does)"
    if not difference.std_error > 0.0:
        return apart or words
    at = orders(fitted, [measure], [estimator])
    # The model tells what more negatives change, the observation what pairing of users saves.
    scale = float(at(n_negatives).sd[0, 0]) / difference.std_error

    def lead(m: int) -> float:
        return scale * float(at(m).deviations[0, 0])

    if apart:
        by_bias = measure.kind != "auc" and lead(n_negatives) < 0.0
        return f"{apart} by {estimator}{_REVERSED}" if by_bias else apart
    wanted = normal_quantile(confidence)
    if scale * _exact_deviations(fitted, measure) < wanted:
        return f"{words}; {difference.n_users:,} users may be too few even for full rankings"
    return words + _advice(lambda m: lead(m) - wanted, n_negatives, fitted.most_negatives)


def _advice(lead: Callable[[int], float], m: int, most: int) -> str:
    """Say from how many negatives above m on `lead` is positive, if there are more than m."""
    if m >= most:
        return ""
    most = min(max(LARGEST, 2 * m), most)
    enough = smallest_from(lead, geometric_sizes(m + 1, most, N_SIZES // 2), TOLERANCE)
    if enough is None:
        return f"; more than {most:,} would be needed"
    return f"; about {_two_digits(enough):,} would do"


def _exact_deviations(pair: Pair, measure: Measure) -> float:
    """Standard deviations over users by which the exact metrics of two populations differ."""
    sd = math.hypot(pair.a.sd_of_exact(measure), pair.b.sd_of_exact(measure))
    (a,), (b,) = pair.a.exact([measure]), pair.b.exact([measure])
    return float(deviations(abs(b - a), sd))


def _two_digits(number: float) -> int:
    """Round up to two digits, because the prediction is no more precise than that."""
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
