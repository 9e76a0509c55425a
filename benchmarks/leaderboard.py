"""Draw the leaderboard of the reference run, for the README and the documentation.

    python -m benchmarks.leaderboard results/reference

writes leaderboard.svg and leaderboard-narrow.svg, for phones, in that folder; `make reference` runs
it.
"""

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base.palette import recommender_looks
from sampled_metrics.evaluation.results import quantity
from sampled_metrics.metrics import parse_measures
from sampled_metrics.pages.leaderboard import BOARD_SIZES, build_board
from sampled_metrics.pages.lens_text import percent
from sampled_metrics_study.config import STORED_RANKS
from sampled_metrics_study.experiment import read_ranks_by_name
from sampled_metrics_study.page.contents import PAPERS_RECOMMENDERS, leaderboard_ranks

PICTURE = "Recall@10"
SHOWN = 100  # number of random items that the picture highlights
GAP = 1.7  # distance on the axis from the largest sample to all items, as a factor
LANE = 0.013  # share of the axes' width between brackets


class Layout(NamedTuple):
    """Sizes of the picture: in inches, or as shares of its width and height."""

    size: tuple[float, float]
    left: float
    right: float
    top: float
    bottom: float
    columns: Mapping[str, tuple[float, str]]  # texts at the right: x and alignment
    ticks: tuple[int, ...]
    wrap: int  # characters of a line of text


WIDE = Layout(
    size=(8.8, 4.7),
    left=0.065,
    right=0.62,
    top=0.79,
    bottom=0.18,
    columns={"name": (1.04, "left"), "at m": (1.48, "right"), "all": (1.66, "right")},
    ticks=BOARD_SIZES,
    wrap=140,
)
NARROW = Layout(
    size=(4.3, 5.4),
    left=0.14,
    right=0.5,
    top=0.69,
    bottom=0.17,
    columns={"name": (1.08, "left"), "all": (2.36, "right")},
    ticks=(20, 100),
    wrap=44,
)
GREY, GREY_TEXT, INK = "#9aa1aa", "#59616c", "#1b1e23"


def picture(content: Mapping[str, Any], label: str, m: int, layout: Layout = WIDE) -> Any:
    """Draw the first board: places by number of random items, names, and values at m and over all.

    `label` is the name of the metric.
    """
    from matplotlib import pyplot

    board = next(iter(content["metrics"].values()))
    sizes = content["sizes"]
    at = sizes.index(m)
    better, worse = board["shown"][at]
    looks = list(recommender_looks(content["names"]).values())
    styles = {worse: (looks[worse].light, "-"), better: (looks[better].light, (0, (4, 1.2)))}
    end = sizes[-1] * GAP
    figure, axes = pyplot.subplots(figsize=layout.size)
    figure.subplots_adjust(layout.left, layout.bottom, layout.right, layout.top)
    left_transform = axes.get_yaxis_transform()  # x as a share of the axes' width
    for i, name in enumerate(content["names"]):
        color, dash = styles.get(i, (GREY, "-"))
        is_of_pair = i in styles
        places = board["places"][i]
        line_width = 3.2 if is_of_pair else 1.3
        axes.plot([*sizes, end], places, color=color, linestyle=dash, linewidth=line_width)
        axes.plot(m, places[at], "o", color=color, markersize=6 if is_of_pair else 3.5)
        value = board["values"][i]
        texts = {"name": name, "at m": percent(value[at]), "all": percent(value[-1])}
        for column, (x, align) in layout.columns.items():
            axes.text(
                x,
                places[-1],
                texts[column],
                transform=left_transform,
                ha=align,
                va="center",
                color=color if is_of_pair else INK,
                fontweight="bold" if is_of_pair else "normal",
            )
    heads = {"name": "", "at m": f"m = {m:,}", "all": "all items"}
    for column, (x, align) in layout.columns.items():
        style = {"ha": align, "va": "center", "color": GREY_TEXT}
        axes.text(x, 0.25, heads[column], transform=left_transform, **style)
    for first, last, lane in board["together"]:
        outer = 1.01 + LANE * lane
        inner = outer - 0.005
        corners = ([inner, outer, outer, inner], [first - 0.2] * 2 + [last + 0.2] * 2)
        axes.plot(*corners, transform=left_transform, color=INK, linewidth=1.0, clip_on=False)
    axes.axvline(m, color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
    ticks = [size for size in layout.ticks if size in sizes]
    axes.set(xscale="log", xlim=(sizes[0], end), ylim=(len(content["names"]) + 0.5, 0.5))
    axes.set_xticks([*ticks, end], [*(f"{tick:,}" for tick in ticks), "all"])
    axes.minorticks_off()
    axes.set_yticks(range(1, len(content["names"]) + 1))
    axes.set(xlabel="random items m", ylabel=f"place by {label}")
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    headline = textwrap.fill(board["headline"][at], layout.wrap)
    pair = textwrap.fill(f"{label}: {board['pair'][at]}", layout.wrap)
    figure.text(layout.left, 0.98, headline, va="top", fontsize=11, fontweight="bold", color=INK)
    figure.text(layout.left, layout.top + 0.06, pair, va="bottom", fontsize=8.8, color=INK)
    users = quantity(content["n_users"], "user")
    level = f"({content['level']} %, Holm)"
    below = f"Brackets join recommenders that full rankings of {users} do not tell apart {level}."
    if board["caption"]:
        below += f"\n{board['caption']}"
    lines = "\n".join(textwrap.fill(line, int(1.4 * layout.wrap)) for line in below.splitlines())
    figure.text(layout.left, 0.015, lines, fontsize=7.5, color=GREY_TEXT)
    return figure


def main(reference: Path) -> None:
    """Draw the board of the reference run for the README."""
    import matplotlib as mpl

    trained = read_ranks_by_name(
        [reference / f"ranks/{name}.parquet" for name in PAPERS_RECOMMENDERS]
    )
    stored = [reference / f"{name}.parquet" for name in STORED_RANKS]
    records = leaderboard_ranks(trained, stored, is_paper=True)
    (measure,) = parse_measures(PICTURE)
    content = build_board(records, [measure])
    if content is None or SHOWN not in content["sizes"]:
        return  # users have too few candidates, or different ones
    style: Any = {"svg.hashsalt": "sampled-metrics", "svg.fonttype": "path", "font.size": 10}
    for suffix, layout in (("", WIDE), ("-narrow", NARROW)):
        with mpl.rc_context(style):
            figure = picture(content, PICTURE, SHOWN, layout)
            figure.savefig(reference / f"leaderboard{suffix}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
