"""`sampled-metrics study`: the steps of the pipeline, one command each."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_json
from sampled_metrics.cli import logs
from sampled_metrics.cli.data import app as data
from sampled_metrics.cli.external import app as external
from sampled_metrics.cli.page import app as page
from sampled_metrics.cli.paper import Input, Inputs, Output, mapping
from sampled_metrics.cli.paper import app as paper
from sampled_metrics.cli.pieces import app as pieces

app = typer.Typer(help="The steps of the study, as the Snakemake rules call them.")
app.add_typer(data)
app.add_typer(external)
app.add_typer(paper)
app.add_typer(page)
app.add_typer(pieces)
_log = logging.getLogger("sampled_metrics")

Seed = Annotated[int, typer.Option(min=0, help="Seed of what is random.")]


@app.callback()
def options(
    log: Annotated[Path | None, typer.Option(help="Also write messages to this file.")] = None,
) -> None:
    """Send messages to standard error and to the log."""
    logs.configure(log)


@app.command()
def train(
    split: Input,
    output: Output,
    kind: Annotated[str, typer.Option(help="Kind, as in the config.", show_default=False)],
    settings: Annotated[str, typer.Option(help="Hyper-parameters, as JSON.")] = "{}",
    threads: Annotated[int, typer.Option(min=1, help="Threads to train with.")] = 1,
) -> None:
    """Train a recommender."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.recommenders import create, save_recommender

    recommender = create(kind, mapping(settings, "--settings"))
    began = time.perf_counter()
    recommender.fit(load_split(split).train, threads)
    save_recommender(output, recommender)
    _log.info("train: %s in %.1f s", recommender.settings, time.perf_counter() - began)


@app.command()
def rank(
    split: Input,
    recommender: Annotated[Path, typer.Argument(help="Trained recommender.", show_default=False)],
    output: Output,
    block_size: Annotated[int, typer.Option(min=1, help="Users scored at a time.")] = 512,
    piece: Annotated[str, typer.Option(help="Which of several pieces of the users.")] = "1-of-1",
) -> None:
    """Rank each held-out item among all candidates of its user."""
    from sampled_metrics.datasets.split import load_split, require_candidates
    from sampled_metrics.ranks.pieces import parse_piece, rank_piece
    from sampled_metrics.recommenders import load_recommender

    chosen, data = parse_piece(piece), load_split(split)
    require_candidates(data, str(split))
    try:
        records = rank_piece(load_recommender(recommender).score, data, chosen, block_size)
    except InputError as error:
        raise InputError(f"{recommender}: {error}") from error
    users = chosen.of(data.held_out.size)
    held_out = data.held_out_ids[users.start : users.stop]
    records.replace(source="trained in this run").write(output, items=held_out)
    _log.info("rank: %d users, %d with ties", len(records), (records.n_tied > 0).sum())


@app.command()
def exact(
    ranks: Inputs,
    csv: Annotated[Path, typer.Option(help="Table to write.", show_default=False)],
    md: Annotated[Path, typer.Option(help="The same, to read.", show_default=False)],
    metrics: Annotated[str, typer.Option(help="Measures, by commas.")] = "recall@10,ndcg@10,ap,auc",
    ties: Annotated[str, typer.Option(help="Tie policies, by commas.")] = "expected",
    seed: Seed = 0,
) -> None:
    """Compute exact metrics under each tie policy."""
    from sampled_metrics.report.exact import exact_table, write_exact

    table, source = exact_table(ranks, metrics.split(","), ties.split(","), seed)
    write_exact(table, source, csv, md)
    _log.info("exact: %d values from ranks: %s", len(table), source)


@app.command()
def provenance(
    records: Inputs,
    output: Output,
    ranks: Annotated[str, typer.Option(help="trained or reference.", show_default=False)],
    config_sha256: Annotated[str, typer.Option(help="Hash of the configuration.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds in use, as JSON.")] = "{}",
) -> None:
    """Record where a run's numbers come from: data, settings, versions, machine."""
    from sampled_metrics.study.provenance import provenance as collect

    write_json(output, collect(records, ranks, config_sha256, mapping(seeds, "--seeds")))


@app.command()
def reference(
    ranks: Inputs,
    output: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
) -> None:
    """Keep rank records as reference ranks: no item ids, users numbered from 0."""
    import numpy as np

    from sampled_metrics.ranks.reading import read_single

    for path in ranks:
        records = read_single(path)
        source = "reference run; nothing was trained here"
        records.replace(users=np.arange(len(records)), source=source).write(output / path.name)
