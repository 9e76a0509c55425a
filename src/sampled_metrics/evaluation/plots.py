"""Plots of results: a panel for each metric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.defaults import DECIDED_SHARE, QUOTED_ESTIMATOR
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.palette import estimator_looks
from sampled_metrics._base.text import format_interval, format_number, format_range
from sampled_metrics.metrics.measures import Measure, parse_measure

STYLE = Path(__file__).with_name("plots.mplstyle")
_INK = "#1b1f24"  # of values that are no estimates
_LINE: dict[str, Any] = {
    "color": "0.82",
    "linewidth": 12,
    "solid_capstyle": "butt",
    "zorder": 1,
}
_CONTAINS_ZERO = {"linestyle": (0, (0.25, 0.2))}  # stripes, in widths of the line
_RING: dict[str, Any] = {
    "linestyle": "",
    "color": "0.25",
    "marker": "o",
    "markersize": 9,
    "fillstyle": "none",
}
_INTERVAL: dict[str, Any] = {"linewidth": 1.5, "label": "_"}  # not in the legend
_MARK: dict[str, Any] = {"linestyle": "", "markersize": 5}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 16, "markeredgewidth": 2}
_OFFSET = 0.14  # between estimators on a line, so that equal values do not hide each other
_PRINTED = "printed"  # the label of rings
_MARGIN = 0.05  # beside the drawn values, as a share of their width


def draw(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw results in the style of this package, also on existing axes; see `Shown.plot`."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install matplotlib") from error
    table = table.assign(title=table["metric"], metric=table["metric"].map(parse_measure))
    style = mpl.rc_params_from_file(STYLE, use_default_template=False)
    with mpl.rc_context({**style, "font.size": 9, "axes.grid.axis": "x"}):
        if "probability" in table:
            return _draw_plan(table, axes)
        return _draw_results(table, exact, axes)


def _axes_for(number: int, height: float, axes: Any) -> tuple[Any, list[Any]]:
    """Return the axes passed, or those of a new figure, and a list of them."""
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(number, figsize=(6, height), layout="constrained")
    try:
        panels = list(np.array([axes], dtype=object).flat)
    except Exception:  # objects of other libraries raise errors of their own
        panels = []
    are_axes = all(hasattr(panel, "set_ylim") for panel in panels)
    if len(panels) != number or not are_axes:
        raise InputError(f"axes must be {number} axes of Matplotlib, one for each metric")
    return axes, panels


def _draw_results(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw a panel for each metric, and return the axes."""
    table, value, meaning, names = _columns_to_draw(table)
    exact_values = _exact_values(exact, [*names, "metric"], value)
    metrics: list[Any] = list(table.groupby("metric", sort=False))  # (metric, its rows)
    n_lines = len(table) / table["estimator"].nunique()  # a row for each line and estimator
    height = 0.5 + 0.5 * len(metrics) + 0.3 * n_lines  # in inches: axes, titles and lines
    has_own_figure = axes is None
    axes, panels = _axes_for(len(metrics), height, axes)
    for panel, (metric, rows) in zip(panels, metrics, strict=True):
        exact_by_line = {
            line: exact_value
            for (line, measure), exact_value in exact_values.items()
            if measure == metric
        }
        _draw_lines(panel, rows, value, meaning=meaning, exact=exact_by_line)
        panel.set_title(_title(rows, value))
    compares_all = [metric.metric.needs_candidates for metric, _ in metrics]
    for _, shared in pd.Series(panels, dtype=object).groupby(compares_all):
        _share_axis(list(shared), value == "difference")
    panels[-1].set_xlabel(f"{value} (fraction)")
    labels = [meaning, _with_zero(meaning), _PRINTED, *table["estimator"].unique(), "exact"]
    _add_legend(panels, labels, outside=has_own_figure)
    return axes


