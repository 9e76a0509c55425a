"""The step that takes ranks or scores of a recommender trained elsewhere."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics.cli.paper import Output

app = typer.Typer()
_log = logging.getLogger("sampled_metrics")


@app.command("rank-external")
def rank_external(
    split: Annotated[Path, typer.Argument(help="Split to rank for.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="Ranks or scores.", show_default=False)],
    form: Annotated[str, typer.Option("--format", help="ranks or scores.", show_default=False)],
    output: Output,
) -> None:
    """Rank each held-out item as a recommender does that was trained elsewhere."""
    from sampled_metrics.datasets.split import load_split, require_candidates
    from sampled_metrics.recommenders.external import read_external

    data = load_split(split)
    require_candidates(data, str(split))
    began = time.perf_counter()
    records = read_external(file, data, form)
    records = records.replace(users=data.user_ids, source=f"{form} from {file.name}")
    records.write(output, items=data.held_out_ids)
    ties, seconds = (records.n_tied > 0).sum(), time.perf_counter() - began
    _log.info("rank-external: %d users, %d with ties in %.1f s", len(records), ties, seconds)
