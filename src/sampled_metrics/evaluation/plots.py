"""Plots of results: a panel for each metric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import span
from sampled_metrics.metrics.measures import Measure, parse_measure

STYLE = Path(__file__).with_name("plots.mplstyle")
_LOOKS = (  # colour and marker by estimator; no red beside green
    ("#0072b2", "o"),
    ("#a06000", "D"),
    ("#6a4fb3", "^"),
    ("#b0488a", "s"),
    ("#5b6470", "v"),
)
_LINE: dict[str, Any] = {
    "color": "0.82",
    "linewidth": 12,
    "solid_capstyle": "butt",
    "zorder": 1,
}
_MARK: dict[str, Any] = {"linestyle": "", "markersize": 5}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 16, "markeredgewidth": 2}
_ASIDE = 0.14  # between estimators in a line, so that equal ones are seen
_ROOM = 0.05  # beyond all that is drawn, in parts of its width


def draw(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw results in a style of its own, also on axes of the caller; see `Shown.plot`."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install matplotlib") from error
    table = table.assign(metric=table["metric"].map(parse_measure))
    style = mpl.rc_params_from_file(STYLE, use_default_template=False)
    with mpl.rc_context({**style, "font.size": 9, "axes.grid.axis": "x"}):
        return _draw_results(table, exact, axes)


def _axes_for(number: int, height: float, axes: Any) -> tuple[Any, list[Any]]:
    """Return axes of the caller, or of a new figure, also as a list."""
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(number, figsize=(6, height), layout="constrained")
    panels = list(np.array([axes], dtype=object).flat)
    are_axes = all(hasattr(panel, "set_ylim") for panel in panels)
    if len(panels) != number or not are_axes:
        raise InputError(f"axes must be {number} axes of Matplotlib, one for each metric")
    return axes, panels


def _draw_results(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw a panel for each metric, and return the axes."""
    table, value, meaning, names = _contents(table)
    known = _exact_values(exact, [*names, "metric"], value)
    metrics: list[Any] = list(table.groupby("metric", sort=False))
    # A table has a row for each line and estimator.
    height = 0.5 + 0.5 * len(metrics) + 0.3 * len(table) / table["estimator"].nunique()
    given = axes
    axes, panels = _axes_for(len(metrics), height, given)
    for panel, (metric, rows) in zip(panels, metrics, strict=True):
        exact_of_lines = {line: number for (line, key), number in known.items() if key == metric}
        _draw_lines(panel, rows, value, meaning, exact_of_lines)
        panel.set_title(_verdict(metric.label, rows))
    by_all = [metric.metric.needs_candidates for metric, _ in metrics]
    for _, shared in pd.Series(panels, dtype=object).groupby(by_all):
        _share_axis(list(shared), value == "difference")
    panels[-1].set_xlabel(f"{value} (fraction)")
    drawn = {mark.get_label(): mark for panel in panels for mark in panel.lines}
    labels = [meaning, *table["estimator"].unique(), "exact"]
    labels = [label for label in labels if label in drawn]
    marks = [drawn[label] for label in labels]
    if given is None:
        panels[0].figure.legend(marks, labels, loc="outside upper left", ncols=6, columnspacing=1)
    else:
        panels[0].legend(marks, labels)
    return axes


def _contents(table: pd.DataFrame) -> tuple[pd.DataFrame, str, str, list[str]]:
    """Find the columns of a table to draw.

    Returns the table with the name of each line, and range_low and range_high, its ends; the column
    of the marks; the meaning of lines, range or interval; and the columns that name a line, none
    for a single recommender.
    """
    if "printed" in table:  # a result of `reported`
        table = table.assign(estimator="likely", value=table["likely"].astype(float))
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    names = []
    if "a" in table:
        names = ["b", "a"]
    elif "recommender" in table and table["recommender"].nunique() > 1:
        names = ["recommender"]
    table = table.assign(line=list(map(" - ".join, table[names].to_numpy())))
    if "range_low" in table and not table["estimator"].isin(["exact", "budget"]).all():
        return table, value, "range", names
    ends = {"range_low": table["ci_low"], "range_high": table["ci_high"]}
    return table.assign(estimator=value, **ends), value, "interval", names


def _share_axis(panels: list[Any], is_difference: bool) -> None:
    """Give panels of metrics that can be compared one axis; it holds 0, and values begin there."""
    low = min(0.0, *(panel.dataLim.x0 for panel in panels))
    high = max(0.0, *(panel.dataLim.x1 for panel in panels))
    if low == high:
        high = 1.0
    room = _ROOM * (high - low)
    first = low - room if is_difference else 0.0
    for panel in panels:
        panel.set_xlim(first, high + room)


def _draw_lines(
    axes: Any, rows: pd.DataFrame, column: str, meaning: str, exact: Mapping[str, float]
) -> None:
    """Draw the results of one metric, a line for each recommender or pair."""
    estimators = list(rows["estimator"].unique())
    middle = (len(estimators) - 1) / 2
    lines: list[Any] = list(rows.groupby("line", sort=False))
    names = []
    for height, (line, of_line) in enumerate(lines):
        names.append(line or _users(of_line.get("n_users")))
        ends = of_line[["range_low", "range_high"]].iloc[0]
        axes.plot(ends, [height, height], label=meaning, **_LINE)
        for value, estimator in zip(of_line[column], of_line["estimator"], strict=True):
            place = estimators.index(estimator)
            color, marker = _LOOKS[place % len(_LOOKS)]
            at = height + _ASIDE * (place - middle)
            axes.plot(value, at, label=estimator, color=color, marker=marker, **_MARK)
        if line in exact:
            axes.plot(exact[line], height, label="exact", **_EXACT)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if "difference" in rows:
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)


def _users(numbers: pd.Series | None) -> str:
    """Write how many users the first of some results has, if that is known."""
    if numbers is None or pd.isna(numbers.iloc[0]):
        return ""
    number = numbers.iloc[0]
    return "1 user" if number == 1 else f"{number:,.0f} users"


def _verdict(metric: str, rows: pd.DataFrame) -> str:
    """Say the result for a metric: the order of a pair, or the range of a recommender."""
    if "order" in rows:
        pairs = rows.drop_duplicates(["a", "b"])
        n_decided = (pairs["order"] != "undecided").sum()
        if len(pairs) > 1:
            return f"{metric}: {n_decided} of {len(pairs)} pairs decided"
        order = pairs["order"].iloc[0]
        if not n_decided:
            return f"{metric}: {order}"
        return f"{metric}: {pairs[order].item()} is better"
    ranges = rows[["range_low", "range_high"]].drop_duplicates()
    if len(ranges) > 1 or ranges.isna().any(axis=None):
        return metric
    return f"{metric}: {span(*ranges.iloc[0])}"


def _exact_values(
    exact: pd.DataFrame | Mapping[Any, float], names: list[str], value: str
) -> dict[tuple[str, Measure], float]:
    """Return exact values by the names of a line and of a metric."""
    if not isinstance(exact, Mapping):
        for name in (*names, value):
            if name not in exact:
                raise InputError(f"the exact results have no {name}; give values by {names}")
        exact = exact.set_index(names)[value].to_dict()
    known = {}
    for key, number in exact.items():
        *line, metric = key if isinstance(key, tuple) else (key,)
        known[" - ".join(line), parse_measure(metric)] = number
    return known
