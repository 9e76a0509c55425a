"""The preview picture of links to the site, from Figure 6.

Drawn when the documentation is built, without a network, from the
tables of the reference run: the verdict, and Recall@10 of three
recommenders relative to their mean, by the number of random items and
over all items.
"""

import io
import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from mkdocs.structure.files import File, Files

from sampled_metrics_study.verdicts import verdict_line

REFERENCE = Path(__file__).parents[2] / "results/reference"
TABLE = REFERENCE / "figures/figure6.csv"
CARD = REFERENCE / "scorecard.csv"
NAME = "card.png"
SIZE = 1200, 630  # pixels
HEADLINE = (
    "MovieLens 1M: the best of three\n"
    "recommenders against 100 random\n"
    "items is the last over all items."
)
FIRST = 16  # random items
COLORS = ("#0072b2", "#a06000", "#007a5a")


def on_files(files: Files, config: Any) -> Files:
    """Add the picture."""
    files.append(File.generated(config, NAME, content=picture()))
    return files


def picture() -> bytes:
    """Return the picture as PNG."""
    leads = leads_over_mean(pd.read_csv(TABLE))
    style = {"font.family": "DejaVu Sans", "font.size": 20}
    with matplotlib.rc_context(style):
        width, height = SIZE
        figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        figure.text(0.05, 0.9, "sampled-metrics", color="#555555")
        figure.text(
            0.05, 0.73, HEADLINE, size=34, weight="bold", va="center"
        )
        figure.text(0.05, 0.495, verdict(), size=17, color="#555555")
        axes = figure.add_axes((0.05, 0.14, 0.85, 0.3))
        for name, color in zip(leads, COLORS, strict=True):
            axes.plot(
                leads[name], color=color, linewidth=5, clip_on=False
            )
            axes.annotate(
                name,
                (leads.index[-1], leads[name].iloc[-1]),
                (12, 0),
                textcoords="offset points",
                color=color,
                size=26,
                weight="bold",
                va="center",
            )
        axes.axvline(100, color="#767676", linestyle=":", linewidth=2)
        last = leads.index[-1]
        axes.set(xscale="log", xlim=(FIRST, last), yticks=[])
        axes.set_xticks(
            [100, last], ["100 random items", "all items"]
        )
        axes.xaxis.set_minor_locator(NullLocator())
        axes.spines[["left", "top", "right"]].set_visible(False)
        output = io.BytesIO()
        FigureCanvasAgg(figure).print_png(
            output, metadata={"Software": None}
        )
    return output.getvalue()


def verdict() -> str:
    """Return how many published numbers agree, in two lines."""
    verdicts = pd.read_csv(CARD)[["verdict", "std verdict"]]
    counts = verdicts.stack().value_counts()
    return textwrap.fill(verdict_line(counts.to_dict()), 76)


def leads_over_mean(table: pd.DataFrame) -> pd.DataFrame:
    """Return leads over the mean by m, a column per recommender."""
    is_exact = table["kind"] == "exact"
    is_sampled = table["estimator"].eq("Sampled") & table["kind"].eq(
        "curve"
    )
    rows = table[
        is_exact | is_sampled & table["n_negatives"].ge(FIRST)
    ]
    values = rows.pivot_table("value", "n_negatives", "recommender")
    return values.div(values.mean(axis=1), axis=0) - 1.0
