"""Verdicts on the difference of two recommenders, in words."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics.inference.intervals import Estimate, normal_quantile
from sampled_metrics.inference.ranges import Range
from sampled_metrics.metrics.measures import parse_measure

if TYPE_CHECKING:
    from sampled_metrics.inference.compared import Compared

_MANY_USERS = 10_000_000
FLAT = (
    "f",
    "hit",
    "precision",
    "recall",
    "recall-micro",
)  # credit that is the same down to the cut-off


def exact_verdict(
    difference: Estimate, names: tuple[str, str], order: str, confidence: float = CONFIDENCE
) -> str:
    """Put a difference between full rankings in words.

    If the order is undecided, the verdict says how many users it would take with the same
    confidence.

    Examples
    --------
    >>> exact_verdict(Estimate(0.01, 0.01, -0.01, 0.03, 1000), ("A", "B"), "undecided")
    'undecided with 1,000 users; about 3,900 would do'
    """
    a, b = names
    if order != "undecided":
        return f"{b} is above {a}" if order == "b" else f"{a} is above {b}"
    one = difference.n_users == 1
    words = "undecided with " + ("1 user" if one else f"{difference.n_users:,} users")
    if not difference.value or not difference.std_error > 0.0:
        return words
    observed = max(abs(difference.value / difference.std_error), 1e-9)
    needed = difference.n_users * (normal_quantile(confidence) / observed) ** 2
    if needed > _MANY_USERS:
        return f"{words}; more than {_MANY_USERS:,} would be needed"
    return f"{words}; about {two_digits(max(needed, difference.n_users + 1.0)):,} would do"


def sampled_verdict(
    result: "Compared", ranges_a: Mapping[str, Range], ranges_b: Mapping[str, Range]
) -> str:
    """Put a comparison by sampled ranks in words: the order of the exact metrics, if decided.

    Otherwise the verdict says which values the sampled ranks allow, and what the estimates say at
    their resolution, which need not be the order of the exact metrics.
    """
    if result.order != "undecided":
        above, below = (result.b, result.a) if result.order == "b" else (result.a, result.b)
        return f"{above} is above {below}"
    range_a, range_b = ranges_a[result.metric], ranges_b[result.metric]
    words = (
        f"undecided: {_negatives(result.n_negatives)} {result.metric} between "
        f"{_span(range_a)} for {result.a} and between {_span(range_b)} for {result.b}"
    )
    return f"{words}; {estimate_says(result)}"


def estimate_says(result: "Compared") -> str:
    """Say which recommender an estimate puts above the other, and at which resolution."""
    seen = resolution(result.metric, result.behaves_like)
    where = f"with {seen}" if seen.startswith("half credit") else f"at {seen}"
    if result.ci_low > 0.0:
        return f"{result.b} is above {result.a} {where}"
    if result.ci_high < 0.0:
        return f"{result.a} is above {result.b} {where}"
    return f"not distinguishable {where} either"


def resolution(metric: str, behaves_like: int | None) -> str:
    """Name the metric that an estimate acts like.

    Examples
    --------
    >>> resolution("recall@10", 17), resolution("ndcg@10", 26)
    ('about recall@17', 'half credit at rank 26')
    """
    measure = parse_measure(metric)
    if measure.metric.needs_candidates:
        return metric  # AUC, which sampling does not distort
    if behaves_like is None:
        return "half credit at no rank"
    if measure.kind in FLAT:
        return f"about {measure.name}@{behaves_like}"
    return f"half credit at rank {behaves_like}"


def _negatives(number: int | None) -> str:
    return "1 uniform negative leaves" if number == 1 else f"{number:,} uniform negatives leave"


def _span(found: Range) -> str:
    return f"{found.low:.3f} and {found.high:.3f}"


def two_digits(number: float) -> int:
    """Round up to two digits, because a prediction is no more precise than that.

    Examples
    --------
    >>> two_digits(1234)
    1300
    """
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
