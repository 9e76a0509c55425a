"""Rank the held-out item of each user among all candidates: train, load a model, or read a file."""

from pathlib import Path

from sampled_metrics._base.errors import collect_warnings, reading
from sampled_metrics.ranks.warnings import warn_about_ranks
from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.recommenders import create, load_recommender
from sampled_metrics_study.recommenders.ranking import (
    rank_piece,
    read_ranks,
    read_scores,
    require_candidates,
    users_of_piece,
)
from sampled_metrics_study.steps import step

with step(snakemake) as logger, collect_warnings() as asked:
    split = load_split(Path(snakemake.input.split))
    require_candidates(split, snakemake.input.split)
    kind = snakemake.params.recommender["kind"]
    settings = snakemake.params.recommender["settings"]
    piece = snakemake.wildcards.get("piece", "1-of-1")
    users = users_of_piece(piece, split.held_out.size)
    path = Path(snakemake.input.source) if snakemake.input.source else None
    source = (
        f"{settings['format']} from {path.name}" if kind == "external" else "trained in this run"
    )
    with reading(path):
        if settings.get("format") == "ranks":
            ranks = read_ranks(path, split).take(users)
        else:
            if kind == "external":
                scores = read_scores(path, split)
            elif path:
                scores = load_recommender(path).scorer
            else:
                scores = create(kind, settings).fit(split.train, snakemake.threads).scorer
            ranks = rank_piece(scores, split, piece, block_size=snakemake.params.block_size)
    with reading(Path(snakemake.output[0])):
        warn_about_ranks(ranks)
    if asked and kind != "random":
        logger.warning("WARNING: %s", "\n".join(asked))
    ranks.replace(source=source).write(snakemake.output[0], items=split.held_out_ids[users])
    logger.info("rank: %d users, %d with ties", len(ranks), (ranks.n_tied > 0).sum())
