"""The contents of the page of one's own sampled ranks or full rankings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sampled_metrics
from sampled_metrics._base.arrays import check_arguments, path_of
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import write_text
from sampled_metrics._base.text import Parts
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference.compare import Compared, compare
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.evaluate import evaluate
from sampled_metrics.inference.results import Results
from sampled_metrics.metrics.measures import parse_measure, parse_measures
from sampled_metrics.pages import render
from sampled_metrics.pages.explorer import (
    explorer,
    in_script,
    initial,
    listed,
    range_panel,
    story,
)
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.sampled import Drawn, all_alike

_M = 100  # negatives that the page of full rankings begins with, or all of fewer items


def report(
    data: Mapping[str, Any],
    path: Path | str,
    metrics: str | Sequence[str] = METRICS[:1],
    estimators: str | Sequence[str] = ESTIMATORS,
    *,
    relevant: Any = None,
    seen: Any = None,
    n_items: int | None = None,
    positive: Any = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str = "expected",
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> None:
    """Write one HTML page about recommenders, which opens without a network.

    `data` is as for `compare`, of one recommender or more, and so are the options. From sampled
    ranks the page has ranges, estimates and comparisons; from full rankings exact metrics,
    comparisons and what ranking against random items would make of them.

    Examples
    --------
    >>> scores = {"mine": [[0.9, 0.2, 0.1], [0.3, 0.4, 0.8]]}
    >>> report(scores, "/dev/null", relevant=[0, 1])
    """
    if not isinstance(data, Mapping) or not data:
        raise InputError("data is no dictionary of recommenders by name; expected one or more")
    check_arguments(ties=ties, shape=shape, confidence=confidence)
    file, measures = path_of(path), [str(measure) for measure in parse_measures(metrics)]
    drawn = Drawn(n_items, n_negatives, sampling, positive, relevant)
    samples, full = all_alike(data, drawn, Ranked(n_items, relevant, seen))
    for name, ranks in full.items():
        with reading(name):
            ranks.single()
    if full:
        content = own_full(full, measures, ties=ties, confidence=confidence)
    else:
        names = [str(estimator) for estimator in parse_estimators(estimators)]
        content = own_sampled(samples, measures, names, shape=shape, confidence=confidence)
    write_text(file, render(content, "own.html"))


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
    corrected: dict[str, Any] = {}
    for name, sample in samples.items():
        with reading(name):
            corrected[name] = correct(sample, metrics, estimators, **options)
    compared: Any = []
    if len(samples) > 1:
        compared = compare(samples, metrics, estimators[:1], **options)
    n, m, lead = first.mean_candidates, first.n_negatives, parse_measure(metrics[0])
    metric = lead.kind if lead.cutoff else in_script(metrics[0])
    ends = [
        (result.metric, m, name, "", result.range_low, result.range_high)
        for name, results in corrected.items()
        for result in results
    ]
    ends += [(c.metric, m, c.a, c.b, c.range_low, c.range_high) for c in compared]
    shares = [np.bincount(s.sampled_ranks - 1, minlength=m + 1) / len(s) for s in samples.values()]
    recommenders = [
        {"name": name, "shares": np.round(share, 7).tolist()}
        for name, share in zip(samples, shares, strict=True)
    ]
    people = listed([f"{name} ({len(sample):,} ranks)" for name, sample in samples.items()])
    who = (
        f"{people}. Each held-out item was ranked among {m:,} random items of {n - 1:,}, drawn "
        f"{str(first.sampling).replace('-', ' ')}. The exact metric is that of a ranking among all "
        "of them. Random items are also called negatives."
    )
    tables = [_values_table(corrected), *([_orders_table(compared.parts())] if compared else [])]
    return _page(["ranges", "why", "corrections"], tables) | {
        "full": False,
        "headline": _headline(metrics[0], m, corrected, compared),
        "story": {"who": who, "candidates": f"{n:,}"},
        "explorer": {
            "groups": [],
            "start": initial(metric=metric, k=lead.cutoff or 10, n=n, m=m),
            "own": {"n": n, "m": m, "recommenders": recommenders},
            "ranges": range_panel(ends, list(corrected)),
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
    tables = [_values_table({n: evaluate(r, metrics, **options) for n, r in rankings.items()})]
    if len(rankings) > 1:
        tables.append(_orders_table(compare(rankings, metrics, **options).parts()))
    m = min(_M, min(int(ranks.n_candidates.min()) for ranks in rankings.values()) - 1)
    first = story(rankings, m)
    numbers = explorer(rankings, m) | {"ranges": None}
    numbers["start"]["pair"] = first["pair"]
    content = {"full": True, "headline": "", "story": first, "explorer": numbers}
    return _page(["why", "corrections"], tables) | content


def _page(parts: list[str], tables: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": "Sampled metrics of your own recommenders",
        "byline": f"Made with sampled-metrics {sampled_metrics.__version__}",
        "version": sampled_metrics.__version__,
        "parts": parts,
        "sections": [*parts, *(table["id"] for table in tables), "cite"],
        "tables": tables,
        "assumed": "",
    }


def _values_table(results: Mapping[str, Results[Any]]) -> dict[str, Any]:
    """The tables that the results print as, those of all recommenders in one."""
    parts: dict[str, Any] = {name: of_name.parts() for name, of_name in results.items()}
    rows = [{"recommender": name, **row} for name, (part, *_) in parts.items() for row in part]
    return _table("values", rows, next(iter(parts.values()))[1])


def _orders_table(parts: Parts) -> dict[str, Any]:
    return _table("comparisons", parts[0], parts[1])


def _table(name: str, rows: Any, words: Any) -> dict[str, Any]:
    lines = [[f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    words = words.replace("\n  ", " ")  # lines that go on
    return {"id": name, "title": name.title(), "heads": [*rows[0]], "lines": lines, "words": words}


def _headline(
    metric: str, m: int, corrected: Mapping[str, Any], compared: Sequence[Compared]
) -> str:
    items = "1 random item leaves" if m == 1 else f"{m:,} random items leave"
    ranges = [
        f"of {name} between {100 * first.range_low:.2f} and {100 * first.range_high:.2f} %"
        for name, (first, *_) in corrected.items()
    ]
    if len(ranges) > 3:
        ranges = [*ranges[:2], f"of {len(ranges) - 2} more as below"]
    words = f"{items} {parse_measure(metric).label} {listed(ranges)}"
    pairs = {(c.a, c.b): c for c in compared if c.metric == compared[0].metric}
    decided = [c.in_words() for c in pairs.values() if c.order != "undecided"]
    if not pairs:
        return f"{words}."
    if len(pairs) == 1:
        return f"{words}: {decided[0] if decided else 'their order stays open'}."
    return f"{words}: {len(decided) or 'none'} of {len(pairs)} orders decided."
