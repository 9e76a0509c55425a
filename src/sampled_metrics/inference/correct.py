"""Corrected metrics of sampled ranks, and the range of the exact ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference import printed
from sampled_metrics.inference.intervals import Shape, estimate
from sampled_metrics.inference.misfit import POSSIBLE_CAUSES, require_fit
from sampled_metrics.inference.plausible import require_item_metrics, warn_of_low_ranks
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.ranges import Range, metric_ranges
from sampled_metrics.inference.resolution import behaves_like
from sampled_metrics.inference.results import Results
from sampled_metrics.inference.solving import Solved, solve
from sampled_metrics.metrics.measures import Measure, parse_measures
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.given import as_sampled
from sampled_metrics.ranks.options import Drawn


@dataclass(frozen=True)
class Corrected:
    """One corrected metric.

    Attributes
    ----------
    metric, estimator
        What was estimated and how.
    value
        The estimate, as a fraction.
    std_error, ci_low, ci_high
        Of the expectation of this estimate, which is not the exact metric, over users and over
        the negatives drawn for them, see `intervals`; nan for one user.
    range_low, range_high
        Values of the exact metric that the sampled ranks allow, see `ranges`; the same for all
        estimators of a metric.
    shape
        Assumption about the distribution of true ranks behind the range.
    behaves_like
        Resolution of the estimate: the true rank at which its expected credit has fallen to half
        of that at rank 1, see `resolution`; None for AUC, which sampling does not distort.
    n_users
        Users averaged over.
    n_items
        n: candidates of a full ranking, the held-out item included; the mean where users differ.
    n_negatives
        m: negatives drawn, the held-out item not included.
    sampling
        How they were drawn.
    bias
        Expectation of the estimate minus the exact metric in the population stated, or None.
    """

    metric: str
    estimator: str
    value: float
    std_error: float
    ci_low: float
    ci_high: float
    range_low: float
    range_high: float
    shape: str
    behaves_like: int | None
    n_users: int
    n_items: int
    n_negatives: int
    sampling: str
    bias: float | None = None


@one_thread()
def correct(
    data: Any,
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] = ESTIMATORS,
    *,
    shape: str = SHAPE,
    per_user: bool = False,
    confidence: float = CONFIDENCE,
    population: Population | None = None,
    **drawn: Any,
) -> Results[Corrected]:
    """Correct sampled metrics (section 5), and compute the range of the exact ones.

    An estimate is the mean over users of an estimator's vector. Estimators that are fitted to the
    ranks (`em:ITERATIONS`, `mes:GAMMA`, `bv-em:GAMMA`, `mn:ITERATIONS`) are there for comparison:
    they assume more than they say, and as with all estimators their intervals are not about the
    exact metric.

    Parameters
    ----------
    data
        Sampled ranks, or scores of held-out items and their negatives; an array, a DataFrame, a
        file or `SampledRanks`.
    metrics, estimators
        Their names, several with commas or in a list.
    shape
        Assumption about the distribution of true ranks: `non-increasing` (no rank is likelier
        than the one before it) or `none`. The sampled ranks cannot confirm it.
    per_user
        Whether to correct each row for its own n, and not for the mean of all, rounded.
    confidence
        Nominal coverage of the intervals and ranges.
    population
        If given, calculate `bias` for these true ranks (eq. 21 without the square).
    drawn
        Where the data does not say it: `n_items`, `n_negatives`, `sampling`; for scores `positive`,
        the column of the held-out item, or `relevant`; see
        `sampled_metrics.ranks.options.Drawn`.

    Returns
    -------
    One result for each metric and estimator, metrics outermost.

    Raises
    ------
    InputError
        No distribution of true ranks explains the sampled ranks.
    ConditioningError
        A `bv` with gamma near 0 is not determined in double precision.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 5, 40, 90], n_items=3541, n_negatives=100)
    >>> for result in correct(ranks, ["recall@10"], ["sampled", "bv:0.1"]):
    ...     print(result.estimator, round(result.value, 3), result.behaves_like)
    sampled 0.6 342
    bv:0.1 0.236 17
    >>> round(result.range_low, 3), round(result.range_high, 3)
    (0.003, 0.932)

    Of scores, the first column being those of the held-out items:

    >>> scores = [[0.9, 0.2, 0.1], [0.4, 0.7, 0.1]]
    >>> [result.value for result in correct(scores, "hr@1", "sampled", positive=0, n_items=50)]
    [0.5]
    """
    ranks = as_sampled(data, Drawn.of(drawn))
    measures = parse_measures(metrics)
    parsed = parse_estimators(estimators)
    require_item_metrics(ranks, measures)
    warn_of_low_ranks(ranks)
    require_fit(ranks, shape)
    ranges = [
        possible_range(found, str(measure), shape)
        for found, measure in zip(
            metric_ranges(measures, ranks, shape=shape, confidence=confidence),
            measures,
            strict=True,
        )
    ]
    if population is not None:
        for fitted in (estimator for estimator in parsed if estimator.fitted):
            raise InputError(f"the bias of {fitted}, which is fitted to the ranks, is not known")
    solved = solve(ranks, measures, parsed, per_user)
    counts = np.bincount(solved.places, minlength=solved.vectors.shape[-1])
    counts = counts.reshape(-1, ranks.n_negatives + 1)
    smoothed = None if solved.repeats else _smoothed(ranks, counts)
    bias = None if population is None else _bias(population, ranks, solved, counts, measures)
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(parsed):
            vector = solved.vectors[i, j]
            observed, likely = Shape.of(vector, counts), None
            if smoothed is None:
                observed = Shape.of(solved.user_values(i, j))
            else:
                likely = Shape.of(vector, smoothed)
            mean = estimate(observed, solved.n_users, Shape.of(vector), confidence, likely)
            results.append(
                Corrected(
                    metric=str(measure),
                    estimator=str(estimator),
                    **asdict(mean),
                    range_low=ranges[i].low,
                    range_high=ranges[i].high,
                    shape=shape,
                    behaves_like=acts_like(measure, vector, ranks, solved.items),
                    n_items=ranks.mean_candidates,
                    n_negatives=ranks.n_negatives,
                    sampling=str(ranks.sampling),
                    bias=None if bias is None else float(bias[i, j]),
                )
            )
    return Results(results, partial(printed.corrected, confidence=confidence))


def possible_range(found: Range, metric: str, shape: str) -> Range:
    """Return a range unless it is inverted, which raises an InputError."""
    if found.inverted:
        raise InputError(
            f"the lower end of the range of {metric} is above the upper end, "
            f"{found.low:.4f} and {found.high:.4f}; {POSSIBLE_CAUSES[shape]}"
        )
    return found


def acts_like(measure: Measure, vector: Float, ranks: SampledRanks, items: Int) -> int | None:
    """Find the resolution of an estimate from its vectors, those of the typical n; None for AUC."""
    if measure.metric.needs_candidates:
        return None
    n, size = ranks.mean_candidates, ranks.n_negatives + 1
    place = int(np.abs(items - n).argmin())
    typical = vector[place * size : (place + 1) * size]
    return behaves_like(typical, int(items[place]), ranks.sampling)


def _smoothed(ranks: SampledRanks, counts: Int) -> Float:
    """Smooth the counts of each n; all have the same shares of sampled ranks."""
    shares = Population.smoothed(counts.sum(axis=0), ranks.mean_candidates, ranks.sampling)
    return np.outer(counts.sum(axis=1), shares)


def _bias(
    population: Population,
    ranks: SampledRanks,
    solved: Solved,
    counts: Int,
    measures: Sequence[Measure],
) -> Float:
    """Shape (measures, estimators); vectors of several n are averaged as their rows are."""
    by_items = solved.vectors.reshape(*solved.vectors.shape[:2], *counts.shape)
    mean = np.einsum("meki,k->mei", by_items, counts.sum(axis=1) / counts.sum())
    expected = population.outlook(mean, ranks.sampling).mean
    return np.asarray(expected - population.exact(measures)[:, None], dtype=np.float64)
