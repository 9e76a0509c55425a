"""Corrected metrics of one's own sampled ranks, with error bars."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.sampled_evaluation import SampledRanks
from sampled_metrics.metrics.measures import Measure, parse_measure


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
        Over users and over the negatives drawn for them, see `intervals`; nan for one user.
        They say nothing of bias.
    n_users
        Users averaged over.
    n_items
        n: candidates of a full ranking, the held-out item included; the mean where users differ.
    n_negatives
        m: sampled candidates, the held-out item not included.
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
    n_users: int
    n_items: int
    n_negatives: int
    sampling: str
    bias: float | None = None


def correct(
    evaluation: SampledRanks,
    metrics: Sequence[str] = METRICS,
    estimators: Sequence[str] = ESTIMATORS,
    *,
    confidence: float = CONFIDENCE,
    population: Population | None = None,
) -> list[Corrected]:
    """Correct sampled metrics (section 5): the mean over users of an estimator's vector.

    Parameters
    ----------
    evaluation
        The sampled ranks.
    metrics, estimators
        Their names.
    confidence
        Nominal coverage of the intervals.
    population
        If given, `bias` is what it would be there (eq. 21 without the square).

    Returns
    -------
    One result for each metric and estimator, metrics outermost.

    Raises
    ------
    InputError
        A name or the confidence is not allowed.
    ConditioningError
        A `bv` with gamma near 0 is not determined in double precision.

    >>> evaluation = SampledRanks([1, 1, 5, 40, 90], n_items=3541, n_negatives=100)
    >>> for each in correct(evaluation, ["recall@10"], ["sampled", "bv:0.1"]):
    ...     print(each.estimator, round(each.value, 3), round(each.ci_high, 3))
    sampled 0.6 0.97
    bv:0.1 0.236 0.51
    """
    measures = [parse_measure(name) for name in metrics]
    chosen = [parse_estimator(name) for name in estimators]
    vectors = evaluation.vectors(chosen, measures)
    bias = np.full(vectors.shape[:2], np.nan)
    if population is not None:
        bias = _bias(population, evaluation, vectors, measures)
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(chosen):
            found = evaluation.estimate(vectors[i, j], confidence)
            results.append(
                Corrected(
                    metric=str(measure),
                    estimator=str(estimator),
                    **dataclasses.asdict(found),
                    n_items=evaluation.mean_candidates,
                    n_negatives=evaluation.n_negatives,
                    sampling=str(evaluation.sampling),
                    bias=None if population is None else float(bias[i, j]),
                )
            )
    return results


def _bias(
    population: Population,
    evaluation: SampledRanks,
    vectors: Float,
    measures: Sequence[Measure],
) -> Float:
    """Shape (measures, estimators); vectors of several n are averaged as their rows are."""
    share = evaluation.counts.sum(axis=1) / evaluation.counts.sum()
    mean = np.einsum("meki,k->mei", vectors, share)
    expected = population.outlook(mean, evaluation.sampling).mean
    return np.asarray(expected - population.exact(measures)[:, None], dtype=np.float64)
