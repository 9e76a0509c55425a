"""Plots of results: a panel for each metric, or the power curves of a plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import digits, span
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
_DECIDED = 0.95  # probability that a plan asks for


def draw(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw results in a style of its own, also on axes of the caller; see `Shown.plot`."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install 'sampled-metrics[plot]'") from error
    table = table.assign(metric=table["metric"].map(parse_measure))
    style = {**mpl.rc_params_from_file(STYLE, use_default_template=False), "font.size": 9}
    if "probability" in table:
        with mpl.rc_context(style):
            return _draw_plan(table, axes)
    with mpl.rc_context({**style, "axes.grid.axis": "x"}):
        return _draw_results(table, exact, axes)


def _axes_for(number: int, height: float, axes: Any) -> tuple[Any, list[Any]]:
    """Return axes of the caller, or of a new figure, also as a list."""
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(number, figsize=(6, height), layout="constrained")
    panels = list(np.array([axes], dtype=object).flat)
    if len(panels) != number or not all(hasattr(panel, "set_ylim") for panel in panels):
        raise InputError(f"axes must be {number} axes of Matplotlib, one for each metric")
    return axes, panels


def _draw_results(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw a panel for each metric, and return the axes."""
    table, value, line, names = _contents(table)
    known = _exact_values(exact, [*names, "metric"], value)
    metrics: list[Any] = list(table.groupby("metric", sort=False))
    ends = _axes_of(table, value, known)
    # A table has a row for each line and estimator.
    height = 0.5 + 0.5 * len(metrics) + 0.3 * len(table) / table["estimator"].nunique()
    given = axes
    axes, panels = _axes_for(len(metrics), height, given)
    for panel, (metric, rows) in zip(panels, metrics, strict=True):
        of_metric = {key[:-1]: number for key, number in known.items() if key[-1] == metric}
        panel.set_xlim(ends[metric])
        _draw_metric(panel, rows, value, line, names, of_metric)
        panel.set_title(_verdict(metric.label, rows))
    panels[-1].set_xlabel(f"{value} (fraction)")
    drawn = {mark.get_label(): mark for panel in panels for mark in panel.lines}
    labels = [line, *table["estimator"].unique(), "exact"]
    labels = [label for label in labels if label in drawn]
    marks = [drawn[label] for label in labels]
    if given is None:
        panels[0].figure.legend(marks, labels, loc="outside upper left", ncols=6, columnspacing=1)
    else:
        panels[0].legend(marks, labels)
    return axes


