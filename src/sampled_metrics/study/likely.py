"""The number to quote in the paper's experiment: beside its estimators, and its error against m."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float, generator, one_thread
from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.estimators import DECLARED, likely_estimates
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import histograms
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.moments import estimates
from sampled_metrics.study.printed import markdown
from sampled_metrics.study.reading import fewest_candidates
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.tables import PERCENT, Experiment, corrected_items, estimator_vectors

LIKELY = DECLARED["likely"].label
BESIDE = ["metric", "recommender", "estimator", "value", "std", "error"]
ERRORS = ["estimator", "n_negatives", "value"]
SIZES = (10, 20, 50, 100, 200)
DRAWS = 20


def labels(settings: ExperimentSettings) -> list[str]:
    """Name the estimators in the order of `together`."""
    return [LIKELY, *(one.label for one in settings.corrections)]


def together(likely: Float, others: Float) -> Float:
    """Join estimates, shape (measures, estimators, repetitions)."""
    return np.concatenate([likely[:, np.newaxis], others], axis=1)


def beside_others(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Lay `likely` beside the estimators of Table 3, from the same samples, in percent.

    `value` and `std` are mean and standard deviation over repetitions; `error` is the root mean
    square of the differences from the exact metric.
    """
    rows = []
    for name, experiment in experiments.items():
        settings = experiment.settings
        found = PERCENT * together(experiment.likely, experiment.repeated)
        for i, measure in enumerate(settings.measures):
            cell = (measure.label, name)
            exact = PERCENT * experiment.exact[i]
            rows.append((*cell, EXACT, exact, None, None))
            for label, drawn in zip(labels(settings), found[i], strict=True):
                error = np.sqrt(np.square(drawn - exact).mean())
                rows.append((*cell, label, drawn.mean(), drawn.std(ddof=1), error))
    order = [measure.label for measure in settings.measures]
    rows.sort(key=lambda row: order.index(row[0]))
    return pd.DataFrame(rows, columns=BESIDE)


def write_beside(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the table of `beside_others` as CSV, and as Markdown with a column per estimator."""
    write_table(table, csv, "%.6f")
    spread = table["std"].map("±{:.2f}".format, na_action="ignore").fillna("")
    lines = {
        "mean": table["value"].map("{:.2f}".format) + spread,
        "error": table["error"].map("{:.2f}".format, na_action="ignore").fillna(""),
    }
    parts = [table.assign(number=number, text=text) for number, text in lines.items()]
    cells = pd.concat(parts)
    index = ["metric", "recommender", "number"]
    wide = cells.pivot(index=index, columns="estimator", values="text")
    order = pd.MultiIndex.from_product(
        [table["metric"].unique(), table["recommender"].unique(), lines], names=index
    )
    laid_out = wide.loc[order, table["estimator"].unique()].reset_index()
    caption = (
        "The number to quote beside the estimators of Table 3, from the same samples, in percent: "
        "mean ± standard deviation of an evaluation, and root mean square error. "
        f"Ranks: {source}."
    )
    write_text(md, f"{caption}\n\n{markdown(laid_out)}\n")


@one_thread()
def errors_against_samples(
    records: Mapping[str, Ranks], settings: ExperimentSettings
) -> pd.DataFrame:
    """Relative errors of estimators against m in percent, root mean squares.

    Over 20 draws, all recommenders, and all metrics but AUC, which every correction estimates with
    little error; ties are in random order.
    """
    measured = [one for one in settings.measures if not one.metric.needs_candidates]
    fewest = fewest_candidates(records)
    rows = []
    for m in SIZES:
        if m >= fewest or not measured:
            break
        of_size = settings.replaced(n_negatives=m, metrics=tuple(map(str, measured)))
        relative = [_relative_errors(*named, of_size) for named in records.items()]
        squares = np.square(np.concatenate(relative))
        if not len(squares):
            break
        errors = PERCENT * np.sqrt(squares.mean(axis=(0, 2)))
        for label, error in zip(labels(settings), errors, strict=True):
            rows.append((label, m, error))
    return pd.DataFrame(rows, columns=ERRORS)


def _relative_errors(name: str, ranks: Ranks, settings: ExperimentSettings) -> Float:
    """Relative errors of one recommender's metrics above 0, in the shape of `together`."""
    n = corrected_items(ranks, settings)
    m = settings.n_negatives
    generators = [generator(settings.seed, name, "errors", m, draw) for draw in range(DRAWS)]
    drawn = histograms(ranks, m, generators, settings.sampling)
    measures = settings.measures
    likely = likely_estimates(drawn, measures, n, m, settings.correction_sampling)
    found = together(likely, estimates(drawn, estimator_vectors(n, settings)))
    exact = np.array([values(measure, ranks).mean() for measure in measures])
    is_known = exact > 0.0
    known = exact[is_known, np.newaxis, np.newaxis]
    return found[is_known] / known - 1.0
