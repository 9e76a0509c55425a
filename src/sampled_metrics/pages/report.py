"""The page about the user's own sampled ranks or full rankings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from sampled_metrics._base.arguments import check_arguments, to_path
from sampled_metrics._base.array_types import ItemsByUser
from sampled_metrics._base.calls import NoteKind, current_call, place_of, public, warnings_among
from sampled_metrics._base.defaults import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ESTIMATORS,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    QUOTED_ESTIMATOR,
    Names,
    RankShape,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import check_output_path, write_text
from sampled_metrics._base.text import Explanation, TableRows, format_number, join_names
from sampled_metrics.estimators import REGISTERED_ESTIMATORS, parse_estimators
from sampled_metrics.evaluation.compare import Compared, compare
from sampled_metrics.evaluation.compare_text import PROVES_LITTLE, better_first, order_in_words
from sampled_metrics.evaluation.correct import Corrected, correct
from sampled_metrics.evaluation.evaluate import Evaluated, evaluate
from sampled_metrics.evaluation.pairing import read_recommenders
from sampled_metrics.evaluation.results import UNDECIDED, Results
from sampled_metrics.evaluation.strata import STRATUM_ESTIMATORS
from sampled_metrics.metrics import Measure, parse_measures
from sampled_metrics.pages import SCRIPTS, render
from sampled_metrics.pages.bars import range_bars
from sampled_metrics.pages.leaderboard import build_board
from sampled_metrics.pages.lens import LENS_ESTIMATORS, build_lens
from sampled_metrics.pages.lens_text import decided_groups, percent
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.options import Reading
from sampled_metrics.read.roles import NamesByRole, check_roles

_FIRST_SIZE = 100  # negatives with which the lens of full rankings starts, if there are as many
_MOST_IN_HEADLINE = 4  # recommenders in the headline
MOST_IN_SENTENCE = 3  # fewer recommenders need no line with their order


@public(columns=check_roles, see="the page has them")
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
    counts: Any = None,
    items: Any = None,
    users: Any = None,
    cluster: Any = None,
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
        One or more recommenders by name, as for `compare`.
    path
        File to write; its name ends in .html.
    metrics, relevant, seen, n_items, missing, ties, confidence, columns
        See `evaluate`. The headline is about the first metric.
    estimators, positive, n_negatives, sampling, shape, counts, items, users, cluster
        For sampled rankings, see `correct`.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    evaluate, correct, compare : The results on the page.

    Examples
    --------
    >>> scores = {"mine": [[0.9, 0.2, 0.1], [0.3, 0.4, 0.8]]}
    >>> report(scores, "/dev/null", relevant=[0, 1])
    """
    if not isinstance(data, Mapping) or len(data) == 0:
        raise InputError(
            "data is not a dictionary of recommenders by name; pass one with at least one "
            "recommender"
        )
    check_arguments(ties=ties, shape=shape, confidence=confidence)
    file = to_path(path)
    check_output_path(file, (".html", ".htm"), [*data.values(), relevant, seen])
    measures = [str(measure) for measure in parse_measures(metrics)]
    options = Reading(
        n_items=n_items,
        relevant=relevant,
        missing=missing,
        seen=seen,
        n_negatives=n_negatives,
        sampling=sampling,
        positive=positive,
        counts=counts,
        items=items,
        users=users,
        cluster=cluster,
    )
    samples, rankings = read_recommenders(data, options)
    for name, ranks in rankings.items():
        with place_of(name):
            ranks.single()
    if rankings:
        content = full_content(rankings, measures, ties=ties, confidence=confidence)
    else:
        names = [str(estimator) for estimator in parse_estimators(estimators)]
        content = sampled_content(samples, measures, names, shape=shape, confidence=confidence)
    content["planned"] = planned_pair(content)
    content["plan_command"] = plan_command(data, content["planned"])
    notes = current_call().all_notes()
    content["warnings"] = warnings_among(notes)
    content["notes"] = [str(note) for note in notes if note.kind is not NoteKind.WARNING]
    scripts = SCRIPTS if content["lens"] else ("base", "page")
    write_text(file, render(content, scripts=scripts))


