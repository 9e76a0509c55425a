"""Readings of the paper's text, and the file and page that list them."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics_study import audit
from tests.study.conftest import REFERENCE


@pytest.mark.parametrize(
    ("value", "published", "tolerance", "expected"),
    [
        (8.8411, "8.84", 0.005, True),
        (8.8461, "8.84", 0.005, False),
        (207.0, "< 300", 0.0, True),
        (300.0, "< 300", 0.0, False),
        (1592.0, "> 1600", 0.0, False),
        (1736.0, "> 1600", 0.0, True),
    ],
)
def test_quantity_reproduces_number_or_bound(value, published, tolerance, expected):
    quantity = audit.Quantity("Y", value, published, tolerance)
    assert quantity.is_reproduced == expected


def test_shares_later_by_hand():
    shares = audit.share_later(np.array([5, 1, 3, 3]), np.array([0, 3, 5]))
    assert shares.tolist() == [1.0, 0.25, 0.0]


def test_page_shows_the_stored_rows():
    table = pd.read_csv(REFERENCE / "audit.csv", dtype=str)
    lines = (REFERENCE / "audit.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    shown = [row[1:] for row in rows if row[-1] in ("yes", "no")]
    assert len(shown) == len(table)
    for (quantity, ours, published, verdict), row in zip(shown, table.itertuples(), strict=True):
        assert (quantity, published, verdict) == (row.quantity, row.published, row.reproduces)
        # three decimals on the page, four in the file, both rounded from more
        assert float(ours) == pytest.approx(float(row.value), abs=0.00056)


def test_divisor_hardly_changes_other_metrics_than_auc():
    table = pd.read_csv(REFERENCE / "audit.csv")
    table = table[table["topic"].str.startswith("13.")].set_index(["reading", "quantity"])["value"]
    m, m_plus_1 = table["divided by m, as printed; floor"], table["divided by m+1; floor"]
    difference = (m_plus_1 - m).abs().drop("Y, AUC, Rank Estimate")
    assert difference.max() < 0.01
