"""Compute and draw Figures 5 and 6, and beside them the errors of estimators against m."""

from pathlib import Path

from sampled_metrics.study.curves import recommenders
from sampled_metrics.study.figures import write_figure
from sampled_metrics.study.likely import errors_against_samples
from sampled_metrics.study.reading import read_by_name, sources
from sampled_metrics.study.scripts import step
from sampled_metrics.study.settings import ExperimentSettings

with step(snakemake):
    ranks = read_by_name([Path(path) for path in snakemake.input.ranks])
    settings = ExperimentSettings(**snakemake.params.experiment)
    band = None
    if snakemake.input.band:
        band = Path(snakemake.input.band)
    note = f"Ranks: {sources(records.source for records in ranks.values())}"
    drawn = {
        **recommenders(ranks, settings, band),
        "errors": errors_against_samples(ranks, settings),
    }
    for number, table in drawn.items():
        write_figure(number, table, Path(snakemake.output.figure5).parent, note)
