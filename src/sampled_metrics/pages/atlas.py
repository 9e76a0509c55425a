"""The atlas: one page of published sampled metrics and what each allows over all items."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics.inference.check import Checked, Checks
from sampled_metrics.inference.consistency import OUTSIDE
from sampled_metrics.inference.printed import PrintedRow
from sampled_metrics.inference.ranges import Range
from sampled_metrics.inference.reported import reported
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages import render

SHOWN = ("HR@10", "NDCG@10", "HR@5", "NDCG@5")  # the first of them that a row has is drawn
SCRIPTS = ("base", "paper", "take", "atlas")
STYLES = ("page", "atlas")
_DIGITS = 5
_BY_POPULARITY = "by popularity"
# Columns of a row in the numbers of the page; those of SHARED are places in lists of texts.
SHARED = ("paper", "data", "note", "way")
COLUMNS = (
    *("id", "model", "metric", "value", "low", "high", "measured", "standing"),
    *("n", "m", "users", "runs", "printed", "exact", "remark"),
    *SHARED,
)


def atlas(rows: Sequence[PrintedRow], checks: Checks, start: str = "") -> str:
    """Return the page of rows of published tables and their checks, which loads no other file.

    Each row shows the first metric of `SHOWN` that it has, with the range of the same metric over
    all items, if it was checked. `start` names the row to begin with, as in the address.
    """
    texts: dict[str, list[str]] = {name: [] for name in SHARED}
    places: dict[tuple[str, str], int] = {}
    names: Counter[str] = Counter()
    table = []
    for row, checked in zip(rows, checks, strict=True):
        shown = _shown(row, checked)
        shown["id"] = _slug(row, names)
        for name, text in _shared(row).items():
            if (name, text) not in places:
                places[name, text] = len(texts[name])
                texts[name].append(text)
            shown[name] = places[name, text]
        table.append([shown[name] for name in COLUMNS])
    begin = 0
    if start:
        begin = [cells[COLUMNS.index("id")] for cells in table].index(start)
    content = {
        "n_rows": len(table),
        "n_sources": len({row.source for row in rows}),
        "data_sets": sorted(set(texts["data"])),
        "numbers": {
            "columns": COLUMNS,
            "rows": table,
            "texts": texts,
            "start": begin,
        },
    }
    return render(content, "atlas.html", SCRIPTS, STYLES)


def _shown(row: PrintedRow, checked: Checked) -> dict[str, Any]:
    """Numbers of one row, by the names of their columns."""
    metric = next((name for name in SHOWN if name in row.printed), next(iter(row.printed)))
    range_of = _range_of(metric, row, checked)
    low = high = measured = standing = None
    if range_of is not None:
        low = round(range_of.low, _DIGITS)
        high = round(range_of.high, _DIGITS)
    for placed in checked.placed:
        if placed.metric == metric:
            standing = placed.standing
    if metric in row.exact:
        measured = float(row.exact[metric])
    return {
        "model": row.model,
        "metric": metric,
        "value": row.printed[metric],
        "low": low,
        "high": high,
        "measured": measured,
        "standing": standing,
        "n": row.n_items,
        "m": row.n_negatives,
        "users": row.n_users,
        "runs": row.runs,
        "printed": checked.printed,
        "exact": checked.exact,
        "remark": _remark(row, range_of is None, standing),
    }


def _range_of(metric: str, row: PrintedRow, checked: Checked) -> Range | None:
    """Range of a metric over all items; None if the row has none."""
    if checked.range_low is None or checked.range_high is None:
        return None
    if str(parse_measure(metric)) == checked.metric:
        return Range(checked.range_low, checked.range_high)
    (found,) = reported(
        row.printed,
        metric,
        n_items=row.n_items,
        n_negatives=row.n_negatives,
        n_users=row.n_users,
        runs=row.runs,
        sampling=str(row.sampling),
    )
    return Range(found.range_low, found.range_high)


def _remark(row: PrintedRow, has_no_range: bool, standing: str | None) -> str:
    """Say why there is no range, or that a measured value lies outside, and what the source says.

    What does not go together in other people's tables is not judged here.
    """
    if row.sampling is None:
        return f"No range: negatives drawn {_BY_POPULARITY}."
    if has_no_range:
        text = "No range: the numbers do not fit what the atlas assumes."
    elif standing == OUTSIDE:
        text = "The measured value lies outside of the range, by more than its sampling error."
    else:
        return ""
    cause = row.about.get("cause", "")
    if cause:
        text += f" In the source: {cause}."
    return text


def _shared(row: PrintedRow) -> Mapping[str, str]:
    """Texts that many rows have, by the names of their columns."""
    about = row.about
    paper = "\n".join(about.get(name, "") for name in ("paper", "year", "source"))
    return {
        "paper": f"{row.source}\n{paper}",
        "data": row.data_set,
        "note": about.get("note", ""),
        "way": row.sampling or _BY_POPULARITY,
    }


def _slug(row: PrintedRow, names: Counter[str]) -> str:
    """Name a row in the address: source, data set and model, and a number if that is not enough."""
    parts = (row.source, row.data_set, row.model)
    slug = ".".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)
    names[slug] += 1
    if names[slug] == 1:
        return slug
    return f"{slug}.{names[slug]}"