def sampled_content(
    samples: Mapping[str, SampledRanks],
    metrics: Sequence[str],
    estimators: Sequence[str],
    *,
    shape: str | float = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
) -> dict[str, Any]:
    """Collect the content of a page about sampled ranks: estimates, ranges and comparisons.

    All recommenders need the same number of negatives. The headline is about the first metric.
    Options are as for `correct` and `compare`.
    """
    first = next(iter(samples.values()))
    names = list(samples)
    measures = parse_measures(metrics)
    is_uniform = first.strata is None
    chosen = list(STRATUM_ESTIMATORS)
    if is_uniform:
        chosen = list(dict.fromkeys([QUOTED_ESTIMATOR, "sampled", *estimators]))
    corrected = {}
    for name, sample in samples.items():
        with place_of(name):
            corrected[name] = correct(sample, metrics, chosen, shape=shape, confidence=confidence)
    compared = []
    if len(names) > 1:
        compared.append(compare(samples, metrics, chosen[:1], shape=shape, confidence=confidence))
    bars = []
    for measure in measures:
        results = _select_metric(measure, chain(*corrected.values()))
        pairs = _select_metric(measure, chain(*compared))
        bars.append(_sampled_bars(measure, names, results, pairs, first.n_negatives))
    lens = _lens_of_windows(first, measures, chosen) if is_uniform else None
    n_users = max(map(len, samples.values()))
    return {
        **_common_content(corrected, compared, lens),
        "says": _describe_values(measures[0].label, names, bars[0]["sampled"]),
        "bars": bars,
        "m": first.n_negatives,
        "n_candidates": f"{first.mean_candidates:,}",
        "sampling": str(first.sampling).replace("-", " "),
        "users": n_users,
        "scores": n_users * first.mean_candidates,
    }


def _sampled_bars(
    measure: Measure,
    names: Sequence[str],
    results: Iterable[Corrected],
    pairs: Sequence[Compared],
    m: int,
) -> dict[str, Any]:
    """Describe the ranges of a metric, and the orders that they decide.

    Keys are those of `_group_orders`, with the number of pairs in `open`, of `range_bars` and of
    `order_line`; `sampled`, the sampled values; `order`, the positions of the recommenders in
    `names`, best first; and `is_reordered`, whether sampled values have another order.
    """
    by_estimator: dict[str, list[Corrected]] = {QUOTED_ESTIMATOR: [], "sampled": []}
    for result in results:
        by_estimator.setdefault(result.estimator, []).append(result)
    quoted = [result.value for result in by_estimator[QUOTED_ESTIMATOR]]
    sampled = [result.value for result in by_estimator["sampled"]]
    # All estimators of a recommender have the same range.
    ranges = [(result.range_low, result.range_high) for result in by_estimator["sampled"]]
    best_first = order_by_value(quoted, sampled)
    orders = _group_orders(measure, pairs)
    return {
        **orders,
        "open": len(orders["open"]),
        "sampled": sampled,
        **range_bars(ranges, quoted, m),
        "order": best_first,
        "is_reordered": len(quoted) > 1 and best_first != order_by_value(sampled, sampled),
        **order_line(names, best_first, pairs),
    }


def _lens_of_windows(
    sample: SampledRanks, measures: Sequence[Measure], estimators: Sequence[str]
) -> dict[str, Any]:
    """Build the lens of a sample: windows only, as the exact order is not known."""
    parsed = parse_estimators(estimators)
    return build_lens(
        {},
        measures,
        [each for each in parsed if not REGISTERED_ESTIMATORS[each.name].fitted],
        sample.n_negatives,
        extra_sizes=None,
        candidates=np.atleast_1d(sample.n_items),
        sampling=sample.sampling,
    )


def full_content(
    rankings: Mapping[str, Ranks], metrics: Sequence[str], *, ties: str, confidence: float
) -> dict[str, Any]:
    """Collect the content of a page about full rankings: exact metrics, comparisons, leaderboard.

    Options are as for `evaluate` and `compare`.
    """
    evaluated = {}
    for name, ranks in rankings.items():
        with place_of(name):
            evaluated[name] = evaluate(ranks, metrics, ties=ties, confidence=confidence)
    compared = []  # results of `compare`, unless there is a single recommender
    if len(rankings) > 1:
        compared.append(compare(rankings, metrics, ties=ties, confidence=confidence))
    fewest_candidates = min(int(ranks.n_candidates.min()) for ranks in rankings.values())
    m = min(_FIRST_SIZE, fewest_candidates - 1)
    measures = parse_measures(metrics)
    estimators = parse_estimators(LENS_ESTIMATORS)
    lens = build_lens(rankings, measures, estimators, m, compared=chain(*compared))
    bars = []
    for measure in measures:
        results = _select_metric(measure, chain(*evaluated.values()))
        pairs = _select_metric(measure, chain(*compared))
        bars.append(_exact_bars(measure, list(rankings), results, pairs, m))
    content = _common_content(evaluated, compared, lens)
    content["board"] = None
    if ties == "expected":
        content["board"] = build_board(rankings, measures, confidence=confidence)
    content["numbers"]["board"] = content["board"]
    return {
        **content,
        "level": f"{100 * confidence:g}",
        "exact_bars": bars,
        "users": max(map(len, rankings.values())),
    }


