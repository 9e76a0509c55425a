"""Tables on the page of a study, each cell of this run beside the print."""

from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics.study.cells import COLUMNS, KEY, read_texts
from sampled_metrics.study.embedded import download
from sampled_metrics.study.printed import ACROSS, CAPTIONS, LINES, groups, heads
from sampled_metrics.study.scorecard import NOT_COMPARABLE, VERDICTS, z_scores

_OF_CARD = ["ours", "ours_std", "published", "published_std", "difference", "tolerance", "z"]


def table_grid(number: int, path: Path, card: pd.DataFrame) -> dict[str, Any]:
    """Lay a table of this run out as in the paper.

    Returns `number`, `caption`, its file `csv`, `head` of the leading column, `across` (those of
    the others) and `groups` of lines of cells by column, dictionaries of texts or None. The text
    shown is `ours`: of the scorecard, an expectation, or where that has none of this run.
    """
    table = read_texts(path, COLUMNS)
    z = z_scores(card)
    z = z.assign(z=z["z"].map("{:.1f}".format).astype(str))
    judged = card.merge(z, on=KEY, how="left")
    wanted = [*KEY, *_OF_CARD, "verdict", "note"]
    cells = table.merge(judged[wanted], on=KEY, how="left")
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
        name = " ".join(cell[part] for part in leading)
        group = grouped.setdefault(name, {})
        line = group.setdefault(cell[last], dict.fromkeys(across))
        line[cell[column]] = cell
    return {
        "number": number,
        "caption": f"Table {number}. {CAPTIONS[number]}",
        "csv": download(path),
        "head": heads(number)[last],
        "across": across,
        "groups": grouped,
    }


def counts_of_cells(card: pd.DataFrame) -> dict[str, Any]:
    """Count the published cells of a scorecard by verdict.

    Returns `cells`, the verdicts of those that can be compared; how many have each of the
    `verdicts`; the `kinds_of_exact`; how many are `not_comparable`, and `of_other_settings`, why.
    """
    is_compared = card["verdict"] != NOT_COMPARABLE
    compared = card.loc[is_compared, "verdict"].tolist()
    kinds = card.loc[card["verdict"] == "exact", "kind"]
    return {
        "cells": compared,
        "verdicts": {verdict: compared.count(verdict) for verdict in VERDICTS[:-1]},
        "kinds_of_exact": kinds.value_counts().to_dict(),
        "not_comparable": len(card) - len(compared),
        "of_other_settings": other_settings(card),
    }


def other_settings(card: pd.DataFrame) -> list[tuple[str, int]]:
    """List what keeps published cells from being compared, each with their number."""
    notes = card.loc[card["verdict"] == NOT_COMPARABLE, "note"]
    counts = notes.str.split("; ").explode().value_counts(sort=False)
    return [(str(note), int(number)) for note, number in counts.items()]


def readings(path: Path) -> list[tuple[str, list[str], list[list[str]]]]:
    """Topics, the readings that agree with the paper in all rows, and the lines of all readings."""
    columns = ["reading", "quantity", "value", "published", "reproduces"]
    table = read_texts(path, ["topic", *columns])
    values = table["value"].astype(float)
    table["value"] = [f"{value:.3f}".removesuffix(".000") for value in values]
    found = []
    for topic, rows in groups(table, "topic"):
        is_same = rows["reproduces"] == "yes"
        agrees = is_same.groupby(rows["reading"], sort=False).all()
        lines = rows[columns].to_numpy().tolist()
        found.append((topic, list(agrees.index[agrees]), lines))
    return found
