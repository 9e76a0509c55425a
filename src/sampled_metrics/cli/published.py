"""The steps of the study that compare it with the paper: scorecard, claims, spread, audit."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.files import read_table, write_table
from sampled_metrics.cli.steps import (
    File,
    Folder,
    Input,
    Inputs,
    Json,
    Output,
    Threads,
    parsed,
    settings_of,
)

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

Ranks = Annotated[list[Path], typer.Option(help="Rank records of a recommender.")]


@app.command()
def scorecard(
    cells: Inputs,
    published: File,
    spread: File,
    by_start: File,
    csv: Output,
    md: Output,
    ranks: Ranks,
    settings: Json = "{}",
    toy: Json = "{}",
) -> None:
    """Compare every published cell with ours."""
    from sampled_metrics.ranks.reading import read_by_name, sources
    from sampled_metrics.report import scorecard as report
    from sampled_metrics.report.power import power_table
    from sampled_metrics.study.cells import SPREAD_COLUMNS, TEXTS, read_cells, read_published
    from sampled_metrics.study.joint import joint_table
    from sampled_metrics.study.settings import ExperimentSettings, ToySettings
    from sampled_metrics.study.starts import COLUMNS
    from sampled_metrics.study.toy import PREDICTED_RANKS, toy_experiment, toy_ranks

    ours = read_cells(cells)
    compared = (ours, read_published(published), read_table(spread, SPREAD_COLUMNS, TEXTS))
    card = report.scorecard(*compared)
    joint = joint_table(
        card,
        read_by_name(ranks),
        settings_of(ExperimentSettings, settings, "--settings"),
        {name: toy_ranks(name) for name in PREDICTED_RANKS},
        toy_experiment(settings_of(ToySettings, toy, "--toy")),
        read_table(by_start, COLUMNS, TEXTS),
    )
    source = sources(ours["ranks"])
    report.write_scorecard(card, joint, power_table(*compared), source, csv, md)
    totals = report.totals(card)
    _log.info("scorecard: %s", ", ".join(f"{count} {name}" for name, count in totals.items()))


@app.command()
def claims(
    cells: Inputs,
    published: File,
    by_start: File,
    figure6: File,
    csv: Output,
    md: Output,
    ranks: Ranks,
) -> None:
    """Measure every sentence of the paper with a number or an order in it."""
    from sampled_metrics.ranks.reading import read_by_name, sources
    from sampled_metrics.report.claims import write_claims
    from sampled_metrics.study.cells import TEXTS, read_cells, read_published
    from sampled_metrics.study.claims import VERDICTS, Run, ledger
    from sampled_metrics.study.starts import COLUMNS

    records = read_by_name(ranks)
    curves = read_table(figure6, ["kind", "recommender", "estimator", "n_negatives"])
    ordered = curves[(curves["kind"] == "ordered") & (curves["recommender"] == "X vs Y")]
    sizes = dict(zip(ordered["estimator"], ordered["n_negatives"], strict=True))
    starts = [
        Run.of_table(rows) for _, rows in read_table(by_start, COLUMNS, TEXTS).groupby("start")
    ]
    run = Run.of(read_cells(cells), records, sizes)
    measured = ledger(run, Run.published(read_published(published)), starts)
    write_claims(measured, sources(users.source for users in records.values()), csv, md)
    totals = measured["verdict"].value_counts()
    _log.info("claims: %s", ", ".join(f"{totals[v]} {v}" for v in VERDICTS if v in totals))


@app.command()
def z_scores(scorecard: Input, folder: Folder) -> None:
    """Draw how the published numbers scatter around ours, in standard errors."""
    from sampled_metrics.report.figures import render, rounded, save
    from sampled_metrics.report.scorecard import z_scores as scores_of

    table = scores_of(read_table(scorecard, ["table", "row", "kind", "difference", "error"]))
    write_table(table, folder / "z.csv", "%.6g")
    save(render("z", rounded(table)), folder / "z")


@app.command()
def spread(
    split: Input,
    output: Output,
    by_start: Output,
    band: Output,
    recommender: Annotated[str, typer.Option(help="Recommender to train again, as JSON.")],
    starts: Annotated[int, typer.Option(min=2, help="Seeds 0, 1 ... to start it from.")] = 20,
    settings: Json = "{}",
    threads: Threads = 1,
    others: Annotated[list[Path] | None, typer.Argument(help="Ranks of the others.")] = None,
) -> None:
    """Measure how far cells move with the start of an als recommender and with tied ranks."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.ranks.reading import read_by_name
    from sampled_metrics.study.entries import Entry
    from sampled_metrics.study.readings import ranks_by_start
    from sampled_metrics.study.settings import ExperimentSettings
    from sampled_metrics.study.starts import band_over_starts, spread_table, table_of_starts

    entry = settings_of(Entry, recommender, "--recommender")
    experiment = settings_of(ExperimentSettings, settings, "--settings")
    fixed = read_by_name(others or [])
    trained = ranks_by_start(entry, load_split(split), starts, threads)
    numbers = table_of_starts(entry.name, trained, fixed, experiment)
    write_table(numbers, by_start, "%.6g")
    write_table(band_over_starts(entry.name, trained, experiment), band, "%.10g")
    write_table(spread_table(entry.name, numbers, fixed, experiment), output, "%.6g")


@app.command()
def audit(
    split: Input,
    ranks: Inputs,
    archive: File,
    published: File,
    csv: Output,
    md: Output,
    recommenders: Json,
    settings: Json = "{}",
    threads: Threads = 1,
) -> None:
    """Measure each reading of the paper where its text and its numbers disagree."""
    from sampled_metrics.report.audit import write_audit
    from sampled_metrics.study.audit import run_audit
    from sampled_metrics.study.entries import Entry
    from sampled_metrics.study.readings import Material
    from sampled_metrics.study.settings import ExperimentSettings

    listed = parsed(recommenders, "--recommenders")
    entries = [Entry.of(entry, "--recommenders") for entry in listed]
    experiment = settings_of(ExperimentSettings, settings, "--settings")
    material = Material.load(archive, split, ranks, entries, experiment, published, threads)
    readings = run_audit(material)
    write_audit(readings, csv, md)
    _log.info("audit: %d readings", len(readings))