def _exact_bars(
    measure: Measure,
    names: Sequence[str],
    results: Sequence[Evaluated],
    pairs: Sequence[Compared],
    m: int,
) -> dict[str, Any]:
    """Describe the intervals of an exact metric, and the orders that they decide.

    Keys are those of `_group_orders`, of `range_bars` and of `order_line`; and `order`, the
    positions of the recommenders in `names`, best first.
    """
    intervals = [(result.ci_low, result.ci_high) for result in results]
    exact = [result.value for result in results]
    best_first = order_by_value(exact, exact)
    return {
        **_group_orders(measure, pairs),
        **range_bars(intervals, exact, m),
        "order": best_first,
        **order_line(names, best_first, pairs),
    }


def _select_metric(measure: Measure, results: Iterable[Any]) -> list[Any]:
    """Return the results of one metric."""
    return [result for result in results if result.metric == str(measure)]


def _group_orders(measure: Measure, pairs: Iterable[Compared]) -> dict[str, Any]:
    """Group the pairs by what is known about their order by a metric, and describe them.

    Keys: `label`, of the metric; `decided`, orders in words; `leaning`, orders that hold
    only if no rank near the top is more than f times as likely as a better one, where f, which is
    `Compared.holds_up_to`, is below `PROVES_LITTLE`; `open`, the pairs without a known order;
    `pairs`, the names of those with one; and `verdicts`, sentences on these, in the same order.
    """
    ordered: list[Compared] = []
    undecided: list[Compared] = []
    for pair in pairs:
        (undecided if pair.order == UNDECIDED else ordered).append(pair)
    return {
        "label": measure.label,
        "decided": [order_in_words(pair) for pair in ordered if not _proves_little(pair)],
        "leaning": [order_in_words(pair) for pair in ordered if _proves_little(pair)],
        "verdicts": [pair.verdict for pair in ordered],
        "pairs": [(pair.a, pair.b) for pair in ordered],
        "open": [_undecided_in_words(pair) for pair in undecided],
    }


def _proves_little(pair: Compared) -> bool:
    """Return whether a decided order needs ranks near the top to be nearly equally likely."""
    return pair.holds_up_to is not None and pair.holds_up_to < PROVES_LITTLE


def _undecided_in_words(pair: Compared) -> str:
    """Name a pair without a known order, and how many users would decide it, if that is known."""
    names = f"{pair.a} and {pair.b}"
    if pair.users_needed is None:
        return names
    return f"{names} (about {pair.users_needed:,} users would decide)"


def _common_content(
    results_by_name: Mapping[str, Results[Any]],
    compared: Iterable[Results[Compared]],
    lens: dict[str, Any] | None,
) -> dict[str, Any]:
    """Collect the content that all pages have: tables of results, and the lens.

    Negatives that were not drawn uniformly have no lens.
    """
    printed_tables = {name: _printed_table(results) for name, results in results_by_name.items()}
    rows = [
        {"recommender": name, **row} for name, (table, _) in printed_tables.items() for row in table
    ]
    _, text_of_first = next(iter(printed_tables.values()))  # about the columns of all
    tables = [_table_content("values", rows, text_of_first)]
    tables += [_table_content("comparisons", *_printed_table(pairs)) for pairs in compared]
    return {
        "names": list(results_by_name),
        "warnings": [],  # about the data
        "notes": [],  # on how data was read
        "tables": tables,
        "lens": lens,
        "numbers": {"lens": lens, "item": typical_item(lens)} if lens else {},
    }


def order_by_value(values: Sequence[float], fallback: Sequence[float]) -> list[int]:
    """Return the positions of recommenders, best first.

    If a value is nan, or there are fewer values than in `fallback`, that decides instead.
    """
    are_known = not np.isnan(values).any() and len(values) >= len(fallback)
    chosen = values if are_known else fallback
    return sorted(range(len(chosen)), key=lambda i: -chosen[i])


