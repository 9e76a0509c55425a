"""The data of the budget panel: how often each method orders a pair rightly, by its price."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.page.embedded import in_script

_COLUMNS = ("method", "proxy", "scores_per_user", "pair", "metric", "right", "runs")
# Methods and proxies to draw, with their names; those that a run does not have are left out.
_DRAWN = {
    ("sampled", "uniform"): "Sampled",
    ("bv:0.1", "uniform"): "BV 0.1",
    ("adaptive", "uniform"): "Adaptive sample, EM",
    ("users", "uniform"): "All items, few users",
    ("budget", "none"): "Budget, no proxy",
    ("budget", "popularity"): "Budget, popularity",
    ("budget", "als"): "Budget, small model",
}


def budget_panel(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read `beyond/orders.csv` and arrange it for the page.

    Returns
    -------
    `labels` of the metrics, `runs`, and `methods`: each with its `name` and its `points`, by metric
    in the scripts and by pair as places among `names`: scores per user and share of right orders.
    """
    table = read_table(path, _COLUMNS)
    methods = [
        {"name": name, "points": _points(rows, names)}
        for key, name in _DRAWN.items()
        if len(rows := table[(table["method"] == key[0]) & (table["proxy"] == key[1])])
    ]
    labels = [parse_measure(metric).label for metric in table["metric"].unique()]
    return {"labels": labels, "runs": int(table["runs"].max()), "methods": methods}


def _points(rows: pd.DataFrame, names: Sequence[str]) -> dict[str, dict[str, list[list[float]]]]:
    points: dict[str, dict[str, list[list[float]]]] = {}
    places = {
        frozenset((a, b)): f"{names.index(a)},{names.index(b)}" for a, b in combinations(names, 2)
    }
    for row in rows.sort_values("scores_per_user").to_dict("records"):
        pair = places.get(frozenset(row["pair"].split(" vs ")))
        if pair is not None:
            of_metric = points.setdefault(in_script(row["metric"]), {})
            share = [round(row["scores_per_user"], 1), row["right"] / row["runs"]]
            of_metric.setdefault(pair, []).append(share)
    return points
