"""Errors of all estimators against the number of negatives, and z-scores of published cells."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import likely_estimates
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import histograms
from sampled_metrics_study.experiment import (
    estimator_vectors,
    fewest_candidates,
    n_items_of_corrections,
    repeated_estimates,
)
from sampled_metrics_study.figures.style import (
    INK,
    LIGHT,
    annotate,
    draw_curves,
    estimator_styles,
    label_line_ends,
    log_axis,
    panels,
    shorten_name,
)
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import PERCENT, estimator_labels, join_likely

ERRORS = ["estimator", "n_negatives", "value"]
SIZES = (10, 20, 50, 100, 200)
DRAWS = 20  # per size; few, because `likely` is estimated again for each
LEAST_ERROR = 0.1  # percent; smaller errors are drawn at this height, also 0


@one_thread()
def errors_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Compute the root mean square of the relative errors of estimators against m, in percent.

    The mean is over 20 draws, all recommenders, and all metrics except AUC, which every correction
    estimates well. Ties are in random order.
    """
    measures = [one for one in settings.measures if not one.metric.needs_candidates]
    fewest = fewest_candidates(records)
    rows = []
    for m in SIZES:
        if m >= fewest or not measures:
            break
        settings_of_size = settings.replaced(n_negatives=m, metrics=tuple(map(str, measures)))
        relative = [_relative_errors(*named, settings_of_size) for named in records.items()]
        squares = np.square(np.concatenate(relative))
        if not len(squares):
            break
        errors = PERCENT * np.sqrt(squares.mean(axis=(0, 2)))
        for label, error in zip(estimator_labels(settings), errors, strict=True):
            rows.append((label, m, error))
    return pd.DataFrame(rows, columns=ERRORS)


def _relative_errors(name: str, ranks: Ranks, settings: ExperimentSettings) -> Float:
    """Compute the relative errors for the metrics of a recommender that are not 0.

    The shape is that of `join_likely`.
    """
    n = n_items_of_corrections(ranks, settings)
    m = settings.n_negatives
    generators = [generator(settings.seed, name, "errors", m, draw) for draw in range(DRAWS)]
    sampled_histograms = histograms(ranks, m, generators, settings.sampling)
    measures = settings.measures
    likely = likely_estimates(sampled_histograms, measures, n, m, settings.correction_sampling)
    values_of_estimators = join_likely(
        likely, repeated_estimates(sampled_histograms, estimator_vectors(n, settings))
    )
    exact = np.array([values(measure, ranks).mean() for measure in measures])
    is_positive = exact > 0.0
    positive = exact[is_positive, np.newaxis, np.newaxis]
    return values_of_estimators[is_positive] / positive - 1.0


def draw_errors_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Draw the relative errors of all estimators against m, with a thick line for the first.

    The first estimator of the table is `likely`, that of this package.
    """
    if not len(table):
        figure.text(0.02, 0.5, "No metric above 0 but AUC.")
        return
    names = table["estimator"].unique()
    ours = names[0]
    styles = estimator_styles(names)
    styles[ours]["linewidth"] = 1.8
    ((axes,),) = panels(figure, 1, 1, 2, right=0.9, ylabel="Relative error (%)")
    table = table.assign(value=table["value"].clip(lower=LEAST_ERROR))
    draw_curves(axes, table, "estimator", "n_negatives", styles.values(), clip_on=False)
    fewest, most = table["n_negatives"].min(), table["n_negatives"].max()
    log_axis(axes.xaxis, fewest, max(most, 2 * fewest))
    least, greatest = table["value"].min(), table["value"].max()
    log_axis(axes.yaxis, 0.8 * least, 1.25 * greatest)  # with a margin
    axes.set_xlabel("Negatives m")
    lines = axes.get_lines()
    lines[0].set_label(f"{ours} (ours)")
    label_line_ends(lines)


def draw_z_scores(figure: Figure, table: pd.DataFrame) -> None:
    """Draw a histogram of all z-scores with the standard normal; below it, z-scores by row."""
    if not len(table):
        figure.text(0.02, 0.5, "No random cell is comparable with the paper's.")
        return
    z = table["z"]
    places, rows = pd.factorize(pd.MultiIndex.from_frame(table[["table", "row"]]))
    names = [f"Table {number}: {shorten_name(name, 24)}" for number, name in rows]
    left = 0.15 + 0.058 * max(map(len, names))
    top, bottom = panels(figure, 2, 1, 1.3, left=left, row_gap=0.14, sharex=True)[:, 0]
    reach = max(4.0, 0.5 * np.ceil(2 * z.abs().max()))
    points = np.linspace(-reach, reach, 161)
    expected = len(table) * (ndtr(points + 0.25) - ndtr(points - 0.25))
    edges = np.arange(-reach, reach + 0.25, 0.5)
    counts, _ = np.histogram(z, edges)
    most = max(counts.max(), expected.max())
    top.stairs(counts, edges, fill=True, color=LIGHT, alpha=0.5)
    top.plot(points, expected, color=INK)
    annotate(top, 0.02, 0.98, f"mean {z.mean():.2f},\nsd {z.std():.2f}\n(curve: 0, 1)")
    top.set(ylabel=f"Cells, of {len(table)}", ylim=(0, 1.15 * most))
    bottom.plot(z, places, "|", color=INK, markersize=6)
    bottom.set(xlim=(-reach, reach), ylim=(len(names) - 0.4, -0.6))
    bottom.set_xlabel("ours minus published, in standard errors")
    bottom.set_yticks(range(len(names)), names)
    bottom.tick_params(axis="y", length=0)
