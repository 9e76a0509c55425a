"""The page of a study: all its contents, from the files of a run, in one dictionary."""

import base64
import gzip
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics import __version__
from sampled_metrics._base.files import read_json, read_table
from sampled_metrics._base.text import listed
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.pages.leaderboard import board_of
from sampled_metrics.pages.lens import ESTIMATORS, lens
from sampled_metrics.pages.words import orders_by_ranges, range_bars, range_panel
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.against_samples import CURVES, RANGES
from sampled_metrics.study.cells import COLUMNS, KEY, SAMPLED, read_texts
from sampled_metrics.study.config import FIGURES, TABLES
from sampled_metrics.study.datasets.catalogue import CATALOGUE
from sampled_metrics.study.leaderboards import contenders
from sampled_metrics.study.printed import ACROSS, CAPTIONS, LINES, groups, heads
from sampled_metrics.study.reading import read_by_name
from sampled_metrics.study.scorecard import NOT_COMPARABLE, SCORECARD, VERDICTS, z_scores
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import matrix_of

_OF_CARD = ["ours", "ours_std", "published", "published_std", "difference", "tolerance", "z"]
_METHODS = {  # by method and proxy
    ("users", "all items"): "All items, for as many users as the same budget allows",
    ("budget", "popularity"): "The top of each user's list by popularity, then adaptively",
    ("budget", "als"): "The same, ordered by a small factor model",
}
_KINDS = {"als": "matrix factorisation", "itemknn": "neighbours of items"}
_OF_MACHINE = ("archive", "cache", "path")  # settings of the dataset that are not shown
LABELS_OF_ORDERS = (SAMPLED, "BV 0.1")  # columns of the table of orders
SHOWN = {10, 100, 1000}  # negatives of the ranges that are shown
PACKAGES = ("numpy", "scipy", "implicit", "pandas", "pyarrow", "snakemake", "matplotlib")
PRICE, _FEWEST = 100, 10  # scores per user; runs, with fewer of which a share says little


