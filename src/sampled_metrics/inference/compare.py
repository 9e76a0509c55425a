"""Is A better than B? Orders of exact metrics, from full or from sampled rankings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference.compared import UNDECIDED, Compared
from sampled_metrics.inference.correct import acts_like, possible_range
from sampled_metrics.inference.evaluate import known_values, over_common, prior_shape
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.misfit import require_fit
from sampled_metrics.inference.moments import ROUNDING
from sampled_metrics.inference.orders import decided, pairs_of
from sampled_metrics.inference.pairing import common_users, require_alike
from sampled_metrics.inference.plausible import require_item_metrics, warn_of_low_ranks
from sampled_metrics.inference.ranges import bracket_users, difference_range, order_p_value
from sampled_metrics.inference.significance import p_value
from sampled_metrics.inference.solving import solve
from sampled_metrics.inference.verdict import exact_verdict, sampled_verdict
from sampled_metrics.metrics.measures import parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks

EXACT = "exact"


@one_thread()
def compare_exact(
    rankings: Mapping[str, Ranks],
    metrics: str | Sequence[str] = METRICS,
    *,
    ties: str = "expected",
    test: str = "t",
    correction: str = "holm",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[Compared]:
    """Compare all pairs of recommenders by their full rankings.

    Parameters
    ----------
    rankings
        Ranks of the relevant items by recommender, two or more. Users that both of a pair have
        are paired; without ids, or without a common one, they are two independent samples.
    metrics
        Names of metrics.
    test
        `t`, `wilcoxon` or `permutation`, see `significance`.
    correction
        For the number of pairs: `none`, `bonferroni`, `holm` or `bh`.
    ties, confidence, seed
        See `evaluate`.

    Returns
    -------
    One result for each pair and metric, pairs outermost.

    Examples
    --------
    >>> rankings = {
    ...     name: Ranks([100] * 40, [x] * 20 + [50] * 20, [0] * 40, users=range(40))
    ...     for name, x in (("A", 20), ("B", 2))
    ... }
    >>> (result,) = compare_exact(rankings, ["recall@10"])
    >>> result.difference, result.order, result.verdict
    (0.5, 'b', 'B is above A')
    """
    measures = parse_measures(metrics)
    values = {name: known_values(measures, ranks, ties, seed) for name, ranks in rankings.items()}
    measures = [
        measure for measure in measures if all(measure in known for known in values.values())
    ]
    results, differences = [], []
    for first, second in pairs_of(rankings):
        a, b = rankings[first], rankings[second]
        rows = common_users(a.users, b.users)
        items = a.mean_candidates if a.mean_candidates == b.mean_candidates else None
        for measure in measures:
            of_both = [
                over_common(measure, rankings[name], values[name][measure], of_rows, ties, seed)
                for name, of_rows in zip((first, second), rows or (None, None), strict=True)
            ]
            # That of the larger catalogue, so that a and b may be exchanged.
            prior = prior_shape(measure, max(a, b, key=lambda ranks: ranks.mean_candidates))
            means, difference = _difference(of_both, rows, prior, confidence)
            differences.append(difference)
            results.append(
                _result(
                    (first, second),
                    means,
                    difference,
                    metric=str(measure),
                    estimator=EXACT,
                    range_low=difference.ci_low,
                    range_high=difference.ci_high,
                    p_value=p_value(of_both[0], of_both[1], rows, test, seed),
                    behaves_like=None,
                    paired=rows is not None,
                    n_items=items or None,
                )
            )
    by_order = decided(results, correction, confidence)
    verdicts = []
    for result, single, difference in zip(by_order, results, differences, strict=True):
        # What a correction for several pairs asks of this one.
        strictness = single.p_value / result.p_value if result.p_value > 0.0 else 1.0
        asked = 1.0 - (1.0 - confidence) * strictness
        verdicts.append(exact_verdict(difference, (result.a, result.b), result.order, asked))
    return [
        replace(result, verdict=verdict) for result, verdict in zip(by_order, verdicts, strict=True)
    ]


@one_thread()
def compare_sampled(
    samples: Mapping[str, SampledRanks],
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] = ESTIMATORS,
    *,
    shape: str = SHAPE,
    correction: str = "holm",
    per_user: bool = False,
    confidence: float = CONFIDENCE,
) -> list[Compared]:
    """Compare all pairs of recommenders by their sampled ranks.

    The order is that of the exact metrics, decided if the range of their difference excludes 0.

    Parameters
    ----------
    samples
        Sampled ranks by recommender, two or more, with the same number of negatives drawn in the
        same way. Users that both of a pair have are paired by their ids; ranges are narrowest if
        all recommenders ranked the same negatives.
    metrics, estimators
        Their names.
    correction
        See `compare_exact`.
    shape, per_user, confidence
        See `correct`.

    Returns
    -------
    One result for each pair, metric and estimator, pairs outermost.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> samples = {
    ...     name: SampledRanks(1 + rng.binomial(100, rng.random(400) ** power), 3541, 100)
    ...     for name, power in (("A", 3), ("B", 4))
    ... }
    >>> (result,) = compare_sampled(samples, ["recall@10"], ["bv:0.1"])
    >>> result.order, result.behaves_like
    ('undecided', 17)
    """
    require_alike(samples)
    measures = parse_measures(metrics)
    parsed = parse_estimators(estimators)
    for name, sample in samples.items():
        with reading(name):
            require_item_metrics(sample, measures)
    bracketed, ranges, solved = {}, {}, {}
    for name, sample in samples.items():
        with reading(name):
            require_fit(sample, shape)
            warn_of_low_ranks(sample)
            bracketed[name] = bracket_users(measures, sample, shape=shape, confidence=confidence)
            ranges[name] = [
                possible_range(bracketed[name].range(i), str(measure), shape)
                for i, measure in enumerate(measures)
            ]
        solved[name] = solve(sample, measures, parsed, per_user)
    results = []
    for first, second in pairs_of(samples):
        sample = samples[first]
        both = [solved[name] for name in (first, second)]
        rows = common_users(both[0].users, both[1].users)
        for i, measure in enumerate(measures):
            pair = bracketed[first], bracketed[second]
            difference_of_exact, p = difference_range(*pair, i), order_p_value(*pair, i)
            for j, estimator in enumerate(parsed):
                values = [each.user_values(i, j) for each in both]
                vector = both[0].vectors[i, j]
                means, difference = _difference(values, rows, Shape.of(vector), confidence)
                results.append(
                    _result(
                        (first, second),
                        means,
                        difference,
                        metric=str(measure),
                        estimator=str(estimator),
                        range_low=difference_of_exact.low,
                        range_high=difference_of_exact.high,
                        p_value=p,
                        behaves_like=acts_like(measure, vector, sample, both[0].items),
                        paired=rows is not None,
                        n_items=round(
                            (sample.mean_candidates + samples[second].mean_candidates) / 2
                        ),
                        n_negatives=sample.n_negatives,
                        sampling=str(sample.sampling),
                    )
                )
    names = [str(measure) for measure in measures]
    by_metric = {name: dict(zip(names, found, strict=True)) for name, found in ranges.items()}
    return [
        replace(result, verdict=sampled_verdict(result, by_metric[result.a], by_metric[result.b]))
        for result in decided(results, correction, confidence)
    ]


def _difference(
    values: Sequence[Float], rows: tuple[Int, Int] | None, prior: Shape, confidence: float
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


def _result(
    names: tuple[str, str], means: tuple[float, float], difference: Estimate, **others: Any
) -> Compared:
    return Compared(
        a=names[0],
        b=names[1],
        value_a=means[0],
        value_b=means[1],
        difference=difference.value,
        std_error=difference.std_error,
        ci_low=difference.ci_low,
        ci_high=difference.ci_high,
        order=UNDECIDED,
        verdict="",
        n_users=difference.n_users,
        **others,
    )
