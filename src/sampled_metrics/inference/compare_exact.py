"""Orders of exact metrics from full rankings."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sampled_metrics._base.defaults import CONFIDENCE, METRICS
from sampled_metrics._base.threads import one_thread
from sampled_metrics.inference import printed
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.evaluate import known_values, over_common, prior_shape
from sampled_metrics.inference.intervals import Estimate
from sampled_metrics.inference.orders import Cell, Names, Rows, compared, decided, with_verdict
from sampled_metrics.inference.results import Results
from sampled_metrics.inference.significance import p_value
from sampled_metrics.inference.verdict import exact_verdict
from sampled_metrics.metrics.measures import parse_measures
from sampled_metrics.ranks import Ranks

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
    return Results(map(with_verdict, by_order, verdicts), show)
