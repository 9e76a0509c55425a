"""The audit of the paper's readings as a table and as a report."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.report.tables import groups, markdown
from sampled_metrics.study.readings import Reading

GRID = 12  # readings of the same quantities that are laid out as a grid
_INTRODUCTION = """\
# Where the paper's text and its numbers part

Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, leaves some choices
open, and in a few places its text says something else than its numbers show. Each way to read such
a place is measured below on MovieLens 1M, beside the published number. `yes` marks a reading from
which the published number follows: to the printed digits where it is deterministic, within three
standard errors of the published mean of 100 repetitions, plus half a unit of the last digit, where
it is sampled (ours is then the closed-form expectation). For X, within two standard deviations of
the difference between its start and the mean of ours; where ties move an exact metric (Z), within
three standard deviations over random orders of the ties. Metrics are in percent.

Where the paper says nothing, a choice was made: 4 iterations of X because its AUC says so; the
paper gives no number (topic 3).

Topic 14 is about numbers that follow from the published tables, beside their median (of the
chi-square, the mean) under each reading. P is the probability of a number as far from it as the
published one, and `no` marks a P below 0.00135. The log-likelihood ratio takes the deviations of
Recall, NDCG and AP from their expectations under shared samples against independent ones. Shared
samples fit, with an order of the ties for each estimator; the AUC of Y fits them less well than
independent ones.
"""


def write_audit(readings: Sequence[Reading], csv: Path, md: Path) -> None:
    """Write the readings as CSV, and as Markdown with one table per topic."""
    table = pd.DataFrame(readings, columns=Reading._fields)
    table["reproduces"] = ["yes" if reading.reproduces else "no" for reading in readings]
    write_table(table, csv, "%.4f")
    parts = [_INTRODUCTION]
    for topic, rows in groups(table, "topic"):
        agreeing = [reading for reading, cells in groups(rows, "reading") if agrees(cells)]
        summary = f"Reproduced in all rows by: {'; '.join(agreeing) or 'no reading'}."
        parts.append(f"## {topic}\n\n{summary}\n\n{markdown(_laid_out(rows))}\n")
    write_text(md, "\n".join(parts))


def agrees(rows: pd.DataFrame) -> bool:
    """Whether the published number follows in all rows of a reading."""
    return bool((rows["reproduces"] == "yes").all())


def spelled(value: float) -> str:
    """Spell a measured value: whole numbers without decimals, others with three."""
    return f"{value:.3f}".removesuffix(".000")


def _laid_out(rows: pd.DataFrame) -> pd.DataFrame:
    """One line per reading and quantity; the reading is named once.

    Many readings of the same quantities have a line each.
    """
    readings, quantities = rows["reading"].nunique(), rows["quantity"].nunique()
    if readings >= GRID and len(rows) == readings * quantities:
        heads = rows["quantity"] + ", " + rows["published"] + " published"
        cells = rows["value"].map(spelled) + " " + rows["reproduces"]
        grid = rows.assign(head=heads, cell=cells)
        return grid.set_index(["reading", "head"])["cell"].unstack(sort=False).reset_index()
    repeated = rows["reading"] == rows["reading"].shift()
    return pd.DataFrame(
        {
            "reading": rows["reading"].where(~repeated, ""),
            "quantity": rows["quantity"],
            "ours": rows["value"].map(spelled),
            "published": rows["published"],
            "reproduces it": rows["reproduces"],
        }
    )
