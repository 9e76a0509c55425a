"""Signs that metrics or estimators do not say what was requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.text import format_range
from sampled_metrics.checks import Signs

_EXAMPLE_SIZE = 10  # users; data with fewer is an example, which gets fewer warnings
_FEWEST_WITH_TIES = 50  # users; with fewer, most items may be tied by chance
_CHANGED_BY_ERRORS = 4.0  # standard errors between the ends of a metric, about its interval


class Ends(NamedTuple):
    """Means of a metric with all ties lost and with all ties won, and a standard error of it."""

    name: str
    low: float
    high: float
    std_error: float

    @property
    def differ(self) -> bool:
        """Whether they differ by more than about an interval."""
        return self.high - self.low > _CHANGED_BY_ERRORS * self.std_error


def signs_of_flat_metrics(names: Iterable[str], n_candidates: int, n_users: int) -> Signs:
    """Say that the cut-offs of some metrics cover all candidates."""
    for name in names if n_users >= _EXAMPLE_SIZE else ():
        yield (
            "metrics",
            f"{name} covers all {n_candidates} candidates, so every ranking scores the same",
        )


def signs_of_skipped_metrics(reasons: Iterable[str]) -> Signs:
    """Say why metrics are skipped."""
    for reason in reasons:
        yield "metrics", f"skipped: {reason}"


def signs_of_undefined_values(values_by_name: Mapping[str, Float]) -> Signs:
    """Look for metrics that not all users have a value of: it is nan."""
    for name, values in values_by_name.items():
        n_undefined = int(np.isnan(values).sum())
        if n_undefined:
            yield (
                "metrics",
                f"{name} skips {n_undefined:,} of {values.size:,} users, because all of their "
                "candidates are relevant",
            )


def signs_of_ties(n_tied: int, n_items: int, n_users: int, ends: Iterable[Ends]) -> Signs:
    """Look for ties of most relevant items, whose order changes metrics.

    `ends` of metrics are computed only if most items are tied.
    """
    if n_users < _FEWEST_WITH_TIES or not are_most_tied(n_tied, n_items):
        return
    changed = [f"{each.name} {format_range(each.low, each.high)}" for each in ends if each.differ]
    if changed:
        yield (
            "ties",
            f"{n_tied:,} of {n_items:,} relevant items have the same score as others, and metrics "
            f"depend on the order of ties (--ties): {', '.join(changed)}; were scores rounded, or "
            "stored in low precision?",
        )


def are_most_tied(n_tied: int, n_items: int) -> bool:
    """Return whether more than half of the items are tied, by more than chance explains."""
    return n_tied > n_items / 2.0 + np.sqrt(n_items)


def signs_of_slow_estimators(names: Iterable[str], n_negatives: int) -> Signs:
    """Say which estimators are skipped because they are slow for so many negatives."""
    yield (
        "estimators",
        f"skipped estimators that are slow for {n_negatives:,} negatives ({', '.join(names)}); "
        "request them by name to compute them",
    )
