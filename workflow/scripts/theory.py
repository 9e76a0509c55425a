"""Compute what needs no data: the toy recommenders of Tables 1 and 2, Figures 1 to 4."""

from pathlib import Path

from sampled_metrics.study.cells import read_published
from sampled_metrics.study.curves import theory
from sampled_metrics.study.figures import write_figure
from sampled_metrics.study.printed import write_tables
from sampled_metrics.study.scripts import step
from sampled_metrics.study.settings import ToySettings
from sampled_metrics.study.tables import toy_tables

output = snakemake.output
with step(snakemake):
    made = toy_tables(ToySettings(**snakemake.params.toy))
    published = None
    if snakemake.input.published:
        published = read_published(Path(snakemake.input.published))
    write_tables(made, published, Path(output.csv[0]).parent, Path(output.cells[0]).parent)
    for number, table in theory().items():
        write_figure(number, table, Path(output.figure1).parent)
