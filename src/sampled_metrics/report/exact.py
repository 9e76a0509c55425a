"""The exact metrics of the study, for each recommender, measure and tie policy."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics._base.seeds import generator
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.report.tables import markdown

COLUMNS = ("recommender", "metric", "ties", "value")


def exact_table(
    paths: Sequence[Path], metrics: Sequence[str], ties: Sequence[str], seed: int
) -> tuple[pd.DataFrame, str]:
    """Mean over users of exact metrics, in percent.

    Parameters
    ----------
    paths
        Rank records; the file's stem is the recommender's name.
    metrics, ties
        Names of measures and of tie policies.
    seed
        Of the policy `random`; one order per recommender serves all measures.

    Returns
    -------
    The table, with the columns `COLUMNS`, and a description of where the ranks come from.
    """
    measures = [parse_measure(name) for name in metrics]
    rows, sources = [], set()
    for name, ranks in read_by_name(paths).items():
        sources.add(ranks.source)
        for measure in measures:
            for policy in ties:
                exact = values(measure, ranks, policy, generator(seed, "ties", name))
                rows.append((name, str(measure), policy, 100.0 * exact.mean()))
    return pd.DataFrame(rows, columns=COLUMNS), "; ".join(sorted(sources))


def by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """Give each measure its own column, in the order of the table."""
    wide = table.set_index(["recommender", "ties", "metric"])["value"].unstack(sort=False)
    return wide.reset_index()


def write_exact(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the table of `exact_table` as CSV, and as Markdown with a column per measure."""
    write_table(table, csv, "%.6f")
    caption = f"Exact metrics in percent, by tie policy. Ranks: {source}."
    write_text(md, f"{caption}\n\n{markdown(by_metric(table), decimals=2)}\n")
