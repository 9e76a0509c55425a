"""Results that print as tables with a few lines below, in notebooks as well, and their plots."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from sampled_metrics._base.arrays import check_arguments, require_type
from sampled_metrics._base.defaults import BUDGET
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import Parts, html_of, text_of
from sampled_metrics.metrics.measures import parse_measure

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")
Row = dict[str, Any]
FLAT = ("f", "hit", "precision", "recall")  # the same credit down to the cut-off
INSTEAD = (
    "To know more, rank fully where scores are cheap (`evaluate`); where each is expensive, "
    f"`budget` estimates exact metrics from about {BUDGET:g} scores per user."
)
_LINE = {"color": "0.82", "linewidth": 14, "solid_capstyle": "butt", "zorder": 1}
_POINT = {"linestyle": "", "markersize": 6, "zorder": 3}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 18, "markeredgewidth": 2}
_MARKERS = "osD^vPX*"
_ASIDE = 0.12  # between estimators in a line, so that equal ones are seen


class Shown(ABC):
    """What prints as tables with lines about them."""

    @abstractmethod
    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""

    @abstractmethod
    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with a row for each result and all that is known of it."""

    def plot(self, exact: "Shown | Mapping[Any, float] | None" = None, axes: Any = None) -> Any:
        """Draw ranges or intervals as lines, and estimates or values on them; return the axes.

        `exact` are results of `evaluate` or `compare` to draw beside the estimates, or values by
        metric, or by (recommender, metric) if there are several.
        """
        if exact is not None:
            require_type("exact", exact, Shown, Mapping)
        if axes is not None and not hasattr(axes, "set_ylim"):
            raise InputError(f"axes is of type {type(axes).__name__}, expected axes of Matplotlib")
        return _draw(self.to_frame(), {} if exact is None else exact, axes)

    def __str__(self) -> str:
        return text_of(self.parts()).rstrip("\n")

    def _repr_html_(self) -> str:
        return html_of(self.parts())


class Results(Shown, list[Result]):
    r"""A list of results that prints as a table, in notebooks too.

    Examples
    --------
    >>> from sampled_metrics import correct
    >>> results = correct([1, 1, 5, 40, 90], "recall@10", "cls", n_items=3541, n_negatives=100)
    >>> print(str(results).partition("\n\n")[0])
    metric     range             middle    estimator      value  acts like
    ---------  ----------------  --------  -----------  -------  -----------
    recall@10  0.0000 to 0.9020  -         cls          0.19742  recall@26
    """

    def __init__(self, results: Iterable[Result], show: Callable[..., Parts]) -> None:
        super().__init__(results)
        self._show = show

    def parts(self, **options: Any) -> Parts:
        """Return tables of few columns and lines about them."""
        check_arguments(**options)
        return self._show(self, **options)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with a row for each result and a column for each of its fields."""
        import pandas as pd

        return pd.DataFrame([asdict(result) for result in self])  # type: ignore[call-overload]

    __repr__ = Shown.__str__


def resolution(metric: str, behaves_like: int | None) -> str:
    """Name the metric that an estimate acts like, such as `about recall@17`."""
    measure = parse_measure(metric)
    if measure.metric.needs_candidates:
        return metric  # AUC, which sampling does not distort
    if behaves_like is not None and measure.kind in FLAT:
        return f"about {measure.name}@{behaves_like}"
    return f"half credit at {'no rank' if behaves_like is None else f'rank {behaves_like}'}"


def acts_like(metric: str, behaves_like: int | None, n: int) -> str:
    """Name the metric that an estimate acts like, or the ranks at which both fall to half."""
    seen, measure = resolution(metric, behaves_like), parse_measure(metric)
    seen = seen.removeprefix("about ").removeprefix("half credit at ")
    if behaves_like is None or measure.kind in FLAT:
        return seen
    credit = (measure.at([k], n)[0] / measure.at([1], n)[0] for k in range(2, n))
    return f"{seen} (not {next((k for k, c in enumerate(credit, 2) if c <= 0.5), n)})"


def count(number: int, noun: str) -> str:
    """Write a number of things, such as 1 user or 6,040 users."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _draw(table: "pd.DataFrame", exact: Any, axes: Any) -> Any:
    """Draw results one below the other, those of one metric and pair in one line."""
    if "printed" in table:  # a result of `reported`
        table = table.assign(estimator="middle", value=table["range_middle"].astype(float))
    estimated = "range_low" in table and (table["estimator"] != "exact").all()
    ends = ["range_low", "range_high"] if estimated else ["ci_low", "ci_high"]
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    estimators = list(table["estimator"].unique()) if estimated else [value]
    several = "recommender" in table and table["recommender"].nunique() > 1
    names = [*(["b", "a"] if "a" in table else ["recommender"] * several), "metric"]
    known = _exact_values(exact, names, value)
    groups: list[Any] = list(table.groupby(names, sort=False))
    axes = _new_axes(len(groups)) if axes is None else axes
    for height, (key, rows) in enumerate(groups):
        label = "range" if estimated else "interval"
        axes.plot(rows[ends].iloc[0], [height] * 2, label=label, **_LINE)
        for found, estimator in zip(rows[value], rows.get("estimator", estimators), strict=True):
            place = estimators.index(estimator) if estimated else 0
            style = {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} | _POINT
            aside = _ASIDE * (place - (len(estimators) - 1) / 2)
            axes.plot(found, height + aside, label=estimators[place], **style)
        if key in known:
            axes.plot(known[key], height, label="exact", **_EXACT)
    if value == "difference":
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)
    lines = [": ".join(filter(None, [" - ".join(who), metric])) for (*who, metric), _ in groups]
    axes.set_yticks(range(len(groups)), lines)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlabel(value)
    legend = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(legend.values(), legend.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _exact_values(exact: Any, names: list[str], value: str) -> dict[tuple[str, ...], float]:
    if isinstance(exact, Mapping):
        return {key if isinstance(key, tuple) else (key,): each for key, each in exact.items()}
    table = exact.to_frame()
    missing = [name for name in (*names, value) if name not in table]
    if missing:
        raise InputError(f"the exact results have no {missing[0]}; give values by {names}")
    return {tuple(key): each for *key, each in table[[*names, value]].itertuples(index=False)}


def _new_axes(lines: int) -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install 'sampled-metrics[plot]'") from error
    return pyplot.subplots(figsize=(7, 1.2 + 0.45 * lines), layout="constrained")[1]
