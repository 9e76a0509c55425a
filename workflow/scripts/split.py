"""Filter the events of a dataset and hold out one item of each user."""

from pathlib import Path

from sampled_metrics_study.data.settings import DatasetSettings, FilterSettings, SplitSettings
from sampled_metrics_study.data.split import make_split, save_split
from sampled_metrics_study.files import write_json
from sampled_metrics_study.steps import step

with step(snakemake):
    split, record = make_split(
        [Path(path) for path in snakemake.input],
        DatasetSettings(**snakemake.params.dataset),
        FilterSettings(**snakemake.params.filters),
        SplitSettings(**snakemake.params.split),
    )
    save_split(Path(snakemake.output.split), split)
    write_json(Path(snakemake.output.counts), record)
