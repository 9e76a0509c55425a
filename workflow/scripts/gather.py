"""Concatenate the ranks of all pieces of a recommender's users."""

from pathlib import Path

from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.recommenders.ranking import gather_ranks
from sampled_metrics_study.steps import step

with step(snakemake):
    split = load_split(Path(snakemake.input.split))
    ranks = gather_ranks([Path(path) for path in snakemake.input.pieces], split)
    ranks.write(snakemake.output[0], items=split.held_out_ids)
