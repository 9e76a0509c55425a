"""Collect the content of the page of a study from the files of a run."""

import base64
import gzip
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics import __version__
from sampled_metrics._base.arrays import keep_apart
from sampled_metrics._base.text import join_names
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.compare import Compared, compare
from sampled_metrics.pages.bars import range_bars
from sampled_metrics.pages.leaderboard import build_board
from sampled_metrics.pages.lens import LENS_ESTIMATORS, build_lens
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.config import FIGURES, STORED_RANKS, TABLES
from sampled_metrics_study.data.movielens import CATALOGUE
from sampled_metrics_study.exact import RANGES
from sampled_metrics_study.experiment import (
    estimator_matrix_for,
    fewest_candidates,
    read_ranks_by_name,
)
from sampled_metrics_study.files import read_json, read_table
from sampled_metrics_study.scorecard import SCORECARD, verdicts_of_numbers, z_scores
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.slope_chart import (
    describe_decisions,
    headline,
    shares_of_range,
)
from sampled_metrics_study.tables import (
    ACROSS,
    CAPTIONS,
    COUNTS,
    EXPECTED,
    KEY,
    LINES,
    PAPER,
    PREDICTED_RANKS,
    PRINTED_COLUMNS,
    SAMPLED,
    column_titles,
    read_texts,
    rows_by_value,
    std_of,
)
from sampled_metrics_study.verdicts import NOT_COMPARABLE, VERDICT_PHRASES, VERDICTS, verdict_line

ORDER_COLUMNS = (SAMPLED, "BV 0.1")  # columns of the table of orders
FIGURE_6_COLUMNS = ("kind", "recommender", "estimator", "n_negatives")
LENS_METRICS = 4  # the first metrics of the study, which the lens shows
SHOWN_SIZES = {10, 100, 1000}  # numbers of negatives for which the page shows ranges
PAPERS_RECOMMENDERS = {"X": "ALS 16 (X)", "Y": "item-kNN, all (Y)", "Z": "item-kNN, 10 (Z)"}
_CARD_COLUMNS = {  # of the scorecard, by their names in templates
    **{name: name for name in ("id", "difference", "tolerance", "z", "verdict", "note")},
    **{f"std {name}": f"std_{name}" for name in ("difference", "tolerance", "verdict")},
}
_SHOWN_COLUMNS = {  # of the file of a table, by their names in templates
    EXPECTED: "ours",
    std_of(EXPECTED): "ours_std",
    PAPER: "published",
    std_of(PAPER): "published_std",
}
PACKAGES = ("numpy", "scipy", "implicit", "pandas", "pyarrow", "snakemake", "matplotlib")
_KIND_TITLES = {"als": "matrix factorisation", "itemknn": "item-kNN"}
SETTINGS_OF_TABLES = {1: "", 2: "toy", 3: "experiment", 4: "experiment"}
NAMED_READINGS = 3  # of a choice; more are counted
SLOPE_ROW = 2.1  # rem; height of a label of the first picture
SLOPE_HEIGHT = 13.0  # rem; height of the first picture, if its labels fit


def collect(
    results: Path,
    *,
    ranks: Sequence[Path],
    config: Mapping[str, Any],
    is_paper: bool = False,
    audit: Path | None = None,
    stored: Sequence[Path] = (),
) -> dict[str, Any]:
    """Read the folder of a run; return the content of the page for its templates.

    A function for each section of the page collects its part of the content; docstrings name the
    keys.

    Parameters
    ----------
    results
        Folder of the run.
    ranks
        Files of ranks, one for each recommender of the study.
    config
        The configuration.
    is_paper
        Whether the data is the paper's. Otherwise the page has only Tables 3 and 4 and Figures 5
        and 6, and neither scorecard nor audit.
    audit
        Table of readings of the paper.
    stored
        Files of ranks of further recommenders, which are on the leaderboard if they ranked the same
        users among the same candidates.

    Returns
    -------
    dict
        The keys of all sections; `lens`, the content of the section Lens, see `build_lens`;
        `board`, that of the Leaderboard, None if it cannot be made, see `build_board`; `numbers`,
        the data of both for the scripts of the page; `is_paper`; and `links`, names and addresses
        of the project's pages.
    """
    ranks_by_name = read_ranks_by_name(ranks)
    names = list(ranks_by_name)
    settings = ExperimentSettings(**config.get("experiment", {}))
    curves = read_table(results / "figures/figure6.csv", FIGURE_6_COLUMNS)
    compared: list[Compared] = []
    if len(ranks_by_name) > 1:
        measures = settings.measures[:LENS_METRICS]
        compared = compare(ranks_by_name, list(map(str, measures)))
    lens = _lens_of_study(ranks_by_name, settings, _ordered_rows(curves), compared)
    board_ranks = leaderboard_ranks(ranks_by_name, stored, is_paper)
    board = build_board(board_ranks, settings.measures, settings.sampling)
    stored_names = list(board_ranks)[len(names) :] if board else []
    card = pd.DataFrame(columns=SCORECARD)
    if is_paper:
        card = read_texts(results / "scorecard.csv", SCORECARD)
    card = card.assign(id=np.array(cell_ids(card["table"]), dtype=object))
    return {
        "is_paper": is_paper,
        "links": links_of_project(),
        **_result_section(ranks_by_name, config, lens, compared),
        **_tables_section(results, is_paper, card, config),
        **_figures_section(results, is_paper, curves, lens),
        "lens": lens,
        "board": board,
        "numbers": {"lens": lens, "board": board},
        **_evidence_section(results, card, lens, audit),
        **_provenance_section(results / "provenance.json", names, stored_names),
    }


