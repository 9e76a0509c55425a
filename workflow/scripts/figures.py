"""Compute and draw Figures 5 and 6, and the errors of estimators against m."""

from pathlib import Path

from sampled_metrics_study.experiment import join_sources, read_ranks_by_name
from sampled_metrics_study.figures import write_figure
from sampled_metrics_study.figures.errors import errors_against_samples
from sampled_metrics_study.figures.figure5 import rank_distribution
from sampled_metrics_study.figures.figure6 import recall_against_samples
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.steps import step

with step(snakemake):
    ranks = read_ranks_by_name([Path(path) for path in snakemake.input.ranks])
    settings = ExperimentSettings(**snakemake.params.experiment)
    band = None
    if snakemake.input.band:
        band = Path(snakemake.input.band)
    note = f"Ranks: {join_sources(records.source for records in ranks.values())}"
    tables = {
        5: rank_distribution(ranks),
        6: recall_against_samples(ranks, settings, band),
        "errors": errors_against_samples(ranks, settings),
    }
    for number, table in tables.items():
        write_figure(number, table, Path(snakemake.output.figure5).parent, note)
