"""The steps of the study below the rank records: sampling, tables, figures."""

import logging
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import replacing, write_table
from sampled_metrics.cli.steps import File, Folder, Input, Inputs, Json, Output, settings_of

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

OfThePaper = Annotated[
    Path | None, typer.Option(help="Published cells, where the data is the paper's.")
]


@app.command()
def exact(ranks: Inputs, csv: Output, md: Output, settings: Json = "{}") -> None:
    """Compute exact metrics under each tie policy."""
    from sampled_metrics.ranks.reading import read_by_name, sources
    from sampled_metrics.report.exact import exact_table, write_exact
    from sampled_metrics.study.settings import ExactSettings

    options = settings_of(ExactSettings, settings, "--settings")
    records = read_by_name(ranks)
    table, source = exact_table(records, options), sources(r.source for r in records.values())
    write_exact(table, source, csv, md)
    _log.info("exact: %d values from ranks: %s", len(table), source)


@app.command()
def ranges(ranks: Inputs, output: Output, settings: Json = "{}") -> None:
    """Compute the ranges of exact metrics that samples of several sizes allow."""
    from sampled_metrics.ranks.reading import read_by_name
    from sampled_metrics.study.allowed import allowed_ranges
    from sampled_metrics.study.settings import ExperimentSettings

    experiment = settings_of(ExperimentSettings, settings, "--settings")
    table = allowed_ranges(read_by_name(ranks), experiment.metrics, experiment.seed)
    write_table(table, output, "%.6f")
    _log.info("ranges: %d", len(table))


@app.command()
def toy(published: File, cells: Folder, tables: Folder, settings: Json = "{}") -> None:
    """Evaluate the toy recommenders: Tables 1 and 2."""
    from sampled_metrics.study.settings import ToySettings
    from sampled_metrics.study.toy import toy_tables

    options = settings_of(ToySettings, settings, "--settings")
    _write_tables(toy_tables(options), published, cells, tables)


@app.command()
def sample(ranks: Input, output: Output, settings: Json = "{}") -> None:
    """Repeat the sampled evaluation of one recommender, correct it by every estimator."""
    from sampled_metrics.ranks.reading import read_single
    from sampled_metrics.study.experiment import run_experiment, save_experiment
    from sampled_metrics.study.settings import ExperimentSettings

    options = settings_of(ExperimentSettings, settings, "--settings")
    records = read_single(ranks)
    began = time.perf_counter()
    experiment = run_experiment(ranks.stem, records, options)
    save_experiment(output, experiment)
    seconds, size = time.perf_counter() - began, experiment.repeated.size
    _log.info("sample: %d estimates of %d users in %.2f s", size, len(records), seconds)


@app.command()
def compare(samples: Inputs, cells: Folder, tables: Folder, published: OfThePaper = None) -> None:
    """Compare the recommenders: Tables 3 and 4."""
    from sampled_metrics.study import comparison
    from sampled_metrics.study.experiment import load_experiments

    experiments = load_experiments(samples)
    by_number = {3: comparison.table3(experiments), 4: comparison.table4(experiments)}
    _write_tables(by_number, published, cells, tables)


@app.command()
def figures(
    folder: Folder,
    ranks: Annotated[
        list[Path] | None, typer.Argument(help="Rank records, for figures 5 and 6.")
    ] = None,
    numbers: Annotated[str, typer.Option(help="Which figures, by commas.")] = "1,2,3,4",
    settings: Json = "{}",
    band: Annotated[
        Path | None, typer.Option(help="Curves of figure 6 over starts, by `study spread`.")
    ] = None,
) -> None:
    """Compute what figures plot, and draw them."""
    from sampled_metrics.report import figures as drawing
    from sampled_metrics.study.curves import figure_data
    from sampled_metrics.study.settings import ExperimentSettings

    experiment = settings_of(ExperimentSettings, settings, "--settings")
    for number in [_figure_number(text) for text in numbers.split(",")]:
        data, note = figure_data(number, ranks or [], experiment, band)
        stem = folder / f"figure{number}"
        write_table(data, stem.with_suffix(".csv"), "%.10g")
        drawing.save(drawing.render(number, drawing.rounded(data), note), stem)


@app.command()
def reversal(ranks: Inputs, output: Output) -> None:
    """Draw the order by Recall@10 among all items beside that among 100 random items."""
    from sampled_metrics.ranks.reading import read_by_name
    from sampled_metrics.report.figures.reversal import draw_reversal
    from sampled_metrics.study.sample_sizes import recall_exact_and_sampled

    figure = draw_reversal(recall_exact_and_sampled(read_by_name(ranks)))
    with replacing(output) as temporary:
        figure.savefig(temporary, dpi=300, metadata={"Software": None})


def _write_tables(
    by_number: dict[int, Any], published: Path | None, cells: Path, tables: Path
) -> None:
    from sampled_metrics.report.printed import write_printed
    from sampled_metrics.study.cells import read_published

    print_of_paper = None if published is None else read_published(published)
    for number, table in by_number.items():
        write_table(table, cells / f"table{number}.csv", "%.17g")
        write_printed(number, table, print_of_paper, tables / f"table{number}")


def _figure_number(text: str) -> int:
    if text not in {"1", "2", "3", "4", "5", "6"}:
        raise InputError(f"--numbers: no figure {text!r}; known: 1, 2, 3, 4, 5, 6")
    return int(text)
