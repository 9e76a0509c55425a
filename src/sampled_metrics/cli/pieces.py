"""The steps of the study that run in pieces, and those that gather the pieces."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics.cli.paper import (
    ESTIMATORS,
    METRICS,
    Estimators,
    Input,
    Metrics,
    Output,
    Settings,
    experiment_settings,
    parsed,
)

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

Pieces = Annotated[list[Path], typer.Argument(help="All pieces, in order.", show_default=False)]
Which = Annotated[str, typer.Option("--piece", help="Such as 2-of-3.", show_default=False)]


@app.command()
def gather_ranks(split: Input, pieces: Pieces, output: Output) -> None:
    """Put together the rank records of all pieces of the users."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.ranks.pieces import gather_ranks as gather

    data = load_split(split)
    records = gather(pieces, data)
    records.write(output, items=data.held_out_ids)
    _log.info("gather-ranks: %d users from %d pieces", len(records), len(pieces))


@app.command()
def draw(
    ranks: Input,
    output: Output,
    piece: Which,
    settings: Settings = "{}",
    estimators: Estimators = ESTIMATORS,
) -> None:
    """Draw some repetitions of the sampled evaluation of one recommender."""
    from sampled_metrics.ranks.pieces import parse_piece
    from sampled_metrics.ranks.reading import read_single
    from sampled_metrics.study import experiment
    from sampled_metrics.study.gathering import design, save_draws

    chosen, (corrections, _) = experiment_settings(settings), parsed(estimators, METRICS)
    repetitions = parse_piece(piece).of(chosen.repetitions)
    records = read_single(ranks)
    began = time.perf_counter()
    counts = experiment.draw(ranks.stem, records, corrections, chosen, repetitions)
    save_draws(output, design(ranks.stem, records, corrections, chosen), repetitions, counts)
    seconds = time.perf_counter() - began
    _log.info("draw: %d repetitions of %d users in %.2f s", len(repetitions), len(records), seconds)


@app.command()
def gather_samples(
    ranks: Input,
    pieces: Pieces,
    output: Output,
    settings: Settings = "{}",
    metrics: Metrics = METRICS,
    estimators: Estimators = ESTIMATORS,
) -> None:
    """Put together the repetitions of all pieces, correct them by every estimator."""
    from sampled_metrics.ranks.reading import read_single
    from sampled_metrics.study.experiment import corrected
    from sampled_metrics.study.gathering import design, gather_draws
    from sampled_metrics.study.storage import save_experiment

    chosen = experiment_settings(settings)
    corrections, measures = parsed(estimators, metrics)
    records = read_single(ranks)
    counts = gather_draws(pieces, design(ranks.stem, records, corrections, chosen))
    experiment = corrected(records, corrections, measures, chosen, counts, records.source)
    save_experiment(output, experiment)
    _log.info("gather-samples: %d estimates from %d pieces", experiment.repeated.size, len(pieces))
