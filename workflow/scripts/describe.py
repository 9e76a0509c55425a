"""Record the checksums of tables of events, and the terms that their owner states."""

from dataclasses import asdict
from pathlib import Path

from sampled_metrics_study.data.archive import describe_tables
from sampled_metrics_study.data.settings import DatasetSettings
from sampled_metrics_study.files import write_json
from sampled_metrics_study.steps import step

with step(snakemake):
    settings = DatasetSettings(**snakemake.params.dataset)
    source = describe_tables([Path(path) for path in snakemake.input], settings)
    write_json(Path(snakemake.output.source), asdict(source))
    source.log_terms()