def order_line(
    names: Sequence[str], best_first: Sequence[int], pairs: Sequence[Compared]
) -> dict[str, Any]:
    """Write the order of several recommenders in one line, such as "Z, Y > X".

    The sign > stands where every recommender before it is decided to be above every one after it.

    Returns
    -------
    dict
        The `line`, empty for fewer than three recommenders; and `rest`, decided orders of
        recommenders between which the line has a comma. All other pairs with a comma are undecided.
    """
    if len(names) < MOST_IN_SENTENCE:
        return {"line": "", "rest": []}
    text_by_decided_pair = {
        better_first(pair, pair.order): order_in_words(pair)
        for pair in pairs
        if pair.order != UNDECIDED and not _proves_little(pair)
    }
    # All pairs of recommenders of two groups are decided.
    groups = decided_groups(
        [names[i] for i in best_first], lambda above, below: (above, below) in text_by_decided_pair
    )
    decided_within_groups = [
        text
        for (better, worse), text in text_by_decided_pair.items()
        if any(better in group and worse in group for group in groups)
    ]
    line = " > ".join(", ".join(group) for group in groups)
    return {"line": line, "rest": decided_within_groups}


def planned_pair(content: Mapping[str, Any]) -> list[str]:
    """Return the two recommenders, best first, whose order random items should decide.

    They are the first two of the order by value that full rankings decide, or the best two.
    """
    bars_of_first_metric = (content.get("exact_bars") or content["bars"])[0]
    best_first = [content["names"][i] for i in bars_of_first_metric["order"]]
    decided = {frozenset(pair) for pair in bars_of_first_metric["pairs"]}
    for pair in combinations(best_first, 2):
        if frozenset(pair) in decided:
            return list(pair)
    return best_first[:2]


def plan_command(data: Mapping[str, Any], pair: Sequence[str]) -> str:
    """Return the command that plans an evaluation of a pair of recommenders, with their files.

    It names two files A and B if the data is not in files.
    """
    files = [data[name] for name in pair]
    if len(files) < 2 or not all(isinstance(file, str | Path) for file in files):
        files = ["A", "B"]
    return f"sampled-metrics plan --ranks {shlex.join(map(str, files))}"


def typical_item(lens: Mapping[str, Any]) -> dict[str, int]:
    """Return a round true `rank` and the `sampled` rank to which it leads on average.

    A true rank r among n items leads to the sampled rank 1 + (r - 1) m / (n - 1) on average. The
    one returned has a single digit before its zeros, and is near that with the sampled rank 7.
    """
    m = lens["start"]["m"]
    n = int(lens["n"].replace(",", ""))
    n_others = max(n - 1, 1)
    rank_of_seventh = 1 + 6 * n_others / m
    unit = 10 ** (len(str(int(rank_of_seventh))) - 1)  # of the first digit
    rank = min(max(round(rank_of_seventh / unit) * unit, 1), n)
    return {"rank": rank, "sampled": round(1 + (rank - 1) * m / n_others)}


def _printed_table(results: Results[Any]) -> tuple[TableRows, str]:
    """Return the first table that results print as, and the text below it."""
    table, text, *more = results.parts()
    explained = [part for part in more if isinstance(part, Explanation)]
    return cast("TableRows", table), "\n".join([cast("str", text), *explained])


def _table_content(name: str, rows: TableRows, text: str) -> dict[str, Any]:
    """Return what the template of a table needs: heads, lines of text, and the text below it."""
    lines = []
    for row in rows:
        cells = row.values()
        lines.append([format_number(x) if isinstance(x, float) else str(x) for x in cells])
    return {
        "id": name,
        "title": name.title(),
        "heads": list(rows[0]),
        "lines": lines,
        "words": text.replace("\n  ", " "),  # joins continued lines
    }


def _describe_values(label: str, names: Sequence[str], values: Sequence[float]) -> str:
    """Write the sampled values, and the order that they suggest."""
    order = order_by_value(values, values)
    shown = [f"{names[i]} {percent(values[i])}" for i in order[:_MOST_IN_HEADLINE]]
    if len(names) > _MOST_IN_HEADLINE:
        shown.append(f"{len(names) - _MOST_IN_HEADLINE} more")
    sentence = f"Your sampled {label} is {join_names(shown)}."
    if len(names) == 1:
        return sentence
    suggested = names[order[0]]
    for a, b in pairwise(order):
        sign = "=" if values[a] == values[b] else ">"
        suggested += f" {sign} {names[b]}"
    return f"{sentence} It suggests {suggested}."
