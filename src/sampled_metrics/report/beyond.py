"""Tables 5 and 6 as files."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.latex import latex
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.beyond.settings import BeyondSettings
from sampled_metrics.study.beyond.tables import cells, wide_orders, wide_values

CAPTIONS = {
    5: "Metrics in percent by each method: mean ± standard deviation over runs (bias).",
    6: "Runs in percent that order a pair of recommenders as the exact metrics do, by {metrics}.",
}


def write_tables(
    values: pd.DataFrame, orders: pd.DataFrame, settings: BeyondSettings, folder: Path
) -> None:
    """Write both tables as `.csv`, `.md` and `.tex`, from `values.csv` and `orders.csv`."""
    names = list(values["recommender"].unique())
    metrics = ", ".join(parse_measure(name).label for name in settings.metrics)
    printed = cells(values, orders, settings)
    wide = {5: wide_values(values, settings), 6: wide_orders(orders, names, settings)}
    for number, table in wide.items():
        stem = folder / f"table{number}"
        caption = CAPTIONS[number].format(metrics=metrics)
        write_table(printed[printed["table"] == number], stem.with_suffix(".csv"))
        write_text(stem.with_suffix(".md"), f"Table {number}. {caption}\n\n{markdown(table)}\n")
        write_text(stem.with_suffix(".tex"), latex(table, caption, stem.name))
