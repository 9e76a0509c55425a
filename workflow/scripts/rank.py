"""Rank the held-out item of each user among all candidates: train, load a model, or read a file."""

from pathlib import Path

from sampled_metrics._base.calls import IN_RESULT, open_call, place_of, warn_all, warnings_among
from sampled_metrics.checks.ranks import signs_in_ranks
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

recommender = snakemake.params.recommender
kind, settings = recommender["kind"], recommender["settings"]
path = Path(snakemake.input.source) if snakemake.input.source else None
piece = snakemake.wildcards.get("piece", "1-of-1")


def rank_users(split, users):
    """Return the ranks of the held-out items of some users."""
    if kind == "external" and settings["format"] == "ranks":
        return read_ranks(path, split).take(users)
    if kind == "external":
        scorer = read_scores(path, split)
    elif path:
        scorer = load_recommender(path).scorer
    else:
        scorer = create(kind, settings).fit(split.train, snakemake.threads).scorer
    return rank_piece(scorer, split, piece, block_size=snakemake.params.block_size)


with step(snakemake) as logger, open_call(see=IN_RESULT) as call:
    split = load_split(Path(snakemake.input.split))
    require_candidates(split, snakemake.input.split)
    users = users_of_piece(piece, split.held_out.size)
    with place_of(path):
        ranks = rank_users(split, users)
    with place_of(Path(snakemake.output[0])):
        warn_all(signs_in_ranks(ranks))
    messages = warnings_among(call.all_notes())
    if messages and kind != "random":
        logger.warning("WARNING: %s", "\n".join(messages))
    source = "trained in this run"
    if kind == "external":
        source = f"{settings['format']} from {path.name}"
    ranks.replace(source=source).write(snakemake.output[0], items=split.held_out_ids[users])
    logger.info("rank: %d users, %d with ties", len(ranks), (ranks.n_tied > 0).sum())
