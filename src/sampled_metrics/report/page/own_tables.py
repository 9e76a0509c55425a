"""Tables of the page of one's own ranks: values, comparisons, what it costs to know more."""

from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics._base.defaults import BUDGET
from sampled_metrics.inference.advice import deciding_differences
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.correct import Corrected
from sampled_metrics.inference.evaluate import Evaluated
from sampled_metrics.inference.verdict import resolution
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks

TITLES = {
    "values": "Values",
    "comparisons": "Comparisons",
    "cost": "What it would cost to know more",
}


def values_table(corrected: Mapping[str, list[Corrected]], level: str) -> dict[str, Any]:
    """Ranges and estimates from sampled ranks, and below those of a metric what they act like."""
    results = [(name, result) for name, listed in corrected.items() for result in listed]
    estimators = list(dict.fromkeys(result.estimator for _, result in results))
    lines: list[list[str]] = []
    for metric in dict.fromkeys(result.metric for _, result in results):
        label = parse_measure(metric).label
        of_metric = [(name, result) for name, result in results if result.metric == metric]
        estimates: dict[str, list[str]] = {}
        acts: dict[str, dict[str, None]] = {estimator: {} for estimator in estimators}
        for name, result in of_metric:
            allowed = between(result.range_low, result.range_high)
            line = estimates.setdefault(name, [f"{name}, {label}", allowed])
            line.append(percent(result.value))
            acts[result.estimator][resolution(metric, result.behaves_like)] = None
        lines += estimates.values()
        lines.append([f"{label}: acts like", "", *map(" or ".join, acts.values())])
    return _table(
        "values",
        ["recommender", "range of the exact metric", *estimators],
        lines,
        f"Range: values of the exact metric that the sampled ranks allow, at {level}. An estimate "
        "weighs true ranks roughly as the metric below it does, so it need not be near the exact "
        "metric, nor inside the range.",
    )


def orders_table(compared: Sequence[Compared], level: str) -> dict[str, Any]:
    """Orders of all pairs."""
    lines = {
        (result.a, result.b, result.metric): [
            f"{result.a} and {result.b}, {parse_measure(result.metric).label}",
            f"{points(result.range_low)} to {points(result.range_high)}",
            result.in_words(),
            "yes" if result.paired else "no",
        ]
        for result in compared
    }
    heads = ["pair", "second minus first, points", "order of the exact metrics", "users paired"]
    words = f"Decided if the difference excludes 0, at {level}, also corrected for several pairs."
    return _table("comparisons", heads, list(lines.values()), words)


def cost_table(
    compared: Sequence[Compared], samples: Mapping[str, SampledRanks], shape: str, confidence: float
) -> list[dict[str, Any]]:
    """Differences that more would decide, for undecided pairs by the first metric; maybe none."""
    undecided = {
        f"{result.a} and {result.b}": deciding_differences(result, samples, shape, confidence)
        for result in compared
        if result.metric == compared[0].metric and result.order == "undecided"
    }
    if not undecided:
        return []
    lines = [[pair, *map(points, of_pair.values())] for pair, of_pair in undecided.items()]
    words = (
        f"Pairs undecided by {parse_measure(compared[0].metric).label}, and the difference of the "
        "exact metrics, in points, above which a decision is likely. Where scores are cheap, rank "
        "fully (sampled-metrics evaluate); where each is expensive, estimate exact metrics from "
        f"about {BUDGET:g} scores per user (sampled-metrics budget)."
    )
    return [_table("cost", ["pair", *next(iter(undecided.values()))], lines, words)]


def exact_table(
    evaluated: Mapping[str, Sequence[Evaluated]], ties: str, level: str
) -> dict[str, Any]:
    """Exact metrics of full rankings with their intervals."""
    lines = [
        [
            f"{name}, {parse_measure(result.metric).label}",
            percent(result.value),
            between(result.ci_low, result.ci_high),
            f"{result.n_users:,}",
        ]
        for name, results in evaluated.items()
        for result in results
    ]
    heads = ["recommender", "exact", f"interval, {level}", "users"]
    return _table("values", heads, lines, f"Ties {ties}; intervals cover the variation of users.")


def percent(value: float) -> str:
    """Write a fraction in percent."""
    return f"{100 * value:.2f} %"


def points(value: float) -> str:
    """Write a difference of fractions in percent points."""
    return f"{100 * value:.2f}".replace("-", "\N{MINUS SIGN}")


def between(low: float, high: float, word: str = " to ") -> str:
    """Write a range in percent."""
    return f"{100 * low:.2f}{word}{100 * high:.2f} %"


def _table(name: str, heads: list[str], lines: list[list[str]], words: str) -> dict[str, Any]:
    return {"id": name, "title": TITLES[name], "heads": heads, "lines": lines, "words": words}
