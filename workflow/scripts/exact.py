"""Compute the exact metrics under each tie policy, and the ranges of them that samples allow."""

from pathlib import Path

from sampled_metrics._base.files import write_table
from sampled_metrics.study.against_samples import allowed_ranges
from sampled_metrics.study.printed import write_exact
from sampled_metrics.study.reading import read_by_name, sources
from sampled_metrics.study.scripts import step
from sampled_metrics.study.settings import ExactSettings
from sampled_metrics.study.tables import exact_table

output = snakemake.output
with step(snakemake):
    ranks = read_by_name([Path(path) for path in snakemake.input.ranks])
    settings = ExactSettings(**snakemake.params.exact)
    table = exact_table(ranks, settings)
    source = sources(records.source for records in ranks.values())
    write_exact(table, source, Path(output.csv), Path(output.md))
    ranges = allowed_ranges(ranks, snakemake.params.metrics, settings.seed)
    write_table(ranges, Path(output.ranges), "%.6f")
