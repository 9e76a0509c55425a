"""Figure 6: Recall@10 against the number of negatives, and from which on pairs are in order."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sampled_metrics import metrics
from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.expected_recall import ESTIMATORS, RECALL, Expected, expected_recall
from sampled_metrics.study.moments import deviations
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import EXACT

SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
SURE = 0.95
COLUMNS = ["kind", "recommender", "estimator", "n_negatives", "value"]


def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Figure 6: expected Recall@10 in percent against m, uncorrected and corrected by BV 0.1.

    From m = 10 to the most that every user has candidates for, but not beyond 2,000; ties at
    random. Rows by `kind`: `curve`, the expected estimate of a recommender; `ordered`, the smallest
    m from which on, up to the largest, a pair is ordered as by the exact metric, and there the
    estimate of the first, 10 if it is at all m; `sure`, the same for the first pair and 95 % of
    single evaluations; `exact`, the exact metric, that of all candidates as negatives.
    """
    sizes = sample_sizes(records)
    exact = {name: 100.0 * metrics.values(RECALL, ranks).mean() for name, ranks in records.items()}
    at = expected_recall(records, settings)
    pairs = list(combinations(records, 2))
    conditions = [("ordered", 0.0, *pair) for pair in pairs]
    conditions += [("sure", ndtri(SURE), *pair) for pair in pairs[:1]]
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name in records:
            rows += [("curve", name, label, m, at(name, e, m).mean) for m in sizes]
        for kind, least, a, b in conditions:
            smallest = smallest_from(partial(lead, at, exact, a, b, e, least), sizes)
            if smallest is not None:
                rows.append((kind, f"{a} vs {b}", label, smallest, at(a, e, smallest).mean))
    for name, ranks in records.items():
        rows.append(("exact", name, EXACT, ranks.mean_candidates - 1, exact[name]))
    return pd.DataFrame(rows, columns=COLUMNS)


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the m of Figure 6."""
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    if fewest <= SMALLEST + 1:
        raise InputError(f"a user has {fewest} candidates; Figure 6 needs more than {SMALLEST + 1}")
    return geometric_sizes(SMALLEST, min(fewest - 1, LARGEST), 12)


def smallest_from(lead: Callable[[int], float], sizes: Sequence[int]) -> int | None:
    """Find the smallest size from which on `lead` is positive, up to the largest of `sizes`.

    It may change its sign several times, between the increasing `sizes` once. Returns None if it
    is not positive at the largest.
    """
    last = next((i for i in reversed(range(len(sizes))) if lead(sizes[i]) <= 0.0), None)
    if last is None:
        return sizes[0]
    if last == len(sizes) - 1:
        return None
    between = range(sizes[last] + 1, sizes[last + 1])
    return between.start + bisect_left(between, True, key=lambda m: lead(m) > 0.0)


def lead(
    at: Expected, exact: Mapping[str, float], a: str, b: str, estimator: int, least: float, m: int
) -> float:
    """Standard deviations by which b is ahead of a, or behind it if exactly so, beyond `least`."""
    of_a = at(a, estimator, m)
    of_b = at(b, estimator, m)
    difference = np.sign(exact[b] - exact[a]) * (of_b.mean - of_a.mean)
    return float(deviations(difference, np.hypot(of_a.sd, of_b.sd)) - least)
