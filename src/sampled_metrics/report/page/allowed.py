"""The data of the range panel: ranges of exact metrics by metric, sample size and recommender."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.page.embedded import in_script
from sampled_metrics.study.allowed import Allowed


def read_ranges(path: Path) -> pd.DataFrame:
    """Read the table of `study.allowed`."""
    return read_table(path, Allowed._fields, keep_default_na=False)


def range_panel(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Arrange the table of `study.allowed` for the page.

    Returns
    -------
    `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name in the
    scripts: `ranges` by size and recommender, `differences` by size and pair.
    """
    sizes = sorted(table["n_negatives"].unique().tolist())
    ends = {tuple(key): [low, high] for *key, low, high in table.itertuples(index=False)}
    metrics = table["metric"].unique().tolist()
    return {
        "sizes": sizes,
        "labels": [parse_measure(metric).label for metric in metrics],
        "metrics": {
            in_script(metric): {
                "ranges": [[_short(ends[metric, m, a, ""]) for a in names] for m in sizes],
                "differences": [
                    [_short(ends[metric, m, a, b]) for a, b in combinations(names, 2)]
                    for m in sizes
                ],
            }
            for metric in metrics
        },
    }


def _short(ends: Sequence[float]) -> list[float]:
    return [round(end, 5) for end in ends]
