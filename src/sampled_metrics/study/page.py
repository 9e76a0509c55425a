"""The page of a study: all its contents, from the files of a run, in one dictionary."""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
from sampled_metrics.pages.words import listed, orders_by_ranges, range_bars, range_panel
from sampled_metrics.ranks import Ranks
from sampled_metrics.study import config as study
from sampled_metrics.study.against_samples import COLUMNS as CURVES
from sampled_metrics.study.allowed import RANGE
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
    users = read_by_name(ranks)
    settings = ExperimentSettings(**config.get("experiment", {}))
    curves = read_table(results / "figures/figure6.csv", CURVES)
    ordered = curves[curves["kind"] == "ordered"]
    sizes = curves.loc[curves["kind"] == "curve", "n_negatives"]
    shown = _lens(users, settings, ordered.loc[ordered["estimator"] == "Sampled", "n_negatives"])
    card = None
    claims = pd.DataFrame()
    numbers_of_tables: Sequence[int] = study.TABLES_OF_DATA
    numbers_of_figures: Sequence[int] = study.FIGURES_OF_DATA
    if is_paper:
        card = read_texts(results / "scorecard.csv", SCORECARD)
        claims = read_texts(results / "claims.csv", CLAIM)[CLAIM]
        numbers_of_tables = study.ALL_TABLES
        numbers_of_figures = study.ALL_FIGURES
    judged = _judged(card)
    content: dict[str, Any] = {
        "lens": shown,
        "numbers": {"lens": shown},
        "ordered": ordered.to_dict("records"),
        "grid": {"min": int(sizes.min()), "max": int(sizes.max())},
        "ranges": _ranges(results / "ranges.csv", shown),
        "price": price(orders, shown) if orders else None,
        "is_paper": is_paper,
        "is_reproduction": is_paper and not judged["not_comparable"],
        "tables": [_table(n, results / f"tables/table{n}.csv", card) for n in numbers_of_tables],
        "scores": picture("z", results / "figures") if "exact" in judged["cells"] else None,
        "exact": download(results / "tables/exact.csv"),
        "figures": [picture(n, results / "figures") for n in numbers_of_figures],
        "claims": claims.values.tolist(),
        "audit": _audit(audit) if audit else [],
    }
    content.update(judged)
    origin = read_json(results / "provenance.json")
    run = origin.get("provenance", origin)
    content.update(_about(users, config, run, content["is_reproduction"]))
    content["origin"] = origin
    content["run"] = run
    content["facts"] = list(pd.json_normalize(origin, sep=": ").iloc[0].items())
    return content


def _lens(
    users: Mapping[str, Ranks], settings: ExperimentSettings, wanted: Iterable[float]
) -> dict[str, Any]:
    """Compute the lens of a study, with some numbers of negatives that are wanted in it."""
    measures = settings.measures[:4]

    def vectors(estimators: Sequence[Estimator], of: Sequence[Measure], n: int, m: int) -> Float:
        changed = settings.replaced(
            n_negatives=m,
            metrics=tuple(map(str, of)),
            estimators=tuple(map(str, estimators)),
        )
        return estimator_vectors(settings.n_items or n, changed)

    compared = compare(users, list(map(str, measures))) if len(users) > 1 else []
    fewest = min(int(ranks.n_candidates.min()) for ranks in users.values())
    return lens(
        users,
        measures,
        parse_estimators(ESTIMATORS),
        min(settings.n_negatives, fewest - 1),
        [int(m) for m in wanted],
        vectors_of=vectors,
        sampling=settings.sampling,
        undecided=[(pair.metric, pair.a, pair.b) for pair in compared if pair.order == UNDECIDED],
    )


