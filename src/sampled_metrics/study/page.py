"""The page of a study: all its contents, from the files of a run, in one dictionary."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_json, read_table
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.explorer import explorer, in_script, range_panel, story
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.study.audit import agrees, spelled
from sampled_metrics.study.config import ALL_FIGURES, ALL_TABLES, FIGURES_OF_DATA, TABLES_OF_DATA
from sampled_metrics.study.curves import RANGE
from sampled_metrics.study.datasets.settings import CATALOGUE
from sampled_metrics.study.printed import ACROSS, CAPTIONS, LINES, by_metric, groups, heads
from sampled_metrics.study.scorecard import COLUMNS as SCORECARD
from sampled_metrics.study.scorecard import VERDICTS, z_scores
from sampled_metrics.study.tables import COLUMNS, EXACT, KEY, PREDICTED_RANKS, SAMPLED, toy_ranks

FIGURES: dict[int | str, str] = {
    1: "Every metric against the rank of the relevant item among 10,000.",
    2: "Expected sampled metrics of the toy recommenders A, B and C against the number m of "
    "negatives.",
    3: "Expected sampled metrics against the true rank, for m = 1, 10, 100 and 1,000 of 10,000. "
    "With few negatives every metric looks like AUC.",
    4: "Corrected average precision: the estimate at every sampled rank, and its expectation at "
    "every true rank; m = 100 of 10,000. The axes are linear below 0.1 and logarithmic above.",
    5: "Users by the true rank of their held-out item, for all ranks and for the top, with ties in "
    "random order. Dotted: ties ranked last.",
    6: "Expected Recall@10 against the number of negatives, uncorrected and corrected. Rings: the "
    "smallest m that orders a pair correctly on average. Dotted: exact Recall@10.",
    "z": "Ours minus published in standard errors, for each random cell: above beside the standard "
    "normal distribution, which chance alone would give, and below by row.",
}
_ASSUMED = (
    " The tables below assume draws with replacement (binomial noise), as the paper does, so their "
    "BV and CLS differ slightly."
)
_OF_CARD = (
    *("ours", "ours_std", "published", "published_std"),
    *("difference", "tolerance", "z", "verdict", "note"),
)
# Methods and proxies of the budget panel.
_METHODS = {
    ("sampled", "uniform"): "Sampled",
    ("bv:0.1", "uniform"): "BV 0.1",
    ("users", "all items"): "All items of some users",
    ("budget", "none"): "Budget, no proxy",
    ("budget", "popularity"): "Budget, popularity",
    ("budget", "als"): "Budget, ALS-8",
}
_FEWEST = 10  # runs, with fewer of which a share of right orders says little
MOST_NAMED = 4  # recommenders in a sentence


def collect(
    results: Path,
    *,
    ranks: Sequence[Path],
    config: Mapping[str, Any],
    is_paper: bool = False,
    audit: Path | None = None,
    orders: Path | None = None,
) -> dict[str, Any]:
    """Read the folder of a run; return the texts, numbers, lists and dictionaries of the page.

    Where the data is not the paper's (`is_paper`), there are only Tables 3 and 4 and Figures 5 and
    6, and no scorecard, claims and `audit`. No pair of `orders`, the orders by further methods,
    need be of this run.
    """
    users = read_by_name(ranks)
    card = read_texts(results / "scorecard.csv", SCORECARD) if is_paper else None
    tables = {
        number: read_texts(results / f"tables/table{number}.csv", COLUMNS)
        for number in (ALL_TABLES if is_paper else TABLES_OF_DATA)
    }
    figures, exact = results / "figures", results / "tables/exact.csv"
    origin = read_json(results / "provenance.json")
    run = origin.get("provenance", origin)
    experiment = config.get("experiment", {})
    m = experiment.get("n_negatives", 100)
    kinds = [(entry["name"], entry["kind"]) for entry in config.get("recommenders", [])]
    name = run.get("source", {}).get("dataset", "")
    first = story(users, m, CATALOGUE[name].title if name in CATALOGUE else name, kinds)
    numbers = explorer(users, m, {name: toy_ranks(name) for name in PREDICTED_RANKS})
    numbers["start"]["pair"] = first["pair"]
    ranges = read_table(results / "ranges.csv", RANGE, keep_default_na=False)
    numbers["ranges"] = range_panel(ranges.itertuples(index=False, name=None), list(users))
    numbers["budget"] = budget_panel(orders, list(users)) if orders else None
    parts = ["why", "corrections", "ranges", *(["budget"] if numbers["budget"] else [])]
    evidence = ["tables", "figures", *["claims"] * is_paper, *["audit"] * bool(audit)]
    claim = ("section", "claim", "published", "ours", "verdict", "note")
    of_machine = ("archive", "cache", "path")
    dataset = {k: v for k, v in config.get("dataset", {}).items() if k not in of_machine}
    version = run["versions"]["sampled-metrics"]
    return {
        "title": "On sampled metrics for item recommendation: the study",
        "byline": "On Sampled Metrics for Item Recommendation (Krichene and Rendle, KDD 2020): "
        f"{'reproduction' if is_paper else 'another study'} with sampled-metrics {version}",
        "version": version,
        "story": first,
        "full": True,
        "parts": parts,
        "assumed": _ASSUMED,
        "sections": [*parts, "overview", *evidence, "provenance", "cite"],
        "claims": read_texts(results / "claims.csv", claim).to_dict("records") if is_paper else [],
        "origin": origin,
        "run": run,
        "facts": [list(pd.json_normalize(origin, sep=": ").iloc[0].items())],
        "verdicts": {} if card is None else card["verdict"].value_counts().to_dict(),
        "tables": [
            table_grid(number, table, card)
            | {"csv": download(results / f"tables/table{number}.csv")}
            for number, table in tables.items()
        ],
        "scores": picture("z", figures) if is_paper else None,
        "exact": exact_metrics(exact) | {"csv": download(exact)},
        "figures": [picture(n, figures) for n in (ALL_FIGURES if is_paper else FIGURES_OF_DATA)],
        "audit": _audit(audit) if audit else [],
        "audit_of_reference": audit is not None and "reference" in audit.parts,
        "explorer": numbers,
        "config": json.dumps({**config, "dataset": dataset}, indent=2, ensure_ascii=False),
        "overview": overview(tables[3], card, experiment, len(next(iter(users.values())))),
    }


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table as text."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


# Tables.


def exact_metrics(path: Path) -> dict[str, Any]:
    """Lay the exact metrics out by tie policy: `heads`, and `lines` of texts in percent."""
    names = ("recommender", "metric", "ties")
    wide = by_metric(read_table(path, (*names, "value"), names))
    lines = [
        [f"{name}, {ties}", *map("{:.2f}".format, values)]
        for name, ties, *values in wide.itertuples(index=False)
    ]
    return {"heads": ["recommender, ties", *wide.columns[2:]], "lines": lines}


def table_grid(number: int, table: pd.DataFrame, card: pd.DataFrame | None) -> dict[str, Any]:
    """Lay a table of this run, as printed, out as in the paper.

    Returns `number`, `caption`, `head` of the leading column, `across` (those of the others) and
    `groups` of lines with their `cells`, dictionaries of texts or None. The text shown is `ours`:
    of the scorecard `card`, which judges it, or else of this run. A cell has no verdict without a
    scorecard.
    """
    if card is None:
        cells = table.assign(**dict.fromkeys(_OF_CARD, ""))
    else:
        z = z_scores(card)
        z["z"] = [f"{score:.1f}" for score in z["z"]]
        judged = card.merge(z, on=KEY, how="left")[[*KEY, *_OF_CARD]]
        cells = table.merge(judged, on=KEY, how="left")
        cells = cells.fillna({"verdict": "not published"}).fillna("")
    unjudged = cells["ours"] == ""
    shows_run = ~unjudged & ((cells["ours"] != cells["value"]) | (cells["std"] != ""))
    for name in ("value", "std"):
        ours = "ours" if name == "value" else "ours_std"
        cells[ours] = cells[ours].mask(unjudged, cells[name])
        cells[ours.replace("ours", "run")] = cells[name].where(shows_run, "")
    across = list(dict.fromkeys(cells[ACROSS[number]]))
    *leading, last = LINES[number]
    grouped: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells.to_dict("records"):
        group = grouped.setdefault(" ".join(cell[column] for column in leading), {})
        group.setdefault(cell[last], dict.fromkeys(across))[cell[ACROSS[number]]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "head": heads(number)[last],
        "across": across,
        "groups": [
            {"name": name, "lines": [
                {"name": line, "cells": list(by_column.values())}
                for line, by_column in lines.items()
            ]}
            for name, lines in grouped.items()
        ],
    }  # fmt: skip


def _audit(path: Path) -> list[dict[str, Any]]:
    """Readings by topic, each with its rows and whether all of them agree with the paper."""
    columns = ("topic", "reading", "quantity", "value", "published", "reproduces")
    table = read_texts(path, columns)
    table["ours"] = table["value"].astype(float).map(spelled)
    return [
        {
            "topic": topic,
            "readings": [
                {"name": name, "agrees": agrees(rows), "rows": rows.to_dict("records")}
                for name, rows in groups(readings, "reading")
            ],
        }
        for topic, readings in groups(table, "topic")
    ]


def budget_panel(path: Path, names: Sequence[str]) -> dict[str, Any] | None:
    """Read `beyond/orders.csv` and arrange it for the page.

    Returns `labels` of the metrics and `methods`: each with its `name` and its `points`, by metric
    in the scripts and by pair as places among `names`: scores per user, right orders and runs.
    Points of fewer than 10 runs are left out. None if nothing is left for pairs of `names`.
    """
    columns = ("method", "proxy", "scores_per_user", "pair", "metric", "right", "runs")
    table = read_table(path, columns)
    places = {
        f"{names[a]} vs {names[b]}": f"{min(a, b)},{max(a, b)}"
        for a, b in permutations(range(len(names)), 2)
    }
    table = table[table["pair"].isin(list(places)) & (table["runs"] >= _FEWEST)]
    methods = []
    for (method, proxy), name in _METHODS.items():
        rows = table[(table["method"] == method) & (table["proxy"] == proxy)]
        points: dict[str, dict[str, list[tuple[float, int, int]]]] = {}
        for row in rows.sort_values("scores_per_user").to_dict("records"):
            by_pair = points.setdefault(in_script(row["metric"]), {})
            point = (round(row["scores_per_user"], 1), int(row["right"]), int(row["runs"]))
            by_pair.setdefault(places[row["pair"]], []).append(point)
        if points:
            methods.append({"name": name, "points": points})
    labels = [parse_measure(metric).label for metric in table["metric"].unique()]
    return {"labels": labels, "methods": methods} if methods else None


# Figures and downloads.


def picture(key: int | str, folder: Path) -> dict[str, Any]:
    """Read a figure: `id`, `name`, `caption`, `svg` and the downloads `csv` and `pdf`."""
    name, file = (f"Figure {key}", f"figure{key}") if key != "z" else ("z scores", "z")
    stem = folder / file
    svg = inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{file}-")
    downloads = {form: download(stem.with_suffix(f".{form}")) for form in ("csv", "pdf")}
    return {"id": stem.name, "name": name, "caption": FIGURES[key], "svg": svg, **downloads}


def download(path: Path) -> dict[str, str]:
    """Return the `name` of a file that the page carries, and its content `packed`: gzip, base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Make an SVG file part of a page: without prolog, comments and size, with a prefix to its ids.

    Examples
    --------
    >>> inline_svg('<?xml?><svg width="1pt"><!-- a --><g id="b"/><use href="#b"/></svg>', "f1-")
    '<svg aria-hidden="true"><g id="f1-b"/><use href="#f1-b"/></svg>'
    """
    start = text.find("<svg")
    if start < 0:
        raise InputError("a figure is not SVG: it has no <svg>")
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[start:], flags=re.DOTALL)
    head, bracket, rest = body.partition(">")
    head = re.sub(r'\s(width|height)="[^"]*"', "", head).replace("<svg", '<svg aria-hidden="true"')
    rest = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", rest)
    return (head + bracket + rest).strip()


# The summary.


def overview(
    table: pd.DataFrame, card: pd.DataFrame | None, settings: Mapping[str, Any], users: int
) -> list[str]:
    """Summarise Table 3 (its first metric) and the scorecard in sentences."""
    m = settings.get("n_negatives", 100)
    sentences = [
        f"Does ranking the held-out item against {m} random items put recommenders in the same "
        "order as ranking it against all items, and can the sampled metric be corrected? "
        "Krichene and Rendle asked this at KDD 2020."
    ]
    for column, against in ((EXACT, "all items"), (SAMPLED, f"{m} random items")):
        rows = table[(table["column"] == column) & (table["metric"] == table["metric"].iloc[0])]
        rows = rows.sort_values("value", key=lambda v: -v.astype(float), kind="stable")
        values = (rows["row"] + " " + rows["value"] + " %").tolist()
        if len(values) > MOST_NAMED:
            values[MOST_NAMED - 1 :] = [f"{len(values) - MOST_NAMED + 1} others"]
        if values:
            about = f"{rows['metric'].iloc[0]} of {users:,} users against {against}"
            sentences.append(f"{about}: {', '.join(values)}.")
    if card is not None:
        exact, noise, explained, differs = (int((card["verdict"] == v).sum()) for v in VERDICTS)
        sentences.append(
            f"Of {len(card)} published numbers, {exact} have the same digits, {noise} differ by "
            f"what the paper's repetitions explain, {explained} rest on what it leaves open, and "
            f"{differs} differ otherwise."
        )
    return sentences