def _add_legend(panels: list[Any], labels: list[str], *, outside: bool) -> None:
    """Explain the marks that are drawn, in the order of `labels`: above all panels or in the first.

    Marks with the same label look the same.
    """
    marks = {mark.get_label(): mark for panel in panels for mark in panel.lines}
    drawn = [label for label in labels if label in marks]
    handles = [marks[label] for label in drawn]
    if outside:
        legend = {"loc": "outside upper left", "ncols": 6, "columnspacing": 1}
        panels[0].figure.legend(handles, drawn, **legend)
    else:
        panels[0].legend(handles, drawn)


def _columns_to_draw(table: pd.DataFrame) -> tuple[pd.DataFrame, str, str, list[str]]:
    """Add the columns that are drawn, and find out what they mean.

    Returns
    -------
    table
        With the columns `key` (which identifies a line, and is its label), `range_low` and
        `range_high` (its ends).
    value
        Column of the marks.
    meaning
        What lines are: range or interval.
    names
        Columns that the key joins; none for a single recommender.
    """
    if "printed" in table:  # a result of `reported` or `check`
        table = table.assign(estimator="likely", value=table["likely"].astype(float))
        if "reported" not in table:
            table = _with_printed_values(table)
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    has_no_ranges = "range_low" not in table
    if has_no_ranges or table["estimator"].isin(["exact", "budget"]).all():
        ends = {"range_low": table["ci_low"], "range_high": table["ci_high"]}
        table = table.assign(estimator=value, **ends)
        meaning = "interval"
    else:
        meaning = "range"
    names = _columns_of_names(table)
    key = [" - ".join(map(str, line)) for line in table[names].to_numpy()]  # b - a, as in tables
    return table.assign(key=key), value, meaning, names


def _with_printed_values(table: pd.DataFrame) -> pd.DataFrame:
    """Add what rows print of their metric: its name as `title`, and its value as `reported`.

    A row prints several metrics, such as "HR@10=0.82 NDCG@10=0.55"; nan if its own is not there.
    """
    titles = []
    values = []
    for measure, title, text in zip(table["metric"], table["title"], table["printed"], strict=True):
        printed_pairs = [entry.rsplit("=", 1) for entry in text.split()]  # (name, value)
        of_metric = [pair for pair in printed_pairs if parse_measure(pair[0]) == measure]
        name, value = of_metric[0] if of_metric else (title, "nan")
        titles.append(name)
        values.append(float(value))
    return table.assign(title=titles, reported=values)


def _with_zero(meaning: str) -> str:
    """Return the label of ranges or intervals that contain 0."""
    return f"{meaning} with 0"


def _columns_of_names(table: pd.DataFrame) -> list[str]:
    """Return the columns that identify a line; none for a single recommender.

    These are both names of a pair, the columns of a checked table that differ between its rows, or
    the recommender.
    """
    if "a" in table:
        return ["b", "a"]
    if "row" in table:  # of a checked table
        varying = [name for name in ("source", "data_set") if table[name].nunique() > 1]
        if table["model"].any():
            varying.append("model")
        if table.duplicated([*varying, "metric"]).any():
            varying.append("row")
        return varying
    if "recommender" in table and table["recommender"].nunique() > 1:
        return ["recommender"]
    return []


def _share_axis(panels: list[Any], is_difference: bool) -> None:
    """Give panels the same horizontal axis, which contains 0; axes of values start there."""
    low = min(0.0, *(panel.dataLim.x0 for panel in panels))
    high = max(0.0, *(panel.dataLim.x1 for panel in panels))
    if low == high:
        high = 1.0
    margin = _MARGIN * (high - low)
    start = low - margin if is_difference else 0.0
    for panel in panels:
        panel.set_xlim(start, high + margin)


