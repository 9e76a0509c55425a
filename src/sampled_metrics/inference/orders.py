"""Orders of all pairs of recommenders, with p-values corrected for the number of pairs."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.p_values import adjusted
from sampled_metrics.inference.compared import UNDECIDED, Compared


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
