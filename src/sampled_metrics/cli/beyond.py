"""Steps of the comparison of methods beyond the paper."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.errors import reading
from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.cli.steps import Folder, Input, Json, Output, settings_of

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")
_NUMBERS = "%.10g"


@app.command()
def outcomes(
    split: Input,
    source: Annotated[Path, typer.Argument(help="Trained recommender, or scores made elsewhere.")],
    output: Output,
    external: Annotated[bool, typer.Option("--external", help="These are scores.")] = False,
) -> None:
    """Compare all items with each user's held-out item."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.recommenders import load_recommender
    from sampled_metrics.recommenders.external import External
    from sampled_metrics.study.beyond.outcomes import outcomes as compare
    from sampled_metrics.study.beyond.outcomes import save_outcomes

    data = load_split(split)
    with reading(source):
        recommender = External.read(source, data) if external else load_recommender(source)
        save_outcomes(output, compare(recommender.score, data))


@app.command()
def repeat(
    split: Input,
    outcomes: Annotated[list[Path], typer.Argument(help="Outcomes of the recommenders.")],
    part: Annotated[str, typer.Option(help="Which methods.")],
    values: Output,
    orders: Output,
    settings: Json = "{}",
) -> None:
    """Repeat evaluations by some methods."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.study.beyond.outcomes import Compared, load_outcomes
    from sampled_metrics.study.beyond.parts import repeated
    from sampled_metrics.study.beyond.runs import order_rows, value_rows
    from sampled_metrics.study.beyond.settings import BeyondSettings

    comparison = settings_of(BeyondSettings, settings, "--settings")
    data = load_split(split)
    compared = Compared.of(load_outcomes(outcomes, data), comparison.measures)
    began = time.process_time()
    runs = list(repeated(part, compared, comparison, data))
    write_table(value_rows(runs, compared), values, _NUMBERS)
    write_table(order_rows(runs, compared), orders, _NUMBERS)
    _log.info("repeat %s: %.0f s of processor time", part, time.process_time() - began)


@app.command()
def beyond(
    parts: Annotated[list[Path], typer.Argument(help="Values of all parts.")],
    orders: Annotated[list[Path], typer.Option(help="Orders of a part; repeat for several.")],
    output: Folder,
    tables: Folder,
    figures: Folder,
    settings: Json = "{}",
) -> None:
    """Put the parts together: values.csv, orders.csv, Tables 5 and 6, Figures 7 and 8."""
    from sampled_metrics.report import figures as drawing
    from sampled_metrics.report.beyond import write_tables
    from sampled_metrics.study.beyond.curves import error_curves, order_curves
    from sampled_metrics.study.beyond.parts import joined
    from sampled_metrics.study.beyond.runs import ORDERS, VALUES
    from sampled_metrics.study.beyond.settings import BeyondSettings

    comparison = settings_of(BeyondSettings, settings, "--settings")
    of_values, of_orders = joined(parts, VALUES), joined(orders, ORDERS)
    write_table(of_values, output / "values.csv", _NUMBERS)
    write_table(of_orders, output / "orders.csv", _NUMBERS)
    write_tables(of_values, of_orders, comparison, tables)
    names = list(of_values["recommender"].unique())
    drawn = {7: error_curves(of_values), 8: order_curves(of_orders, names, comparison)}
    for number, table in drawn.items():
        if len(table):
            stem = figures / f"figure{number}"
            write_table(table, stem.with_suffix(".csv"), _NUMBERS)
            drawing.save(drawing.render(number, table), stem)


@app.command()
def negatives(
    split: Input,
    table: Annotated[Path, typer.Argument(help="Negatives: user_id, item_id.")],
    outcomes: Annotated[list[Path], typer.Argument(help="Outcomes of the recommenders.")],
    output: Folder,
    settings: Json = "{}",
) -> None:
    """Evaluate by negatives that somebody else drew, and check them."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.report.negatives import in_words
    from sampled_metrics.study import negatives as drawn
    from sampled_metrics.study.beyond.outcomes import Compared, load_outcomes
    from sampled_metrics.study.beyond.settings import BeyondSettings

    comparison = settings_of(BeyondSettings, settings, "--settings")
    data = load_split(split)
    read = drawn.read_negatives(table, data)
    codes = load_outcomes(outcomes, data)
    with reading(table):
        samples = {
            name: drawn.sampled_ranks(name, outcome_codes, read, data)
            for name, outcome_codes in codes.items()
        }
    compared = Compared.of(codes, comparison.measures)
    tables = {
        "values": drawn.value_table(samples, compared),
        "orders": drawn.order_table(samples, compared, data),
        "checks": drawn.check_table(read, data),
    }
    for name, rows in tables.items():
        write_table(rows, output / f"{name}.csv", _NUMBERS)
    for name, sample in samples.items():
        sample.write(output / f"{name}.parquet")
    write_text(output / "negatives.md", in_words(table.name, **tables))
