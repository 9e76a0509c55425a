"""Figure 6: expected Recall@10 against the number of negatives, uncorrected and corrected."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtri

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.arrays import geometric_sizes, keep_apart
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling.probability import top_rank_probabilities
from sampled_metrics_study.experiment import (
    MeanAndSd,
    divide_by_sd,
    estimator_matrix_for,
    fewest_candidates,
    n_items_of_corrections,
)
from sampled_metrics_study.figures.style import (
    GREY,
    INK,
    ON_WHITE,
    Style,
    annotate,
    draw_curves,
    label_line_ends,
    log_axis,
    panels,
    recommender_styles,
    shorten_name,
)
from sampled_metrics_study.files import read_table
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import EXACT, SAMPLED, rows_by_value

RECALL = parse_measure("recall@10")
ESTIMATORS = tuple(map(parse_estimator, ("sampled", "bv:0.1")))
SMALLEST = 10  # with fewer negatives every sampled rank is at most 10, so Recall@10 is 1
LARGEST = 2000  # beyond it the corrections of a large catalogue take hours to solve
SURE_PROBABILITY = 0.95
CURVES = ["kind", "recommender", "estimator", "n_negatives", "value"]
MomentsAt: TypeAlias = Callable[[str, int, int], MeanAndSd]  # of recommender, estimator, m
LETTER_WIDTH = 0.062  # inches; room for a letter of the 7 point font
RING_STYLE: Style = {
    "color": INK,
    "linestyle": "",
    "marker": "o",
    "fillstyle": "none",
    "markersize": 5,
    "zorder": 4,
}
MOST_PAIRS = 6  # more lines of text than this would not fit into a panel
MOST_NAMES = 4  # more names on the curves than this would cover them
# The m at which the order of X and Y becomes right according to the paper (section 7, Figure 6).
PUBLISHED = {"Sampled": 1000, "BV 0.1": 60}


@one_thread()
def recall_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings, band: Path | None = None
) -> pd.DataFrame:
    """Compute Figure 6: expected Recall@10 in percent against m, uncorrected and by BV 0.1.

    m runs from 10 to the largest number that every user has candidates for, at most 2,000. Ties are
    broken at random. The column `kind` says what a row is:

    - `curve`: the expected estimate of a recommender;
    - `ordered`: the smallest m such that a pair is ordered correctly at m and above, and the
      estimate of its first recommender at this m; m is 10 if the order is always right;
    - `sure`: the same m for the first pair, if 95 % of single evaluations must be in this order;
    - `exact`: the exact metric, with all candidates as negatives;
    - `lowest`, `highest`: the extreme curves over random starts, copied from the file `band`;
    - `published`: the m that the paper gives for the first pair, if there is a `band`.
    """
    sizes = sample_sizes(records)
    exact = {name: 100.0 * values(RECALL, ranks).mean() for name, ranks in records.items()}
    moments_at = expected_recall(records, settings)
    pairs = list(combinations(records, 2))
    conditions = [("ordered", 0.0, *pair) for pair in pairs]
    conditions += [("sure", ndtri(SURE_PROBABILITY), *pair) for pair in pairs[:1]]
    rows = []
    for e, estimator in enumerate(ESTIMATORS):
        label = estimator.label
        for name in records:
            for m in sizes:
                rows.append(("curve", name, label, m, moments_at(name, e, m).mean))
        for kind, least, a, b in conditions:
            lead = partial(
                lead_in_sds, moments_at=moments_at, exact=exact, a=a, b=b, estimator=e, least=least
            )
            smallest = smallest_size_with_lead(lead, sizes)
            if smallest is not None:
                mean = moments_at(a, e, smallest).mean
                rows.append((kind, f"{a} vs {b}", label, smallest, mean))
    for name, ranks in records.items():
        others = ranks.mean_candidates - 1
        rows.append(("exact", name, EXACT, others, exact[name]))
    recall = pd.DataFrame(rows, columns=CURVES)
    if band is not None:
        published = [
            ("published", " vs ".join(pairs[0]), label, m, moments_at(pairs[0][0], e, m).mean)
            for e, (label, m) in enumerate(PUBLISHED.items())
        ]
        parts = [recall, pd.DataFrame(published, columns=CURVES), read_table(band, CURVES)]
        recall = pd.concat(parts)
    return recall


def sample_sizes(records: Mapping[str, Ranks]) -> list[int]:
    """Return the numbers of negatives of Figure 6."""
    fewest = fewest_candidates(records)
    if fewest <= SMALLEST + 1:
        raise InputError(f"a user has {fewest} candidates; Figure 6 needs more than {SMALLEST + 1}")
    return geometric_sizes(SMALLEST, min(fewest - 1, LARGEST), 12)


def smallest_size_with_lead(lead: Callable[[int], float], sizes: Sequence[int]) -> int | None:
    """Find the smallest size such that `lead` is positive at it and at all larger sizes.

    The sign of `lead` may change several times, but only once between two neighbouring `sizes`.
    Returns None if it is not positive at the largest size.
    """
    smallest = None
    for size in reversed(sizes):
        if lead(size) <= 0.0:
            break
        smallest = size
    if smallest is None or smallest == sizes[0]:
        return smallest
    between = range(size + 1, smallest)
    return between.start + bisect_left(between, True, key=lambda m: lead(m) > 0.0)


def lead_in_sds(
    m: int,
    *,
    moments_at: MomentsAt,
    exact: Mapping[str, float],
    a: str,
    b: str,
    estimator: int,
    least: float = 0.0,
) -> float:
    """Return by how many standard deviations the better of a and b is ahead at m.

    The better one is that with the higher exact metric; it is behind where the lead is negative.
    The standard deviation is that of the difference of their estimates. `least` is a lead that is
    required: it is subtracted, so that the result is 0 where the lead is just enough.
    """
    moments_of_a = moments_at(a, estimator, m)
    moments_of_b = moments_at(b, estimator, m)
    sign = np.sign(exact[b] - exact[a])
    difference = sign * (moments_of_b.mean - moments_of_a.mean)
    ahead = divide_by_sd(difference, np.hypot(moments_of_a.sd, moments_of_b.sd))
    return float(ahead - least)


def expected_recall(records: Mapping[str, Ranks], settings: ExperimentSettings) -> MomentsAt:
    """Return a cached function that computes the moments of estimates of Recall@10, in percent.

    Its arguments are a recommender, an index into `ESTIMATORS` and m.
    """
    matrix = estimator_matrix_for(settings)

    @cache
    def vector(estimator: int, n: int, m: int) -> Float:
        return 100.0 * matrix([ESTIMATORS[estimator]], [RECALL], n, m)[0, 0]

    @cache
    def moments_at(name: str, estimator: int, m: int) -> MeanAndSd:
        ranks = records[name]
        credit = vector(estimator, n_items_of_corrections(ranks, settings), m)
        both = np.stack([credit, np.square(credit)])
        mean, square = _average_over_samples(both, ranks, settings.sampling)
        variance = np.maximum(square - np.square(mean), 0.0)  # rounding may give -1e-16
        sd = np.sqrt(variance.sum()) / len(ranks)
        return MeanAndSd(mean.mean(), sd)

    return moments_at


def _average_over_samples(vectors: Float, ranks: Ranks, sampling: str) -> Float:
    """Average vectors over the sampled ranks of each user; returns shape (vectors, users).

    From some sampled rank on all vectors are constant, so only the ranks before it need
    probabilities.
    """
    m = vectors.shape[1] - 1
    last = vectors[:, -1:]
    distance = np.abs(vectors - last)
    differs = distance > 1e-13 * np.abs(vectors).max(axis=1, keepdims=True)
    head = int(np.flatnonzero(differs.any(axis=0)).max(initial=0)) + 1
    chances = top_rank_probabilities(ranks, m, head, sampling)
    return last + (vectors[:, :head] - last) @ chances.T


def draw_recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 6: expected Recall@10 against m, and the m at which orders become right.

    Marks at the right edge are exact values. If the table has them, a band shows the range over the
    random starts of a recommender, and a triangle on the axis the m of the paper.
    """
    parts = dict(rows_by_value(table, "estimator"))
    exact = parts.pop(EXACT).set_index("recommender")["value"].to_dict()
    ends = [f"{shorten_name(name, 12)} {value:.2f}" for name, value in exact.items()]
    right = 0.2 + LETTER_WIDTH * max(map(len, ends))
    ylabel = "Expected Recall@10 (%)"
    grid = panels(figure, len(parts), 1, 1.45, right=right, ylabel=ylabel, sharex=True)[:, 0]
    for axes, (estimator, rows) in zip(grid, parts.items(), strict=True):
        _draw_expected_recall(axes, rows, exact, ends)
        first = rows["n_negatives"].min()
        rings = rows[(rows["kind"] == "ordered") & (rows["n_negatives"] > first)]
        axes.plot(rings["n_negatives"], rings["value"], **RING_STYLE)
        for m in rows.loc[rows["kind"] == "published", "n_negatives"]:
            axes.plot(m, 0, color=GREY, marker="^", markersize=4, clip_on=False, zorder=4)
            place = {"xytext": (-4, 1.5), "textcoords": "offset points", "ha": "right"}
            axes.annotate(f"paper: {m:,}", (m, 0), color=GREY, **place)
        text = _orders_as_text(rows, first)
        if estimator == SAMPLED:  # its curves fall, so the text is at the top
            annotate(axes, 0.99, 0.97, text, ha="right", zorder=1.5, **ON_WHITE)
            axes.set_title("Uncorrected")
        else:
            if (rows["kind"] == "lowest").any():
                text += "\nBand: random starts"
            annotate(axes, 0.99, 0.03, text, ha="right", va="bottom", zorder=1.5, **ON_WHITE)
            axes.set_title(f"Corrected by {estimator}")
    grid[-1].set_xlabel("Negatives m")


