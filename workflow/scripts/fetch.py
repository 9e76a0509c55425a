"""Fetch an archive of MovieLens, or copy a local one, and record where it came from."""

from dataclasses import asdict
from pathlib import Path

from sampled_metrics._base.files import write_text
from sampled_metrics_study.data.archive import UnreachableError, fetch
from sampled_metrics_study.data.settings import DatasetSettings
from sampled_metrics_study.files import write_json
from sampled_metrics_study.steps import step

log = snakemake.log[0]
with step(snakemake):
    settings = DatasetSettings(**snakemake.params.dataset)
    if snakemake.input.archive:
        settings = settings.replaced(archive=snakemake.input.archive)
    try:
        source = fetch(Path(snakemake.output.archive), settings)
    except UnreachableError as error:  # `make reproduce` then starts from the reference run
        write_text(Path(f"{log}.unreachable"), f"{error}\n")
        raise
    write_json(Path(snakemake.output.source), asdict(source))
    source.log_terms()