def _ranges(path: Path, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw the ranges of the metric that the lens opens with, for some numbers of negatives."""
    metric = shown["start"]["metric"]
    names = shown["names"]
    ranges = read_table(path, RANGE, keep_default_na=False)
    panel = range_panel(ranges.itertuples(index=False, name=None), names)
    sizes = [size for size in RANGES if size in panel["sizes"]] or panel["sizes"][-1:]
    drawn = []
    for m in sizes:
        bars = range_bars(panel, metric, m, shown["exact"][metric])
        drawn.append({**bars, **orders_by_ranges(panel, names, metric, m)})
    return drawn


def _judged(card: pd.DataFrame | None) -> dict[str, Any]:
    """Verdicts of the cells that can be compared, and what keeps others from being compared."""
    verdicts = [] if card is None else card["verdict"].tolist()
    cells = [verdict for verdict in verdicts if verdict != NOT_COMPARABLE]
    return {
        "cells": cells,
        "verdicts": {verdict: cells.count(verdict) for verdict in VERDICTS[:-1]},
        "not_comparable": len(verdicts) - len(cells),
        "of_other_settings": [] if card is None else other_settings(card),
    }


def _about(
    users: Mapping[str, Ranks],
    config: Mapping[str, Any],
    run: Mapping[str, Any],
    is_reproduction: bool,
) -> dict[str, Any]:
    """Title and settings of a study, and whom it is about."""
    kinds = [
        f"{entry['name']} ({_KINDS.get(entry['kind'], entry['kind'])})"
        for entry in config.get("recommenders", [])
    ]
    dataset = run.get("source", {}).get("dataset", "")
    if dataset in CATALOGUE:
        dataset = CATALOGUE[dataset].title
    who = listed(kinds or list(users))
    if dataset:
        who = f"{who} on {dataset}"
    what = "reproduction" if is_reproduction else "study"
    version = run["versions"]["sampled-metrics"]
    shown = dict(config)
    settings = config.get("dataset", {})
    shown["dataset"] = {key: settings[key] for key in settings if key not in _OF_MACHINE}
    return {
        "title": "On sampled metrics for item recommendation: the study",
        "byline": "On Sampled Metrics for Item Recommendation (Krichene and Rendle, KDD 2020): an "
        f"independent {what} with sampled-metrics {version}",
        "version": version,
        "who": who,
        "users": max(map(len, users.values())),
        "config": json.dumps(shown, indent=2, ensure_ascii=False),
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
    pairs = [f"{a} vs {b}" for a, b in combinations(shown["names"], 2)]
    expected = []
    for estimator, label in (("sampled", "uncorrected"), ("bv:0.1", "BV 0.1")):
        right = shown["views"].get(f"recall@10 {estimator} {PRICE}", {"right": []})["right"]
        chances = [f"{100 * p:.0f} %" for *_, p in right if p is not None]
        expected.append([f"{PRICE} random items, {label}", *chances])
    counted = []
    table = orders_at_price(path)
    for (method, proxy), name in _METHODS.items():
        of_method = table[(table["method"] == method) & (table["proxy"] == proxy)].set_index("pair")
        counts = of_method.reindex(pairs)[["right", "runs"]].dropna().itertuples(index=False)
        counted.append([name, *(f"{k:.0f} of {runs:.0f} runs" for k, runs in counts)])
    whole = [row for row in (*expected, *counted) if len(row) == len(pairs) + 1]
    if not whole or whole == expected:
        return None
    return {"pairs": pairs, "rows": whole}


def _table(number: int, path: Path, card: pd.DataFrame | None) -> dict[str, Any]:
    """Lay a table of this run out as in the paper, with its file."""
    grid = table_grid(number, read_texts(path, COLUMNS), card)
    grid["csv"] = download(path)
    return grid


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
    cells["ours"] = cells["ours"].mask(unjudged, cells["value"])
    cells["ours_std"] = cells["ours_std"].mask(unjudged, cells["std"])
    column = ACROSS[number]
    across = list(dict.fromkeys(cells[column]))
    *leading, last = LINES[number]
    grouped: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells.to_dict("records"):
        group = grouped.setdefault(" ".join(cell[name] for name in leading), {})
        line = group.setdefault(cell[last], dict.fromkeys(across))
        line[cell[column]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "head": heads(number)[last],
        "across": across,
        "groups": grouped,
    }


def _audit(path: Path) -> list[tuple[str, list[str], list[list[str]]]]:
    """Topics, the readings that agree with the paper in all rows, and the lines of all readings."""
    columns = ("topic", "reading", "quantity", "value", "published", "reproduces")
    table = read_texts(path, columns)
    table["value"] = [f"{float(value):.3f}".removesuffix(".000") for value in table["value"]]
    found = []
    for topic, of_topic in groups(table, "topic"):
        readings = groups(of_topic, "reading")
        agreeing = [name for name, rows in readings if (rows["reproduces"] == "yes").all()]
        found.append((topic, agreeing, of_topic[[*columns[1:]]].values.tolist()))
    return found


def picture(key: int | str, folder: Path) -> dict[str, Any]:
    """Read a figure: `id`, `name`, `caption`, `svg` and the downloads `pdf` and `csv`."""
    name = "z scores" if key == "z" else f"Figure {key}"
    stem = folder / ("z" if key == "z" else f"figure{key}")
    svg = inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{stem.name}-")
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