def _draw_lines(
    axes: Any, rows: pd.DataFrame, column: str, *, meaning: str, exact: Mapping[str, float]
) -> None:
    """Draw the results of one metric, a line for each recommender or pair, from top to bottom.

    Parameters
    ----------
    rows
        One for each line and estimator, see `_columns_to_draw`.
    column, meaning
        Column of the marks, and what bars are: range or interval.
    exact
        Exact values by the key of a line.
    """
    estimators = list(rows["estimator"].unique())
    are_differences = "difference" in rows
    lines: list[Any] = list(rows.groupby("key", sort=False))
    labels = []
    for height, (key, of_line) in enumerate(lines):
        labels.append(key or _users_in_words(of_line.get("n_users")))
        low, high = of_line[["range_low", "range_high"]].iloc[0].astype(float)
        _draw_bar(axes, low, high, height, meaning=meaning, is_difference=are_differences)
        if np.isnan([low, high]).any():
            _annotate_missing(axes, of_line, height, meaning)
        if "reported" in rows:
            axes.plot(of_line["reported"].iloc[0], height, label=_PRINTED, **_RING)
        _draw_marks(axes, of_line, column, height, estimators)
        if key in exact:
            axes.plot(exact[key], height, label="exact", **_EXACT)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)  # the first line on top
    if are_differences:
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)


def _draw_marks(
    axes: Any, of_line: pd.DataFrame, column: str, height: int, estimators: list[str]
) -> None:
    """Draw the values of a line in the looks of their estimators, and the interval of `likely`.

    Estimators are a bit above and below each other, in the order of `estimators`. `column` is the
    column of the values; results without estimators have its name as their only one.
    """
    looks = estimator_looks(estimators)
    middle = (len(estimators) - 1) / 2
    for _, result in of_line.iterrows():
        estimator = result["estimator"]
        y = height + _OFFSET * (estimators.index(estimator) - middle)
        has_estimator = estimator != column
        color = looks[estimator].light if has_estimator else _INK
        marker = looks[estimator].marker
        axes.plot(result[column], y, label=estimator, color=color, marker=marker, **_MARK)
        if estimator == QUOTED_ESTIMATOR and "likely_low" in of_line:
            interval = result[["likely_low", "likely_high"]].astype(float)
            axes.plot(interval, [y, y], color=color, **_INTERVAL)


def _annotate_missing(axes: Any, of_line: pd.DataFrame, height: int, meaning: str) -> None:
    """Write that a line has no range or interval, and the kind of contradiction if it has one."""
    text = f"no {meaning}"
    if "flags" in of_line:  # such as "bounds: ..."
        kind = of_line["flags"].iloc[0].partition(":")[0]
        text = f"{text}: {kind}" if kind else text
    beside_axis = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (0.0, height), **beside_axis)


def _draw_bar(
    axes: Any, low: float, high: float, height: int, *, meaning: str, is_difference: bool
) -> None:
    """Draw a range or an interval; differences that may be 0 are striped."""
    label, style = meaning, _LINE
    if is_difference and low <= 0.0 <= high:
        label, style = _with_zero(meaning), {**_LINE, **_CONTAINS_ZERO}
    axes.plot([low, high], [height, height], label=label, **style)


def _users_in_words(numbers: pd.Series | None) -> str:
    """Write the first of these numbers of users; nothing if it is not known."""
    if numbers is None or pd.isna(numbers.iloc[0]):
        return ""
    number = numbers.iloc[0]
    return "1 user" if number == 1 else f"{number:,.0f} users"


def _title(rows: pd.DataFrame, value: str) -> str:
    """Write the result for a metric: the order of a pair, or the value and interval of a line."""
    metric = str(rows["title"].iloc[0])
    if "order" in rows:
        return f"{metric}: {_orders_in_words(rows.drop_duplicates('key'))}"
    first = rows.iloc[0]  # the number to quote comes first
    ends = first[["range_low", "range_high"]].astype(float)
    if rows["key"].nunique() > 1 or ends.isna().any():
        return metric
    if pd.isna(first.get("reported")):
        return f"{metric}: {_value_in_words(first, value)}"
    _, _, high_end = format_range(*ends).rpartition(" ")  # of "0.1 to 0.3"
    printed = f"printed {first['reported']:.4g}, at most {high_end}"
    if pd.isna(first["likely"]):
        return f"{metric}: {printed}"
    quoted = _value_in_words(first, value).removeprefix(f"{QUOTED_ESTIMATOR} ")
    return f"{metric}: {printed}, {QUOTED_ESTIMATOR} {quoted}"


