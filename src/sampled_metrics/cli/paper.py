"""The steps of the study below the rank records: sampling, tables, figures, scorecard."""

import json
import logging
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sampled_metrics._base.errors import InputError

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

Input = Annotated[Path, typer.Argument(help="File to read.", show_default=False)]
Inputs = Annotated[list[Path], typer.Argument(help="Files to read.", show_default=False)]
Output = Annotated[Path, typer.Option(help="File to write.", show_default=False)]
Published = Annotated[Path, typer.Option(help="Published cells.", show_default=False)]
Cells = Annotated[Path, typer.Option(help="Folder for unrounded cells.", show_default=False)]
Tables = Annotated[Path, typer.Option(help="Folder for printed tables.", show_default=False)]
Settings = Annotated[str, typer.Option(help="Settings of the experiment, as JSON.")]
Metrics = Annotated[str, typer.Option(help="Measures, by commas.")]
Estimators = Annotated[str, typer.Option(help="Estimators, by commas.")]
METRICS = "recall@10,ndcg@10,ap,auc"
ESTIMATORS = "sampled,rank-estimate,cls,bv:1,bv:0.1,bv:0.01,bv:0.001"


@app.command()
def toy(
    published: Published,
    cells: Cells,
    tables: Tables,
    n_negatives: Annotated[int, typer.Option(min=1, max=9999, help="m of Table 2.")] = 99,
    repetitions: Annotated[int, typer.Option(min=2, help="Of Table 2.")] = 1000,
    sampling: Annotated[str, typer.Option(help="How negatives are drawn.")] = "without-replacement",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Evaluate the toy recommenders: Tables 1 and 2."""
    from sampled_metrics.study import toy as study

    settings = study.ToySettings(n_negatives, repetitions, sampling, seed)
    _write_tables({1: study.table1(), 2: study.table2(settings)}, published, cells, tables)


@app.command()
def sample(
    ranks: Input,
    output: Output,
    settings: Settings = "{}",
    metrics: Metrics = METRICS,
    estimators: Estimators = ESTIMATORS,
) -> None:
    """Repeat the sampled evaluation of one recommender, correct it by every estimator."""
    from sampled_metrics.ranks.reading import read_single
    from sampled_metrics.study.experiment import run_experiment
    from sampled_metrics.study.storage import save_experiment

    chosen = experiment_settings(settings)
    corrections, measures = parsed(estimators, metrics)
    records = read_single(ranks)
    began = time.perf_counter()
    experiment = run_experiment(ranks.stem, records, corrections, measures, chosen, records.source)
    save_experiment(output, experiment)
    seconds, size = time.perf_counter() - began, experiment.repeated.size
    _log.info("sample: %d estimates of %d users in %.2f s", size, len(records), seconds)


@app.command()
def compare(
    samples: Inputs,
    cells: Cells,
    tables: Tables,
    published: Annotated[
        Path | None, typer.Option(help="Published cells, where the data is the paper's.")
    ] = None,
) -> None:
    """Compare the recommenders: Tables 3 and 4."""
    from sampled_metrics.study import comparison
    from sampled_metrics.study.storage import load_experiments

    experiments = load_experiments(samples)
    made = {3: comparison.table3(experiments), 4: comparison.table4(experiments)}
    _write_tables(made, published, cells, tables)


@app.command()
def figures(
    ranks: Annotated[
        list[Path] | None, typer.Argument(help="Rank records, for figures 5 and 6.")
    ] = None,
    numbers: Annotated[str, typer.Option(help="Which figures, by commas.")] = "1,2,3,4",
    folder: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)] = Path(),
    settings: Settings = "{}",
) -> None:
    """Compute what figures plot, and draw them."""
    from sampled_metrics.report import figures as drawing
    from sampled_metrics.report.tables import write_csv
    from sampled_metrics.study.curves import figure_data

    chosen, wanted = experiment_settings(settings), list(map(_figure_number, numbers.split(",")))
    for number in wanted:
        data, note = figure_data(number, ranks or [], chosen)
        stem = folder / f"figure{number}"
        write_csv(data, stem.with_suffix(".csv"), "%.10g")
        drawing.save(drawing.render(number, data, note), stem)


@app.command()
def scorecard(
    cells: Inputs,
    published: Published,
    spread: Annotated[Path, typer.Option(help="What is left open.", show_default=False)],
    csv: Output,
    md: Output,
) -> None:
    """Compare every published cell with ours."""
    import pandas as pd

    from sampled_metrics._base.files import read_table
    from sampled_metrics.report import scorecard as report
    from sampled_metrics.study.published import read_published
    from sampled_metrics.study.unrounded import read_unrounded

    ours = pd.concat([read_unrounded(path) for path in cells], ignore_index=True)
    moved = read_table(spread, report.SPREAD_COLUMNS)
    card = report.scorecard(ours, read_published(published), moved)
    report.write_scorecard(card, "; ".join(sorted(set(ours["ranks"]))), csv, md)
    totals = report.totals(card)
    _log.info("scorecard: %s", ", ".join(f"{count} {name}" for name, count in totals.items()))


@app.command()
def spread(
    split: Input,
    output: Output,
    name: Annotated[str, typer.Option(help="Recommender to start anew.", show_default=False)],
    recommender: Annotated[str, typer.Option(help="Its settings, as JSON.")] = "{}",
    starts: Annotated[int, typer.Option(min=2, help="Seeds 0, 1 ... to start it from.")] = 20,
    settings: Settings = "{}",
    metrics: Metrics = METRICS,
    estimators: Estimators = ESTIMATORS,
    threads: Annotated[int, typer.Option(min=1, help="Threads to train with.")] = 1,
    others: Annotated[
        list[Path] | None, typer.Argument(help="Ranks of the others.", show_default=False)
    ] = None,
) -> None:
    """Measure how far cells move with the start of an als recommender and with tied ranks."""
    import pandas as pd

    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.ranks import rank
    from sampled_metrics.ranks.reading import read_single
    from sampled_metrics.recommenders import create
    from sampled_metrics.report.tables import write_csv
    from sampled_metrics.study import spread as study

    if not name:
        raise InputError("there is no recommender of kind als to start anew")
    data, chosen = load_split(split), mapping(recommender, "--recommender")
    corrections, measures = parsed(estimators, metrics)
    experiment = experiment_settings(settings)
    fixed = {path.stem: read_single(path) for path in others or []}
    trained = []
    for seed in range(starts):
        model = create("als", {**chosen, "seed": seed}).fit(data.train, threads)
        trained.append(rank(model.score, data.train, data.held_out))
        _log.info("spread: start %d of %d", seed + 1, starts)
    by_start = study.spread_over_starts(name, trained, fixed, corrections, measures, experiment)
    by_ties = [
        study.spread_over_ties(key, records, measures, experiment.seed)
        for key, records in fixed.items()
        if records.n_tied.mean() > 1
    ]
    write_csv(pd.concat([by_start, *by_ties]), output, "%.6g")


@app.command()
def audit(
    split: Input,
    ranks: Inputs,
    archive: Annotated[Path, typer.Option(help="The ratings.", show_default=False)],
    published: Published,
    csv: Output,
    md: Output,
    recommenders: Annotated[str, typer.Option(help="Their settings, as JSON.")] = "[]",
    settings: Settings = "{}",
    threads: Annotated[int, typer.Option(min=1, help="Threads to train with.")] = 1,
) -> None:
    """Measure each reading of the paper where its text and its numbers part."""
    from sampled_metrics.report.audit import write_audit
    from sampled_metrics.study.audit import run_audit
    from sampled_metrics.study.readings import Material

    experiment, named = experiment_settings(settings), dict(_recommenders(recommenders))
    material = Material.load(archive, split, ranks, named, experiment, published, threads)
    readings = run_audit(material)
    write_audit(readings, csv, md)
    _log.info("audit: %d readings", len(readings))


def _write_tables(made: dict[int, Any], published: Path | None, cells: Path, tables: Path) -> None:
    from sampled_metrics.report.printed import write_printed
    from sampled_metrics.study.published import read_published
    from sampled_metrics.study.unrounded import write_unrounded

    print_of_paper = None if published is None else read_published(published)
    for number, table in made.items():
        write_unrounded(table, cells / f"table{number}.csv")
        write_printed(number, table, print_of_paper, tables / f"table{number}")


def _figure_number(text: str) -> int:
    if text not in {"1", "2", "3", "4", "5", "6"}:
        raise InputError(f"--numbers: no figure {text!r}; allowed: 1, 2, 3, 4, 5, 6")
    return int(text)


def _recommenders(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Names and definitions of recommenders, given as a JSON list."""
    try:
        return [
            (each["name"], {"kind": each["kind"], "settings": each["settings"]})
            for each in json.loads(text)
        ]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise InputError(
            f"--recommenders is {text!r}; allowed: a JSON list of name, kind and settings"
        ) from None


def parsed(estimators: str, metrics: str) -> tuple[list[Any], list[Any]]:
    """Estimators and measures, given by commas."""
    from sampled_metrics.estimators import parse_estimator
    from sampled_metrics.metrics.measures import parse_measure

    return (
        [parse_estimator(name) for name in estimators.split(",")],
        [parse_measure(name) for name in metrics.split(",")],
    )


def experiment_settings(text: str) -> Any:
    """Read the settings of the experiment, given as a JSON object."""
    import dataclasses

    from sampled_metrics.study.experiment import ExperimentSettings

    values = mapping(text, "--settings")
    known = [field.name for field in dataclasses.fields(ExperimentSettings)]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InputError(f"--settings: unknown setting {unknown[0]!r}; known: {', '.join(known)}")
    return ExperimentSettings(**values)


def mapping(text: str, option: str) -> dict[str, Any]:
    """Read a JSON object given as an option."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} is not JSON ({error}): {text!r}") from error
    if not isinstance(found, dict):
        raise InputError(f"{option} is {text!r}; allowed: a JSON object")
    return found
