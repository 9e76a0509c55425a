"""Tables 1-4 as grids of cells, ours beside the published value with its verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.report import exact
from sampled_metrics.report.printed import ACROSS, CAPTIONS, LINES, heads
from sampled_metrics.study.cells import KEY

UNPUBLISHED = "not published"
_OF_CARD = ("published", "published_std", "difference", "tolerance", "verdict", "note")


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table as text."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


def exact_metrics(path: Path) -> dict[str, Any]:
    """Lay the exact metrics out by tie policy: `heads`, and `lines` of texts in percent."""
    wide = exact.by_metric(read_table(path, exact.COLUMNS, exact.COLUMNS[:-1]))
    percent = wide.iloc[:, 2:].map("{:.2f}".format)
    return {
        "heads": list(wide.columns),
        "lines": wide.iloc[:, :2].astype(str).join(percent).to_numpy().tolist(),
    }


def laid_out(number: int, table: pd.DataFrame, card: pd.DataFrame | None) -> dict[str, Any]:
    """Lay a table out as in the paper.

    Parameters
    ----------
    number
        From 1 to 4.
    table
        Our cells as printed, columns of the published file.
    card
        The scorecard as text; cells that only it holds come last. None where nothing was
        published to compare with: no cell has a verdict then.

    Returns
    -------
    `number`, `caption`, `heads` (names of the leading columns), `across` (names of the others) and
    `lines`, each with its leading `names` and its `cells`: dictionaries of texts, or None.
    """
    ours = table.rename(columns={"value": "ours", "std": "ours_std"})
    if card is None:
        cells = ours.assign(**dict.fromkeys(_OF_CARD, ""))
    else:
        of_table = card.loc[card["table"] == str(number), [*KEY, *_OF_CARD]]
        keys = pd.concat([ours[KEY], of_table[KEY]]).drop_duplicates()
        cells = keys.merge(ours, on=KEY, how="left").merge(of_table, on=KEY, how="left")
        cells = cells.fillna({"verdict": UNPUBLISHED}).fillna("")
    across = list(dict.fromkeys(cells[ACROSS[number]]))
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for cell in cells.to_dict("records"):
        line = tuple(cell[column] for column in LINES[number])
        lines.setdefault(line, {})[cell[ACROSS[number]]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "heads": list(heads(number).values()),
        "across": across,
        "lines": [
            {"names": line, "cells": [by_column.get(name) for name in across]}
            for line, by_column in lines.items()
        ],
    }