def _value_in_words(result: pd.Series, value: str) -> str:
    """Write a value with its interval, `likely` with its name; or only the range."""
    estimator, number = result["estimator"], result[value]
    if estimator == QUOTED_ESTIMATOR and pd.notna(result.get("likely_low")):
        interval = format_interval(result["likely_low"], result["likely_high"], is_short=True)
        return f"{QUOTED_ESTIMATOR} {format_number(number)} ({interval})"
    ends = format_range(*result[["range_low", "range_high"]].astype(float))
    if estimator in (QUOTED_ESTIMATOR, "value") and np.isfinite(number):
        return f"{format_number(number)} ({ends})"
    return ends


def _orders_in_words(pairs: pd.DataFrame) -> str:
    """Write the order of a pair, or how many of several pairs are decided."""
    n_decided = int((pairs["order"] != "undecided").sum())
    if len(pairs) > 1:
        return f"{n_decided} of {len(pairs)} pairs decided"
    if not n_decided:
        return "undecided"
    (pair,) = pairs.to_dict("records")
    better, worse = ("a", "b") if pair["order"] == "a" else ("b", "a")
    return f"{pair[better]} above {pair[worse]}"


def _exact_values(
    exact: pd.DataFrame | Mapping[Any, float], names: list[str], value: str
) -> dict[tuple[str, Measure], float]:
    """Return exact values by the key of a line and the metric.

    Parameters
    ----------
    exact
        Exact results with the columns `names` and `value`, or values by metric or by names of a
        line and metric.
    names
        Columns that identify a line, and last `metric`.
    """
    if not isinstance(exact, Mapping):
        for name in (*names, value):
            if name not in exact:
                raise InputError(f"the exact results have no {name}; pass values by {names}")
        exact = exact.set_index(names)[value].to_dict()
    values = {}
    for key, exact_value in exact.items():
        *line_names, metric = key if isinstance(key, tuple) else (key,)
        values[" - ".join(line_names), parse_measure(metric)] = exact_value
    return values


def _draw_plan(table: pd.DataFrame, axes: Any) -> Any:
    """Draw the probability of a decision against the number of negatives.

    Each metric has a panel, in which full rankings are at the right edge.
    """
    metrics: list[Any] = list(table.groupby("metric", sort=False))
    axes, panels = _axes_for(len(metrics), 0.5 + 1.8 * len(metrics), axes)
    for panel, (_, rows) in zip(panels, metrics, strict=True):
        first = rows.iloc[0]
        sizes = rows["n_negatives"].astype(float)  # nan for full rankings
        right_edge = 2 * sizes.max()
        panel.plot(
            sizes.fillna(right_edge),
            rows["probability"],
            color=_INK,
            marker="o",
            label=first["title"],
        )
        panel.axhline(
            DECIDED_SHARE,
            color="0.4",
            linewidth=1,
            linestyle="--",
            label=f"{100 * DECIDED_SHARE:g} %",
        )
        panel.set_xscale("log")
        ticks = sizes.dropna().astype(int).tolist()
        panel.set_xticks([*ticks, right_edge], [*map("{:,}".format, ticks), "all"])
        panel.minorticks_off()
        panel.set(ylim=(0, 1.05), ylabel="probability that\nthe order is decided")
        panel.grid(axis="y")
        panel.set_title(_plan_title(rows))
    panels[-1].set_xlabel("negatives")
    return axes


def _plan_title(rows: pd.DataFrame) -> str:
    """Write how many negatives decide in most evaluations."""
    first = rows.iloc[0]
    if pd.notna(first["decides"]):
        decides = f"{first['decides']:,.0f} negatives decide"
    elif rows["probability"].max() >= DECIDED_SHARE:
        decides = "only full rankings decide"
    else:
        decides = "not even full rankings decide"
    return f"{first['title']}: {decides} in {100 * DECIDED_SHARE:g} % of evaluations"
