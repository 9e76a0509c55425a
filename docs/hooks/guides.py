"""Pictures of guides that show how things go together.

Drawn when the documentation is built, or by `python
docs/hooks/guides.py FOLDER`, from made-up data.
"""

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

import sampled_metrics as sm

INK, BLUE, BROWN, GREY = "#1a1a1a", "#0072b2", "#a06000", "#767676"
STYLE = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "sampled-metrics",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
}


def figure_of(height: float) -> tuple[Figure, Any]:
    """Return a figure as wide as a page, and its axes."""
    figure = Figure(figsize=(6, height), layout="constrained")
    return figure, figure.subplots()


def draw_range(
    axes: Any, y: float, low: float, high: float, value: float
) -> None:
    """Draw a range as a line, and a value as a circle."""
    axes.plot(
        [low, high],
        [y, y],
        color=BLUE,
        linewidth=9,
        solid_capstyle="butt",
    )
    axes.plot(value, y, "o", color="white", markeredgecolor=INK)


def flow(columns: Sequence[tuple[str, Sequence[str]]]) -> Figure:
    """Draw columns of boxes with an arrow from each to the next."""
    figure, axes = figure_of(1.7)
    axes.axis("off")
    axes.set(xlim=(-0.06, len(columns) - 0.06), ylim=(0, 1))
    for x, (title, texts) in enumerate(columns):
        axes.text(
            x + 0.44,
            0.97,
            title,
            ha="center",
            va="top",
            weight="bold",
        )
        for i, text in enumerate(texts):
            axes.text(
                x + 0.44,
                0.8 - 0.8 * (i + 0.5) / len(texts),
                text,
                ha="center",
                va="center",
                bbox={
                    "boxstyle": "round,pad=0.35",
                    "facecolor": "#eef3f8",
                    "edgecolor": BLUE,
                },
            )
        if x:
            axes.annotate(
                "",
                (x + 0.02, 0.4),
                (x - 0.14, 0.4),
                arrowprops={"arrowstyle": "->", "color": INK},
            )
    return figure


def files() -> Figure:
    """Files of any form become ranks, and ranks metrics."""
    return flow(
        [
            ("Your files", ["lists", "scores", "pairs, qrels"]),
            ("For each user", ["n candidates\nb above\ne level"]),
            ("You ask", ["evaluate", "compare", "report"]),
        ]
    )


def scale() -> Figure:
    """Parts are ranked anywhere; two counts come back."""
    return flow(
        [
            ("Scores, anywhere", ["cores", "a GPU", "workers"]),
            ("Comes back", ["two counts\nfor each user"]),
            ("On one machine", ["evaluate\nall users"]),
        ]
    )


def glossary() -> Figure:
    """Show one held-out item over all items and among negatives."""
    rng = np.random.default_rng(3)
    figure, axes = figure_of(1.8)
    n, rank, m = 500, 61, 20
    others = np.delete(np.arange(1, n + 1), rank - 1)
    drawn = np.sort(rng.choice(others, m, replace=False))
    place = int((drawn < rank).sum())
    below = np.linspace(10, n - 10, m + 1)
    beside = np.delete(below, place)
    axes.vlines(others, 0.93, 1.07, color="#d5d9df", linewidth=0.8)
    axes.vlines(drawn, 0.9, 1.1, color=INK)
    axes.vlines(beside, -0.1, 0.1, color=INK)
    for x, end in zip(drawn, beside, strict=True):
        axes.plot([x, end], [0.88, 0.12], color=GREY, linewidth=0.3)
    axes.plot([rank, below[place]], [0.88, 0.12], color=BROWN)
    axes.plot([rank, below[place]], [1, 0], "D", color=BROWN)
    above = f"held-out item: rank {rank} of {n} candidates"
    axes.text(rank, 1.2, above, color=BROWN)
    words = f"sampled rank {place + 1} of {m + 1}"
    axes.text(below[place], -0.2, words, color=BROWN, va="top")
    axes.text(n, -0.2, f"{m} negatives", ha="right", va="top")
    axes.set_yticks([1, 0], ["over all\nitems", "sampled"])
    axes.set(xlim=(-4, n + 4), ylim=(-0.5, 1.5), xticks=[])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def printed_table() -> Figure:
    """Draw the ranges of models that `check` computes."""
    about = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
    numbers = {
        "A": ("0.8245", "0.6389"),
        "B": ("0.7013", "0.4510"),
        "C": ("0.4300", "0.2375"),
    }
    table = [
        {"model": model, "HR@10": hr, "NDCG@10": ndcg, **about}
        for model, (hr, ndcg) in numbers.items()
    ]
    figure, axes = figure_of(1.6)
    for place, row in enumerate(sm.check(table, "HR@10")):
        draw_range(
            axes, place, row.range_low, row.range_high, row.likely
        )
        hr = numbers[row.model][0]
        axes.text(
            row.range_high + 0.01,
            place,
            f"printed HR@10 = {hr}",
            va="center",
        )
    axes.set_yticks(
        range(len(numbers)), [f"model {name}" for name in numbers]
    )
    axes.set(
        xlim=(0, 0.75),
        ylim=(2.5, -0.5),
        xlabel="HR@10 over all items (fraction)",
    )
    axes.set_title(
        "Lines: what the numbers allow. Circles: the one to quote."
    )
    return figure