def _draw_expected_recall(
    axes: Axes, rows: pd.DataFrame, exact: dict[Any, float], ends: Sequence[str]
) -> None:
    """Draw the curves of one estimator, and the exact values with the labels `ends`."""
    styles = list(recommender_styles(exact).values())
    expected = rows[rows["kind"] == "curve"]
    draw_curves(axes, expected, "recommender", "n_negatives", styles, marker=".", clip_on=False)
    log_axis(axes.xaxis, *expected["n_negatives"].agg(["min", "max"]))
    largest = max(expected["value"].max(), *exact.values())
    unit = 10.0 ** np.floor(np.log10(largest))
    axes.set_ylim(0, unit * np.ceil(largest / unit))
    bands = rows[rows["kind"].isin(["lowest", "highest"])].pivot(
        index="n_negatives", columns=["recommender", "kind"], values="value"
    )
    marks = []
    for (name, value), end, style in zip(exact.items(), ends, styles, strict=True):
        color = style["color"]
        marks += axes.plot(
            [0.97, 1],
            [value, value],
            transform=axes.get_yaxis_transform(),
            color=color,
            label=end,
            linewidth=0.8,
        )
        if name in bands:
            low = bands[name, "lowest"]
            axes.fill_between(
                low.index, low, bands[name, "highest"], color=color, alpha=0.3, linewidth=0
            )
    label_line_ends(marks, head="exact:")
    if 1 < len(exact) <= MOST_NAMES:
        _label_curves(axes, expected, styles)


