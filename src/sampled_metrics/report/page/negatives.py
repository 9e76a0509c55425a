"""What negatives that somebody else drew say, for the page: metrics, orders, and their checks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.page.own_tables import between, percent, points
from sampled_metrics.report.tables import groups

_VALUES = ("recommender", "metric", "n_negatives", "sampled", "range_low", "range_high", "exact")
_ORDERS = (
    *("a", "b", "metric", "exact", "exact_order", "range_low", "range_high", "sampled_order"),
    *("scores_per_user", "budget_low", "budget_high", "budget_order"),
)
_CHECKS = ("name", "passed", "remark")


def negatives_panel(folder: Path) -> dict[str, Any]:
    """Read the tables of `study.negatives` and lay them out.

    Returns the number `m` of negatives; `words` on the orders of all pairs by all metrics; `values`
    and `orders` with `heads` and `lines`; and the `remarks` of checks that the negatives fail.
    """
    values = read_table(folder / "values.csv", _VALUES, ("recommender", "metric"))
    orders = read_table(folder / "orders.csv", _ORDERS, ("a", "b", "metric"))
    checks = read_table(folder / "checks.csv", _CHECKS, keep_default_na=False)
    orders["label"] = [parse_measure(metric).label for metric in orders["metric"]]
    orders["by_sample"] = _orders_by_sample(orders, values)
    price = round(float(orders["scores_per_user"].max())) if len(orders) else 0
    return {
        "m": int(values["n_negatives"].iloc[0]),
        "words": _in_words(orders, price) if len(orders) else "",
        "values": _values(pd.concat([rows for _, rows in groups(values, "metric")])),
        "orders": _orders(orders, price),
        "remarks": checks.loc[checks["remark"] != "", "remark"].tolist(),
    }


def _orders_by_sample(orders: pd.DataFrame, values: pd.DataFrame) -> list[str]:
    sampled = values.set_index(["recommender", "metric"])["sampled"]
    pairs = zip(orders["a"], orders["b"], orders["metric"], strict=True)
    leads = [sampled[b, metric] - sampled[a, metric] for a, b, metric in pairs]
    return [("undecided", "b", "a")[int(np.sign(lead))] for lead in leads]


def _in_words(orders: pd.DataFrame, price: int) -> str:
    wrong = int((orders["by_sample"] != orders["exact_order"]).sum())
    by_range, by_budget = (_decided(orders, kind) for kind in ("sampled_order", "budget_order"))
    return (
        f"Of {len(orders)} orders (each pair by each metric), the sampled metric gets {wrong} "
        f"wrong. The ranges that the negatives allow decide {by_range}. An evaluation on a budget "
        f"of {price} scores per user, at about the same price, decides {by_budget}."
    )


def _decided(orders: pd.DataFrame, kind: str) -> str:
    decided = orders[orders[kind] != "undecided"]
    wrong = int((decided[kind] != decided["exact_order"]).sum())
    return f"{len(decided)}, {wrong or 'none'} of them wrongly" if len(decided) else "none"


def _values(values: pd.DataFrame) -> dict[str, Any]:
    return {
        "heads": ["recommender", "sampled", "exact", "range"],
        "lines": [
            [
                f"{row.recommender}, {parse_measure(row.metric).label}",
                percent(row.sampled),
                percent(row.exact),
                between(row.range_low, row.range_high),
            ]
            for row in _rows(values)
        ],
    }


def _orders(orders: pd.DataFrame, price: int) -> dict[str, Any]:
    def above(row: Any, order: str) -> str:
        if order == "undecided":
            return order
        words = f"{row.a} above {row.b}" if order == "a" else f"{row.b} above {row.a}"
        return words if order == row.exact_order else f"{words}: wrong"

    heads = ["pair", "exact", "points", "by the sampled metric", "by the range"]
    return {
        "heads": [*heads, f"by {price} scores per user"],
        "lines": [
            [
                f"{row.a} and {row.b}, {row.label}",
                above(row, row.exact_order),
                points(row.exact),
                above(row, row.by_sample),
                above(row, row.sampled_order),
                above(row, row.budget_order),
            ]
            for row in _rows(orders)
        ],
    }


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    yield from table.itertuples(index=False)
