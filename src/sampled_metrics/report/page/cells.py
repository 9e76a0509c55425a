"""Tables 1-4 as grids of cells, ours beside the published value with its verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.report import exact
from sampled_metrics.report.printed import ACROSS, CAPTIONS, LINES, heads
from sampled_metrics.report.scorecard import z_scores
from sampled_metrics.study.cells import KEY

UNPUBLISHED = "not published"
_OF_CARD = (
    *("ours", "ours_std", "published", "published_std"),
    *("difference", "tolerance", "z", "verdict", "note"),
)


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table as text."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


def exact_metrics(path: Path) -> dict[str, Any]:
    """Lay the exact metrics out by tie policy: `heads`, and `lines` of texts in percent."""
    wide = exact.by_metric(read_table(path, exact.COLUMNS, exact.COLUMNS[:-1]))
    return {
        "heads": ["recommender, ties", *wide.columns[2:]],
        "lines": [
            [f"{name}, {ties}", *map("{:.2f}".format, values)]
            for name, ties, *values in wide.itertuples(index=False)
        ],
    }


def laid_out(number: int, table: pd.DataFrame, card: pd.DataFrame | None) -> dict[str, Any]:
    """Lay a table of this run, as printed, out as in the paper.

    Cells that only the scorecard `card` holds come last; without one no cell has a verdict.

    Returns
    -------
    `number`, `caption`, `head` (name of the leading column), `across` (names of the others) and
    `groups` of lines, each with its `name`, maybe empty, and its `lines`: the `name` and the
    `cells` of each, dictionaries of texts or None. The text shown is `ours`: of the scorecard,
    which judges it, or else of this run.
    """
    cells = table.rename(columns={"value": "run", "std": "run_std"})
    if card is None:
        cells = cells.assign(**dict.fromkeys(_OF_CARD, ""))
    else:
        of_table = card[card["table"] == str(number)]
        z = z_scores(of_table)
        z["z"] = pd.Series([f"{score:.1f}" for score in z["z"]], dtype=str)
        of_table = of_table.merge(z, on=KEY, how="left")[[*KEY, *_OF_CARD]]
        keys = pd.concat([cells[KEY], of_table[KEY]]).drop_duplicates()
        cells = keys.merge(cells, on=KEY, how="left").merge(of_table, on=KEY, how="left")
        cells = cells.fillna({"verdict": UNPUBLISHED}).fillna("")
    unjudged = cells["ours"] == ""
    for ours, run in (("ours", "run"), ("ours_std", "run_std")):
        cells.loc[unjudged, ours] = cells.loc[unjudged, run]
    same = unjudged | ((cells["ours"] == cells["run"]) & (cells["run_std"] == ""))
    cells.loc[same, ["run", "run_std"]] = ""
    across = list(dict.fromkeys(cells[ACROSS[number]]))
    *leading, last = LINES[number]
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells.to_dict("records"):
        group = groups.setdefault(" ".join(cell[column] for column in leading), {})
        group.setdefault(cell[last], {})[cell[ACROSS[number]]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "head": heads(number)[last],
        "across": across,
        "groups": [
            {
                "name": group,
                "lines": [
                    {"name": name, "cells": [by_column.get(column) for column in across]}
                    for name, by_column in lines.items()
                ],
            }
            for group, lines in groups.items()
        ],
    }