def _label_curves(axes: Axes, expected: pd.DataFrame, styles: Sequence[Style]) -> None:
    """Write the name of each curve on it, at the m at which the curves are farthest apart."""
    by_name = expected.pivot(index="n_negatives", columns="recommender", values="value")
    by_name = by_name[expected["recommender"].unique()]
    inside = by_name.iloc[1 : len(by_name) * 2 // 3]  # left of the exact values
    gaps = np.diff(np.sort(inside.to_numpy(), axis=1), axis=1).min(axis=1)
    m = inside.index[gaps.argmax()]
    ends = [(m, value) for value in by_name.loc[m]]
    to_axes = axes.transData + axes.transAxes.inverted()
    x, heights = to_axes.transform(ends).T
    row = 0.125 * axes.figure.dpi / axes.bbox.height  # inches
    for name, left, height, style in zip(
        by_name, x, keep_apart(heights + row / 2, row), styles, strict=True
    ):
        axes.text(
            left + 0.01,
            height,
            shorten_name(name, 12),
            transform=axes.transAxes,
            color=style["color"],
            weight="bold",
            va="center",
            zorder=5,
            **ON_WHITE,
        )


def _orders_as_text(rows: pd.DataFrame, first: int) -> str:
    """Return a text with the m at which the average order of each pair becomes right."""
    ordered = rows[rows["kind"] == "ordered"].sort_values("n_negatives")
    sure = rows[rows["kind"] == "sure"].set_index("recommender")["n_negatives"]
    if len(ordered) > MOST_PAIRS:
        return "ring: from there on a pair\nis in its exact order"
    lines = ["Exact order on average:"] * (len(ordered) > 0)
    for pair, m in zip(ordered["recommender"], ordered["n_negatives"], strict=True):
        place = "at every m"
        if m > first:
            place = f"from m = {m:,}"
        space = "\n" if len(pair) > 14 else " "
        lines.append(f"{shorten_name(pair, 28)}:{space}{place}")
        if pair in sure:
            lines.append(f"(95 % of runs: {sure[pair]:,})")
    return "\n".join(lines)
