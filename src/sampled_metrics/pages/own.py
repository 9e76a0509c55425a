"""The contents of the page of one's own sampled ranks or full rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from sampled_metrics._base.arguments import check_arguments, to_path
from sampled_metrics._base.defaults import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ESTIMATORS,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    QUOTED_ESTIMATOR,
    Names,
    RankShape,
)
from sampled_metrics._base.errors import InputError, collect_warnings, reading
from sampled_metrics._base.files import check_output_path, write_text
from sampled_metrics._base.text import Explanation, TableRows, format_number, join_names
from sampled_metrics.estimators import REGISTERED_ESTIMATORS, parse_estimators
from sampled_metrics.evaluation.compare import Compared, compare
from sampled_metrics.evaluation.compare_text import PROVES_LITTLE, order_in_words
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.evaluation.pairing import ReadingOptions, read_recommenders
from sampled_metrics.evaluation.results import UNDECIDED, Results
from sampled_metrics.inputs.roles import NamesByRole, naming
from sampled_metrics.metrics import Measure, parse_measures
from sampled_metrics.pages import lens as window
from sampled_metrics.pages import render
from sampled_metrics.pages.leaderboard import board_of
from sampled_metrics.pages.words import MOST_NAMED, percent, range_bars
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import ItemsByUser

_M = 100  # negatives that the page of full rankings begins with, or all of fewer items


def report(
    data: Mapping[str, Any],
    path: Path | str,
    metrics: Names = DEFAULT_METRICS[:1],
    estimators: Names = DEFAULT_ESTIMATORS,
    *,
    relevant: ItemsByUser = None,
    seen: ItemsByUser = None,
    n_items: int | None = None,
    missing: str = "refuse",
    positive: Any = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str = "expected",
    shape: RankShape = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
    columns: NamesByRole = None,
) -> None:
    """Write one HTML page about recommenders, which opens without a network.

    From sampled ranks the page has ranges, estimates and comparisons; from full rankings exact
    metrics, comparisons and the same metrics against random items.

    Parameters
    ----------
    data
        As for `compare`, of one recommender or more.
    path
        The page, whose name ends in .html.
    metrics, relevant, seen, n_items, missing, ties, confidence, columns
        See `evaluate`; the headline is about the first metric.
    estimators, positive, n_negatives, sampling, shape
        For sampled rankings, see `correct`.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    evaluate, correct, compare : The results on the page.

    Examples
    --------
    >>> scores = {"mine": [[0.9, 0.2, 0.1], [0.3, 0.4, 0.8]]}
    >>> report(scores, "/dev/null", relevant=[0, 1])
    """
    if not isinstance(data, Mapping) or len(data) == 0:
        raise InputError("data is no dictionary of recommenders by name; expected one or more")
    check_arguments(ties=ties, shape=shape, confidence=confidence)
    file = to_path(path)
    check_output_path(file, (".html", ".htm"), [*data.values(), relevant, seen])
    measures = [str(measure) for measure in parse_measures(metrics)]
    options = ReadingOptions(
        n_items=n_items,
        relevant=relevant,
        missing=missing,
        seen=seen,
        n_negatives=n_negatives,
        sampling=sampling,
        positive=positive,
    )
    with collect_warnings(see="the page has them") as notes:
        with naming(columns):
            samples, full = read_recommenders(data, options)
        for name, ranks in full.items():
            with reading(name):
                ranks.single()
        if full:
            content = own_full(full, measures, ties=ties, confidence=confidence)
        else:
            names = [str(estimator) for estimator in parse_estimators(estimators)]
            content = own_sampled(samples, measures, names, shape=shape, confidence=confidence)
    content["notes"] = notes
    write_text(file, render(content))


def own_sampled(
    samples: Mapping[str, SampledRanks],
    metrics: Sequence[str],
    estimators: Sequence[str],
    shape: str | float = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
) -> dict[str, Any]:
    """Collect the page of sampled ranks: estimates, ranges, comparisons, ways to decide.

    All recommenders have the same number of negatives. The headline is about the first metric.
    Options are as for `correct` and `compare`.
    """
    first = next(iter(samples.values()))
    m = first.n_negatives
    names = list(samples)
    measures = parse_measures(metrics)
    chosen = list(dict.fromkeys([QUOTED_ESTIMATOR, "sampled", *estimators]))
    options: dict[str, Any] = {"shape": shape, "confidence": confidence}
    corrected = {}
    for name, sample in samples.items():
        with reading(name):
            corrected[name] = correct(sample, metrics, chosen, **options)
    compared = []
    if len(names) > 1:
        compared.append(compare(samples, metrics, chosen[:1], **options))
    bars = []
    for measure in measures:
        results = _of(measure, chain(*corrected.values()))
        quoted = [result.value for result in results if result.estimator == QUOTED_ESTIMATOR]
        results = [result for result in results if result.estimator == "sampled"]
        pairs = _of(measure, chain(*compared))
        group = _orders(measure, pairs)
        group["open"] = len(group["open"])
        group["sampled"] = [result.value for result in results]
        ends = [(result.range_low, result.range_high) for result in results]
        bars.append({**group, **range_bars(ends, quoted, m)})
    parsed = parse_estimators(chosen)
    fixed = [estimator for estimator in parsed if not REGISTERED_ESTIMATORS[estimator.name].fitted]
    candidates = np.atleast_1d(first.n_items)
    shown = window.lens({}, measures, fixed, m, None, candidates, sampling=first.sampling)
    users = max(map(len, samples.values()))
    return {
        **_page(corrected, compared, shown),
        "says": _says(measures[0].label, names, bars[0]["sampled"]),
        "bars": bars,
        "m": m,
        "sampling": str(first.sampling).replace("-", " "),
        "users": users,
        "scores": users * first.mean_candidates,
    }


def own_full(
    rankings: Mapping[str, Ranks], metrics: Sequence[str], ties: str, confidence: float
) -> dict[str, Any]:
    """Collect the page of full rankings: exact metrics, comparisons, effects of sampling."""
    options: dict[str, Any] = {"ties": ties, "confidence": confidence}
    evaluated = {}
    for name, ranks in rankings.items():
        with reading(name):
            evaluated[name] = evaluate(ranks, metrics, **options)
    compared = []
    if len(rankings) > 1:
        compared.append(compare(rankings, metrics, **options))
    fewest = min(int(ranks.n_candidates.min()) for ranks in rankings.values())
    m = min(_M, fewest - 1)
    measures = parse_measures(metrics)
    estimators = parse_estimators(window.ESTIMATORS)
    shown = window.lens(rankings, measures, estimators, m, compared=chain(*compared))
    bars = []
    for measure in measures:
        results = _of(measure, chain(*evaluated.values()))
        group = _orders(measure, _of(measure, chain(*compared)))
        intervals = [(result.ci_low, result.ci_high) for result in results]
        bars.append({**group, **range_bars(intervals, [result.value for result in results], m)})
    page = _page(evaluated, compared, shown)
    page["board"] = None
    if ties == "expected":
        page["board"] = board_of(rankings, measures, confidence=confidence)
    page["numbers"]["board"] = page["board"]
    return {
        **page,
        "level": f"{100 * confidence:g}",
        "exact_bars": bars,
        "users": max(map(len, rankings.values())),
    }


def _of(measure: Measure, results: Iterable[Any]) -> list[Any]:
    return [result for result in results if result.metric == str(measure)]


def _orders(measure: Measure, pairs: Iterable[Compared]) -> dict[str, Any]:
    """Orders by a metric that are decided, in words, their verdicts, and those that are open.

    Orders that hold up to a factor below 2 only are `leaning`.
    """
    decided: list[str] = []
    leaning: list[str] = []
    verdicts = []
    undecided = []
    for pair in pairs:
        if pair.order != UNDECIDED:
            kind = decided
            if pair.holds_up_to is not None and pair.holds_up_to < PROVES_LITTLE:
                kind = leaning
            kind.append(order_in_words(pair))
            verdicts.append(pair.verdict)
            continue
        words = f"{pair.a} and {pair.b}"
        if pair.users_needed is not None:
            words += f" (about {pair.users_needed:,} users would decide)"
        undecided.append(words)
    return {
        "label": measure.label,
        "decided": decided,
        "leaning": leaning,
        "verdicts": verdicts,
        "open": undecided,
    }


def _page(
    results: Mapping[str, Results[Any]],
    compared: Iterable[Results[Compared]],
    shown: dict[str, Any],
) -> dict[str, Any]:
    """Common content of both pages: recommenders, printed results and comparisons, the lens."""
    rows: list[dict[str, Any]] = []
    words = []
    for name, of_name in results.items():
        table, below = _printed(of_name)
        words.append(below)
        rows += [{"recommender": name, **row} for row in table]
    tables = [_table("values", rows, words[0])]
    tables += [_table("comparisons", *_printed(pairs)) for pairs in compared]
    return {
        "names": list(results),
        "notes": [],  # questions about the data
        "tables": tables,
        "lens": shown,
        "numbers": {"lens": shown},
    }


def _printed(results: Results[Any]) -> tuple[TableRows, str]:
    """The first table that results print as, and the words below it."""
    table, words, *more = results.parts()
    explained = [part for part in more if isinstance(part, Explanation)]
    return cast("TableRows", table), "\n".join([cast("str", words), *explained])


def _table(name: str, rows: TableRows, words: str) -> dict[str, Any]:
    lines = []
    for row in rows:
        lines.append([format_number(x) if isinstance(x, float) else str(x) for x in row.values()])
    return {
        "id": name,
        "title": name.title(),
        "heads": list(rows[0]),
        "lines": lines,
        "words": words.replace("\n  ", " "),  # lines that go on
    }


def _says(label: str, names: Sequence[str], values: Sequence[float]) -> str:
    """Describe the sampled values and the order that they suggest."""
    order = sorted(range(len(names)), key=lambda i: -values[i])
    shown = [f"{names[i]} {percent(values[i])}" for i in order[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    words = f"Your sampled {label} is {join_names(shown)}."
    if len(names) == 1:
        return words
    chain = names[order[0]]
    for a, b in pairwise(order):
        sign = "=" if values[a] == values[b] else ">"
        chain += f" {sign} {names[b]}"
    return f"{words} It suggests {chain}."
