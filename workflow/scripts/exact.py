"""Compute exact metrics by tie policy, and the ranges of them that samples allow."""

from pathlib import Path

from sampled_metrics_study.exact import allowed_ranges, exact_table, write_exact
from sampled_metrics_study.experiment import join_sources, read_ranks_by_name
from sampled_metrics_study.files import write_table
from sampled_metrics_study.settings import ExactSettings
from sampled_metrics_study.steps import step

output = snakemake.output
with step(snakemake):
    ranks = read_ranks_by_name([Path(path) for path in snakemake.input.ranks])
    settings = ExactSettings(**snakemake.params.exact)
    table = exact_table(ranks, settings)
    source = join_sources(records.source for records in ranks.values())
    write_exact(table, source, Path(output.csv), Path(output.md))
    ranges = allowed_ranges(ranks, snakemake.params.metrics, settings.seed)
    write_table(ranges, Path(output.ranges), "%.6f")
