"""Figure 6: what the expected estimate becomes as more negatives are sampled."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.search import smallest_from
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.metrics.ties import exact_values
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.study.experiment import ExperimentSettings

MEASURE = parse_measure("recall@10")
ESTIMATORS = tuple(parse_estimator(name) for name in ("sampled", "bv:0.1"))
SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
N_SIZES = 12
# Probabilities held at a time; a user has m + 1 of them.
_BLOCK = 1 << 24


def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Expected Recall@10 in percent against m, uncorrected and corrected by BV 0.1.

    From m = 10 to the most that every user has candidates for, but not beyond 2,000; ties at
    random.

    Returns
    -------
    Rows with `kind` = `curve` hold a recommender's expected estimate. Rows with `kind` =
    `ordered` hold for a pair the smallest m from which on, up to the largest, it is ordered as by
    the exact metric, and there the first one's estimate; a pair without such m has no row.

    Raises
    ------
    InputError
        A user has too few candidates to sample from.
    """
    largest = min(int(each.n_candidates.min()) for each in records.values()) - 1
    if largest <= SMALLEST:
        raise InputError(
            f"a user has {largest + 1} candidates; Figure 6 needs more than {SMALLEST + 1}"
        )
    largest = min(largest, LARGEST)
    sizes = sorted({round(m) for m in np.geomspace(SMALLEST, largest, N_SIZES)})
    vectors = _Vectors(settings)
    curves = {name: _Curve(each, vectors) for name, each in records.items()}
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name, curve in curves.items():
            rows += [("curve", name, label, m, curve.at(m)[e]) for m in sizes]
        for a, b in combinations(curves, 2):
            m = ordered_from(curves[a], curves[b], e, sizes)
            if m is not None:
                rows.append(("ordered", f"{a} vs {b}", label, m, curves[a].at(m)[e]))
    return pd.DataFrame(rows, columns=["kind", "recommender", "estimator", "n_negatives", "value"])


class _Vectors:
    """Estimators' vectors for n and m, solved once for all recommenders with that n."""

    def __init__(self, settings: ExperimentSettings) -> None:
        self.settings = settings
        self._known: dict[tuple[int, int], Float] = {}

    def of(self, records: Ranks, m: int) -> Float:
        settings = replace(self.settings, n_negatives=m)
        key = (settings.corrected_items(records), m)
        if key not in self._known:
            self._known[key] = settings.vectors(records, list(ESTIMATORS), [MEASURE])[0]
        return self._known[key]


class _Curve:
    """Expected estimates of a recommender as a function of m, in percent."""

    def __init__(self, records: Ranks, vectors: _Vectors) -> None:
        self._records, self._vectors = records, vectors
        self._known: dict[int, Float] = {}
        self.exact = float(exact_values(MEASURE, records).mean())

    def at(self, m: int) -> Float:
        """Values by estimator."""
        if m not in self._known:
            of_users = mean_distribution(self._records, m, self._vectors.settings.sampling)
            self._known[m] = 100.0 * (self._vectors.of(self._records, m) @ of_users)
        return self._known[m]


def mean_distribution(records: Ranks, m: int, sampling: str, entries: int = _BLOCK) -> Float:
    """Distribution of the sampled rank of a user taken at random, shape (m + 1,).

    Users go in blocks of about `entries` probabilities, so that memory does not grow with them.

    >>> mean_distribution(Ranks([3, 3], [0, 2], [0, 0]), 1, "without-replacement")
    array([0.5, 0.5])
    """
    size = max(1, entries // (m + 1))
    total = np.zeros(m + 1)
    for first in range(0, len(records), size):
        rows = slice(first, first + size)
        block = records.take(rows)
        total += sampled_rank_distribution(block, m, sampling).sum(axis=0)
    return total / len(records)


def ordered_from(a: _Curve, b: _Curve, estimator: int, sizes: list[int]) -> int | None:
    """Smallest m from which on two recommenders are ordered as by the exact metric, or None."""
    sign = np.sign(b.exact - a.exact)
    return smallest_from(lambda m: float(sign * (b.at(m)[estimator] - a.at(m)[estimator])), sizes)
