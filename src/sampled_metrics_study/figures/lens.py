"""The lens as a picture: which true ranks a sampled metric responds to.

`python -m sampled_metrics_study.reference lens results/reference` draws it of the reference run.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.files import replace_file
from sampled_metrics._base.palette import recommender_looks
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.pages.lens import Chart, compute_settings
from sampled_metrics.pages.lens_text import lens_headline
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.figures import STYLE
from sampled_metrics_study.figures.figure6 import RECALL
from sampled_metrics_study.figures.slope import THEMES, Theme
from sampled_metrics_study.figures.style import Style
from sampled_metrics_study.settings import ExperimentSettings

WINDOW = {"light": "#d98880", "dark": "#a5483f"}  # areas of weights


class Shape(NamedTuple):
    """Sizes of a picture in inches, of its text in points, and line breaks of its headline."""

    width: float
    height: float
    size: float
    top: float  # of the upper panel, as a share of the height
    caption: float  # height of the caption of the upper panel, as a share of the panel
    break_after_asked: str
    break_after_against: str


SHAPES = {
    "": Shape(8.4, 3.5, 11.0, 0.82, 1.01, " ", " "),
    "-narrow": Shape(4.2, 3.7, 10.5, 0.65, 1.32, "\n", "\n"),
}


class LensPicture(NamedTuple):
    """What the picture shows; arrays are by the ranks `ks`."""

    headline: list[str]  # what was asked, against what, and what was measured
    cutoff: int  # of the metric that was asked for
    ks: Int
    weights: Float  # of each rank in the sampled metric, per unit of the axis
    leads: dict[str, Float]  # Recall@k of each recommender relative to their mean


def compute_lens(records: Mapping[str, Ranks], settings: ExperimentSettings) -> LensPicture:
    """Compute the lens of Recall@10 against the study's number of negatives."""
    candidates = np.concatenate([ranks.n_candidates for ranks in records.values()])
    chart = Chart.up_to(int(candidates.max()), [RECALL])
    (setting,) = compute_settings(
        records,
        candidates,
        chart.ks,
        measures=[RECALL],
        estimators=[parse_estimator("sampled")],
        sizes=[settings.n_negatives],
        estimator_vectors=partial(estimator_matrix, sampling=settings.sampling),
        sampling=settings.sampling,
    )
    return LensPicture(
        headline=lens_headline(setting),
        cutoff=RECALL.cutoff or 0,
        ks=chart.ks,
        weights=chart.density(setting.by_rank),
        leads=dict(zip(records, chart.relative_recall(records), strict=True)),
    )


def draw_lens(figure: Figure, lens: LensPicture, theme: Theme, shape: Shape) -> None:
    """Draw leads of recommenders above, and the weights of the sampled metric below."""
    figure.set_size_inches(shape.width, shape.height)
    figure.set_facecolor(theme.page)
    left = 0.55 / shape.width
    upper = figure.add_axes((left, 0.43, 0.98 - left, shape.top - 0.43))
    lower = figure.add_axes((left, 0.15, 0.98 - left, 0.23), sharex=upper)
    asked, against, measured = lens.headline
    text = f"You asked for {asked}.{shape.break_after_asked}Against {against}"
    text += f"{shape.break_after_against}you measured {measured}."
    head: Style = {"weight": "bold", "va": "top", "linespacing": 1.4}
    figure.text(0.02, 0.97, text, color=theme.ink, fontsize=shape.size + 1, **head)
    for axes in (upper, lower):
        axes.set_facecolor(theme.page)
        axes.set_xscale("log")
        axes.grid(visible=False)
        axes.axvline(lens.cutoff, color=theme.ink, linewidth=1.6, linestyle=(0, (4, 3)))
        axes.tick_params(colors=theme.grey, labelsize=shape.size - 1.5)
        for spine in axes.spines.values():
            spine.set_color(theme.grey)
    _draw_leads(upper, lens, theme, shape)
    _draw_weights(lower, lens, theme, shape)


def _draw_leads(axes: Any, lens: LensPicture, theme: Theme, shape: Shape) -> None:
    """Draw Recall@k of the recommenders relative to their mean, with their names."""
    axes.axhline(0, color=theme.grey, linewidth=0.6)
    looks = recommender_looks(lens.leads)
    place = int(np.searchsorted(lens.ks, lens.cutoff)) // 2
    highest = max(lead[place] for lead in lens.leads.values())
    for name, lead in lens.leads.items():
        color = getattr(looks[name], theme.scheme)
        axes.plot(lens.ks, 100 * lead, color=color, linestyle=looks[name].linestyle, linewidth=2.2)
        shift = 9 if lead[place] == highest else -10
        above = {"xytext": (0, shift), "textcoords": "offset points"}
        font = {"color": color, "weight": "bold", "fontsize": shape.size + 1}
        end = (lens.ks[place], 100 * lead[place])
        axes.annotate(name, end, ha="center", va="center", **above, **font)
    axes.yaxis.set_major_formatter(lambda x, _: f"{x:+.0f} %" if x else "mean")
    axes.margins(y=0.12)
    axes.tick_params(labelbottom=False, length=0)
    head = {"color": theme.grey, "fontsize": shape.size - 1.5, "ha": "right", "va": "bottom"}
    text = "Recall@k over all items, relative to the mean"
    axes.text(1, shape.caption, text, transform=axes.transAxes, **head)


def _draw_weights(axes: Any, lens: LensPicture, theme: Theme, shape: Shape) -> None:
    """Draw the weight of each true rank in the sampled metric."""
    highest = lens.weights.max()
    color = WINDOW[theme.scheme]
    axes.fill_between(lens.ks, lens.weights, color=color, step="post", linewidth=0)
    text = {"color": theme.ink, "fontsize": shape.size}
    start = lens.ks[np.argmax(lens.weights > 0.02 * highest)]
    axes.text(0.93 * start, 0.4 * highest, "measured", ha="right", **text)
    axes.text(0.93 * lens.cutoff, 0.4 * highest, "asked", ha="right", **text)
    axes.set(xlim=(1, lens.ks[-1]), ylim=(0, 1.1 * highest), yticks=[])
    axes.spines["left"].set_visible(False)
    powers = 10 ** np.arange(len(str(int(lens.ks[-1]))))
    axes.set_xticks(powers, [f"{k:,}" for k in powers])
    axes.minorticks_off()
    axes.set_xlabel("true rank k", color=theme.grey, fontsize=shape.size - 1)


def write_lens(records: Mapping[str, Ranks], settings: ExperimentSettings, folder: Path) -> None:
    """Write lens.svg, for dark pages lens-dark.svg, and both for phones, -narrow, in a folder."""
    lens = compute_lens(records, settings)
    style = matplotlib.rc_params_from_file(STYLE)
    # Text as outlines, as in the slope chart.
    style |= {"svg.fonttype": "path"}
    for name, shape in SHAPES.items():
        for suffix, theme in THEMES.items():
            path = folder / f"lens{name}{suffix}.svg"
            with matplotlib.rc_context(style), replace_file(path) as temporary:
                figure = Figure(dpi=72)
                draw_lens(figure, lens, theme, shape)
                figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