def provenance(ranks: str, origin: Sequence[Path], identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `provenance.json` says of a run: data, settings, versions, machine.

    `origin` are the records of earlier steps, or of the run that the ranks are from.
    """
    versions = {name: version(name) for name in PACKAGES}
    # The workflow runs the package of its checkout, which need not be installed.
    return {
        "ranks": ranks,
        **{path.stem: read_json(path) for path in origin},
        **identity,
        "versions": {
            "python": platform.python_version(),
            "sampled-metrics": __version__,
            **versions,
        },
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def collect(
    results: Path,
    *,
    ranks: Sequence[Path],
    config: Mapping[str, Any],
    is_paper: bool = False,
    audit: Path | None = None,
    orders: Path | None = None,
    kept: Sequence[Path] = (),
) -> dict[str, Any]:
    """Read the folder of a run; return the texts, numbers, lists and dictionaries of the page.

    Where the data is not the paper's (`is_paper`), there are only Tables 3 and 4 and Figures 5 and
    6, and no scorecard and `audit`. No pair of `orders`, the orders by further methods, need be of
    this run. Recommenders whose ranks are `kept` stand on the leaderboard, if they ranked the same
    users among the same candidates.
    """
    users = read_by_name(ranks)
    settings = ExperimentSettings(**config.get("experiment", {}))
    all_users = contenders(users, kept, is_paper)
    board = board_of(all_users, settings.measures, settings.sampling)
    curves = read_table(results / "figures/figure6.csv", CURVES)
    ordered = curves[curves["kind"] == "ordered"]
    sizes = curves.loc[curves["kind"] == "curve", "n_negatives"]
    wanted = ordered.loc[ordered["estimator"] == SAMPLED, "n_negatives"]
    shown = _lens(users, settings, wanted)
    card = pd.DataFrame(columns=SCORECARD)
    if is_paper:
        card = read_texts(results / "scorecard.csv", SCORECARD)
    verdicts = card["verdict"].tolist()
    compared = [verdict for verdict in verdicts if verdict != NOT_COMPARABLE]
    is_reproduction = is_paper and len(compared) == len(verdicts)
    folder = results / "figures"
    origin = read_json(results / "provenance.json")
    run = origin.get("provenance", origin)
    return {
        "version": run["versions"]["sampled-metrics"],
        "who": _who(users, config, run),
        "users": max(map(len, users.values())),
        "lens": shown,
        "board": board,
        "numbers": {"lens": shown, "board": board},
        "ordered": ordered_pairs(ordered, sizes.min(), shown),
        "grid": sizes.agg(["min", "max"]).to_dict(),
        "ranges": _ranges(results / "ranges.csv", shown),
        "price": price(orders, shown) if orders else None,
        "is_paper": is_paper,
        "is_reproduction": is_reproduction,
        "cells": compared,
        "verdicts": {verdict: compared.count(verdict) for verdict in VERDICTS[:-1]},
        "kinds_of_exact": card.loc[card["verdict"] == "exact", "kind"].value_counts().to_dict(),
        "not_comparable": len(verdicts) - len(compared),
        "of_other_settings": other_settings(card),
        "tables": [table_grid(n, results / f"tables/table{n}.csv", card) for n in TABLES[is_paper]],
        "scores": picture(folder / "z") if "exact" in compared else None,
        "exact": download(results / "tables/exact.csv"),
        "figures": [picture(folder / name) for name in FIGURES[is_paper]],
        "audit": _audit(audit) if audit else [],
        "config": _settings(config),
        "origin": origin,
        "run": run,
        "facts": list(pd.json_normalize(origin, sep=": ").iloc[0].items()),
    }


def _lens(
    users: Mapping[str, Ranks], settings: ExperimentSettings, wanted: Iterable[float]
) -> dict[str, Any]:
    """Compute the lens of a study, with some numbers of negatives that are wanted in it."""
    measures = settings.measures[:4]

    matrix = matrix_of(settings)
    compared = compare(users, list(map(str, measures))) if len(users) > 1 else []
    fewest = min(int(ranks.n_candidates.min()) for ranks in users.values())
    return lens(
        users,
        measures,
        parse_estimators(ESTIMATORS),
        min(settings.n_negatives, fewest - 1),
        [int(m) for m in wanted],
        vectors_of=lambda estimators, measures, n, m: matrix(
            estimators, measures, settings.n_items or n, m
        ),
        sampling=settings.sampling,
        compared=compared,
    )


def ordered_pairs(
    ordered: pd.DataFrame, fewest: float, shown: Mapping[str, Any]
) -> list[list[str]]:
    """List the numbers of negatives from which on Figure 6 has each pair in the right order."""
    by_pair = ordered.pivot(index="recommender", columns="estimator", values="n_negatives")
    rows = []
    for pair in ordered["recommender"].unique():
        row = [pair_in_words(pair, shown)]
        for estimator in LABELS_OF_ORDERS:
            m = by_pair.get(estimator, pd.Series(dtype=float)).get(pair, np.nan)
            at_most = "≤ " if m == fewest else ""
            row.append("-" if np.isnan(m) else f"{at_most}{m:,.0f}")
        rows.append(row)
    return rows


def _ranges(path: Path, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw the ranges of the metric that the lens opens with, for some numbers of negatives."""
    metric = shown["start"]["metric"]
    names = shown["names"]
    table = read_table(path, RANGES, keep_default_na=False)
    panel = range_panel(table.itertuples(index=False, name=None), names)
    ranges, differences = panel["metrics"][metric].values()
    sizes = panel["sizes"]
    wanted = SHOWN.intersection(sizes) or sizes[-1:]
    drawn = []
    for place, m in enumerate(sizes):
        if m in wanted:
            bars = range_bars(ranges[place], shown["exact"][metric], m)
            drawn.append({**bars, **orders_by_ranges(differences[place], names)})
    return drawn


def _who(users: Mapping[str, Ranks], config: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Name the recommenders with their kinds, and the dataset."""
    names = [
        f"{entry['name']} ({_KINDS.get(entry['kind'], entry['kind'])})"
        for entry in config.get("recommenders", [])
    ]
    who = listed(names or list(users))
    dataset = run.get("source", {}).get("dataset")
    if not dataset:
        return who
    if dataset in CATALOGUE:
        dataset = CATALOGUE[dataset].title
    return f"{who} on {dataset}"


def _settings(config: Mapping[str, Any]) -> str:
    """Write the configuration as JSON, without folders of this machine."""
    dataset = {**config.get("dataset", {})}
    for name in _OF_MACHINE:
        dataset.pop(name, None)
    return json.dumps({**config, "dataset": dataset}, indent=2, ensure_ascii=False)


def other_settings(card: pd.DataFrame) -> list[tuple[str, int]]:
    """List what keeps published cells from being compared, each with their number."""
    notes = card.loc[card["verdict"] == NOT_COMPARABLE, "note"].str.split("; ").explode()
    return [(str(note), int(number)) for note, number in notes.value_counts(sort=False).items()]


def price(path: Path, shown: Mapping[str, Any]) -> dict[str, Any] | None:
    """Share of right orders by Recall@10 that about 100 scores per user buy, by method and pair.

    That of 100 negatives is expected, as in the lens `shown`; those of other methods are counted in
    `beyond/orders.csv`. None without such runs of these pairs.
    """
    pairs = [f"{a} vs {b}" for a, b in combinations(shown["names"], 2)]
    headings = [pair_in_words(pair, shown) for pair in pairs]
    rows = []
    for estimator, label in (("sampled", "uncorrected"), ("bv:0.1", "BV 0.1")):
        view = shown["views"].get(f"recall@10 {estimator} {PRICE}", {"right": []})
        chances = [f"{100 * p:.0f} %" for *_, p in view["right"] if p is not None]
        rows.append([f"{PRICE} random items, {label}", *chances])
    columns = ("method", "proxy", "scores_per_user", "pair", "metric", "right", "runs")
    table = read_table(path, columns)
    close = (table["scores_per_user"] / PRICE - 1.0).abs() < 0.1
    table = table[close & (table["metric"] == "recall@10") & (table["runs"] >= _FEWEST)]
    for (method, proxy), name in _METHODS.items():
        of_method = table[(table["method"] == method) & (table["proxy"] == proxy)].set_index("pair")
        counts = of_method.reindex(pairs)[["right", "runs"]].dropna().to_numpy()
        rows.append([name, *(f"{right:.0f} of {runs:.0f} runs" for right, runs in counts)])
    whole = [row for row in rows if len(row) == len(pairs) + 1]
    if whole in ([], rows[:2]):
        return None
    return {"pairs": headings, "rows": whole}


def pair_in_words(pair: str, shown: Mapping[str, Any]) -> str:
    """Name a pair such as X vs Y, and say if full rankings do not decide its order."""
    words = " and ".join(pair.split(" vs "))
    if frozenset(pair.split(" vs ")) in map(frozenset, shown["undecided"]):
        words += " (not decided by full rankings)"
    return words


def table_grid(number: int, path: Path, card: pd.DataFrame) -> dict[str, Any]:
    """Lay a table of this run out as in the paper.

    Returns `number`, `caption`, its file `csv`, `head` of the leading column, `across` (those of
    the others) and `groups` of lines of cells by column, dictionaries of texts or None. The text
    shown is `ours`: of the scorecard, an expectation, or where that has none of this run.
    """
    table = read_texts(path, COLUMNS)
    z = z_scores(card)
    judged = card.merge(z.assign(z=z["z"].map("{:.1f}".format).astype(str)), on=KEY, how="left")
    cells = table.merge(judged[[*KEY, *_OF_CARD, "verdict", "note"]], on=KEY, how="left")
    if len(card):
        cells = cells.fillna({"verdict": "not published"})
    cells = cells.fillna("")
    unjudged = cells["ours"] == ""
    cells["ours"] = cells["ours"].mask(unjudged, cells["value"])
    cells["ours_std"] = cells["ours_std"].mask(unjudged, cells["std"])
    column = ACROSS[number]
    across = list(cells[column].unique())
    *leading, last = LINES[number]
    grouped: dict[str, Any] = {}
    for cell in cells.to_dict("records"):
        group = grouped.setdefault(" ".join(cell[name] for name in leading), {})
        group.setdefault(cell[last], dict.fromkeys(across))[cell[column]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "csv": download(path),
        "head": heads(number)[last],
        "across": across,
        "groups": grouped,
    }


def _audit(path: Path) -> list[tuple[str, list[str], list[list[str]]]]:
    """Topics, the readings that agree with the paper in all rows, and the lines of all readings."""
    columns = ["reading", "quantity", "value", "published", "reproduces"]
    table = read_texts(path, ["topic", *columns])
    table["value"] = [f"{float(value):.3f}".removesuffix(".000") for value in table["value"]]
    found = []
    for topic, rows in groups(table, "topic"):
        agrees = (rows["reproduces"] == "yes").groupby(rows["reading"], sort=False).all()
        found.append((topic, list(agrees.index[agrees]), rows[columns].values.tolist()))
    return found


def picture(stem: Path) -> dict[str, Any]:
    """Read a figure: `id`, `svg` and the download `csv`."""
    return {
        "id": stem.name,
        "svg": inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{stem.name}-"),
        "csv": download(stem.with_suffix(".csv")),
    }


def download(path: Path) -> dict[str, str]:
    """Return the `name` of a file that the page carries, and its content `packed`: gzip, base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Make an SVG file part of a page: no prolog, comments and size, and a prefix to its ids.

    The font that all its texts have is stated once.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(width|height)="[^"]*"', "", text, count=2)  # for the whole picture
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r"font-family:'DejaVu Sans'[^;\"]*;?", "", text)
    font = 'font-family="DejaVu Sans, Verdana, sans-serif"'
    return text.replace("<svg", f'<svg aria-hidden="true" {font}', 1).strip()