def meter() -> Figure:
    """Draw a metric and its interval as batches come in."""
    rng = np.random.default_rng(0)
    meter = sm.RankMeter("HR@10")
    rows = []
    for batch in range(1, 31):
        scores = rng.normal(size=(64, 500))
        held_out = rng.integers(0, 500, size=64)
        scores[np.arange(64), held_out] += 1.5
        meter.update(scores, positive=held_out)
        (found,) = meter.compute()
        rows.append(
            (64 * batch, found.value, found.ci_low, found.ci_high)
        )
    users, value, low, high = np.transpose(rows)
    figure, axes = figure_of(1.9)
    axes.fill_between(
        users, low, high, color=BLUE, alpha=0.25, linewidth=0
    )
    axes.plot(users, value, color=BLUE)
    axes.set(
        xlim=(0, users[-1]),
        ylim=(0, None),
        xlabel="users so far",
        ylabel="HR@10 (fraction)",
    )
    axes.set_title(
        "compute() after each batch: value and 95 % interval"
    )
    return figure


def rankings(power: float) -> tuple[sm.Ranks, sm.SampledRanks]:
    """Return full rankings and ranks among 100 of the items."""
    rng = np.random.default_rng(2)
    better = (3000 * rng.random(2000) ** power).astype(int)
    exact = sm.Ranks([3000] * 2000, better, [0] * 2000)
    (drawn,) = sm.draw_sampled_ranks(exact, 100, [rng])
    return exact, sm.SampledRanks(drawn, 3000, 100)


def modes() -> Figure:
    """Draw one model evaluated in both modes of RecBole."""
    exact, sampled = rankings(2.2)
    (full,) = sm.evaluate(exact, "Recall@10")
    usual, likely = sm.correct(
        sampled, "Recall@10", "sampled, likely"
    )
    figure, axes = figure_of(1.5)
    draw_range(
        axes, 1, usual.range_low, usual.range_high, likely.value
    )
    draw_range(axes, 0, full.ci_low, full.ci_high, full.value)
    axes.plot(usual.value, 1, "x", color=BROWN)
    axes.text(
        usual.value,
        0.72,
        "Recall@10 of RecBole",
        color=BROWN,
        ha="center",
        va="top",
    )
    axes.set_yticks([1, 0], ["uni100", "full"])
    axes.set(
        xlim=(0, 1), ylim=(-0.5, 1.5), xlabel="Recall@10 (fraction)"
    )
    axes.set_title(
        "Lines: exact_recall@10_low to _high. Circles: the value"
    )
    return figure


def ties() -> Figure:
    """Draw a metric of rounded scores by the order of ties."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(500, 1000))
    scores[:, 0] += 2
    figure, axes = figure_of(1.6)
    for place, decimals in enumerate((3, 1, 0)):
        ends = []
        for policy in ("pessimistic", "expected", "optimistic"):
            (found,) = sm.evaluate(
                scores.round(decimals),
                "HR@10",
                relevant=[0] * 500,
                ties=policy,
            )
            ends.append(found.value)
        draw_range(axes, place, ends[0], ends[2], ends[1])
    axes.set_yticks(
        range(3), ["3 decimals", "1 decimal", "whole numbers"]
    )
    axes.set(xlim=(0, 1), ylim=(2.5, -0.5), xlabel="HR@10 (fraction)")
    axes.set_title(
        "Ties ranked last, in random order (circle), and first"
    )
    return figure


GUIDES: dict[str, Callable[[], Figure]] = {
    "files.svg": files,
    "scale.svg": scale,
    "glossary.svg": glossary,
    "check.svg": printed_table,
    "meter.svg": meter,
    "recbole.svg": modes,
    "questions.svg": ties,
}


def svg_of(draw: Callable[[], Figure]) -> bytes:
    """Return a picture as SVG, the same bytes each time."""
    with mpl.rc_context(STYLE):
        figure = draw()
        written = io.BytesIO()
        FigureCanvasSVG(figure).print_svg(
            written, metadata={"Date": None}
        )
    return written.getvalue()


if __name__ == "__main__":
    for name, draw in GUIDES.items():
        (Path(sys.argv[1]) / name).write_bytes(svg_of(draw))
