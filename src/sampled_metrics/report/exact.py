"""The exact metrics of the study, for each recommender, measure and tie policy."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.settings import ExactSettings

COLUMNS = ("recommender", "metric", "ties", "value")


@one_thread()
def exact_table(records: Mapping[str, Ranks], settings: ExactSettings) -> pd.DataFrame:
    """Mean over users of exact metrics in percent, with the columns `COLUMNS`.

    The policy `random` takes one order of the ties per recommender for all measures.
    """
    rows = []
    for name, ranks in records.items():
        for measure in map(parse_measure, settings.metrics):
            for policy in settings.ties:
                rng = generator(settings.seed, "ties", name)
                mean = values(measure, ranks, policy, rng).mean()
                rows.append((name, str(measure), policy, 100.0 * mean))
    return pd.DataFrame(rows, columns=COLUMNS)


def by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """Give each measure its own column, in the order of the table."""
    wide = table.set_index(["recommender", "ties", "metric"])["value"].unstack(sort=False)
    return wide.reset_index()


def write_exact(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the table of `exact_table` as CSV, and as Markdown with a column per measure."""
    write_table(table, csv, "%.6f")
    caption = f"Exact metrics in percent, by tie policy. Ranks: {source}."
    write_text(md, f"{caption}\n\n{markdown(by_metric(table), decimals=2)}\n")
