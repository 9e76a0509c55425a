"""The figures: each module computes and draws its figures; this one writes them to files.

- `figure1_to_4` needs no data; `figure5`: ranks of recommenders; `figure6`: Recall@10 against the
  number of negatives; `errors`: errors of all estimators, and z-scores of the scorecard's cells;
  `slope`: the chart of the README.
- `style`: what they share, such as panels, axes, curves and labels.
"""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sampled_metrics import evaluation
from sampled_metrics._base.files import replace_file
from sampled_metrics_study.figures.errors import draw_errors_against_samples, draw_z_scores
from sampled_metrics_study.figures.figure1_to_4 import (
    draw_corrected_ap,
    draw_metric_against_rank,
    draw_sampled_against_rank,
    draw_toys_against_samples,
)
from sampled_metrics_study.figures.figure5 import draw_rank_distribution
from sampled_metrics_study.figures.figure6 import draw_recall_against_samples
from sampled_metrics_study.files import write_table

logging.getLogger("fontTools").setLevel(logging.WARNING)  # at INFO it lists the tables of each font
STYLE = Path(evaluation.__file__).with_name("plots.mplstyle")
FIGURES: dict[int | str, Callable[[Figure, pd.DataFrame], None]] = {
    1: draw_metric_against_rank,
    2: draw_toys_against_samples,
    3: draw_sampled_against_rank,
    4: draw_corrected_ap,
    5: draw_rank_distribution,
    6: draw_recall_against_samples,
    "errors": draw_errors_against_samples,
    "z": draw_z_scores,
}
# Canvas, resolution, metadata to omit, and the metadata field for the note. Without date and
# version of matplotlib, the same table gives the same bytes.
_FILE_TYPES = {
    "png": (FigureCanvasAgg, 300, ["Software"], "Description"),
    "svg": (FigureCanvasSVG, 72, ["Date", "Creator"], "Description"),
    "pdf": (FigureCanvasPdf, 72, ["CreationDate", "Creator", "Producer"], "Subject"),
}


def write_figure(number: int | str, table: pd.DataFrame, folder: Path, note: str = "") -> None:
    """Write the table of a figure as CSV, and draw the figure."""
    name = number
    if isinstance(number, int):
        name = f"figure{number}"
    stem = folder / str(name)
    write_table(table, stem.with_suffix(".csv"), "%.10g")
    draw(number, table, stem, note)


def draw(number: int | str, table: pd.DataFrame, stem: Path, note: str = "") -> None:
    """Draw a figure from its table to `stem`.svg, .pdf and .png, with a note in their metadata."""
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        FIGURES[number](figure, table)
        for kind, (canvas, dpi, omitted, note_field) in _FILE_TYPES.items():
            with replace_file(stem.with_name(f"{stem.name}.{kind}")) as path:
                figure.dpi = dpi
                # `savefig` would draw twice.
                save = getattr(canvas(figure), f"print_{kind}")
                save(path, metadata={**dict.fromkeys(omitted), note_field: note or None})
                if kind == "svg":
                    path.write_text(compact_svg(path.read_text("utf-8")), "utf-8")


def compact_svg(svg: str) -> str:
    r"""Remove superfluous parts of a drawing: third decimals, spaces, ids of groups.

    Examples
    --------
    >>> compact_svg('<g id="line2d_1">\n  <path d="M 1.125 2 \nL 3 4 \n" style="fill: none"/>1.125')
    '<g>\n<path d="M1.12 2L3 4" style="fill:none"/>1.125'
    """
    svg = re.sub(r'<g id="[a-z0-9_.]+">', "<g>", svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r' d="[^"]*', lambda path: re.sub(r"\s*([A-Z]|$)\s*", r"\1", path[0]), svg)
    svg = re.sub(r'style="[^"]*', lambda style: re.sub("([:;]) ", r"\1", style[0]), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)
