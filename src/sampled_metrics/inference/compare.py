"""Is A better than B? Orders of exact metrics, from full or from sampled rankings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference import printed
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.correct import acts_like, possible_range
from sampled_metrics.inference.evaluate import known_values, over_common, prior_shape
from sampled_metrics.inference.intervals import Estimate, Shape
from sampled_metrics.inference.misfit import require_fit
from sampled_metrics.inference.orders import Cell, Names, Rows, compared, decided
from sampled_metrics.inference.pairing import require_alike
from sampled_metrics.inference.plausible import require_item_metrics, warn_of_low_ranks
from sampled_metrics.inference.ranges import bracket_users, difference_range, order_p_value
from sampled_metrics.inference.results import Results
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
    test: str | None = None,
    correction: str = "holm",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Results[Compared]:
    """Compare all pairs of recommenders by their full rankings.

    Parameters
    ----------
    rankings
        Ranks of the relevant items by recommender, two or more. Users that both of a pair have
        are paired; without ids, or without a common one, they are two independent samples.
    metrics
        Names of metrics.
    test
        `t` (default), `wilcoxon` or `permutation`, see `significance`; printed if given.
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

    def cells(names: Names, rows: Rows) -> Iterator[Cell]:
        a, b = (rankings[name] for name in names)
        items = a.mean_candidates if a.mean_candidates == b.mean_candidates else None
        for measure in measures:
            of_both = [
                over_common(measure, rankings[name], values[name][measure], of_rows, ties, seed)
                for name, of_rows in zip(names, rows or (None, None), strict=True)
            ]
            # That of the larger catalogue, so that a and b may be exchanged.
            prior = prior_shape(measure, max(a, b, key=lambda ranks: ranks.mean_candidates))
            p = p_value(of_both[0], of_both[1], rows, test or "t", seed)
            fields = {"metric": str(measure), "estimator": EXACT, "p_value": p}
            yield Cell(of_both, prior, fields | {"n_items": items or None})

    results = compared({name: ranks.users for name, ranks in rankings.items()}, cells, confidence)
    by_order = decided(results, correction, confidence)
    verdicts = []
    for result, single in zip(by_order, results, strict=True):
        # What a correction for several pairs asks of this one.
        strictness = single.p_value / result.p_value if result.p_value > 0.0 else 1.0
        asked = 1.0 - (1.0 - confidence) * strictness
        interval = single.std_error, single.ci_low, single.ci_high
        observed = Estimate(single.difference, *interval, single.n_users)
        verdicts.append(exact_verdict(observed, (result.a, result.b), result.order, asked))
    show = partial(
        printed.compared_fully,
        confidence=confidence,
        correction=correction,
        relevance=printed.relevance_note(*rankings.values()),
        p_values=test is not None,
    )
    return Results(map(_with_verdict, by_order, verdicts), show)


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
) -> Results[Compared]:
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
    >>> import numpy as np
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
            warn_of_low_ranks(sample)
            require_fit(sample, shape)
            bracketed[name] = bracket_users(measures, sample, shape=shape, confidence=confidence)
            ranges[name] = [
                possible_range(bracketed[name].range(i), str(measure), shape)
                for i, measure in enumerate(measures)
            ]
        solved[name] = solve(sample, measures, parsed, per_user)

    def cells(names: Names, _: Rows) -> Iterator[Cell]:
        first, second = (samples[name] for name in names)
        both = [solved[name] for name in names]
        pair = bracketed[names[0]], bracketed[names[1]]
        fields = {
            "n_items": round((first.mean_candidates + second.mean_candidates) / 2),
            "n_negatives": first.n_negatives,
            "sampling": str(first.sampling),
        }
        for i, measure in enumerate(measures):
            allowed = difference_range(*pair, i)
            of_metric = {
                "metric": str(measure),
                "range_low": allowed.low,
                "range_high": allowed.high,
                "p_value": order_p_value(*pair, i),
            }
            for j, estimator in enumerate(parsed):
                vector = both[0].vectors[i, j]
                seen = acts_like(measure, vector, first, both[0].items)
                of_estimate = {"estimator": str(estimator), "behaves_like": seen}
                of_both = [each.user_values(i, j) for each in both]
                yield Cell(of_both, Shape.of(vector), fields | of_metric | of_estimate)

    results = compared({name: each.users for name, each in solved.items()}, cells, confidence)
    results = decided(results, correction, confidence)
    names = [str(measure) for measure in measures]
    by_metric = {name: dict(zip(names, found, strict=True)) for name, found in ranges.items()}
    verdicts = [sampled_verdict(each, by_metric[each.a], by_metric[each.b]) for each in results]
    show = partial(
        printed.compared_sampled,
        confidence=confidence,
        correction=correction,
        shape=shape,
        samples=samples,
    )
    return Results(map(_with_verdict, results, verdicts), show)


def _with_verdict(result: Compared, verdict: str) -> Compared:
    return replace(result, verdict=verdict)
