"""Figure 6: what the expected estimate becomes as more negatives are sampled."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pandas as pd

from sampled_metrics import metrics
from sampled_metrics._base.arrays import MEMORY, Float, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator, sampled
from sampled_metrics.inference.moments import Moments, probability_less
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.experiment import corrected_items, estimator_vectors
from sampled_metrics.study.settings import ExperimentSettings

RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(parse_estimator(name) for name in ("sampled", "bv:0.1"))
SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
N_SIZES = 12
SURE = 0.95
COLUMNS = ["kind", "recommender", "estimator", "n_negatives", "value"]
Curve: TypeAlias = Callable[[str, int, int], float]
Vectors: TypeAlias = Callable[[int, int, int], Float]


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
    the exact metric, and there the first one's estimate; a pair without such m has no row. Rows
    with `kind` = `sure` hold the same for the first pair and 95 % of single evaluations. Rows with
    `kind` = `exact` hold the exact metric, that of all candidates as negatives.
    """
    sizes = sample_sizes(records)
    exact = {name: float(metrics.values(RECALL, ranks).mean()) for name, ranks in records.items()}
    vectors = _vectors(settings)
    at = expected_recall(records, settings, vectors)
    chance = _chance(records, settings, vectors)
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        rows += [("curve", name, label, m, at(name, e, m)) for name in records for m in sizes]
        for a, b in combinations(records, 2):
            sign = np.sign(exact[b] - exact[a])
            smallest = smallest_from(partial(lead, at, a, b, e, sign), sizes)
            if smallest is not None:
                rows.append(("ordered", f"{a} vs {b}", label, smallest, at(a, e, smallest)))
        for a, b in list(combinations(records, 2))[:1]:
            worse, better = (a, b) if exact[a] < exact[b] else (b, a)
            smallest = smallest_from(partial(_surplus, chance, worse, better, e), sizes)
            if smallest is not None:
                rows.append(("sure", f"{a} vs {b}", label, smallest, at(a, e, smallest)))
    for name, ranks in records.items():
        rows.append(("exact", name, EXACT, ranks.mean_candidates - 1, 100.0 * exact[name]))
    return pd.DataFrame(rows, columns=COLUMNS)


def _surplus(
    chance: Callable[[str, str, int, int], float], worse: str, better: str, estimator: int, m: int
) -> float:
    """Chance that one run puts two recommenders in order, above 95 %."""
    return chance(worse, better, estimator, m) - SURE


def _chance(
    records: Mapping[str, Ranks], settings: ExperimentSettings, vectors: Vectors
) -> Callable[[str, str, int, int], float]:
    """Return a function of two recommenders, estimator and m: chance of the second being above."""

    @cache
    def moments(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        vector = vectors(estimator, corrected_items(ranks, settings), m)
        mean = variance = 0.0
        for rows in blocks(len(ranks), m + 1, MEMORY):
            distribution = sampled_rank_distribution(ranks.take(rows), m, settings.sampling)
            by_user = distribution @ vector
            mean += by_user.sum()
            of_user = distribution @ vector**2 - by_user**2  # 0 may come out as -1e-16
            variance += np.maximum(of_user, 0.0).sum()
        return Moments(np.array(mean / len(ranks)), np.array(np.sqrt(variance) / len(ranks)))

    return lambda a, b, e, m: float(probability_less(moments(a, e, m), moments(b, e, m)))


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the m of Figure 6."""
    largest = min(int(ranks.n_candidates.min()) for ranks in records.values()) - 1
    if largest <= SMALLEST:
        raise InputError(
            f"a user has {largest + 1} candidates; Figure 6 needs more than {SMALLEST + 1}"
        )
    return geometric_sizes(SMALLEST, min(largest, LARGEST), N_SIZES)


def lead(at: Curve, a: str, b: str, estimator: int, sign: float, m: int) -> float:
    """Difference b - a of the estimates, times the sign that it should have."""
    return float(sign * (at(b, estimator, m) - at(a, estimator, m)))


def expected_recall(
    records: Mapping[str, Ranks], settings: ExperimentSettings, vectors: Vectors | None = None
) -> Curve:
    """Return a function of recommender, place in `ESTIMATORS` and m: expected Recall@10, percent.

    What the function computes is kept for its next call.
    """
    vectors = vectors or _vectors(settings)

    @cache
    def distribution(name: str, m: int) -> Float:
        return mean_distribution(records[name], m, settings.sampling)

    def at(name: str, estimator: int, m: int) -> float:
        vector = vectors(estimator, corrected_items(records[name], settings), m)
        return float(100.0 * (vector @ distribution(name, m)))

    return at


def _vectors(settings: ExperimentSettings) -> Vectors:
    """Return a function of a place in `ESTIMATORS`, n and m: the estimate at each sampled rank.

    One estimator at a time, because searches at large m need only the sampled metric.
    """

    @cache
    def vector(estimator: int, n_items: int, m: int) -> Float:
        chosen = (str(ESTIMATORS[estimator]),)
        of_one = settings.replaced(metrics=(str(RECALL),), estimators=chosen, n_negatives=m)
        return estimator_vectors(n_items, of_one)[0, 0]

    return vector


def mean_distribution(records: Ranks, m: int, sampling: str, entries: int = MEMORY) -> Float:
    """Mean distribution of the sampled rank over users, shape (m + 1,).

    Users are taken in blocks of about `entries` probabilities, so memory does not grow with them.

    Examples
    --------
    >>> mean_distribution(Ranks([3, 3], [0, 2], [0, 0]), 1, "without-replacement")
    array([0.5, 0.5])
    """
    total = np.zeros(m + 1)
    for rows in blocks(len(records), m + 1, entries):
        total += sampled_rank_distribution(records.take(rows), m, sampling).sum(axis=0)
    return total / len(records)


def recall_exact_and_sampled(
    records: Mapping[str, Ranks], n_negatives: int = 100
) -> dict[str, tuple[float, float]]:
    """Return Recall@10 in full rankings and its expectation under sampling, by recommender."""
    vector = sampled(RECALL, n_negatives)
    return {
        name: (
            float(metrics.values(RECALL, ranks).mean()),
            float((sampled_rank_distribution(ranks, n_negatives) @ vector).mean()),
        )
        for name, ranks in records.items()
    }
