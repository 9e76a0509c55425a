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
    """Of four times all are later than 0, one is later than 3, and none is later than 5."""
    shares = audit.share_later(np.array([5, 1, 3, 3]), np.array([0, 3, 5]))
    assert shares.tolist() == [4 / 4, 1 / 4, 0 / 4]


def test_page_shows_the_stored_rows():
    """The page has three decimals and the file four, both rounded from more."""
    table = pd.read_csv(REFERENCE / "audit.csv", dtype=str)
    lines = (REFERENCE / "audit.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    shown = [cells for _, *cells in rows if cells[-1] in ("yes", "no")]
    assert len(shown) == len(table)
    half_units = 0.0005 + 0.00005
    for (quantity, ours, published, verdict), row in zip(shown, table.itertuples(), strict=True):
        assert (quantity, published, verdict) == (row.quantity, row.published, row.reproduces)
        assert float(ours) == pytest.approx(float(row.value), abs=half_units + 1e-9)


def test_divisor_hardly_changes_other_metrics_than_auc():
    table = pd.read_csv(REFERENCE / "audit.csv")
    values = table.set_index(["reading", "quantity"])["value"]
    by_m = values["divided by m, as printed; floor"]
    by_m_plus_1 = values["divided by m+1; floor"]
    difference = (by_m_plus_1 - by_m).abs().drop("Y, AUC, Rank Estimate")
    assert difference.max() < 0.01  # percent
