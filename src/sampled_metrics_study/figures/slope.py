"""The slope chart: from expected Recall@10 against m random items to Recall@10 over all items.

`python -m sampled_metrics_study.reference slope results/reference` draws it of the reference run.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics import compare
from sampled_metrics._base.files import replace_file
from sampled_metrics._base.palette import recommender_looks
from sampled_metrics.evaluation.compare import Compared
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.figures import STYLE
from sampled_metrics_study.figures.figure6 import ESTIMATORS, RECALL, expected_recall
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import SAMPLED

SIZE = 8.4, 2.45  # inches, as wide as a README on GitHub
LEFT, RIGHT = 0.0, 1.0  # where the two axes are
AXIS_TITLES = "against {m} random items", "over all items"


class Theme(NamedTuple):
    """Colours of a picture: the page and its text."""

    page: str
    ink: str
    grey: str
    scheme: str  # of the colours of recommenders


THEMES = {
    "": Theme("#ffffff", "#1b1e23", "#59616c", "light"),
    "-dark": Theme("#0d1117", "#f0f3f6", "#a5adb8", "dark"),
}


def recall_by_candidates(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Return Recall@10 in percent: expected against m random items, and over all items.

    Each recommender has a row. `sampled` is the expectation over samples and over orders of ties,
    with m = `settings.n_negatives` only.
    """
    expected = expected_recall(records, settings)  # in percent
    place = [estimator.label for estimator in ESTIMATORS].index(SAMPLED)
    rows = []
    for name, ranks in records.items():
        sampled = float(expected(name, place, settings.n_negatives).mean)
        rows.append((name, sampled, 100.0 * float(values(RECALL, ranks).mean())))
    return pd.DataFrame(rows, columns=["recommender", "sampled", "exact"])


def describe_decisions(pairs: Iterable[Compared]) -> str:
    """Return a sentence: which orders full rankings decide, and which they do not."""
    decided = []
    undecided = []
    for pair in pairs:
        if pair.order == "a":
            decided.append(f"{pair.a} above {pair.b}")
        elif pair.order == "b":
            decided.append(f"{pair.b} above {pair.a}")
        else:
            undecided.append(f"{pair.a} against {pair.b}")
    parts = [f"decide {' and '.join(decided)}" if decided else "decide no order"]
    if undecided:
        parts.append(f"{' and '.join(undecided)} is undecided")
    return f"Full rankings (95 %, Holm) {'; '.join(parts)}."


def headline(by_sampled: Sequence[str], by_exact: Sequence[str], m: int) -> str:
    """Return the sentence above the chart, about the recommender that looks best.

    `by_sampled` and `by_exact` are the names of the recommenders, best first, by the metric against
    m random items and over all items.

    Examples
    --------
    >>> headline("XYZ", "ZYX", 100)
    'Against 100 random items X looks best of three. Over all items it is the worst.'
    """
    best = by_sampled[0]
    place = 1 + by_exact.index(best)
    places = {1: "it is the best", len(by_exact): "it is the worst"}
    number = {2: "two", 3: "three"}.get(len(by_exact), str(len(by_exact)))
    over_all = places.get(place, f"it is in place {place}")
    return f"Against {m:,} random items {best} looks best of {number}. Over all items {over_all}."


def draw_slope(figure: Figure, table: pd.DataFrame, m: int, note: str, theme: Theme) -> None:
    """Draw a line for each recommender, from its sampled to its exact Recall@10.

    Each side has its own scale. `note` is the text below the chart.
    """
    figure.set_size_inches(SIZE)
    figure.set_facecolor(theme.page)
    axes = figure.add_axes((0.17, 0.2, 0.66, 0.54))
    axes.set(xlim=(LEFT, RIGHT), ylim=(-0.06, 1.06))
    axes.axis("off")
    for x in (LEFT, RIGHT):
        axes.axvline(x, color=theme.grey, linewidth=1, zorder=1)
    heights = table[["sampled", "exact"]].apply(shares_of_range)
    best = table["sampled"].idxmax()
    looks = recommender_looks(table["recommender"])
    for row in table.itertuples():
        color = getattr(looks[str(row.recommender)], theme.scheme)
        ends = heights.loc[row.Index].tolist()
        width = 4.0 if row.Index == best else 2.2
        axes.plot([LEFT, RIGHT], ends, color=color, linewidth=width, marker="o", clip_on=False)
        texts = f"{row.recommender}   {row.sampled:.1f} %", f"{row.exact:.2f} %   {row.recommender}"
        label_both_ends(axes, ends, texts, color=color)
    for x, title, side in zip((0.02, 0.98), AXIS_TITLES, ("left", "right"), strict=True):
        head = f"Recall@10 {title.format(m=f'{m:,}')}"
        figure.text(x, 0.81, head, ha=side, color=theme.ink, fontsize=11)
    by_sampled, by_exact = (
        table.sort_values(column, ascending=False)["recommender"].tolist()
        for column in ("sampled", "exact")
    )
    sentence = headline(by_sampled, by_exact, m)
    figure.text(0.5, 0.91, sentence, ha="center", color=theme.ink, fontsize=12, weight="bold")
    figure.text(0.5, 0.04, note, ha="center", color=theme.grey, fontsize=9.5, linespacing=1.5)


def shares_of_range(column: pd.Series) -> Any:
    """Scale values linearly, so that the lowest is 0 and the highest is 1.

    Examples
    --------
    >>> shares_of_range(pd.Series([7.0, 8.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return (column - column.min()) / (column.max() - column.min())


def label_both_ends(axes: Axes, heights: list[float], texts: tuple[str, str], **style: Any) -> None:
    """Write the two texts beside the left and the right end of a line."""
    for x, y, text, side, shift in zip(
        (LEFT, RIGHT), heights, texts, ("right", "left"), (-12, 12), strict=True
    ):
        axes.annotate(
            text,
            (x, y),
            (shift, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=13,
            weight="bold",
            annotation_clip=False,
            **style,
        )


def write_slope(records: Mapping[str, Ranks], settings: ExperimentSettings, folder: Path) -> None:
    """Write slope.svg, and slope-dark.svg for dark pages, in a folder."""
    table = recall_by_candidates(records, settings)
    users = len(next(iter(records.values())))
    note = (
        f"MovieLens 1M, {users:,} users. Values on the left are expected ones. "
        f"Each side has its own scale.\n{describe_decisions(compare(records, str(RECALL)))}"
    )
    for suffix, theme in THEMES.items():
        style = matplotlib.rc_params_from_file(STYLE)
        # Draw text as outlines: a README cannot load a font, and other fonts are wider.
        style |= {"svg.fonttype": "path", "lines.markersize": 8}
        with matplotlib.rc_context(style), replace_file(folder / f"slope{suffix}.svg") as path:
            figure = Figure(dpi=72)  # the resolution of SVG
            draw_slope(figure, table, settings.n_negatives, note, theme)
            figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
