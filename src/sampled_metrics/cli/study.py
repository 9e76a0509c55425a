"""`sampled-metrics study`: the steps of the pipeline, one command each."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import write_json, write_text
from sampled_metrics.cli import logs
from sampled_metrics.cli.beyond import app as beyond
from sampled_metrics.cli.data import app as data
from sampled_metrics.cli.paper import app as paper
from sampled_metrics.cli.published import app as published
from sampled_metrics.cli.steps import File, Folder, Input, Inputs, Json, Output, Threads, parsed

app = typer.Typer(help="The steps of the study, as the Snakemake rules call them.")
app.add_typer(data)
app.add_typer(paper)
app.add_typer(published)
app.add_typer(beyond)
FORMATS = ("ranks", "scores")
_log = logging.getLogger("sampled_metrics")


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
    kind: Annotated[str, typer.Option(help="Kind, as in the config.")],
    settings: Json = "{}",
    threads: Threads = 1,
) -> None:
    """Train a recommender."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.recommenders import create, save_recommender

    recommender = create(kind, parsed(settings, "--settings"))
    began = time.perf_counter()
    recommender.fit(load_split(split).train, threads)
    save_recommender(output, recommender)
    seconds = time.perf_counter() - began
    _log.info("train: %s with %s in %.1f s", kind, recommender.settings, seconds)


@app.command()
def rank(
    split: Input,
    recommender: Annotated[Path, typer.Argument(help="Trained recommender.")],
    output: Output,
    block_size: Annotated[int, typer.Option(min=1, help="Users scored at a time.")] = 512,
    piece: Annotated[str, typer.Option(help="Which of several pieces of the users.")] = "1-of-1",
) -> None:
    """Rank each held-out item among all candidates of its user."""
    from sampled_metrics.datasets.split import load_split, require_candidates
    from sampled_metrics.ranks.pieces import parse_piece, rank_piece
    from sampled_metrics.recommenders import load_recommender

    part, data = parse_piece(piece), load_split(split)
    require_candidates(data, str(split))
    with reading(recommender):
        records = rank_piece(load_recommender(recommender).scorer, data, part, block_size)
    users = part.of(data.held_out.size)
    held_out = data.held_out_ids[users.start : users.stop]
    records.replace(source="trained in this run").write(output, items=held_out)
    _log.info("rank: %d users, %d with ties", len(records), (records.n_tied > 0).sum())


@app.command()
def gather_ranks(
    split: Input,
    pieces: Annotated[list[Path], typer.Argument(help="All pieces, in order.")],
    output: Output,
) -> None:
    """Concatenate the rank records of all pieces of the users."""
    from sampled_metrics.datasets.split import load_split
    from sampled_metrics.ranks.pieces import gather_ranks as gather

    data = load_split(split)
    records = gather(pieces, data)
    records.write(output, items=data.held_out_ids)
    _log.info("gather-ranks: %d users from %d pieces", len(records), len(pieces))


@app.command()
def rank_external(
    split: Input,
    file: Annotated[Path, typer.Argument(help="Ranks or scores.")],
    form: Annotated[str, typer.Option("--format", help="ranks or scores.")],
    output: Output,
) -> None:
    """Rank each held-out item by ranks or scores that were made elsewhere."""
    from sampled_metrics.datasets.split import load_split, require_candidates
    from sampled_metrics.ranks import rank
    from sampled_metrics.ranks.rank_tables import read_aligned
    from sampled_metrics.recommenders.external import External

    if form not in FORMATS:
        raise InputError(f"unknown --format {form!r}; known: {', '.join(FORMATS)}")
    data = load_split(split)
    require_candidates(data, str(split))
    began = time.perf_counter()
    if form == "ranks":
        records = read_aligned(file, data)
    else:
        scores = External.read(file, data)
        with reading(file):
            records = rank(
                *(scores.score, data.seen, data.held_out),
                users=data.evaluated_ids,
                items=data.item_ids,
            )
    records = records.replace(users=data.evaluated_ids, source=f"{form} from {file.name}")
    records.write(output, items=data.held_out_ids)
    ties, seconds = (records.n_tied > 0).sum(), time.perf_counter() - began
    _log.info("rank-external: %d users, %d with ties in %.1f s", len(records), ties, seconds)


@app.command()
def provenance(records: Inputs, output: Output, study: Json = "{}") -> None:
    """Record where a run's numbers come from: data, settings, versions, machine."""
    from sampled_metrics.study.provenance import provenance as collect

    write_json(output, collect(records, parsed(study, "--study")))


@app.command()
def reference(
    ranks: Inputs,
    output: Folder,
    sampled: Annotated[bool, typer.Option("--sampled", help="These are sampled ranks.")] = False,
) -> None:
    """Keep rank records as reference ranks: no item ids, users numbered from 0."""
    from dataclasses import replace

    import numpy as np

    from sampled_metrics.ranks import SampledRanks
    from sampled_metrics.ranks.reading import read_single

    if sampled:
        for path in ranks:
            sample = SampledRanks.read(path)
            kept = replace(sample, users=np.arange(len(sample)))
            kept.write(output / f"{path.stem}.sampled.parquet")
        return

    for path in ranks:
        records, source = read_single(path), "reference run; nothing was trained here"
        records.replace(users=np.arange(len(records)), source=source).write(output / path.name)


@app.command()
def report(
    ranks: Inputs,
    output: Output,
    tables: Folder,
    figures: Folder,
    provenance: File,
    graph: File,
    times: Annotated[Path, typer.Option(help="Folder of Snakemake's benchmarks.")] = Path(
        "results/benchmarks"
    ),
    config: Json = "{}",
    scorecard: Annotated[Path | None, typer.Option(help="Where the data is the paper's.")] = None,
    audit: Annotated[Path | None, typer.Option(help="Where the data is the paper's.")] = None,
    ranges: Annotated[Path | None, typer.Option(help="Ranges that samples allow.")] = None,
    claims: Annotated[Path | None, typer.Option(help="Where the data is the paper's.")] = None,
    beyond: Annotated[Path | None, typer.Option(help="Right orders of other methods.")] = None,
    negatives: Annotated[
        Path | None, typer.Option(help="Folder of what given negatives say.")
    ] = None,
) -> None:
    """Put the whole study on one page that opens without a network."""
    from sampled_metrics.report.page.collect import collect
    from sampled_metrics.report.page.render import render

    content = collect(
        ranks=ranks,
        tables=tables,
        figures=figures,
        provenance=provenance,
        graph=graph,
        times=times,
        config=parsed(config, "--config"),
        scorecard=scorecard,
        audit=audit,
        ranges=ranges,
        claims=claims,
        beyond=beyond,
        negatives=negatives,
    )
    text = render(content)
    write_text(output, text)
    _log.info("report: %.1f MB", len(text.encode()) / 1e6)


@app.command()
def unlock() -> None:
    """Clear the lock of a run that was killed in this folder, if there is one."""
    from sampled_metrics.study.locks import clear_lock

    if clear_lock(Path.cwd()):
        _log.info("a run was killed here; its lock is cleared, and what it left is made again")


@app.command()
def schema(schema: Output, readme: Output) -> None:
    """Write the schema of the configuration and the table of its keys."""
    from sampled_metrics.study.schema import write_schema

    write_schema(schema, readme)
