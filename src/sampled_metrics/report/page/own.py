"""The contents of the page of one's own sampled ranks or full rankings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import sampled_metrics
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics.inference.compare_exact import compare_exact
from sampled_metrics.inference.compare_sampled import compare_sampled
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.correct import Corrected, correct
from sampled_metrics.inference.evaluate import evaluate
from sampled_metrics.inference.kernels import ASSUMED
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.report.page.embedded import explorer, in_script, initial, range_panel
from sampled_metrics.report.page.own_tables import (
    between,
    cost_table,
    exact_table,
    orders_table,
    values_table,
)
from sampled_metrics.report.page.story import listed, story

_M = 100


def own_sampled(
    samples: Mapping[str, SampledRanks],
    metrics: Sequence[str],
    estimators: Sequence[str],
    *,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Collect the page of sampled ranks: ranges, estimates, comparisons, what would decide more.

    All recommenders have the same number of negatives. The headline is about the first metric.
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
    metric = lead.kind if lead.cutoff else in_script(metrics[0])
    own = {
        "n": n,
        "m": m,
        "recommenders": [
            {"name": name, "shares": np.round(histogram / histogram.sum(), 7).tolist()}
            for name, sample in samples.items()
            for histogram in [np.bincount(sample.sampled_ranks - 1, minlength=m + 1)]
        ],
    }
    level = f"{100 * confidence:g} %, {ASSUMED[shape]}"
    content = _page(
        ["ranges", "why", "corrections"],
        [
            values_table(corrected, level),
            *([orders_table(compared, level)] if compared else []),
            *cost_table(compared, samples, shape, confidence),
        ],
    )
    return content | {
        "full": False,
        "headline": _headline(metrics[0], m, corrected, compared),
        "story": {"who": _who(samples), "candidates": f"{n:,}"},
        "explorer": {
            "groups": [],
            "start": initial(metric=metric, k=lead.cutoff or 10, n=n, m=m),
            "own": own,
            "ranges": _panel(m, corrected, compared),
        },
    }


def own_full(
    rankings: Mapping[str, Ranks],
    metrics: Sequence[str],
    *,
    ties: str = "expected",
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Collect the page of full rankings: exact metrics, comparisons, and what sampling would do."""
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
    version = sampled_metrics.__version__
    return {
        "title": "Sampled metrics of your own recommenders",
        "byline": f"Made with sampled-metrics {version}",
        "version": version,
        "parts": parts,
        "sections": [*parts, *(table["id"] for table in tables), "cite"],
        "tables": tables,
        "assumed": "",
    }


def _panel(
    m: int, corrected: Mapping[str, list[Corrected]], compared: Sequence[Compared]
) -> dict[str, Any]:
    values = [
        (result.metric, m, name, "", result.range_low, result.range_high)
        for name, results in corrected.items()
        for result in results
    ]
    differences = [(c.metric, m, c.a, c.b, c.range_low, c.range_high) for c in compared]
    return range_panel([*values, *differences], list(corrected))


def _headline(
    metric: str, m: int, corrected: Mapping[str, list[Corrected]], compared: Sequence[Compared]
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
