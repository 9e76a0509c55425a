"""The step that takes ranks or scores of a recommender trained elsewhere."""

import logging
import time
from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.cli.paper import Output

FORMATS = ("ranks", "scores")
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
    from sampled_metrics.ranks.alignment import read_aligned
    from sampled_metrics.ranks.ranking import rank
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
                scores.score,
                data.train,
                data.held_out,
                users=data.user_ids,
                items=data.item_ids,
            )
    records = records.replace(users=data.user_ids, source=f"{form} from {file.name}")
    records.write(output, items=data.held_out_ids)
    ties, seconds = (records.n_tied > 0).sum(), time.perf_counter() - began
    _log.info("rank-external: %d users, %d with ties in %.1f s", len(records), ties, seconds)
