"""Commands about metrics: their names, and the errors of predicted ratings."""

from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, emit

app = typer.Typer()


@app.command()
def metrics(
    library: Annotated[str | None, typer.Option(help="Only the names of this library.")] = None,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Print the names of all metrics, and what other libraries call them.

    Names may be in upper or lower case, with _ for -, and with a cut-off as @10, _10 or -10.

    Keys: library, theirs, ours, note; library is sampled-metrics for our own names, theirs being
    the other names that are understood.
    """
    from sampled_metrics.metrics.libraries import synonyms
    from sampled_metrics.metrics.measures import METRICS, known_measures

    rows = []
    for name in known_measures():
        aliases = METRICS[name.partition("@")[0].removesuffix("BETA")].aliases
        own = {"library": "sampled-metrics", "theirs": ", ".join(aliases), "ours": name, "note": ""}
        rows.append(own)
    rows += synonyms()
    if library is not None:
        known = {row["library"].lower(): row["library"] for row in rows}
        if library.lower() not in known:
            raise InputError(f"unknown library {library!r}; known: {', '.join(known.values())}")
        rows = [row for row in rows if row["library"].lower() == library.lower()]
    emit(rows, form, output)


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
        {"metric": name, "value": error, "n_ratings": true.size} for name, error in errors.items()
    ]
    emit(rows, form, output)
