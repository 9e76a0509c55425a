"""The page of a study: all its contents, from the files of a run, in one dictionary."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.files import read_json, read_table
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.pages.leaderboard import board_of
from sampled_metrics.pages.lens import ESTIMATORS, lens
from sampled_metrics.pages.words import range_bars
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.against_samples import CURVES, RANGES
from sampled_metrics.study.cells import SAMPLED, read_texts
from sampled_metrics.study.config import FIGURES, TABLES
from sampled_metrics.study.embedded import download, picture
from sampled_metrics.study.leaderboards import contenders
from sampled_metrics.study.provenance import settings_in_words, title_of_dataset, who_ranked
from sampled_metrics.study.reading import fewest_candidates, read_by_name
from sampled_metrics.study.scorecard import SCORECARD
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.table_grids import counts_of_cells, readings, table_grid
from sampled_metrics.study.tables import matrix_of

LABELS_OF_ORDERS = (SAMPLED, "BV 0.1")  # columns of the table of orders
SHOWN = {10, 100, 1000}  # negatives of the ranges that are shown


def collect(
    results: Path,
    *,
    ranks: Sequence[Path],
    config: Mapping[str, Any],
    is_paper: bool = False,
    audit: Path | None = None,
    kept: Sequence[Path] = (),
) -> dict[str, Any]:
    """Read the folder of a run; return the texts, numbers, lists and dictionaries of the page.

    Where the data is not the paper's (`is_paper`), there are only Tables 3 and 4 and Figures 5 and
    6, and no scorecard and `audit`. Recommenders whose ranks are `kept` stand on the leaderboard,
    if they ranked the same users among the same candidates.
    """
    users = read_by_name(ranks)
    settings = ExperimentSettings(**config.get("experiment", {}))
    curves = read_table(results / "figures/figure6.csv", CURVES)
    ordered = curves[curves["kind"] == "ordered"]
    shown = _lens(users, settings, ordered)
    all_users = contenders(users, kept, is_paper)
    board = board_of(all_users, settings.measures, settings.sampling)
    card = pd.DataFrame(columns=SCORECARD)
    if is_paper:
        card = read_texts(results / "scorecard.csv", SCORECARD)
    cells = counts_of_cells(card)
    grid = curves.loc[curves["kind"] == "curve", "n_negatives"].agg(["min", "max"]).to_dict()
    origin = read_json(results / "provenance.json")
    run = origin.get("provenance", origin)
    figures = results / "figures"
    return {
        "version": run["versions"]["sampled-metrics"],
        "who": who_ranked(list(users), config),
        "dataset": title_of_dataset(run),
        "users": max(map(len, users.values())),
        "lens": shown,
        "board": board,
        "numbers": {"lens": shown, "board": board},
        "ordered": ordered_pairs(ordered, grid["min"], shown),
        "grid": grid,
        "ranges": _ranges(results / "ranges.csv", shown),
        "is_paper": is_paper,
        "is_reproduction": is_paper and not cells["not_comparable"],
        **cells,
        "tables": [table_grid(n, results / f"tables/table{n}.csv", card) for n in TABLES[is_paper]],
        "scores": picture(figures / "z") if "exact" in cells["cells"] else None,
        "exact": download(results / "tables/exact.csv"),
        "figures": [picture(figures / name) for name in FIGURES[is_paper]],
        "audit": readings(audit) if audit else [],
        "config": settings_in_words(config),
        "origin": origin,
        "run": run,
        "facts": list(pd.json_normalize(origin, sep=": ").iloc[0].items()),
    }


def _lens(
    users: Mapping[str, Ranks], settings: ExperimentSettings, ordered: pd.DataFrame
) -> dict[str, Any]:
    """Compute the lens of a study, also for the numbers of negatives that put pairs in order."""
    measures = settings.measures[:4]
    wanted = ordered.loc[ordered["estimator"] == SAMPLED, "n_negatives"]
    matrix = matrix_of(settings)
    compared = compare(users, list(map(str, measures))) if len(users) > 1 else []
    return lens(
        users,
        measures,
        parse_estimators(ESTIMATORS),
        min(settings.n_negatives, fewest_candidates(users) - 1),
        wanted.astype(int).tolist(),
        vectors_of=lambda estimators, measures, n, m: matrix(
            estimators, measures, settings.n_items or n, m
        ),
        sampling=settings.sampling,
        compared=compared,
    )


def ordered_pairs(
    ordered: pd.DataFrame, fewest: float, shown: Mapping[str, Any]
) -> list[list[str]]:
    """List the numbers of negatives from which on Figure 6 has each pair in the right order.

    Pairs whose order full rankings do not decide are marked.
    """
    undecided = list(map(frozenset, shown["undecided"]))
    by_pair = ordered.pivot(index="recommender", columns="estimator", values="n_negatives")
    rows = []
    for pair in ordered["recommender"].unique():
        names = pair.split(" vs ")
        row = [" and ".join(names)]
        if frozenset(names) in undecided:
            row[0] += " (not decided by full rankings)"
        for estimator in LABELS_OF_ORDERS:
            m = by_pair.get(estimator, pd.Series(dtype=float)).get(pair, np.nan)
            at_most = "≤ " if m == fewest else ""
            row.append("-" if np.isnan(m) else f"{at_most}{m:,.0f}")
        rows.append(row)
    return rows


def _ranges(path: Path, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw the ranges of the metric that the lens opens with, for some numbers of negatives."""
    metric = shown["start"]["metric"]
    table = read_table(path, RANGES, keep_default_na=False)
    of_size = dict(iter(table[table["metric"] == metric].groupby("n_negatives")))
    wanted = [m for m in of_size if m in SHOWN] or list(of_size)[-1:]
    return [ranges_of(of_size[m], shown["names"], shown["exact"][metric]) for m in wanted]


def ranges_of(rows: pd.DataFrame, names: Sequence[str], exact: Sequence[float]) -> dict[str, Any]:
    """Draw ranges from samples of one size, and list the orders that those of differences decide.

    `rows` have columns a, b, low and high, b being empty where a range is of one recommender.
    """
    own = rows[rows["b"] == ""].set_index("a").loc[list(names), ["low", "high"]]
    pairs = rows[rows["b"] != ""]
    decided = []
    for a, b, low, high in pairs[["a", "b", "low", "high"]].to_numpy().tolist():
        if high < 0.0:
            decided.append(f"{a} above {b}")
        elif low > 0.0:
            decided.append(f"{b} above {a}")
    bars = range_bars(own.to_numpy().tolist(), exact, int(rows["n_negatives"].iloc[0]))
    return {**bars, "decided": decided, "leaning": [], "open": len(pairs) - len(decided)}