def _result_section(
    ranks_by_name: Mapping[str, Ranks],
    config: Mapping[str, Any],
    lens: Mapping[str, Any],
    compared: Sequence[Compared],
) -> dict[str, Any]:
    """Collect the content of the section Result.

    Keys: `who`, the recommenders with their kinds; `users`, the largest number of users; `slope`,
    texts of the first picture; and `verdict_words`, a phrase for each verdict of the scorecard.
    """
    return {
        "who": describe_recommenders(list(ranks_by_name), config),
        "users": max(map(len, ranks_by_name.values())),
        "slope": describe_slope(lens, compared),
        "verdict_words": VERDICT_PHRASES,
    }


def _tables_section(
    results: Path, is_paper: bool, card: pd.DataFrame, config: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the content of the section Tables.

    Keys: `tables`, as `table_grid` lays them out, with numbers of negatives in their captions;
    `exact`, the table of exact metrics by tie policy as a download; the keys of `counts_of_cells`;
    and `is_reproduction`, whether the data is the paper's and every published number is compared.
    """
    counts = counts_of_cells(card)
    tables = []
    for number in TABLES[is_paper]:
        table = table_grid(number, results / f"tables/table{number}.csv", card)
        settings = config.get(SETTINGS_OF_TABLES[number], {})
        if "n_negatives" in settings:
            table["caption"] += f" m = {settings['n_negatives']} negatives."
        tables.append(table)
    return {
        "tables": tables,
        "exact": embed_file(results / "tables/exact.csv"),
        "is_reproduction": is_paper and not counts["not_comparable"],
        **counts,
    }


def _figures_section(
    results: Path, is_paper: bool, curves: pd.DataFrame, lens: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the content of the section Figures; `curves` is the table of Figure 6.

    Keys: `figures`, drawings with their tables; `ordered`, the rows of `ordered_pairs`; and `grid`,
    the smallest and the largest number of negatives in Figure 6, `min` and `max`.
    """
    grid = curves.loc[curves["kind"] == "curve", "n_negatives"].agg(["min", "max"]).to_dict()
    return {
        "figures": [read_figure(results / "figures" / name) for name in FIGURES[is_paper]],
        "ordered": ordered_pairs(_ordered_rows(curves), grid["min"], lens),
        "grid": grid,
    }


def _evidence_section(
    results: Path, card: pd.DataFrame, lens: Mapping[str, Any], audit: Path | None
) -> dict[str, Any]:
    """Collect the content of the section Evidence.

    Keys: `ranges`, bars of ranges by number of negatives; `scores`, the figure of z-scores, None
    unless a cell of the scorecard is exact; `audit`, the rows of `agreeing_readings`; and
    `audit_file`, all readings as a download.
    """
    has_exact_cell = bool((card["verdict"] == "exact").any())
    return {
        "ranges": _ranges_by_size(results / "ranges.csv", lens),
        "scores": read_figure(results / "figures/z") if has_exact_cell else None,
        "audit": agreeing_readings(audit) if audit else [],
        "audit_file": embed_file(audit) if audit else None,
    }


def _provenance_section(
    path: Path, names: Sequence[str], stored_names: Sequence[str]
) -> dict[str, Any]:
    """Collect the content of the part Provenance from `provenance.json`.

    Keys: `origin`, the content of the file; `run`, the provenance of the run that made the ranks,
    which is `origin` itself unless the ranks are stored; `version`, of sampled-metrics in that run;
    `dataset`, its title; `data_note`, see `describe_data`; `facts`, all entries of the file as
    names and values; `provenance_file`, the file as a download; `trained`, the subject and verb of
    a sentence on the recommenders of the study; and `stored`, a sentence on the others.
    """
    origin = read_json(path)
    run = origin.get("provenance", origin)
    return {
        "origin": origin,
        "run": run,
        "version": run["versions"]["sampled-metrics"],
        "dataset": title_of_dataset(run),
        "data_note": describe_data(run),
        "facts": list(pd.json_normalize(origin, sep=": ").iloc[0].items()),
        "provenance_file": embed_file(path),
        "trained": f"{join_names(names)} {'were' if len(names) > 1 else 'was'}",
        "stored": describe_stored(stored_names),
    }


def _ordered_rows(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of Figure 6 with the fewest negatives that put a pair in its exact order."""
    return curves[curves["kind"] == "ordered"]


def _lens_of_study(
    ranks_by_name: Mapping[str, Ranks],
    settings: ExperimentSettings,
    ordered: pd.DataFrame,
    compared: Sequence[Compared],
) -> dict[str, Any]:
    """Compute the lens of a study; its sizes include those at which an order becomes right."""
    measures = settings.measures[:LENS_METRICS]
    sizes = ordered.loc[ordered["estimator"] == SAMPLED, "n_negatives"]
    matrix = estimator_matrix_for(settings)
    return build_lens(
        ranks_by_name,
        measures,
        parse_estimators(LENS_ESTIMATORS),
        min(settings.n_negatives, fewest_candidates(ranks_by_name) - 1),
        extra_sizes=sizes.astype(int).tolist(),
        estimator_vectors=lambda estimators, measures, n, m: matrix(
            estimators, measures, settings.n_items or n, m
        ),
        sampling=settings.sampling,
        compared=compared,
    )


def ordered_pairs(
    ordered: pd.DataFrame, smallest: float, study_lens: Mapping[str, Any]
) -> list[list[str]]:
    """List the number of negatives at which the order of each pair becomes right in Figure 6.

    Pairs whose order the full rankings do not decide are marked.
    """
    undecided = list(map(frozenset, study_lens["undecided"]))
    by_pair = ordered.pivot(index="recommender", columns="estimator", values="n_negatives")
    rows = []
    for pair in ordered["recommender"].unique():
        names = pair.split(" vs ")
        row = [" and ".join(names)]
        if frozenset(names) in undecided:
            row[0] += " (not decided by full rankings)"
        for estimator in ORDER_COLUMNS:
            m = by_pair.get(estimator, pd.Series(dtype=float)).get(pair, np.nan)
            at_most = "≤ " if m == smallest else ""
            row.append("-" if np.isnan(m) else f"{at_most}{m:,.0f}")
        rows.append(row)
    return rows


def _ranges_by_size(path: Path, study_lens: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the bars of ranges for the metric that the lens opens with, by number of negatives."""
    metric = study_lens["start"]["metric"]
    table = read_table(path, RANGES, keep_default_na=False)
    rows_by_size = dict(iter(table[table["metric"] == metric].groupby("n_negatives")))
    sizes = [m for m in rows_by_size if m in SHOWN_SIZES] or list(rows_by_size)[-1:]
    names = study_lens["names"]
    exact = study_lens["exact"][metric]
    return [draw_ranges(rows_by_size[m], names, exact) for m in sizes]


def draw_ranges(rows: pd.DataFrame, names: Sequence[str], exact: Sequence[float]) -> dict[str, Any]:
    """Return bars of ranges from samples of one size, and the orders that ranges decide.

    `rows` has the columns a, b, low and high. A row is the range of a if b is empty, or else the
    range of the difference b - a.
    """
    ranges = rows[rows["b"] == ""].set_index("a").loc[list(names), ["low", "high"]]
    pairs = rows[rows["b"] != ""]
    decided = []
    for a, b, low, high in pairs[["a", "b", "low", "high"]].to_numpy().tolist():
        if high < 0.0:
            decided.append(f"{a} above {b}")
        elif low > 0.0:
            decided.append(f"{b} above {a}")
    bars = range_bars(ranges.to_numpy().tolist(), exact, int(rows["n_negatives"].iloc[0]))
    return {**bars, "decided": decided, "leaning": [], "open": len(pairs) - len(decided)}


def leaderboard_ranks(
    trained: Mapping[str, Ranks], stored: Sequence[Path], is_paper: bool
) -> dict[str, Ranks]:
    """Return the ranks for the leaderboard: the ranks of the study and stored ranks that fit.

    Stored ranks fit if they have the same users and candidates. They have running numbers instead
    of user ids, so users are paired by row.
    """
    ranks_by_title = {}
    for name, ranks in trained.items():
        ranks_by_title[PAPERS_RECOMMENDERS.get(name, name) if is_paper else name] = ranks
    first = next(iter(trained.values()))
    titles = {Path(name).name: title for name, title in STORED_RANKS.items()}
    for name, ranks in read_ranks_by_name(stored).items():
        if np.array_equal(ranks.n_candidates, first.n_candidates):
            ranks_by_title[titles[name]] = ranks
    source = "by row"
    return {
        name: ranks.replace(users=np.arange(len(ranks)), source=source)
        for name, ranks in ranks_by_title.items()
    }


def table_grid(number: int, path: Path, card: pd.DataFrame) -> dict[str, Any]:
    """Lay a table of this run out as in the paper.

    Returns a dictionary with the `number`, the `caption`, the file `csv`, the `head` of the leading
    column, `across` (the heads of the other columns) and `groups` of lines. A line has a cell by
    column, a dictionary of texts, or None. Its texts `ours` and `published`, and their standard
    deviations, are those of the file; the scorecard `card` has the others.
    """
    table = read_texts(path, PRINTED_COLUMNS).rename(columns=_SHOWN_COLUMNS)
    z = z_scores(card)
    z = z.assign(z=z["z"].map("{:.1f}".format).astype(str))
    judged = card.merge(z, on=KEY, how="left")
    judged = judged[[*KEY, *_CARD_COLUMNS]].rename(columns=_CARD_COLUMNS)
    cells = table.merge(judged, on=KEY, how="left")
    if len(card):
        cells = cells.fillna({"verdict": "not published"})
    cells = cells.fillna("")
    cells["verdict"] = cells["verdict"].mask(cells["std_verdict"] == "differs", "differs")
    cells["best"] = _is_best(cells, "ours", number)
    cells["best_published"] = _is_best(cells, "published", number)
    column = ACROSS[number]
    across = list(cells[column].unique())
    *leading, last = LINES[number]
    grouped: dict[str, Any] = {}
    for cell in cells.to_dict("records"):
        name = " ".join(cell[part] for part in leading)
        group = grouped.setdefault(name, {})
        line = group.setdefault(cell[last], dict.fromkeys(across))
        line[cell[column]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "csv": embed_file(path),
        "head": column_titles(number)[last],
        "given": {name: join_ranks(ranks) for name, ranks in PREDICTED_RANKS.items()}
        if number == 1
        else {},
        "across": across,
        "groups": grouped,
    }


def join_ranks(ranks: Sequence[int]) -> str:
    """Write predicted ranks as in Table 1 of the paper."""
    return ", ".join(f"{rank:,}" for rank in ranks)


def _is_best(cells: pd.DataFrame, column: str, number: int) -> "pd.Series[bool]":
    """Return whether a cell has the highest value of its metric and column, as bold in the paper.

    Counts are not compared.
    """
    values = pd.to_numeric(cells[column], errors="coerce")
    best = values.groupby([cells["metric"], cells["column"]]).transform("max")
    return (values == best) & (number != COUNTS)


def cell_ids(tables: Iterable[str]) -> list[str]:
    """Return the ids of cells on the page: their numbers within each table.

    They are short because each stands in the page up to three times.

    Examples
    --------
    >>> cell_ids(["1", "1", "2"])
    ['t1-1', 't1-2', 't2-1']
    """
    counts: Counter[str] = Counter()
    ids = []
    for table in tables:
        counts[table] += 1
        ids.append(f"t{table}-{counts[table]}")
    return ids


def squares_by_table(card: pd.DataFrame) -> dict[int, list[dict[str, str]]]:
    """Return the verdict on each compared number and the id of its cell, by table."""
    squares: dict[int, list[dict[str, str]]] = {}
    columns = ["table", "id", "verdict", "std verdict"]
    for table, cell, *verdicts in card[columns].to_numpy().tolist():
        for verdict in verdicts:
            if verdict and verdict != NOT_COMPARABLE:
                squares.setdefault(int(table), []).append({"verdict": verdict, "id": cell})
    return squares


def counts_of_cells(card: pd.DataFrame) -> dict[str, Any]:
    """Count the published numbers of a scorecard, values and standard deviations, by verdict.

    Returns a dictionary with `verdict_sentence`; `cells`, the verdicts on comparable numbers;
    `squares`, the same by table, see `squares_by_table`; `first_cells`, the id of the first cell
    whose value has a verdict; `verdicts`, how many numbers have each; how many are
    `not_comparable`; and `of_other_settings`, the reasons.
    """
    verdicts = verdicts_of_numbers(card)
    counts = Counter(verdicts)
    return {
        "verdict_sentence": verdict_line(counts) if verdicts else "",
        "cells": [verdict for verdict in verdicts if verdict != NOT_COMPARABLE],
        "verdicts": {verdict: counts[verdict] for verdict in VERDICTS[:-1]},
        "squares": squares_by_table(card),
        "first_cells": card.drop_duplicates("verdict").set_index("verdict")["id"].to_dict(),
        "not_comparable": counts[NOT_COMPARABLE],
        "of_other_settings": count_other_settings(card),
    }


def count_other_settings(card: pd.DataFrame) -> list[tuple[str, int]]:
    """List the reasons why published numbers are not compared, with how many each concerns."""
    columns = ["verdict", "std verdict"]
    verdicts = card.melt("note", columns, value_name="judged")
    notes = verdicts.loc[verdicts["judged"] == NOT_COMPARABLE, "note"]
    counts = notes.str.split("; ").explode().value_counts(sort=False)
    return [(str(note), int(number)) for note, number in counts.items()]


def describe_slope(lens: Mapping[str, Any], compared: Sequence[Compared]) -> dict[str, Any]:
    """Return what the first picture needs.

    Keys: its `headline`; a sentence on decided orders, `verdict`; its `height` in rem; and `sides`,
    what `slope_side` returns for the sampled and for the exact values.
    """
    start = lens["start"]
    view = lens["views"][f"{start['metric']} {start['estimator']} {start['m']}"]
    by_sampled, by_exact = (
        [lens["names"][place] for place, _ in best_first]
        for best_first in (view["read"], lens["truth"][start["metric"]])
    )
    verdict = describe_decisions(pair for pair in compared if pair.metric == start["metric"])
    height = max(SLOPE_HEIGHT, SLOPE_ROW * len(lens["names"]))
    sides = [slope_side(side, height) for side in (view["read"], lens["truth"][start["metric"]])]
    return {
        "headline": headline(by_sampled, by_exact, start["m"]),
        "verdict": verdict,
        "height": height,
        "sides": sides,
    }


def slope_side(best_first: Sequence[tuple[int, str]], height: float) -> list[tuple[float, float]]:
    """Place the values of one side of the first picture, for each recommender by its number.

    Values are drawn to scale, from the lowest to the highest, as in the slope chart of the README.
    Labels are at the values, or moved so that they do not overlap.

    Parameters
    ----------
    best_first
        Numbers of recommenders and their values in percent, as texts.
    height
        Of the picture, in rem.

    Returns
    -------
    list of (float, float)
        Positions of the value and of its label, in percent of the height from the top.
    """
    text_of_recommender = dict(best_first)
    values = [
        float(text_of_recommender[number].removesuffix("\xa0%"))
        for number in range(len(text_of_recommender))
    ]
    row = SLOPE_ROW / height
    if max(values) > min(values):
        places = row / 2 + (1 - row) * shares_of_range(pd.Series(values)).to_numpy()
    else:
        places = np.full(len(values), 0.5)  # in the middle
    labels = keep_apart(places, row)
    return [
        (round(100 * (1 - place), 2), round(100 * (1 - label), 2))
        for place, label in zip(places.tolist(), labels.tolist(), strict=True)
    ]


def describe_stored(names: Sequence[str]) -> str:
    """Return a sentence: which recommenders of the leaderboard were not trained in this run.

    Examples
    --------
    >>> print(describe_stored(["ALS 32", "BPR"]))
    Not trained in this run: ALS 32 and BPR, whose ranks are stored.
    """
    if not names:
        return ""
    text = f"Not trained in this run: {join_names(names)}, whose ranks are stored"
    if any("NCF" in name for name in names):
        text += "; NCF has the weights that its authors published"
    return f"{text}."


def links_of_project() -> list[tuple[str, str]]:
    """Return names and addresses of the project's pages from the metadata of the package."""
    try:
        entries = metadata("sampled-metrics").get_all("Project-URL") or []
    except PackageNotFoundError:
        entries = []
    pairs = (entry.partition(",") for entry in entries)
    return [(name.strip(), address.strip()) for name, _, address in pairs]


def agreeing_readings(path: Path) -> list[tuple[str, str]]:
    """List the choices that the paper leaves open, and the readings that agree in all rows.

    Of many that agree, only the number is given; the embedded file names them.
    """
    table = read_texts(path, ["topic", "reading", "quantity", "value", "published", "reproduces"])
    lines = []
    for topic, rows in rows_by_value(table, "topic"):
        is_same = rows["reproduces"] == "yes"
        agrees = is_same.groupby(rows["reading"], sort=False).all()
        agreeing = agrees.index[agrees]
        words = "; ".join(name.replace(";", ",") for name in agreeing) or "no reading in all rows"
        if len(agreeing) > NAMED_READINGS:
            words = f"{len(agreeing)} of {len(agrees)} readings, all named in the file"
        lines.append((str(topic), words))
    return lines


def read_figure(stem: Path) -> dict[str, Any]:
    """Read a figure; return its `id`, its drawing `svg` and its table `csv` as a download."""
    return {
        "id": stem.name,
        "svg": inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{stem.name}-"),
        "csv": embed_file(stem.with_suffix(".csv")),
    }


def embed_file(path: Path) -> dict[str, str]:
    """Return a file to embed: its `name`, and `packed`, its content in gzip and base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Prepare an SVG file for embedding: remove prolog, comments and size, and prefix its ids.

    The font, which all texts share, is set once for the whole drawing. Rotations by 0 and
    offsets of 0 are removed, so that the page stays small.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(width|height)="[^"]*"', "", text, count=2)  # for the whole picture
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r"font-family:'DejaVu Sans'[^;\"]*;?", "", text)
    text = re.sub(r'\stransform="rotate\(-0 [^"]*"|stroke-dashoffset:0;', "", text)
    font = 'font-family="DejaVu Sans, Verdana, sans-serif"'
    return text.replace("<svg", f'<svg aria-hidden="true" {font}', 1).strip()


def provenance(ranks: str, origin: Sequence[Path], identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `provenance.json`: data, settings, versions and machine of a run.

    `origin` has the records of earlier steps, or of the run that made the ranks.
    """
    versions = {name: version(name) for name in PACKAGES}
    # `version` does not know sampled-metrics if the workflow runs its checkout without installing
    # it.
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


def describe_recommenders(names: Sequence[str], config: Mapping[str, Any]) -> str:
    """List the recommenders with their kinds."""
    kinds = [
        f"{entry['name']} ({_describe_kind(entry)})" for entry in config.get("recommenders", [])
    ]
    return join_names(kinds or names)


def _describe_kind(entry: Mapping[str, Any]) -> str:
    """Name the kind of a recommender, and how many neighbours an item-kNN sums over."""
    kind: str = _KIND_TITLES.get(entry["kind"], entry["kind"])
    settings = entry.get("settings") or {}
    if "k_prime" not in settings:
        return kind
    if settings["k_prime"] is None:
        return f"{kind} with all neighbours"
    return f"{kind} with {settings['k_prime']} neighbours"


def title_of_dataset(run: Mapping[str, Any]) -> str:
    """Return the title of the dataset in the provenance of a run; empty if it is unknown."""
    name: str = run.get("source", {}).get("dataset", "")
    if name in CATALOGUE:
        return CATALOGUE[name].title
    return name


def describe_data(run: Mapping[str, Any]) -> str:
    """Return a sentence if the data of a run is not the published file; or else an empty text.

    It is about the ratings, or about the archive if that alone is known to be another one.

    Examples
    --------
    >>> describe_data({"source": {"dataset": "ml-1m", "ratings_is_official": False}})
    'The ratings are not the official file of MovieLens 1M.'
    """
    source = run.get("source", {})
    is_official = source.get("ratings_is_official")
    is_other = "ratings_is_official" in source and not is_official
    if not is_other or (is_official is None and source.get("archive_is_official") is not False):
        return ""
    what = "archive is" if is_official is None else "ratings are"
    text = f"The {what} not the official file of {title_of_dataset(run)}"
    if run.get("split", {}).get("as_expected"):
        text += ", which has as many users, items and interactions"
    return f"{text}."
