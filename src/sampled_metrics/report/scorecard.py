"""Every published cell beside ours, with a verdict that follows from stated tolerances.

Ours is the exact metric, or the expectation over sampling in closed form; no verdict depends on a
seed. `exact` cells have the printed digits. `within noise`: the published mean lies within 3 of its
standard errors plus half a unit of the last digit, the published count within all but 0.135 % of
its binomial distribution on either side. `explained`: it lies within 3 standard deviations if the
spread of what the paper leaves open is added: the initialisation of X (published and ours are one
start each) and the order of Z's ties (the published exact metric is that of one order, ours the
expectation); `study.starts` measures both. Other cells: `differs`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.cells import COUNTS, KEY, REPETITIONS, as_printed, scale_of_counts
from sampled_metrics.study.judgement import (
    KINDS,
    SIGMAS,
    Tolerance,
    of_count,
    of_mean,
    of_value,
    unit,
)

VERDICTS = ("exact", "within noise", "explained", "differs")
COLUMNS = (
    *(*KEY, "published", "published_std", "ours", "ours_std"),
    *("difference", "tolerance", "verdict", "note", "kind", "error", "notices"),
)


def scorecard(table: pd.DataFrame, published: pd.DataFrame, spread: pd.DataFrame) -> pd.DataFrame:
    """Compare unrounded cells with the published ones.

    Parameters
    ----------
    table
        Our cells, columns of `study.cells.Row`.
    published
        The published cells as text, columns of `config/paper/tables.csv`.
    spread
        Standard deviation of what the paper leaves open, by cell: `spread` and `cause`.

    Returns
    -------
    One row for each published cell, in its order, with the columns `COLUMNS`. `kind`, `error` and
    `notices` are those of `study.judgement.Tolerance`. Cells that this run did not compute get the
    verdict `differs`.
    """
    for name, cells in (("cell", table), ("spread", spread)):
        repeated = cells[cells.duplicated(KEY)]
        if len(repeated):
            raise InputError(f"duplicate {name}: {', '.join(map(str, repeated[KEY].iloc[0]))}")
    ours = table.assign(
        expected=table["expected"] * scale_of_counts(table["table"], table["repetitions"]),
        expected_std=table["expected_std"].where(table["table"] != COUNTS),
    )
    printed = as_printed(ours, "expected", "expected_std")
    ours = ours.assign(printed=printed["value"], printed_std=printed["std"])
    cells = published.merge(ours, on=KEY, how="left", suffixes=("_published", ""))
    cells = cells.merge(spread, on=KEY, how="left")
    return pd.DataFrame([_judged(cell) for cell in cells.itertuples(index=False)], columns=COLUMNS)


def _judged(cell: Any) -> tuple[Any, ...]:
    """One row of the scorecard."""
    key = tuple(getattr(cell, name) for name in KEY)
    shown = (cell.value_published, cell.std_published)
    if pd.isna(cell.expected):
        return (*key, *shown, *[""] * 4, "differs", "not computed in this run", "", "", "")
    difference = cell.expected - float(cell.value_published)
    noise = _tolerance(cell)
    widest = noise if pd.isna(cell.spread) else _tolerance(cell, float(cell.spread))
    used, verdict, note = noise, "differs", ""
    if cell.printed == cell.value_published:
        verdict = "exact"
    elif noise.kind != "deterministic" and _accepts(noise, difference):
        verdict = "within noise"
    elif widest is not noise:
        used, explained = widest, _accepts(widest, difference)
        verdict = "explained" if explained else "differs"
        note = cell.cause if explained else f"beyond the spread of the {cell.cause}"
    numbers = (f"{difference:z.4f}", f"{used.below if difference > 0 else used.above:.4f}")
    notes = "; ".join(filter(None, (note, _deviation_note(cell))))
    power = (noise.kind, f"{widest.error:.4f}", f"{widest.notices:.4f}")
    return (*key, *shown, cell.printed, cell.printed_std, *numbers, verdict, notes, *power)


def _accepts(tolerance: Tolerance, difference: float) -> bool:
    return -tolerance.above <= difference <= tolerance.below


def _tolerance(cell: Any, spread: float = 0.0) -> Tolerance:
    if cell.table == COUNTS:
        return of_count(cell.expected, spread)
    if cell.repetitions or spread:
        deviation = cell.expected_std if cell.repetitions else 0.0
        return of_mean(cell.table, cell.expected, deviation, spread)
    return of_value(cell.table)


def _deviation_note(cell: Any) -> str:
    """Remark on a standard deviation that repetition does not explain; no verdict rests on it."""
    if cell.std_published == "" or not cell.repetitions:
        return ""
    error = cell.expected_std / np.sqrt(2 * (REPETITIONS[cell.table] - 1))
    difference = abs(cell.expected_std - float(cell.std_published))
    if difference <= SIGMAS * error + unit(cell.table) / 2:
        return ""
    return "the standard deviations differ by more than 3 standard errors"


def z_scores(card: pd.DataFrame) -> pd.DataFrame:
    """Divide differences by standard errors, for the random cells of a scorecard.

    `card` is a table of `scorecard`, numbers as text or not. Returns the columns of a cell's key,
    and `z`.
    """
    cells = card[card["kind"] == KINDS[-1]]
    cells = cells[cells["difference"].astype(str) != ""].dropna(subset="difference")
    z = pd.to_numeric(cells["difference"]) / pd.to_numeric(cells["error"])
    return cells.assign(z=z)[[*KEY, "z"]].reset_index(drop=True)


def totals(card: pd.DataFrame) -> dict[str, int]:
    """Count the cells by verdict."""
    return {verdict: int((card["verdict"] == verdict).sum()) for verdict in VERDICTS}


def write_scorecard(
    card: pd.DataFrame, joint: pd.DataFrame, power: pd.DataFrame, ranks: str, csv: Path, md: Path
) -> None:
    """Write the scorecard as CSV, and as Markdown below its summaries.

    `joint` and `power` are the tables of `study.joint` and `report.power`; `ranks` says where the
    ranks come from.
    """
    write_table(card, csv)
    parts = (
        "# Scorecard against the published tables",
        f"Ranks: {ranks}.",
        markdown(summary(card), decimals=0),
        _RULES,
        f"`explained` cells come from {_events(card)}.",
        "## All cells of a row together",
        markdown(_laid_out(joint)),
        _JOINT,
        "## What the comparison would notice",
        markdown(power),
        _POWER,
        "## Cells",
        markdown(card),
    )
    write_text(md, "\n\n".join(parts) + "\n")


def summary(card: pd.DataFrame) -> pd.DataFrame:
    """Count the cells by table and verdict, the exact ones by kind."""
    kinds = {kind: (card["verdict"] == "exact") & (card["kind"] == kind) for kind in KINDS}
    columns = {
        "exact: deterministic": kinds["deterministic"],
        "exact: near-certain": kinds["near-certain"],
        "exact: by chance": kinds["random"],
        **{verdict: card["verdict"] == verdict for verdict in VERDICTS[1:]},
        "cells": card["table"] > 0,
    }
    counts = pd.DataFrame(columns).groupby(card["table"]).sum().astype(object)
    counts.loc["all"] = counts.sum()
    return counts.reset_index()


def _events(card: pd.DataFrame) -> str:
    """Number of causes that explain cells, each with its cells."""
    explained = card[card["verdict"] == "explained"]
    causes = explained["note"].str.split("; ").str[0].value_counts(sort=False)
    plural = "event" if len(causes) == 1 else "events"
    of_causes = [f"{cause}, {n} cell{'s' * (n > 1)}" for cause, n in causes.items()]
    return f"{len(causes)} {plural}" + (f": {'; '.join(of_causes)}" if of_causes else "")


def _laid_out(joint: pd.DataFrame) -> pd.DataFrame:
    """Joint tests as texts."""
    shown = joint[["table", "row", "cells"]].rename(columns={"cells": "random cells"})
    for name, column, decimals in (
        ("chi-square", "chi_square", 1),
        ("P", "p_value", 3),
        ("sum of squares", "independent", 1),
        ("effective cells", "effective", 1),
        ("P of the sum", "p_independent", 3),
    ):
        shown[name] = ["" if pd.isna(x) else f"{x:.{decimals}f}" for x in joint[column]]
    return shown


_RULES = """\
Ours is the exact metric, or the expectation over sampling in closed form, so no verdict depends on
a seed. A deterministic cell must equal the print. A published mean may lie 3 of its standard errors
plus half a unit of the last digit from ours, a published count of Table 4 anywhere but in the outer
0.135 % of its binomial distribution on either side. `explained` cells need what the paper leaves
open: the initialisation of X, or the order of Z's ties. *Near-certain* cells are sampled, but one
printed outcome has a probability of at least 90 %, such as 0 or 100 of 100; the other sampled cells
that equal the print do so *by chance*."""
_JOINT = """\
Cells of a row share their samples. *chi-square* takes their covariance into account (rounding
included) and has as many degrees of freedom as there are random cells; it is left out where counts
hardly differ from each other. *sum of squares* adds the squared deviations as if cells were
independent; it varies as that of so many *effective cells*. As ours is one start of X and the
published X another, rows with X also have the covariance of the difference between two starts,
estimated from the starts of `starts.csv`."""
_POWER = """\
Cells that differ after the change and did not before. A cell is *able to tell* if the change moves
ours further than its column `notices` says: the error of ours that is rejected with a probability
of 99 %."""
