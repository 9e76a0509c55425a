"""Figure 6: what the expected estimate becomes as more negatives are sampled."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator, sampled
from sampled_metrics.inference.moments import Moments, deviations
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import average_over_ranks
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
Expected: TypeAlias = Callable[[str, int, int], Moments]


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
    exact = {name: 100.0 * metrics.values(RECALL, ranks).mean() for name, ranks in records.items()}
    at = expected_recall(records, settings)
    pairs = list(combinations(records, 2))
    wanted = [("ordered", *pair, lead) for pair in pairs]
    wanted += [("sure", *pair, surplus) for pair in pairs[:1]]
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name in records:
            rows += [("curve", name, label, m, at(name, e, m).mean) for m in sizes]
        for kind, a, b, condition in wanted:
            smallest = smallest_from(partial(condition, at, a, b, e, exact[b] - exact[a]), sizes)
            if smallest is not None:
                rows.append((kind, f"{a} vs {b}", label, smallest, at(a, e, smallest).mean))
    for name, ranks in records.items():
        rows.append(("exact", name, EXACT, ranks.mean_candidates - 1, exact[name]))
    return pd.DataFrame(rows, columns=COLUMNS)


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the m of Figure 6."""
    largest = min(int(ranks.n_candidates.min()) for ranks in records.values()) - 1
    if largest <= SMALLEST:
        raise InputError(
            f"a user has {largest + 1} candidates; Figure 6 needs more than {SMALLEST + 1}"
        )
    return geometric_sizes(SMALLEST, min(largest, LARGEST), N_SIZES)


def lead(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Expected difference b - a, positive if it has the sign of the exact difference."""
    return float(np.sign(exact) * (at(b, estimator, m).mean - at(a, estimator, m).mean))


def surplus(at: Expected, a: str, b: str, estimator: int, exact: float, m: int) -> float:
    """Standard deviations by which that difference exceeds what 95 % of single runs need."""
    sd = np.hypot(at(a, estimator, m).sd, at(b, estimator, m).sd)
    return float(deviations(lead(at, a, b, estimator, exact, m), sd) - ndtri(SURE))


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> Expected:
    """Return a function of recommender, place in `ESTIMATORS` and m: moments of Recall@10, percent.

    What the function computes is kept for its next call. It takes one estimator at a time, because
    searches at large m need only the sampled metric.
    """

    @cache
    def vector(estimator: int, n_items: int, m: int) -> Float:
        chosen = (str(ESTIMATORS[estimator]),)
        of_one = settings.replaced(metrics=(str(RECALL),), estimators=chosen, n_negatives=m)
        return 100.0 * estimator_vectors(n_items, of_one)[0, 0]

    @cache
    def at(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        values = vector(estimator, corrected_items(ranks, settings), m)
        both = np.stack([values, np.square(values)])
        mean, square = average_over_ranks(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0).sum()  # -1e-16 by rounding
        return Moments(mean.mean(), np.sqrt(variance) / len(ranks))

    return at


def recall_exact_and_sampled(
    records: Mapping[str, Ranks], n_negatives: int = 100
) -> dict[str, tuple[float, float]]:
    """Return Recall@10 in full rankings and its expectation under sampling, by recommender."""
    vectors = sampled(RECALL, n_negatives)[None]
    return {
        name: (
            float(metrics.values(RECALL, ranks).mean()),
            float(average_over_ranks(vectors, ranks).mean()),
        )
        for name, ranks in records.items()
    }
