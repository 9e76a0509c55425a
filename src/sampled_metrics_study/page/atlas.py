"""The atlas: a page of printed sampled metrics, and what each can mean over all items."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sampled_metrics.evaluation.results import quantity
from sampled_metrics.metrics import parse_measure
from sampled_metrics.printed.check import Checked, Checks
from sampled_metrics.printed.consistency import OUTSIDE
from sampled_metrics.printed.reported import reported
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics_study.page import render

# The first of these that a row has is drawn.
METRICS_BY_PREFERENCE = ("HR@10", "NDCG@10", "HR@5", "NDCG@5")
METRIC_COLUMNS = ("metric", "value", "low", "high", "likely", "measured", "standing")
KINDS = {  # of sources, and how they are called; papers are darker than the others
    "paper": "paper",
    "authors": "authors' log",
    "reproduction": "reproduction",
    "other": "other source",
}
SCRIPTS = ("base", "chance", "paper", "take", "atlas")
STYLES = ("page", "atlas")
_DIGITS = 5  # of ranges; the chart resolves about a thousandth
_BY_POPULARITY = "by popularity"
_PAPER_COLUMNS = ("paper", "year", "source")
# Columns of a row in the numbers of the page; those of SHARED are places in lists of texts.
SHARED_COLUMNS = ("paper", "data", "note", "way", "kind")
COLUMNS = (
    *("id", "model", *METRIC_COLUMNS),
    *("n", "m", "users", "runs", "printed", "exact", "remark"),
    *SHARED_COLUMNS,
)


def atlas(rows: Sequence[PrintedRow], checks: Checks, start: str = "") -> str:
    """Return the page for rows of printed tables and their checks.

    Each row shows the first of `METRICS_BY_PREFERENCE` that it has, with the range of this metric
    over all items if the row was checked. Its other metrics are shown when a reader chooses one of
    them. Rows may name the kind of their source, see `KINDS`. The page opens with the row whose
    address is `start`.
    """
    texts: dict[str, dict[str, int]] = {name: {} for name in SHARED_COLUMNS}
    names: Counter[str] = Counter()
    table: dict[str, list[Any]] = {}
    further_entries = []
    for row, checked in zip(rows, checks, strict=True):
        metric, *others = [
            name for name in METRICS_BY_PREFERENCE if name in row.printed
        ] or row.printed
        entry_of_row = _row_entry(row, checked, metric)
        for other in others:
            if other in METRICS_BY_PREFERENCE:
                entry = _metric_entry(other, row, checked)
                further_entries.append([len(table), *(entry[column] for column in METRIC_COLUMNS)])
        for name, places in texts.items():
            entry_of_row[name] = places.setdefault(entry_of_row[name], len(places))
        name = _address_of(row)
        names[name] += 1
        if names[name] > 1:
            name = f"{name}.{names[name]}"
        table[name] = [name, *(entry_of_row[column] for column in COLUMNS[1:])]
    begin = 0
    if start:
        begin = list(table).index(start)
    shown_metrics = [columns[COLUMNS.index("metric")] for columns in table.values()]
    content = {
        "n_rows": len(table),
        "n_sources": len({row.source for row in rows}),
        "metrics": Counter([*shown_metrics, *(metric for _, metric, *_ in further_entries)]),
        "kinds": _describe_kinds(rows),
        "data_sets": sorted(texts["data"]),
        "numbers": {
            "columns": COLUMNS,
            "rows": list(table.values()),
            "further": further_entries,
            "of_metric": METRIC_COLUMNS,
            "texts": {name: list(places) for name, places in texts.items()},
            "start": begin,
        },
    }
    return render(content, "atlas.html", SCRIPTS, STYLES)


def _describe_kinds(rows: Sequence[PrintedRow]) -> dict[str, str]:
    """Describe each kind of source: how many results it has, and of how many sources."""
    results = Counter(row.details["kind"] for row in rows if "kind" in row.details)
    named = {(row.details["kind"], row.source) for row in rows if "kind" in row.details}
    sources = Counter(kind for kind, _ in named)
    order = [*KINDS, *sorted(set(results) - set(KINDS))]
    return {
        kind: f"{results[kind]} of {quantity(sources[kind], KINDS.get(kind, kind))}"
        for kind in order
        if kind in results
    }


def _row_entry(row: PrintedRow, checked: Checked, metric: str) -> dict[str, Any]:
    """Return the numbers and texts of a row, by column."""
    about = row.details
    metric_entry = _metric_entry(metric, row, checked)
    has_no_range = metric_entry["low"] is None
    return {
        "model": row.model,
        **metric_entry,
        "n": row.n_items,
        "m": row.n_negatives,
        "users": row.n_users,
        "runs": row.runs,
        "printed": checked.printed,
        "exact": checked.exact,
        "remark": _remark(row, has_no_range, metric_entry["standing"]),
        "paper": "\n".join([row.source, *(about.get(name, "") for name in _PAPER_COLUMNS)]),
        "data": row.data_set,
        "note": about.get("note", ""),
        "way": row.sampling or _BY_POPULARITY,
        "kind": about.get("kind", ""),
    }


def _metric_entry(metric: str, row: PrintedRow, checked: Checked) -> dict[str, Any]:
    """Return a printed metric of a row: its value, range, number to quote and measured value."""
    low, high, likely = _range_of(metric, row, checked)
    measured = None
    if metric in row.exact:
        measured = float(row.exact[metric])
    return {
        "metric": metric,
        "value": row.printed[metric],
        "low": low,
        "high": high,
        "likely": likely,
        "measured": measured,
        "standing": {placed.metric: placed.standing for placed in checked.placed}.get(metric),
    }


def _range_of(metric: str, row: PrintedRow, checked: Checked) -> list[float | None]:
    """Return both ends of the range over all items and the number to quote; None if unknown.

    The check may have named the metric by another one, as Recall@10 is HR@10 for one held-out item;
    the range is then that of the metric that was printed.
    """
    if checked.range_low is None or checked.range_high is None:
        return [None, None, None]
    numbers = [checked.range_low, checked.range_high, checked.likely]
    is_of_another_metric = str(parse_measure(metric)) != checked.metric
    if is_of_another_metric:
        (estimate,) = reported(
            row.printed,
            metric,
            n_items=row.n_items,
            n_negatives=row.n_negatives,
            n_users=row.n_users,
            runs=row.runs,
            sampling=str(row.sampling),
        )
        numbers = [estimate.range_low, estimate.range_high, estimate.likely]
    return [number if number is None else round(number, _DIGITS) for number in numbers]


def _remark(row: PrintedRow, has_no_range: bool, standing: str | None) -> str:
    """Return why there is no range, or that a measured value lies outside of it, and the cause.

    The atlas does not judge contradictions in other people's tables.
    """
    if row.sampling is None:
        return f"No range: negatives drawn {_BY_POPULARITY}."
    if has_no_range:
        text = "No range: the numbers do not fit what the atlas assumes."
    elif standing == OUTSIDE:
        text = "The measured value lies outside of the range, by more than its sampling error."
    else:
        return ""
    cause = row.details.get("cause", "")
    if cause:
        text += f" In the source: {cause}."
    return text


def _address_of(row: PrintedRow) -> str:
    """Return the name of a row in the address of the page: source, data set and model."""
    parts = (row.source, row.data_set, row.model)
    return ".".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)
