"""From the number of a figure and its table to the figure."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from sampled_metrics._base.errors import InputError
from sampled_metrics.report.figures import analysis, experiments
from sampled_metrics.report.figures.style import new_figure, styled


class _Kind(NamedTuple):
    """What a figure plots, how high it is in inches, and what draws it."""

    columns: tuple[str, ...]
    height: float
    draw: Callable[[Figure, pd.DataFrame], None]


_FIGURES = {
    1: _Kind(("metric", "rank", "value"), 2.4, analysis.metric_against_rank),
    2: _Kind(("metric", "recommender", "n_negatives", "value"), 4.3, analysis.toy_against_samples),
    3: _Kind(("metric", "curve", "rank", "value"), 4.3, analysis.sampled_against_rank),
    4: _Kind(("panel", "curve", "rank", "value"), 3.1, analysis.corrected_ap),
    5: _Kind(
        ("panel", "recommender", "first_rank", "last_rank", "users"),
        2.6,
        experiments.rank_distribution,
    ),
    6: _Kind(
        ("kind", "recommender", "estimator", "n_negatives", "value"),
        2.7,
        experiments.recall_against_samples,
    ),
}


def render(number: int, table: pd.DataFrame, note: str = "") -> Figure:
    """Draw a figure of the paper.

    Parameters
    ----------
    number
        From 1 to 6.
    table
        What the function of the same name in `sampled_metrics.study` makes; it is not changed.
    note
        A small grey line at the foot, such as where the ranks come from.

    Raises
    ------
    InputError
        There is no such figure, or the table has no row or not all of the columns.
    """
    if number not in _FIGURES:
        raise InputError(f"no figure {number!r}; expected one of 1-6")
    kind = _FIGURES[number]
    missing = [column for column in kind.columns if column not in table]
    if missing:
        raise InputError(
            f"table of figure {number}: no column {', '.join(missing)}; "
            f"expected {', '.join(kind.columns)}"
        )
    if table.empty:
        raise InputError(f"table of figure {number}: no row; expected at least one")
    with styled():
        figure = new_figure(kind.height, note)
        kind.draw(figure, table)
    return figure
