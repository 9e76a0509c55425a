"""Plots of results: ranges, estimates and exact values on one axis."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_LINE = {"color": "0.82", "linewidth": 14, "solid_capstyle": "butt", "zorder": 1}
_POINT = {"linestyle": "", "markersize": 6, "zorder": 3}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 18, "markeredgewidth": 2}
_MARKERS = "osD^vPX*"
_ASIDE = 0.12  # between estimators in a line, so that equal ones are seen


def draw(table: "pd.DataFrame", exact: Any, axes: Any) -> Any:
    """Draw results one below the other, those of one metric and pair in one line.

    Parameters
    ----------
    table
        A row for each result, with `range_low` and `range_high` or else `ci_low` and `ci_high`,
        and `value` or `difference`.
    exact
        Results, or values by metric, or by all that a line is named after.
    axes
        Matplotlib axes, or None for a new figure.
    """
    estimated = "range_low" in table and (table["estimator"] != "exact").all()
    low, high = ("range_low", "range_high") if estimated else ("ci_low", "ci_high")
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    estimators = list(table["estimator"].unique()) if estimated else [value]
    several = "recommender" in table and table["recommender"].nunique() > 1
    names = ["b", "a"] if "a" in table else ["recommender"] * several
    names.append("metric")
    known = _exact_values(exact, names, value)
    groups: list[Any] = list(table.groupby(names, sort=False))
    axes = axes or _new_axes(len(groups))
    for height, (key, rows) in enumerate(groups):
        ends = rows[[low, high]].iloc[0]
        axes.plot(ends, [height] * 2, label="range" if estimated else "interval", **_LINE)
        for found, estimator in zip(rows[value], rows.get("estimator", estimators), strict=True):
            place = estimators.index(estimator) if estimated else 0
            style = {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} | _POINT
            aside = _ASIDE * (place - (len(estimators) - 1) / 2)
            axes.plot(found, height + aside, label=estimators[place], **style)
        if key in known:
            axes.plot(known[key], height, label="exact", **_EXACT)
    if value == "difference":
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)
    axes.set_yticks(range(len(groups)), [_label(key) for key, _ in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlabel(value)
    legend = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(legend.values(), legend.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _exact_values(exact: Any, names: Sequence[str], value: str) -> dict[tuple[str, ...], float]:
    if isinstance(exact, Mapping):
        return {key if isinstance(key, tuple) else (key,): each for key, each in exact.items()}
    table = exact.to_frame()
    missing = [name for name in (*names, value) if name not in table]
    if missing:
        raise InputError(f"the exact results have no {missing[0]}; give values by {names}")
    return {tuple(key): each for *key, each in table[[*names, value]].itertuples(index=False)}


def _label(key: Sequence[str]) -> str:
    """Name what a line is of.

    Examples
    --------
    >>> _label(["Y", "X", "ap"]), _label(["X", "ap"]), _label(["ap"])
    ('Y - X: ap', 'X: ap', 'ap')
    """
    *who, metric = key
    return ": ".join(filter(None, [" - ".join(who), metric]))


def _new_axes(lines: int) -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install 'sampled-metrics[plot]'") from error
    return pyplot.subplots(figsize=(7, 1.2 + 0.45 * lines), layout="constrained")[1]
