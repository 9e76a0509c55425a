"""Compute what needs no data: Tables 1 and 2 on toy recommenders, and Figures 1 to 4."""

from pathlib import Path

from sampled_metrics_study.figures import write_figure
from sampled_metrics_study.figures.figure1_to_4 import theory
from sampled_metrics_study.settings import ToySettings
from sampled_metrics_study.steps import step
from sampled_metrics_study.tables import read_published, toy_tables, write_tables

output = snakemake.output
with step(snakemake):
    results = toy_tables(ToySettings(**snakemake.params.toy))
    published = None
    if snakemake.input.published:
        published = read_published(Path(snakemake.input.published))
    write_tables(results, published, Path(output.csv[0]).parent, Path(output.cells[0]).parent)
    for number, table in theory().items():
        write_figure(number, table, Path(output.figure1).parent)
