"""Orders of exact metrics as far as sampled rankings decide them, and what estimates say."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference import printed
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.correct import acts_like, possible_range
from sampled_metrics.inference.intervals import Shape
from sampled_metrics.inference.misfit import require_fit
from sampled_metrics.inference.orders import Cell, Names, Rows, compared, decided, with_verdict
from sampled_metrics.inference.pairing import require_alike
from sampled_metrics.inference.plausible import require_item_metrics, warn_of_low_ranks
from sampled_metrics.inference.ranges import bracket_users, difference_range, order_p_value
from sampled_metrics.inference.results import Results
from sampled_metrics.inference.solving import solve
from sampled_metrics.inference.verdict import sampled_verdict
from sampled_metrics.metrics.measures import parse_measures
from sampled_metrics.ranks import SampledRanks


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
        For the number of pairs: `none`, `bonferroni`, `holm` or `bh`.
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
    return Results(map(with_verdict, results, verdicts), show)
