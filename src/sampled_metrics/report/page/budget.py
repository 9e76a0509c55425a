"""The data of the budget panel: how often each method orders a pair rightly, by its price."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.page.embedded import in_script
from sampled_metrics.study.beyond.tables import label

_COLUMNS = ("method", "proxy", "scores_per_user", "pair", "metric", "right", "runs")
_FEWEST = 10  # runs, with fewer of which a share of right orders says little
# Methods and proxies to draw; those that a run does not have are left out.
_DRAWN = (
    ("sampled", "uniform"),
    ("bv:0.1", "uniform"),
    ("adaptive", "uniform"),
    ("users", "all items"),
    ("budget", "none"),
    ("budget", "popularity"),
    ("budget", "als"),
    ("scan", "als"),
)


def budget_panel(path: Path, names: Sequence[str]) -> dict[str, Any] | None:
    """Read `beyond/orders.csv` and arrange it for the page.

    Returns `labels` of the metrics and `methods`: each with its `name` and its `points`, by metric
    in the scripts and by pair as places among `names`: scores per user, right orders and runs.
    Points of fewer than 10 runs are left out. None if nothing is left for pairs of `names`.
    """
    table = read_table(path, _COLUMNS)
    places = {
        f"{names[i]} vs {names[j]}": f"{min(i, j)},{max(i, j)}"
        for a, b in combinations(range(len(names)), 2)
        for i, j in ((a, b), (b, a))
    }
    table = table[table["pair"].isin(list(places)) & (table["runs"] >= _FEWEST)]
    methods = [
        {"name": label(*key), "points": _points(rows, places)}
        for key in _DRAWN
        if len(rows := table[(table["method"] == key[0]) & (table["proxy"] == key[1])])
    ]
    labels = [parse_measure(metric).label for metric in table["metric"].unique()]
    return {"labels": labels, "methods": methods} if methods else None


def _points(
    rows: pd.DataFrame, places: dict[str, str]
) -> dict[str, dict[str, list[tuple[float, int, int]]]]:
    points: dict[str, dict[str, list[tuple[float, int, int]]]] = {}
    for row in rows.sort_values("scores_per_user").to_dict("records"):
        of_metric = points.setdefault(in_script(row["metric"]), {})
        point = (round(row["scores_per_user"], 1), int(row["right"]), int(row["runs"]))
        of_metric.setdefault(places[row["pair"]], []).append(point)
    return points
