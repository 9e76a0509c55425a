"""The step that makes the page people look at."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics.cli.paper import Inputs, Output, mapping

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")

File = Annotated[Path, typer.Option(help="File to read.", show_default=False)]
Folder = Annotated[Path, typer.Option(help="Folder to read.", show_default=False)]


@app.command()
def report(
    ranks: Inputs,
    output: Output,
    tables: Folder,
    figures: Folder,
    provenance: File,
    graph: Annotated[Path, typer.Option(help="Graph of the rules.", show_default=False)],
    times: Annotated[Path, typer.Option(help="Folder of Snakemake's benchmarks.")] = Path(
        "results/benchmarks"
    ),
    config: Annotated[str, typer.Option(help="The configuration, as JSON.")] = "{}",
    scorecard: Annotated[Path | None, typer.Option(help="Where the data is the paper's.")] = None,
    audit: Annotated[Path | None, typer.Option(help="Where the data is the paper's.")] = None,
) -> None:
    """Put the whole study on one page that opens without a network."""
    from sampled_metrics._base.files import write_text
    from sampled_metrics.report.page import Sources, collect, render

    files = (tables, figures, provenance, graph, times)
    settings = mapping(config, "--config")
    text = render(collect(Sources(ranks, *files, settings, scorecard, audit)))
    write_text(output, text)
    _log.info("report: %.1f MB", len(text.encode()) / 1e6)
