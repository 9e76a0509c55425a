"""Draw a figure by its number, and write its files."""

from importlib import import_module
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sampled_metrics._base.files import replacing
from sampled_metrics.report.figures.labels import place_labels
from sampled_metrics.report.figures.style import new_figure, styled

# Height in inches, and the module and function that draw the figure. A module is imported for its
# figures only, because some take long.
_FIGURES: dict[int | str, tuple[float, str, str]] = {
    1: (1.9, "analysis", "metric_against_rank"),
    2: (3.6, "analysis", "toy_against_samples"),
    3: (3.1, "analysis", "sampled_against_rank"),
    4: (4.6, "analysis", "corrected_ap"),
    5: (0.6, "experiments", "rank_distribution"),
    6: (3.4, "experiments", "recall_against_samples"),
    7: (5.6, "beyond", "errors"),
    8: (5.6, "beyond", "orders"),
    "z": (1.7, "scores", "strip"),
}
# Without the day and the version of matplotlib, so that the same table gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_DIGITS = 7


def render(number: int | str, table: pd.DataFrame, note: str = "") -> Figure:
    """Draw a figure.

    Parameters
    ----------
    number
        From 1 to 8; 7 and 8 are not the paper's. Or `z`, the strip of z-scores.
    table
        The data of this figure, from `sampled_metrics.study.curves`,
        `sampled_metrics.study.beyond.curves` or `sampled_metrics.report.figures.scores`; it is not
        changed.
    note
        A small grey line at the foot, such as where the ranks come from.
    """
    height, module, function = _FIGURES[number]
    draw = getattr(import_module(f"sampled_metrics.report.figures.{module}"), function)
    with styled():
        figure = new_figure(height, note)
        draw(figure, table)
        place_labels(figure)
    return figure


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Round floats to the digits that a drawing needs.

    The last digits depend on the kind of processor, and with them would the places of labels.

    Examples
    --------
    >>> rounded(pd.DataFrame({"value": [2 / 3]}))["value"].tolist()
    [0.6666667]
    """
    floats = table.select_dtypes("float").map(lambda value: float(f"{value:.{_DIGITS}g}"))
    return table.assign(**floats)


def save(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg, .pdf and .png, each all or nothing, the same bytes for the same table."""
    for kind, metadata in _METADATA.items():
        with replacing(stem.with_name(f"{stem.name}.{kind}")) as path, styled():
            figure.savefig(path, format=kind, metadata=metadata)