def _contents(table: pd.DataFrame) -> tuple[pd.DataFrame, str, str, list[str]]:
    """Find the columns of a table to draw.

    Returns the table with range_low and range_high, the ends of each line; the column of the marks;
    the meaning of lines, range or interval; and the columns that name a line, none for a single
    recommender.
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
    if "range_low" in table and not table["estimator"].isin(["exact", "budget"]).all():
        return table, value, "range", names
    ends = {"range_low": table["ci_low"], "range_high": table["ci_high"]}
    return table.assign(estimator=value, **ends), value, "interval", names


def _axes_of(
    table: pd.DataFrame, value: str, exact: Mapping[tuple[Any, ...], float]
) -> dict[Measure, tuple[float, float]]:
    """Choose the ends of the axis of each metric.

    Metrics that can be compared share one, which begins at 0; those that compare with all
    candidates, such as AUC, have their own. An axis of differences holds 0.
    """
    by_all = table["metric"].map(lambda measure: measure.metric.needs_candidates)
    ends: dict[Measure, tuple[float, float]] = {}
    for _, rows in table.groupby(by_all):
        names = list(rows["metric"].unique())
        known = [number for key, number in exact.items() if key[-1] in names]
        drawn = [rows[column] for column in ("range_low", "range_high", value)]
        places = np.concatenate([*drawn, known, [0.0]])
        low = float(np.nanmin(places))
        high = float(np.nanmax(places))
        if low == high:
            high = 1.0
        room = _ROOM * (high - low)
        first = low - room if value == "difference" else 0.0
        ends |= dict.fromkeys(names, (first, high + room))
    return ends


def _draw_plan(table: pd.DataFrame, axes: Any) -> Any:
    """Draw how likely an order is decided by the number of negatives, a curve for each metric.

    Full rankings stand at the right end. Returns the axes.
    """
    given = axes
    axes, (panel,) = _axes_for(1, 3.2, given)
    sizes = table["n_negatives"].dropna().astype(int).unique()
    full = 2 * max(sizes, default=1)
    metrics: list[Any] = list(table.groupby("metric", sort=False))
    for metric, rows in metrics:
        color, marker = _LOOKS[len(panel.lines) % len(_LOOKS)]
        at = rows["n_negatives"].fillna(full)
        look = {"color": color, "marker": marker, "markersize": 4}
        panel.plot(at, rows["probability"], label=metric.label, **look)
    panel.axhline(_DECIDED, color="0.4", linewidth=1, linestyle="--")
    panel.set(xscale="log", ylim=(-0.02, 1.03), ylabel="probability of a decision")
    panel.set_yticks([0.0, 0.5, _DECIDED], ["0 %", "50 %", "95 %"])
    panel.set_xlabel("negatives per user")
    marked = [m for m in sizes if str(m).strip("0") in ("1", "")] or list(sizes)
    panel.set_xticks([*marked, full], [*(f"{m:,}" for m in marked), "all"])
    panel.minorticks_off()
    first = table.iloc[0]
    exact = f"{digits(first['exact_a'])} and {digits(first['exact_b'])}"
    panel.set_title(f"{_users(first['n_users'])}, {first['metric'].label} {exact}")
    if len(metrics) > 1:
        panel.legend()
    return axes


def _draw_metric(
    axes: Any,
    rows: pd.DataFrame,
    column: str,
    label: str,
    names: list[str],
    exact: Mapping[tuple[Any, ...], float],
) -> None:
    """Draw the results of one metric, a line for each recommender or pair."""
    estimators = list(rows["estimator"].unique())
    lines: list[Any] = [((), rows)]
    if names:
        lines = list(rows.groupby(names, sort=False))
    for height, (key, of_line) in enumerate(lines):
        ends = of_line[["range_low", "range_high"]].iloc[0]
        axes.plot(ends, [height, height], label=label, **_LINE)
        for value, estimator in zip(of_line[column], of_line["estimator"], strict=True):
            place = estimators.index(estimator)
            color, marker = _LOOKS[place % len(_LOOKS)]
            at = height + _ASIDE * (place - (len(estimators) - 1) / 2)
            axes.plot(value, at, label=estimator, color=color, marker=marker, **_MARK)
        if key in exact:
            axes.plot(exact[key], height, label="exact", **_EXACT)
    axes.set_yticks(range(len(lines)), [_name(key, of_line) for key, of_line in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    if "difference" in rows:
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)


def _name(key: tuple[str, ...], rows: pd.DataFrame) -> str:
    """Name a line: a recommender, the difference of two, or of a single one the users."""
    if key:
        return " - ".join(key)
    n_users = rows["n_users"].iloc[0] if "n_users" in rows else None
    return "" if pd.isna(n_users) else _users(n_users)


def _users(number: float) -> str:
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
) -> dict[tuple[Any, ...], float]:
    """Return exact values by the names of a line and of a metric."""
    if not isinstance(exact, Mapping):
        for name in (*names, value):
            if name not in exact:
                raise InputError(f"the exact results have no {name}; give values by {names}")
        exact = exact.set_index(names)[value].to_dict()
    known = {}
    for key, number in exact.items():
        *line, metric = key if isinstance(key, tuple) else (key,)
        known[*line, parse_measure(metric)] = number
    return known
