"""The page of a study: all its contents, from the files of a run, in one dictionary."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.files import read_json, read_table
from sampled_metrics.estimators import Estimator, parse_estimators
from sampled_metrics.inference.compare import compare
from sampled_metrics.inference.results import UNDECIDED
from sampled_metrics.inputs.full import read_by_name
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.pages.lens import ESTIMATORS, lens
from sampled_metrics.pages.words import listed, range_bars, range_panel
from sampled_metrics.study import config as study
from sampled_metrics.study.curves import COLUMNS as CURVES
from sampled_metrics.study.curves import RANGE
from sampled_metrics.study.datasets.catalogue import CATALOGUE
from sampled_metrics.study.printed import ACROSS, CAPTIONS, LINES, groups, heads
from sampled_metrics.study.scorecard import COLUMNS as SCORECARD
from sampled_metrics.study.scorecard import NOT_COMPARABLE, VERDICTS, z_scores
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import COLUMNS, KEY, estimator_vectors

FIGURES: dict[int | str, str] = {
    1: "Every metric against the rank of the relevant item among 10,000.",
    2: "Expected sampled metrics of the toy recommenders against the number m of negatives.",
    3: "Expected sampled metrics against the true rank among 10,000: from few negatives like AUC.",
    4: "Corrected AP at each sampled rank, and its expectation at each true rank; m = 100.",
    5: "Users by the true rank of their held-out item, ties in random order; dotted: ranked last.",
    6: "Expected Recall@10 against m. Rings: where a pair comes into order. Dotted: exact.",
    "z": "Ours less published in standard errors, for each random cell. Cells of a row share their "
    "samples, and those of X its start, so they are not as many independent draws.",
}
_OF_CARD = ("ours", "ours_std", "published", "published_std", "difference", "tolerance", "z")
_METHODS = {  # by method and proxy
    ("users", "all items"): "All items, for as many users as the same budget allows",
    ("budget", "popularity"): "The top of each user's list by popularity, then adaptively",
    ("budget", "als"): "The same, ordered by a small factor model",
}
_KINDS = {"als": "matrix factorisation", "itemknn": "neighbours of items"}
_OF_MACHINE = ("archive", "cache", "path")  # settings of the dataset that are not shown
CLAIM = ["claim", "section", "verdict", "published", "ours", "note"]
RANGES = (10, 100, 1000)  # negatives of the ranges that are shown
PRICE, _FEWEST = 100, 10  # scores per user; runs, with fewer of which a share says little


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
    users, settings = read_by_name(ranks), ExperimentSettings(**config.get("experiment", {}))
    figures, made = results / "figures", results / "tables"
    curves = read_table(figures / "figure6.csv", CURVES)
    ordered = curves[curves["kind"] == "ordered"].to_dict("records")

    def vectors(estimators: Sequence[Estimator], of: Sequence[Measure], n: int, m: int) -> Float:
        names = {"metrics": tuple(map(str, of)), "estimators": tuple(map(str, estimators))}
        changed = settings.replaced(n_negatives=m, **names)
        return estimator_vectors(settings.n_items or n, changed)

    m = min(settings.n_negatives, min(int(r.n_candidates.min()) for r in users.values()) - 1)
    wanted = [int(row["n_negatives"]) for row in ordered if row["estimator"] == "Sampled"]
    of_all = (settings.measures[:4], parse_estimators(ESTIMATORS), m, wanted)
    compared = compare(users, list(map(str, of_all[0]))) if len(users) > 1 else []
    undecided = [(pair.metric, pair.a, pair.b) for pair in compared if pair.order == UNDECIDED]
    shown = lens(
        users, *of_all, vectors_of=vectors, sampling=settings.sampling, undecided=undecided
    )
    metric, names = shown["start"]["metric"], list(users)
    ranges = read_table(results / "ranges.csv", RANGE, keep_default_na=False)
    panel = range_panel(ranges.itertuples(index=False, name=None), names)
    sizes = [size for size in RANGES if size in panel["sizes"]] or panel["sizes"][-1:]
    card = read_texts(results / "scorecard.csv", SCORECARD) if is_paper else None
    claims = read_texts(results / "claims.csv", CLAIM)[CLAIM] if is_paper else pd.DataFrame()
    verdicts = [] if card is None else card["verdict"].tolist()
    cells = [verdict for verdict in verdicts if verdict != NOT_COMPARABLE]
    is_reproduction = is_paper and len(cells) == len(verdicts)
    what = "reproduction" if is_reproduction else "study"
    origin = read_json(results / "provenance.json")
    run = origin.get("provenance", origin)
    data = {k: v for k, v in config.get("dataset", {}).items() if k not in _OF_MACHINE}
    entries = config.get("recommenders", [])
    kinds = [f"{entry['name']} ({_KINDS.get(entry['kind'], entry['kind'])})" for entry in entries]
    name, version = run.get("source", {}).get("dataset", ""), run["versions"]["sampled-metrics"]
    title = CATALOGUE[name].title if name in CATALOGUE else name
    return {
        "title": "On sampled metrics for item recommendation: the study",
        "byline": "On Sampled Metrics for Item Recommendation (Krichene and Rendle, KDD 2020): an "
        f"independent {what} with sampled-metrics {version}",
        "version": version,
        "who": f"{listed(kinds or names)}{f' on {title}' if title else ''}",
        "users": max(map(len, users.values())),
        "lens": shown,
        "numbers": {"lens": shown},
        "ordered": ordered,
        "grid": curves[curves["kind"] == "curve"]["n_negatives"].agg(["min", "max"]).to_dict(),
        "ranges": [range_bars(panel, names, metric, m, shown["exact"][metric]) for m in sizes],
        "price": price(orders, shown) if orders else None,
        "is_paper": is_paper,
        "is_reproduction": is_reproduction,
        "cells": cells,
        "verdicts": {verdict: cells.count(verdict) for verdict in VERDICTS[:-1]},
        "not_comparable": len(verdicts) - len(cells),
        "of_other_settings": [] if card is None else other_settings(card),
        "tables": [
            table_grid(n, read_texts(made / f"table{n}.csv", COLUMNS), card)
            | {"csv": download(made / f"table{n}.csv")}
            for n in (study.ALL_TABLES if is_paper else study.TABLES_OF_DATA)
        ],
        "scores": picture("z", figures) if "exact" in cells else None,
        "exact": download(made / "exact.csv"),
        "figures": [
            picture(n, figures) for n in (study.ALL_FIGURES if is_paper else study.FIGURES_OF_DATA)
        ],
        "claims": claims.values.tolist(),
        "audit": _audit(audit) if audit else [],
        "origin": origin,
        "run": run,
        "facts": list(pd.json_normalize(origin, sep=": ").iloc[0].items()),
        "config": json.dumps({**config, "dataset": data}, indent=2, ensure_ascii=False),
    }


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table as text."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


def other_settings(card: pd.DataFrame) -> list[tuple[str, int]]:
    """List what keeps published cells from being compared, each with their number."""
    notes = card.loc[card["verdict"] == NOT_COMPARABLE, "note"].str.split("; ").explode()
    return [(str(note), int(number)) for note, number in notes.value_counts(sort=False).items()]


def orders_at_price(path: Path) -> pd.DataFrame:
    """Read how often methods order pairs by Recall@10 rightly at about 100 scores per user."""
    columns = ("method", "proxy", "scores_per_user", "pair", "metric", "right", "runs")
    table = read_table(path, columns)
    close = (table["scores_per_user"] / PRICE - 1.0).abs() < 0.1
    return table[close & (table["metric"] == "recall@10") & (table["runs"] >= _FEWEST)]


def price(path: Path, shown: Mapping[str, Any]) -> dict[str, Any] | None:
    """Share of right orders by Recall@10 that about 100 scores per user buy, by method and pair.

    That of 100 negatives is expected, as in the lens `shown`; those of other methods are counted in
    `beyond/orders.csv`. None without such runs of these pairs.
    """
    table, names = orders_at_price(path), shown["names"]
    pairs = [f"{a} vs {b}" for a, b in combinations(names, 2)]
    rows = []
    for estimator, label in (("sampled", "uncorrected"), ("bv:0.1", "BV 0.1")):
        right = shown["views"].get(f"recall@10 {estimator} {PRICE}", {"right": []})["right"]
        chances = [f"{100 * p:.0f} %" for *_, p in right if p is not None]
        rows.append([f"{PRICE} random items, {label}", *chances])
    for (method, proxy), name in _METHODS.items():
        of_method = table[(table["method"] == method) & (table["proxy"] == proxy)].set_index("pair")
        counts = of_method.reindex(pairs)[["right", "runs"]].dropna().itertuples(index=False)
        rows.append([name, *(f"{k:.0f} of {runs:.0f} runs" for k, runs in counts)])
    whole = [row for row in rows if len(row) == len(pairs) + 1]
    return {"pairs": pairs, "rows": whole} if whole and whole != rows[:2] else None


def table_grid(number: int, table: pd.DataFrame, card: pd.DataFrame | None) -> dict[str, Any]:
    """Lay a table of this run, as printed, out as in the paper.

    Returns `number`, `caption`, `head` of the leading column, `across` (those of the others) and
    `groups` of lines of cells by column, dictionaries of texts or None. The text shown is `ours`:
    of the scorecard `card`, an expectation, or where that has none of this run.
    """
    if card is None:
        cells = table.assign(**dict.fromkeys((*_OF_CARD, "verdict", "note"), ""))
    else:
        z = z_scores(card)
        z["z"] = [f"{score:.1f}" for score in z["z"]]
        judged = card.merge(z, on=KEY, how="left")[[*KEY, *_OF_CARD, "verdict", "note"]]
        cells = table.merge(judged, on=KEY, how="left")
        cells = cells.fillna({"verdict": "not published"}).fillna("")
    unjudged = cells["ours"] == ""
    for ours, name in (("ours", "value"), ("ours_std", "std")):
        cells[ours] = cells[ours].mask(unjudged, cells[name])
    across = list(dict.fromkeys(cells[ACROSS[number]]))
    *leading, last = LINES[number]
    grouped: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells.to_dict("records"):
        group = grouped.setdefault(" ".join(cell[column] for column in leading), {})
        group.setdefault(cell[last], dict.fromkeys(across))[cell[ACROSS[number]]] = cell
    caption, head = f"Table {number}. {CAPTIONS[number]}", heads(number)[last]
    shown = {"number": number, "caption": caption, "head": head}
    return shown | {"across": across, "groups": grouped}


def _audit(path: Path) -> list[tuple[str, list[str], list[list[str]]]]:
    """Topics, the readings that agree with the paper in all rows, and the lines of all readings."""
    columns = ("topic", "reading", "quantity", "value", "published", "reproduces")
    table, found = read_texts(path, columns), []
    table["value"] = [f"{float(value):.3f}".removesuffix(".000") for value in table["value"]]
    for topic, of_topic in groups(table, "topic"):
        readings = groups(of_topic, "reading")
        agreeing = [name for name, rows in readings if (rows["reproduces"] == "yes").all()]
        found.append((topic, agreeing, of_topic[[*columns[1:]]].values.tolist()))
    return found


def picture(key: int | str, folder: Path) -> dict[str, Any]:
    """Read a figure: `id`, `name`, `caption`, `svg` and the downloads `pdf` and `csv`."""
    name, file = (f"Figure {key}", f"figure{key}") if key != "z" else ("z scores", "z")
    stem = folder / file
    svg = inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{file}-")
    return {
        "id": stem.name,
        "name": name,
        "caption": FIGURES[key],
        "svg": svg,
        "pdf": download(stem.with_suffix(".pdf")),
        "csv": download(stem.with_suffix(".csv")),
    }


def download(path: Path) -> dict[str, str]:
    """Return the `name` of a file that the page carries, and its content `packed`: gzip, base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Make an SVG file part of a page: no prolog, comments and size, and a prefix to its ids."""
    text = text[text.index("<svg") :]
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, bracket, rest = body.partition(">")
    head = re.sub(r'\s(width|height)="[^"]*"', "", head).replace("<svg", '<svg aria-hidden="true"')
    rest = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", rest)
    return (head + bracket + rest).strip()
