"""Tables 1-4 as grids of cells, ours beside the published value with its verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.report.page.pictures import download
from sampled_metrics.study.labels import COLUMNS
from sampled_metrics.study.printed import ACROSS, CAPTIONS, LINES
from sampled_metrics.study.unrounded import KEY

TABLES = (1, 2, 3, 4)
TABLES_OF_DATA = (3, 4)
_OF_CARD = ("published", "published_std", "difference", "tolerance", "verdict", "note")
UNPUBLISHED = "not published"


def read_tables(folder: Path, numbers: Sequence[int]) -> dict[int, pd.DataFrame]:
    """Read our tables as printed; text, by number."""
    return {
        number: read_table(folder / f"table{number}.csv", COLUMNS, dtype=str, keep_default_na=False)
        for number in numbers
    }


def exact_metrics(path: Path) -> dict[str, Any]:
    """Lay the exact metrics out by tie policy: `heads`, `lines` of texts in percent and `csv`."""
    table = read_table(path, ["recommender", "metric", "ties", "value"])
    keys = ["recommender", "ties"]
    wide = table.set_index([*keys, "metric"])["value"].unstack(sort=False).reset_index()
    return {
        "heads": [str(name) for name in wide.columns],
        "lines": [
            [*(str(row[name]) for name in keys), *(f"{row[m]:.2f}" for m in wide.columns[2:])]
            for row in wide.to_dict("records")
        ],
        "csv": download(path),
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
    cells, none = {}, dict.fromkeys(_OF_CARD, "")
    if card is not None:
        of_table = card[card["table"] == str(number)].to_dict("records")
        cells, none = {_key(row): _cell(row) for row in of_table}, none | {"verdict": UNPUBLISHED}
    printed = {}
    for row in table.to_dict("records"):
        found = cells.pop(_key(row), none)
        printed[_key(row)] = found | {"ours": row["value"], "ours_std": row["std"]}
    printed |= cells
    keyed = [(dict(zip(KEY[1:], key[1:], strict=True)), cell) for key, cell in printed.items()]
    across = list(dict.fromkeys(names[ACROSS[number]] for names, _ in keyed))
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for names, cell in keyed:
        line = tuple(names[column] for column in LINES[number])
        lines.setdefault(line, {})[names[ACROSS[number]]] = cell
    heads = ["pair" if number == 4 and name == "row" else name for name in LINES[number]]
    return {
        "number": number,
        "caption": CAPTIONS[number],
        "heads": ["recommender" if name == "row" else name for name in heads],
        "across": across,
        "lines": [
            {"names": line, "cells": [found.get(name) for name in across]}
            for line, found in lines.items()
        ],
    }


def _key(row: dict[Any, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _cell(row: dict[Any, Any]) -> dict[str, str]:
    return {name: row[name] for name in ("ours", "ours_std", *_OF_CARD)}
