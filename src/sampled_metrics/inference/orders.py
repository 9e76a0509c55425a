"""Orders of all pairs of recommenders, with p-values corrected for the number of pairs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import Float, Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.p_values import adjusted
from sampled_metrics.inference.compared import UNDECIDED, Compared
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.moments import ROUNDING
from sampled_metrics.inference.pairing import common_users

Names: TypeAlias = tuple[str, str]
Rows: TypeAlias = tuple[Int, Int] | None  # of the users that both have


class Cell(NamedTuple):
    """One metric, and estimator, of a pair of recommenders.

    Attributes
    ----------
    values
        By user, of both.
    prior
        Shape of the values before anything is observed.
    fields
        What else is known of the result.
    """

    values: Sequence[Float]
    prior: Shape
    fields: dict[str, Any]


def compared(
    users: Mapping[str, Ids | None],
    cells: Callable[[Names, Rows], Iterable[Cell]],
    confidence: float,
) -> list[Compared]:
    """Compare all pairs in all cells, users paired by their ids; orders are open."""
    results = []
    for names in pairs_of(users):
        rows = common_users(*(users[name] for name in names))
        for cell in cells(names, rows):
            means, difference = _difference(cell.values, rows, cell.prior, confidence)
            found: dict[str, Any] = {
                "a": names[0],
                "b": names[1],
                "value_a": means[0],
                "value_b": means[1],
                "difference": difference.value,
                "std_error": difference.std_error,
                "ci_low": difference.ci_low,
                "ci_high": difference.ci_high,
                "range_low": difference.ci_low,
                "range_high": difference.ci_high,
                "order": UNDECIDED,
                "behaves_like": None,
                "verdict": "",
                "paired": rows is not None,
                "n_users": difference.n_users,
            }
            results.append(Compared(**(found | cell.fields)))
    return results


def _difference(
    values: Sequence[Float], rows: Rows, prior: Shape, confidence: float
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


def pairs_of(evaluations: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the names of all pairs; fewer than two recommenders raise InputError."""
    if len(evaluations) < 2:
        raise InputError(f"{len(evaluations)} recommender to compare; give two or more")
    return list(combinations(evaluations, 2))


def decided(results: list[Compared], correction: str, confidence: float) -> list[Compared]:
    """Adjust the p-values of each metric for its pairs, and fill in the orders.

    An order is decided if the adjusted p-value allows it and the range excludes 0.
    """
    pairs = {(result.metric, result.a, result.b): result.p_value for result in results}
    corrected: dict[tuple[str, str, str], float] = {}
    for metric in dict.fromkeys(result.metric for result in results):
        keys = [key for key in pairs if key[0] == metric]
        corrected |= dict(
            zip(keys, adjusted([pairs[key] for key in keys], correction), strict=True)
        )
    filled = []
    for result in results:
        p = corrected[result.metric, result.a, result.b]
        order = UNDECIDED
        if p < 1.0 - confidence and not result.range_low <= 0.0 <= result.range_high:
            order = "b" if result.range_low > 0.0 else "a"
        filled.append(replace(result, p_value=p, order=order))
    return filled


def with_verdict(result: Compared, verdict: str) -> Compared:
    """Add what the order means in words."""
    return replace(result, verdict=verdict)
