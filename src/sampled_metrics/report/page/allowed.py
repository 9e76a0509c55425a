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
    """Arrange ranges in the columns of `study.allowed.Allowed` for the page.

    Returns `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name in
    the scripts: `ranges` by size and recommender, `differences` by size and pair.
    """
    sizes = sorted(table["n_negatives"].unique().tolist())
    metrics = table["metric"].unique().tolist()
    ends = {
        tuple(key): [round(low, 5), round(high, 5)]
        for *key, low, high in table.itertuples(index=False)
    }
    return {
        "sizes": sizes,
        "labels": [parse_measure(metric).label for metric in metrics],
        "metrics": {
            in_script(metric): {
                "ranges": [[ends[metric, m, a, ""] for a in names] for m in sizes],
                "differences": [
                    [ends[metric, m, a, b] for a, b in combinations(names, 2)] for m in sizes
                ],
            }
            for metric in metrics
        },
    }
