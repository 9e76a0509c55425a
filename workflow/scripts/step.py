"""Run a step of the study: what a rule calls by `params: step=...`."""

from sampled_metrics.study import forks

forks.run(snakemake)  # noqa: F821 (of Snakemake)
