"""Plots of results, a panel for each metric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.errors import InputError

STYLE = Path(__file__).with_name("plots.mplstyle")
# Colour and marker by estimator; no red beside green.
_LOOKS = (("#0072b2", "o"), ("#a06000", "D"), ("#6a4fb3", "^"), ("#b0488a", "s"), ("#5b6470", "v"))
_LINE = {"color": "0.82", "linewidth": 12, "solid_capstyle": "butt", "zorder": 1}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 16, "markeredgewidth": 2}
_ASIDE = 0.14  # between estimators in a line, so that equal ones are seen
_FAR = 0.6  # of the width of all else, beyond which an uncorrected value is drawn at the edge


def draw(table: pd.DataFrame, exact: "pd.DataFrame | Mapping[Any, float]", axes: Any) -> Any:
    """Draw results in a style of its own, also on axes of the caller; see `Shown.plot`."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install 'sampled-metrics[plot]'") from error
    style = {**mpl.rc_params_from_file(STYLE, use_default_template=False), "font.size": 9}
    with mpl.rc_context({**style, "axes.grid.axis": "x"}):
        return _draw(table, exact, axes)


def _draw(table: pd.DataFrame, exact: "pd.DataFrame | Mapping[Any, float]", axes: Any) -> Any:
    if "printed" in table:  # a result of `reported`
        table = table.assign(estimator="middle", value=table["range_middle"].astype(float))
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    line = "range"
    if "range_low" not in table or (table["estimator"] == "exact").all():
        ends = {f"range_{end}": table[f"ci_{end}"] for end in ("low", "high")}
        table, line = table.assign(estimator=value, **ends), "interval"
    several = "recommender" in table and table["recommender"].nunique() > 1
    names = ["b", "a"] if "a" in table else ["recommender"] * several
    known = _exact_values(exact, [*names, "metric"], value)
    metrics = list(table["metric"].unique())
    own = axes is None
    if own:
        from matplotlib import pyplot

        size = (6, 0.5 * (1 + len(metrics)) + 0.3 * len(table.groupby([*names, "metric"])))
        axes = pyplot.subplots(len(metrics), figsize=size, layout="constrained")[1]
    panels = np.array([axes], dtype=object).ravel()
    if len(panels) != len(metrics) or not all(hasattr(panel, "set_ylim") for panel in panels):
        raise InputError(f"axes must be {len(metrics)} axes of Matplotlib, one for each metric")
    for panel, metric in zip(panels, metrics, strict=True):
        rows = table[table["metric"] == metric].assign(drawn=table[value], line=line)
        exact = {tuple(key): number for (*key, name), number in known.items() if name == metric}
        _draw_metric(panel, rows, names, exact)
        panel.set_title(_verdict(metric, rows))
    panels[-1].set_xlabel(value)
    drawn = {line.get_label(): line for panel in panels for line in reversed(panel.lines)}
    labels = [name for name in (line, *table["estimator"].unique(), "exact") if name in drawn]
    where: dict[str, Any] = {"loc": "outside upper left", "ncols": 6} if own else {}
    legend = (panels[0].figure if own else panels[0]).legend
    legend([drawn[name] for name in labels], labels, **where)
    return axes


def _draw_metric(
    axes: Any, rows: pd.DataFrame, names: list[str], exact: Mapping[tuple[Any, ...], float]
) -> None:
    """Draw the results of one metric, a line for each recommender or pair."""
    estimators = list(rows["estimator"].unique())
    near = rows.loc[rows["estimator"] != "sampled", "drawn"]
    places = np.concatenate([rows["range_low"], rows["range_high"], near, [*exact.values()]])
    low, high = np.nanmin(places), np.nanmax(places)
    reach = _FAR * (high - low) or np.inf
    groups: list[Any] = list(rows.groupby(names, sort=False)) if names else [((), rows)]
    for height, (key, group) in enumerate(groups):
        ends, line = group[["range_low", "range_high"]].iloc[0], group["line"].iloc[0]
        axes.plot(ends, [height] * 2, label=line, **_LINE)
        for drawn, estimator in zip(group["drawn"], group["estimator"], strict=True):
            place = estimators.index(estimator)
            at = height + _ASIDE * (place - (len(estimators) - 1) / 2)
            color, marker = _LOOKS[place % len(_LOOKS)]
            style: dict[str, Any] = {"color": color, "linestyle": "", "markersize": 5}
            if estimator == "sampled" and not low - reach <= drawn <= high + reach:
                edge, marker, side = (1, ">", "right") if drawn > high else (0, "<", "left")
                style |= {"transform": axes.get_yaxis_transform(), "clip_on": False}
                text = {"ha": side, "va": "center", "color": color, "transform": style["transform"]}
                axes.text(0.97 * edge + 0.015, at, f"{drawn:.3g}", **text)
                drawn = edge
            axes.plot(drawn, at, marker=marker, label=estimator, **style)
        if key in exact:
            axes.plot(exact[key], height, label="exact", **_EXACT)
    axes.set_yticks(range(len(groups)), [" - ".join(key) for key, _ in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    if "difference" in rows:
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)


def _verdict(metric: str, rows: pd.DataFrame) -> str:
    """Say what is known of a metric: the order of a pair, or the range of a recommender."""
    if "order" in rows:
        pairs = rows.drop_duplicates(["a", "b"])
        order, decided = pairs["order"].iloc[0], (pairs["order"] != "undecided").sum()
        if len(pairs) > 1:
            return f"{metric}: {decided} of {len(pairs)} pairs decided"
        return f"{metric}: {f'{pairs[order].item()} is better' if decided else order}"
    ranges = rows[["range_low", "range_high"]].drop_duplicates()
    return "{}: {:.3g} to {:.3g}".format(metric, *ranges.iloc[0]) if len(ranges) == 1 else metric


def _exact_values(
    exact: "pd.DataFrame | Mapping[Any, float]", names: list[str], value: str
) -> dict[tuple[Any, ...], float]:
    if isinstance(exact, Mapping):
        return {key if isinstance(key, tuple) else (key,): x for key, x in exact.items()}
    if missing := [name for name in (*names, value) if name not in exact]:
        raise InputError(f"the exact results have no {missing[0]}; give values by {names}")
    return {tuple(key): x for *key, x in exact[[*names, value]].itertuples(index=False)}
