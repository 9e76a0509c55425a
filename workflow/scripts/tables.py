"""Repeat the sampled evaluation of each recommender and correct it: Tables 3 and 4, `likely`."""

from pathlib import Path

from sampled_metrics.study import cells, tables
from sampled_metrics.study.likely import beside_others, write_beside
from sampled_metrics.study.printed import write_tables
from sampled_metrics.study.reading import read_by_name, sources
from sampled_metrics.study.scripts import step
from sampled_metrics.study.settings import ExperimentSettings

output = snakemake.output
with step(snakemake):
    settings = ExperimentSettings(**snakemake.params.experiment)
    experiments = {}
    for name, ranks in read_by_name([Path(path) for path in snakemake.input.ranks]).items():
        experiments[name] = tables.run_experiment(name, ranks, settings)
    source = sources(one.source for one in experiments.values())
    write_beside(beside_others(experiments), source, Path(output.likely), Path(output.likely_md))
    made = {3: tables.table3(experiments), 4: tables.table4(experiments)}
    published = None
    if snakemake.input.published:
        published = cells.read_published(Path(snakemake.input.published))
    write_tables(made, published, Path(output.csv[0]).parent, Path(output.cells[0]).parent)
