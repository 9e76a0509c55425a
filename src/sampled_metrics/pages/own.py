"""The contents of the page of one's own sampled ranks or full rankings."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import sampled_metrics
from sampled_metrics._base.arrays import check_arguments, path_of
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import write_text
from sampled_metrics.estimators import DECLARED, parse_estimators
from sampled_metrics.inference.compare import compare
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.evaluate import evaluate
from sampled_metrics.metrics.measures import parse_measures
from sampled_metrics.pages import lens as window
from sampled_metrics.pages import render
from sampled_metrics.pages.words import MOST_NAMED, listed, percent, range_bars, range_panel
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
    **options: Any,
) -> dict[str, Any]:
    """Collect the page of sampled ranks: what they say, ranges, comparisons, what would decide.

    All recommenders have the same number of negatives. The headline is about the first metric. The
    options are those of `correct` and `compare`.
    """
    first, names, measures = next(iter(samples.values())), list(samples), parse_measures(metrics)
    m, chosen = first.n_negatives, [*dict.fromkeys(("sampled", *estimators))]
    corrected: dict[str, Any] = {}
    for name, sample in samples.items():
        with reading(name):
            corrected[name] = correct(sample, metrics, chosen, **options)
    compared: Any = compare(samples, metrics, chosen[:1], **options) if names[1:] else []
    ends = [(r.metric, m, r.a, r.b, r.range_low, r.range_high) for r in compared]
    results = [(name, r) for name, of_name in corrected.items() for r in of_name]
    ends += [(r.metric, m, name, "", r.range_low, r.range_high) for name, r in results]
    panel, bars = range_panel(ends, names), []
    for measure in measures:
        of_metric = [r for _, r in results if r.metric == str(measure)]
        sampled = [r.value for r in of_metric if r.estimator == "sampled"]
        group = range_bars(panel, names, str(measure), m, sampled)
        bars.append({"label": measure.label, "sampled": sampled, **group})
    fixed = [
        estimator for estimator in parse_estimators(chosen) if not DECLARED[estimator.name].fitted
    ]
    candidates = np.atleast_1d(first.n_items)
    shown = window.lens({}, measures, fixed, m, None, candidates, sampling=first.sampling)
    users = max(map(len, samples.values()))
    tables = [_table("values", corrected), *([_table("comparisons", compared)] if compared else [])]
    return _page(tables, shown) | {
        "says": _says(measures[0].label, names, bars[0]["sampled"]),
        "names": names,
        "bars": bars,
        "m": m,
        "sampling": str(first.sampling).replace("-", " "),
        "users": users,
        "scores": users * first.mean_candidates,
        "numbers": {"lens": shown, "ranges": panel},
    }


def own_full(
    rankings: Mapping[str, Ranks], metrics: Sequence[str], **options: Any
) -> dict[str, Any]:
    """Collect the page of full rankings: exact metrics, comparisons, and what sampling would do."""
    tables = [_table("values", {n: evaluate(r, metrics, **options) for n, r in rankings.items()})]
    if len(rankings) > 1:
        tables.append(_table("comparisons", compare(rankings, metrics, **options)))
    m = min(_M, min(int(ranks.n_candidates.min()) for ranks in rankings.values()) - 1)
    of_all = (parse_measures(metrics), parse_estimators(window.ESTIMATORS), m)
    about = {"users": max(map(len, rankings.values())), "who": listed(list(rankings))}
    return _page(tables, window.lens(rankings, *of_all)) | about


def _page(tables: list[dict[str, Any]], shown: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": "Sampled metrics of your own recommenders",
        "byline": f"Made with sampled-metrics {sampled_metrics.__version__}",
        "version": sampled_metrics.__version__,
        "tables": tables,
        "lens": shown,
        "numbers": {"lens": shown},
    }


def _table(name: str, results: Any) -> dict[str, Any]:
    """The table that results print as, those of several recommenders in one."""
    parts = (
        {n: r.parts() for n, r in results.items()} if name == "values" else {"": results.parts()}
    )
    rows = [
        {"recommender": of, **row} if of else row for of, part in parts.items() for row in part[0]
    ]
    words = next(iter(parts.values()))[1].replace("\n  ", " ")  # lines that go on
    lines = [[f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    return {"id": name, "title": name.title(), "heads": [*rows[0]], "lines": lines, "words": words}


def _says(label: str, names: Sequence[str], values: Sequence[float]) -> str:
    """What the sampled values are, and the order that they suggest."""
    order = sorted(range(len(names)), key=lambda i: -values[i])
    more = [f"{len(names) - MOST_NAMED} more"] * (len(names) > MOST_NAMED)
    shown = [f"{names[i]} {percent(values[i])}" for i in order[:MOST_NAMED]]
    signs = [" = " if values[a] == values[b] else " > " for a, b in pairwise(order)]
    chain = "".join(sign + names[i] for sign, i in zip(signs, order[1:], strict=True))
    suggested = f" It says {names[order[0]]}{chain}." if chain else ""
    return f"Your sampled {label} is {listed([*shown, *more])}.{suggested}"
