"""Command for predicted ratings."""

from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, emit

app = typer.Typer()


@app.command()
def ratings(
    file: Annotated[Path, typer.Argument(help="Columns rating and prediction.")],
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Calculate the errors of predicted ratings, in the unit of the ratings: RMSE and MAE.

    Keys: metric, value, n_ratings.
    """
    from sampled_metrics.metrics.ratings import mae, rmse
    from sampled_metrics.tables.reading import read_table

    table = read_table(file, "ratings and their predictions", ("rating", "prediction"), ids=())
    table.require("rating", "prediction")
    true, predicted = table.finite("rating"), table.finite("prediction")
    errors = {"rmse": rmse(true, predicted), "mae": mae(true, predicted)}
    rows = [
        {"metric": metric, "value": value, "n_ratings": true.size}
        for metric, value in errors.items()
    ]
    emit(rows, form, output)
