"""Whether the comparison with the published tables would notice that something is wrong."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from sampled_metrics.report.scorecard import scorecard
from sampled_metrics.study.cells import COUNTS, KEY, scale_of_counts

FACTORS = (1.01, 1.05)


def power_table(table: pd.DataFrame, published: pd.DataFrame, spread: pd.DataFrame) -> pd.DataFrame:
    """Change our cells in known ways and count the verdicts that turn to `differs`.

    The parameters are those of `report.scorecard.scorecard`.

    Returns
    -------
    One row per change: `change`, `cells` that it moves, those of them that are `able to tell`, how
    many of these `turn`, and how many of `all` do.
    """
    card = scorecard(table, published, spread)
    changes = {f"all means times {factor}": scaled(table, factor) for factor in FACTORS}
    names = list(dict.fromkeys(table.loc[table["table"] == 3, "row"]))
    for a, b in combinations(names, 2):
        changes[f"{a} and {b} swapped"] = swapped(table, {a: b, b: a})
    return pd.DataFrame(
        [(change, *_turned(card, table, changed, published, spread))
         for change, changed in changes.items()],
        columns=["change", "cells", "able to tell", "of these turn", "all that turn"],
    )  # fmt: skip


def scaled(table: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Multiply all cells but counts."""
    by = np.where(table["table"] == COUNTS, 1.0, factor)
    return table.assign(expected=table["expected"] * by)


def swapped(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Exchange the names of two recommenders; a pair is called as the published table calls it."""
    known = set(table["row"])

    def renamed(row: str) -> str:
        parts = [names.get(name, name) for name in row.split(" vs ")]
        ways = (" vs ".join(parts), " vs ".join(parts[::-1]))
        return next(way for way in ways if way in known)

    of_data = table["table"] >= 3
    return table.assign(row=table["row"].where(~of_data, table["row"].map(renamed)))


def _turned(
    card: pd.DataFrame,
    table: pd.DataFrame,
    changed: pd.DataFrame,
    published: pd.DataFrame,
    spread: pd.DataFrame,
) -> tuple[int, int, int, int]:
    other = scorecard(changed, published, spread)
    cells = pd.DataFrame(
        {
            "turned": (other["verdict"] == "differs") & (card["verdict"] != "differs"),
            "notices": pd.to_numeric(card["notices"]),
            "moved": (_expected(changed, card) - _expected(table, card)).abs(),
        }
    )
    moved = cells[cells["moved"] > 0]
    able = moved[moved["moved"] > moved["notices"]]
    return len(moved), len(able), int(able["turned"].sum()), int(moved["turned"].sum())


def _expected(table: pd.DataFrame, card: pd.DataFrame) -> "pd.Series[float]":
    """Expectations in the order of the scorecard; counts of a hundred."""
    scale = scale_of_counts(table["table"], table["repetitions"])
    values = table.assign(scaled=table["expected"] * scale).set_index(KEY)["scaled"]
    return values.reindex(pd.MultiIndex.from_frame(card[KEY])).reset_index(drop=True)
