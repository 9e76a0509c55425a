"""Spreads over starts and ties, with what they must satisfy."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.claims.starts import COLUMNS, spread_table, starts_table
from sampled_metrics_study.settings import ExperimentSettings

SETTINGS = ExperimentSettings(n_negatives=10)


def test_numbers_and_spread_over_starts():
    # exact AP of the three starts: 1, 1/2 and 1/4
    starts = [
        Ranks(np.full(4, 50), np.full(4, b), np.zeros(4, int)) for b in (0, 1, 3)
    ]
    other = Ranks(np.full(4, 50), np.full(4, 9), np.zeros(4, int))
    one = SETTINGS.replaced(metrics=("ap",), estimators=("sampled",), repetitions=10)
    table = starts_table("X", starts, {"Y": other}, one)
    cells = table.set_index(["table", "row", "column"])["expected"]
    assert cells[3, "X", "Exact"].tolist() == [100, 50, 25]
    assert cells[3, "Y", "Exact"].tolist() == [10] * 3
    assert cells[5, "X", "top 100"].tolist() == [4] * 3
    assert cells[5, "X", "bottom half"].tolist() == [0] * 3
    # Recall@10 is 1 for X and Y in full rankings, so no m orders them
    assert cells[6, "X vs Y", "Sampled"].isna().all()
    sampled = table[
        (table["table"] == 3) & (table["row"] == "Y") & (table["column"] == "Sampled")
    ]
    assert (sampled["value"].nunique(), sampled["expected"].nunique()) == (3, 1)
    spread = spread_table("X", table, {"Y": other}, one)
    cells = spread.set_index(["table", "row", "column"])["spread"]
    assert cells[3, "X", "Exact"] == pytest.approx(
        np.sqrt(2) * np.std([100, 50, 25], ddof=1)
    )
    assert set(spread["row"]) == {"X", "X vs Y"}
    assert 0 <= cells[4, "X vs Y", "Sampled"] <= 100
    assert set(spread["cause"]) == {"initialisation of X"}


def test_spread_over_ties_by_its_closed_form():
    # e + 1 = 3 equally likely ranks 1, 2, 3 of AP: variance of (1, 1/2, 1/3) over 400 users
    records = Ranks(np.full(400, 20), np.zeros(400, int), np.full(400, 2))
    none = pd.DataFrame(columns=COLUMNS)
    table = spread_table(
        "X", none, {"Z": records}, SETTINGS.replaced(metrics=("ap",))
    )
    exact = 100 * np.sqrt(np.var([1, 1 / 2, 1 / 3]) / 400)
    assert table["spread"].item() == pytest.approx(exact, rel=4 / np.sqrt(2 * 1000))


@pytest.mark.parametrize(("tied", "is_listed"), [(1, False), (2, True), (0, False)])
def test_ties_are_spread_where_users_have_more_than_one_on_average(tied, is_listed):
    """In 399 of 400 users one, in one user `tied`."""
    counts = np.append(np.ones(399, int), tied)
    records = Ranks(np.full(400, 20), np.zeros(400, int), counts)
    none = pd.DataFrame(columns=COLUMNS)
    tied_often = Ranks(np.full(2, 20), np.zeros(2, int), np.full(2, 9))
    others = {"Z": records, "W": tied_often}
    table = spread_table("X", none, others, SETTINGS.replaced(metrics=("auc",)))
    assert table["row"].tolist() == ["Z"] * is_listed + ["W"]
