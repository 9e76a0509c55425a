"""Filter the events of a dataset and hold out one item of each user."""

from pathlib import Path

from sampled_metrics._base.files import write_json
from sampled_metrics.study.datasets.prepare import split_of
from sampled_metrics.study.datasets.settings import DatasetSettings, FilterSettings, SplitSettings
from sampled_metrics.study.datasets.split import save_split
from sampled_metrics.study.scripts import step

with step(snakemake):
    split, record = split_of(
        [Path(path) for path in snakemake.input],
        DatasetSettings(**snakemake.params.dataset),
        FilterSettings(**snakemake.params.filters),
        SplitSettings(**snakemake.params.split),
    )
    save_split(Path(snakemake.output.split), split)
    write_json(Path(snakemake.output.counts), record)
