"""The contents of the page of one's own sampled ranks or full rankings."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

import sampled_metrics
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics.inference.compare import compare_exact, compare_sampled
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.correct import Corrected, correct
from sampled_metrics.inference.evaluate import evaluate
from sampled_metrics.inference.kernels import ASSUMED
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.report.page.embedded import explorer, in_script
from sampled_metrics.report.page.own_tables import (
    between,
    cost_table,
    exact_table,
    orders_table,
    values_table,
)
from sampled_metrics.report.page.story import listed, story

_M = 100
_SECTIONS = {
    "ranges": "Ranges",
    "why": "Why",
    "corrections": "Corrections",
    "values": "Values",
    "comparisons": "Comparisons",
    "cost": "To know more",
    "cite": "Cite",
}


def own_sampled(
    samples: Mapping[str, SampledRanks],
    metrics: Sequence[str],
    estimators: Sequence[str],
    *,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Collect the page of sampled ranks: ranges, estimates, comparisons, what would decide more.

    Parameters
    ----------
    samples
        Sampled ranks by recommender, with the same number of negatives.
    metrics, estimators
        Their names; the headline is about the first metric.
    shape, confidence
        See `inference.correct`.
    """
    first = next(iter(samples.values()))
    options: dict[str, Any] = {"shape": shape, "confidence": confidence}
    corrected = {}
    for name, sample in samples.items():
        with reading(name):
            corrected[name] = correct(sample, metrics, estimators, **options)
    compared: list[Compared] = []
    if len(samples) > 1:
        compared = compare_sampled(samples, metrics, estimators[:1], **options)
    n, m = first.mean_candidates, first.n_negatives
    lead = parse_measure(metrics[0])
    start = {"metric": lead.kind, "k": lead.cutoff or 10, "n": n, "m": m, "estimator": "sampled"}
    if not lead.cutoff:
        start["metric"] = in_script(metrics[0])
    start |= {"gamma": 0.1, "group": 0, "pair": "", "r": min(200, n)}
    shares = {
        name: np.bincount(sample.sampled_ranks - 1, minlength=m + 1) / len(sample)
        for name, sample in samples.items()
    }
    own = {
        "n": n,
        "m": m,
        "recommenders": [
            {"name": name, "shares": [round(share, 7) for share in of_one.tolist()]}
            for name, of_one in shares.items()
        ],
    }
    told = f"{100 * confidence:g} %, {ASSUMED[shape]}"
    content = _page(
        ["ranges", "why", "corrections"],
        [
            values_table(corrected, told),
            *([orders_table(compared, told)] if compared else []),
            *cost_table(compared, samples, shape, confidence),
        ],
    )
    return content | {
        "full": False,
        "headline": _headline(metrics[0], m, corrected, compared),
        "story": {"who": _who(samples), "candidates": f"{n:,}"},
        "explorer": {
            "groups": [],
            "start": start,
            "own": own,
            "ranges": _panel(metrics, m, corrected, compared),
        },
    }


def own_full(
    rankings: Mapping[str, Ranks],
    metrics: Sequence[str],
    *,
    ties: str = "expected",
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Collect the page of full rankings: exact metrics, comparisons, and what sampling would do.

    Parameters are those of `own_sampled`; `ties` is the policy of `inference.evaluate`.
    """
    options: dict[str, Any] = {"ties": ties, "confidence": confidence}
    level = f"{100 * confidence:g} %"
    evaluated = {name: evaluate(ranks, metrics, **options) for name, ranks in rankings.items()}
    tables = [exact_table(evaluated, ties, level)]
    if len(rankings) > 1:
        compared = compare_exact(rankings, metrics, **options)
        tables.append(orders_table(compared, level))
    content = _page(["why", "corrections"], tables)
    first = story(rankings, _M)
    numbers = explorer(rankings, _M, toy=False) | {"ranges": None}
    numbers["start"]["pair"] = first["pair"]
    return content | {"full": True, "headline": "", "story": first, "explorer": numbers}


def _page(parts: list[str], tables: list[dict[str, Any]]) -> dict[str, Any]:
    there = [*parts, *(table["id"] for table in tables), "cite"]
    version = sampled_metrics.__version__
    return {
        "title": "Sampled metrics of your own recommenders",
        "byline": f"Made with sampled-metrics {version}",
        "version": version,
        "parts": parts,
        "sections": [(name, _SECTIONS[name]) for name in there],
        "tables": tables,
        "assumed": "",
    }


def _panel(
    metrics: Sequence[str],
    m: int,
    corrected: Mapping[str, list[Corrected]],
    compared: Sequence[Compared],
) -> dict[str, Any]:
    names = list(corrected)
    ranges = {
        (name, result.metric): [result.range_low, result.range_high]
        for name, results in corrected.items()
        for result in results
    }
    orders = {(c.a, c.b, c.metric): [c.range_low, c.range_high] for c in compared}
    measures = [str(parse_measure(metric)) for metric in metrics]
    return {
        "sizes": [m],
        "labels": [parse_measure(metric).label for metric in metrics],
        "metrics": {
            in_script(metric): {
                "ranges": [[ranges[name, metric] for name in names]],
                "differences": [[orders[a, b, metric] for a, b in combinations(names, 2)]],
            }
            for metric in measures
        },
    }


def _headline(
    metric: str,
    m: int,
    corrected: Mapping[str, list[Corrected]],
    compared: Sequence[Compared],
) -> str:
    label = parse_measure(metric).label
    items = "1 random item leaves" if m == 1 else f"{m:,} random items leave"
    of_each = [
        f"of {name} between {between(results[0].range_low, results[0].range_high, ' and ')}"
        for name, results in corrected.items()
    ]
    if len(of_each) > 3:
        of_each = [*of_each[:2], f"of {len(of_each) - 2} more as below"]
    words = f"{items} {label} {listed(of_each)}"
    pairs = {(c.a, c.b): c for c in compared if c.metric == compared[0].metric}
    if not pairs:
        return f"{words}."
    decided = [c.in_words() for c in pairs.values() if c.order != "undecided"]
    if len(pairs) == 1:
        return f"{words}: {decided[0] if decided else 'their order stays open'}."
    return f"{words}: {len(decided) or 'none'} of {len(pairs)} orders decided."


def _who(samples: Mapping[str, SampledRanks]) -> str:
    first = next(iter(samples.values()))
    users = listed([f"{name} ({len(sample):,} ranks)" for name, sample in samples.items()])
    return (
        f"{users}. Each held-out item was ranked among {first.n_negatives:,} random items of "
        f"{first.mean_candidates - 1:,}, drawn {str(first.sampling).replace('-', ' ')}. The exact "
        "metric is that of a ranking among all of them. Random items are also called negatives."
    )
