"""Repeat and correct the sampled evaluation of each recommender: Tables 3 and 4, `likely`."""

from pathlib import Path

from sampled_metrics_study.experiment import join_sources, read_ranks_by_name, run_experiment
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.steps import step
from sampled_metrics_study.tables import (
    likely_table,
    read_published,
    table3,
    table4,
    write_likely,
    write_tables,
)

output = snakemake.output
with step(snakemake):
    settings = ExperimentSettings(**snakemake.params.experiment)
    experiments = {}
    for name, ranks in read_ranks_by_name([Path(path) for path in snakemake.input.ranks]).items():
        experiments[name] = run_experiment(name, ranks, settings)
    source = join_sources(one.source for one in experiments.values())
    write_likely(likely_table(experiments), source, Path(output.likely), Path(output.likely_md))
    results = {3: table3(experiments), 4: table4(experiments)}
    published = None
    if snakemake.input.published:
        published = read_published(Path(snakemake.input.published))
    write_tables(results, published, Path(output.csv[0]).parent, Path(output.cells[0]).parent)
