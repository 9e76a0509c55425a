"""The slope chart: from expected Recall@10 against m random items to Recall@10 over all items.

`python -m sampled_metrics_study.reference slope results/reference` draws it of the reference run.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics import compare
from sampled_metrics._base.files import replace_file
from sampled_metrics._base.palette import recommender_looks
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.figures import STYLE
from sampled_metrics_study.figures.figure6 import ESTIMATORS, RECALL, expected_recall
from sampled_metrics_study.figures.style import Style
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.slope_chart import describe_decisions, headline, shares_of_range
from sampled_metrics_study.tables import SAMPLED

LEFT, RIGHT = 0.0, 1.0  # where the two axes are
AXIS_TITLES = "against {m} random items", "over all items"


class Layout(NamedTuple):
    """Size of a picture in inches, and the size of its text in points."""

    width: float
    height: float
    axes: tuple[float, float, float, float]  # left, bottom, width and height, as shares
    title: float
    label: float
    head: float
    note: float
    title_width: int  # characters in a line
    note_width: int
    title_top: float
    head_bottom: float


# As wide as a README on GitHub, and as its text on a phone.
LAYOUTS = {
    "": Layout(8.4, 2.45, (0.17, 0.2, 0.66, 0.54), 12, 13, 11, 9.5, 99, 99, 0.975, 0.81),
    "-narrow": Layout(4.7, 4.7, (0.31, 0.26, 0.38, 0.39), 15, 14, 12, 12, 34, 50, 0.98, 0.69),
}


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


def draw_slope(
    figure: Figure, table: pd.DataFrame, m: int, note: str, theme: Theme, layout: Layout
) -> None:
    """Draw a line for each recommender, from its sampled to its exact Recall@10.

    Each side has its own scale. `note` is the text below the chart. The background is that of the
    page around the picture.
    """
    figure.set_size_inches(layout.width, layout.height)
    axes = figure.add_axes(layout.axes)
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
        label_both_ends(axes, ends, texts, color=color, fontsize=layout.label)
    for x, title, side in zip((0.02, 0.98), AXIS_TITLES, ("left", "right"), strict=True):
        head = fill(f"Recall@10 {title.format(m=f'{m:,}')}", layout.note_width // 2)
        figure.text(
            x,
            layout.head_bottom,
            head,
            ha=side,
            multialignment=side,
            color=theme.ink,
            fontsize=layout.head,
        )
    by_sampled, by_exact = (
        table.sort_values(column, ascending=False)["recommender"].tolist()
        for column in ("sampled", "exact")
    )
    sentence = fill(headline(by_sampled, by_exact, m), layout.title_width)
    bold: Style = {"color": theme.ink, "fontsize": layout.title, "weight": "bold"}
    figure.text(0.5, layout.title_top, sentence, ha="center", va="top", **bold)
    small: Style = {"color": theme.grey, "fontsize": layout.note, "linespacing": 1.5}
    lines = "\n".join(fill(line, layout.note_width) for line in note.splitlines())
    figure.text(0.5, 0.01, lines, ha="center", va="bottom", **small)


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
            weight="bold",
            annotation_clip=False,
            **style,
        )


def write_slope(records: Mapping[str, Ranks], settings: ExperimentSettings, folder: Path) -> None:
    """Write slope.svg and slope-narrow.svg, and both for dark pages, in a folder."""
    table = recall_by_candidates(records, settings)
    users = len(next(iter(records.values())))
    note = (
        f"MovieLens 1M, {users:,} users. Values on the left are expected ones. "
        f"Each side has its own scale.\n{describe_decisions(compare(records, str(RECALL)))}"
    )
    for (shape, layout), (dark, theme) in product(LAYOUTS.items(), THEMES.items()):
        style = matplotlib.rc_params_from_file(STYLE)
        # Draw text as outlines: a README cannot load a font, and other fonts are wider.
        style |= {"svg.fonttype": "path", "lines.markersize": 8}
        with matplotlib.rc_context(style), replace_file(folder / f"slope{shape}{dark}.svg") as path:
            figure = Figure(dpi=72)  # the resolution of SVG
            draw_slope(figure, table, settings.n_negatives, note, theme, layout)
            metadata = {"Date": None, "Creator": None}
            figure.savefig(path, format="svg", transparent=True, metadata=metadata)
