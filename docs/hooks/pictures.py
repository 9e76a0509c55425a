"""Pictures of the guides, drawn when the documentation is built.

Figures are of the reference run; the plots are what `.plot()` draws.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from mkdocs.structure.files import File, Files

import sampled_metrics as sm

sys.path.append(str(Path(__file__).parent))
from guides import GUIDES, svg_of

REFERENCE = Path(__file__).parents[2] / "results/reference"
FIGURES = (
    "leaderboard",
    *(f"figures/figure{n}" for n in (1, 2, 3, 5, 6)),
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pictures."""
    for name in FIGURES:
        path = REFERENCE / f"{name}.svg"
        text = path.read_text("utf-8")
        file = File.generated(config, path.name, content=text)
        files.append(file)
    for name, draw in GUIDES.items():
        content = svg_of(draw)
        files.append(File.generated(config, name, content=content))
    for name, results in PLOTS.items():
        content = drawn(results())
        files.append(File.generated(config, name, content=content))
    return files


def drawn(results: Any) -> bytes:
    """Return what a result plots, as SVG."""
    mpl.use("agg")
    axes = np.ravel(results.plot())[0]
    written = io.BytesIO()
    figure = axes.figure
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def full() -> Any:
    """Compare the full rankings of the study."""
    ranks = {
        name: sm.Ranks.read(REFERENCE / f"ranks/{name}.parquet")
        for name in "XYZ"
    }
    return sm.compare(ranks, "HR@10, NDCG@10")


def budget() -> Any:
    """Compare two made-up recommenders on a budget."""
    rng = np.random.default_rng(1)
    held_out = rng.integers(0, 500, 200)
    good = rng.normal(size=(200, 500))
    good[np.arange(200), held_out] += 2
    poor = good + 2 * rng.normal(size=good.shape)
    return sm.evaluate_on_budget(
        {"good": good, "poor": poor},
        "HR@10",
        relevant=held_out,
        seen=np.zeros(good.shape),
        budget=100,
    )


def printed() -> Any:
    """Compute the ranges of SASRec on MovieLens 1M, as printed."""
    return sm.reported(
        {"HR@10": "0.8245", "NDCG@10": "0.5905"},
        n_items=3416,
        n_negatives=100,
        n_users=6040,
    )


PLOTS: dict[str, Callable[[], Any]] = {
    "full.svg": full,
    "budget.svg": budget,
    "printed.svg": printed,
}
