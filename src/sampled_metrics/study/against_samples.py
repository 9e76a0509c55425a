"""Samples of several sizes: expected Recall@10 for Figure 6, and the ranges that they allow."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sampled_metrics._base.arrays import (
    Float,
    generator,
    geometric_sizes,
    one_thread,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.intervals.ranges import bracket_users, difference_range
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics.sampling.probability import top_of_samples
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.moments import Moments, deviations
from sampled_metrics.study.reading import fewest_candidates
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import corrected_items, matrix_of

RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(map(parse_estimator, ("sampled", "bv:0.1")))
SMALLEST = 10  # with fewer negatives, every sampled rank is at most 10
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
SURE = 0.95
CURVES = ["kind", "recommender", "estimator", "n_negatives", "value"]
RANGES = ["metric", "n_negatives", "a", "b", "low", "high"]
Expected: TypeAlias = Callable[[str, int, int], Moments]


def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Figure 6: expected Recall@10 in percent against m, uncorrected and corrected by BV 0.1.

    m runs from 10 to the largest that every user has candidates for, at most 2,000; ties are broken
    at random. Rows by `kind`: `curve`, the expected estimate of a recommender; `ordered`, the
    smallest m from which on a pair is ordered as by the exact metric, 10 if it is at all m, and the
    estimate of its first recommender there; `sure`, the same for the first pair and 95 % of single
    evaluations; `exact`, the exact metric, with all candidates as negatives.
    """
    sizes = sample_sizes(records)
    exact = {name: 100.0 * values(RECALL, ranks).mean() for name, ranks in records.items()}
    at = expected_recall(records, settings)
    pairs = list(combinations(records, 2))
    conditions = [("ordered", 0.0, *pair) for pair in pairs]
    conditions += [("sure", ndtri(SURE), *pair) for pair in pairs[:1]]
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name in records:
            for m in sizes:
                rows.append(("curve", name, label, m, at(name, e, m).mean))
        for kind, least, a, b in conditions:
            is_ahead = partial(lead, at, exact, a, b, e, least)
            smallest = smallest_from(is_ahead, sizes)
            if smallest is not None:
                mean = at(a, e, smallest).mean
                rows.append((kind, f"{a} vs {b}", label, smallest, mean))
    for name, ranks in records.items():
        others = ranks.mean_candidates - 1
        rows.append(("exact", name, EXACT, others, exact[name]))
    return pd.DataFrame(rows, columns=CURVES)


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the m of Figure 6."""
    fewest = fewest_candidates(records)
    if fewest <= SMALLEST + 1:
        raise InputError(f"a user has {fewest} candidates; Figure 6 needs more than {SMALLEST + 1}")
    return geometric_sizes(SMALLEST, min(fewest - 1, LARGEST), 12)


def smallest_from(lead: Callable[[int], float], sizes: Sequence[int]) -> int | None:
    """Find the smallest size from which on `lead` is positive, up to the largest of `sizes`.

    Its sign may change several times, but only once between two neighbouring `sizes`. Returns None
    if it is not positive at the largest.
    """
    smallest = None
    for size in reversed(sizes):
        if lead(size) <= 0.0:
            break
        smallest = size
    if smallest is None or smallest == sizes[0]:
        return smallest
    between = range(size + 1, smallest)
    return between.start + bisect_left(between, True, key=lambda m: lead(m) > 0.0)


def lead(
    at: Expected, exact: Mapping[str, float], a: str, b: str, estimator: int, least: float, m: int
) -> float:
    """Standard deviations by which b is ahead of a, or behind it if exactly so, beyond `least`."""
    of_a = at(a, estimator, m)
    of_b = at(b, estimator, m)
    sign = np.sign(exact[b] - exact[a])
    difference = sign * (of_b.mean - of_a.mean)
    ahead = deviations(difference, np.hypot(of_a.sd, of_b.sd))
    return float(ahead - least)


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> Expected:
    """Return a cached function of recommender, place in `ESTIMATORS`, m: moments in percent."""
    matrix = matrix_of(settings)

    @cache
    def vector(estimator: int, n: int, m: int) -> Float:
        return 100.0 * matrix([ESTIMATORS[estimator]], [RECALL], n, m)[0, 0]

    @cache
    def at(name: str, estimator: int, m: int) -> Moments:
        ranks = records[name]
        credit = vector(estimator, corrected_items(ranks, settings), m)
        both = np.stack([credit, np.square(credit)])
        mean, square = _averages(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0)  # not -1e-16 by rounding
        sd = np.sqrt(variance.sum()) / len(ranks)
        return Moments(mean.mean(), sd)

    return at


def _averages(vectors: Float, ranks: Ranks, sampling: str) -> Float:
    """Average vectors over the sampled ranks of each user; shape (vectors, users).

    Beyond some sampled rank the vectors are constant, so only the first ones need probabilities.
    """
    m = vectors.shape[1] - 1
    last = vectors[:, -1:]
    distance = np.abs(vectors - last)
    differs = distance > 1e-13 * np.abs(vectors).max(axis=1, keepdims=True)
    head = int(np.flatnonzero(differs.any(axis=0)).max(initial=0)) + 1
    chances = top_of_samples(ranks, m, head, sampling)
    return last + (vectors[:, :head] - last) @ chances.T


@one_thread()
def allowed_ranges(
    records: Mapping[str, Ranks],
    names: Sequence[str],
    seed: int = 0,
    sizes: Sequence[int] = (1, 10, 100, 1000),
) -> pd.DataFrame:
    """Compute the ranges of exact metrics that one draw of negatives of each size allows.

    Negatives are drawn without replacement for each recommender, and ranges assume that near
    the top no rank is likelier than a better one. Columns `RANGES`: a range is of the exact
    metric of `a`, or of the difference b - a where `b` is not empty.
    """
    measures = [parse_measure(name) for name in names]
    fewest = fewest_candidates(records)
    rows = []
    for m in sizes:
        if m >= fewest:
            continue
        brackets = {}
        for name, ranks in records.items():
            rng = generator(seed, "ranges", name, m)
            drawn = draw_sampled_ranks(ranks, m, rng)
            sample = SampledRanks(drawn, ranks.n_candidates, m, users=ranks.users)
            brackets[name] = bracket_users(tuple(measures), sample)
        for place, metric in enumerate(map(str, measures)):
            for name, bracket in brackets.items():
                single = bracket.range(place)
                rows.append((metric, m, name, "", single.low, single.high))
            for a, b in combinations(brackets, 2):
                both = difference_range(brackets[a], brackets[b], place)
                rows.append((metric, m, a, b, both.low, both.high))
    return pd.DataFrame(rows, columns=RANGES)
