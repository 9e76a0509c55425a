"""Train a recommender once for all jobs that rank with it."""

from pathlib import Path

from sampled_metrics_study.data.split import load_split
from sampled_metrics_study.recommenders import create, save_recommender
from sampled_metrics_study.steps import step

with step(snakemake):
    split = load_split(Path(snakemake.input.split))
    recommender = snakemake.params.recommender
    model = create(recommender["kind"], recommender["settings"])
    save_recommender(Path(snakemake.output[0]), model.fit(split.train, snakemake.threads))
