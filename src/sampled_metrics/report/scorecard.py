"""Every published cell beside ours, with a verdict that follows from stated tolerances.

`exact` cells have the printed digits. `within noise`: a mean of R repetitions differs by at most 3
standard errors of the difference plus half a unit of the last printed digit, a count of Table 4 by
at most 3 binomial standard errors of the difference. `explained`: the difference stays within
3 standard deviations if the spread of what the paper leaves open is added: the initialisation of X
(published and ours are one start each) and the order of Z's ties (the published exact metric is
that of one order, ours the expectation); `study.spread` measures both. Other cells: `differs`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.cells import DECIMALS, KEY, as_printed

VERDICTS = ("exact", "within noise", "explained", "differs")
COLUMNS = (
    *(*KEY, "published", "published_std", "ours", "ours_std"),
    *("difference", "tolerance", "verdict", "note"),
)
SIGMAS = 3.0
_PUBLISHED_REPETITIONS = {1: 0, 2: 1000, 3: 100, 4: 100}


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
    One row for each published cell, in its order, with the columns `COLUMNS`. Cells that this
    run did not compute get the verdict `differs`.
    """
    scaled = [_scaled(cell) for cell in table.itertuples(index=False)]
    ours = table.assign(value=scaled)
    printed = as_printed(ours)
    ours = ours.assign(printed=printed["value"], printed_std=printed["std"])
    for what, cells in (("cell", ours), ("spread", spread)):
        repeated = cells[cells.duplicated(KEY)]
        if len(repeated):
            raise InputError(f"duplicate {what}: {', '.join(map(str, repeated[KEY].iloc[0]))}")
    cells = published.merge(ours, on=KEY, how="left", suffixes=("_published", ""))
    cells = cells.merge(spread, on=KEY, how="left")
    return pd.DataFrame([_judged(cell) for cell in cells.itertuples(index=False)], columns=COLUMNS)


def _scaled(cell: Any) -> float:
    """Our value; a count of Table 4 as if repeated as often as the paper did."""
    share = _PUBLISHED_REPETITIONS[4] / cell.repetitions if cell.table == 4 else 1.0
    return float(cell.value * share)


def _judged(cell: Any) -> tuple[Any, ...]:
    """One row of the scorecard."""
    key = tuple(getattr(cell, name) for name in KEY)
    shown = (cell.value_published, cell.std_published)
    if pd.isna(cell.value):
        return (*key, *shown, "", "", "", "", "differs", "not computed in this run")
    noise, half = _standard_error(cell), _half_unit(cell)
    difference = cell.value - float(cell.value_published)
    verdict, note, tolerance = "differs", "", SIGMAS * noise + half
    if cell.printed == cell.value_published:
        verdict = "exact"
    elif cell.repetitions and abs(difference) <= tolerance:
        verdict = "within noise"
    elif not pd.isna(cell.spread):
        tolerance = SIGMAS * float(np.hypot(noise, cell.spread)) + half
        explained = abs(difference) <= tolerance
        verdict = "explained" if explained else "differs"
        note = cell.cause if explained else f"beyond the spread of the {cell.cause}"
    notes = "; ".join(filter(None, (note, _deviation_note(cell))))
    ours = (cell.printed, cell.printed_std)
    return (*key, *shown, *ours, f"{difference:.4f}", f"{tolerance:.4f}", verdict, notes)


def _standard_error(cell: Any) -> float:
    """Standard error of the difference between the published value and ours, by repetition."""
    theirs = _PUBLISHED_REPETITIONS[cell.table]
    if not cell.repetitions:
        return 0.0
    if cell.table == 4:
        share = (float(cell.value_published) + cell.value) / (2 * theirs)
        both = 1.0 / theirs + 1.0 / cell.repetitions
        return float(theirs * np.sqrt(share * (1 - share) * both))
    return float(np.sqrt(float(cell.std_published) ** 2 / theirs + cell.std**2 / cell.repetitions))


def _half_unit(cell: Any) -> float:
    """Half a unit of the last printed digit; counts are not rounded."""
    return 0.0 if cell.table == 4 else 0.5 * 10.0 ** -DECIMALS[cell.table]


def _deviation_note(cell: Any) -> str:
    """Remark on a standard deviation that repetition does not explain; no verdict rests on it."""
    if cell.std_published == "" or not cell.repetitions:
        return ""
    theirs, ours = float(cell.std_published), cell.std
    error = np.sqrt(
        theirs**2 / (2 * (_PUBLISHED_REPETITIONS[cell.table] - 1))
        + ours**2 / (2 * (cell.repetitions - 1))
    )
    if abs(ours - theirs) <= SIGMAS * error + _half_unit(cell):
        return ""
    return "the standard deviations differ by more than 3 standard errors"


def totals(card: pd.DataFrame) -> dict[str, int]:
    """Count the cells by verdict."""
    return {verdict: int((card["verdict"] == verdict).sum()) for verdict in VERDICTS}


def write_scorecard(card: pd.DataFrame, ranks: str, csv: Path, md: Path) -> None:
    """Write the scorecard as CSV, and as Markdown with totals by table before the cells."""
    write_table(card, csv)
    counts = pd.crosstab(card["table"], card["verdict"]).reindex(columns=list(VERDICTS))
    counts = counts.fillna(0).astype(int)
    counts.loc["all"] = counts.sum()
    counts["cells"] = counts.sum(axis=1)
    parts = (
        "# Scorecard against the published tables",
        f"Ranks: {ranks}.",
        markdown(counts.reset_index(), decimals=0),
        _RULES,
        markdown(card),
    )
    write_text(md, "\n\n".join(parts) + "\n")


_RULES = (
    "A deterministic cell must equal the print. A mean may differ by 3 standard errors of the "
    "difference plus half a unit of the last digit, a count of Table 4 by 3 binomial standard "
    "errors of the difference. `explained` cells need what the paper leaves open: the "
    "initialisation of X, or the order of Z's ties."
)
