"""Record where the numbers come from, and write the page of all results."""

from pathlib import Path

from sampled_metrics._base.files import write_text
from sampled_metrics_study.files import write_json
from sampled_metrics_study.page import render
from sampled_metrics_study.page.closing import closing_text
from sampled_metrics_study.page.contents import collect, provenance
from sampled_metrics_study.steps import refuse_edited, step

inputs = snakemake.input
study = snakemake.params.study
with step(snakemake):
    refuse_edited(inputs, Path(snakemake.log[0]).parent)
    origin = [Path(path) for path in inputs.origin]
    identity = {**snakemake.params.identity, "code_sha256": snakemake.params.code}
    record = provenance(study["ranks"], origin, identity)
    write_json(Path(snakemake.output.provenance), record)
    page = Path(snakemake.output.page)
    content = collect(
        page.parent,
        ranks=[Path(path) for path in inputs.ranks],
        config=study,
        is_paper=snakemake.params.is_paper,
        audit=next(map(Path, inputs.audit), None),
        stored=[Path(path) for path in inputs.stored],
    )
    write_text(page, render(content))
    write_text(Path(snakemake.output.summary), closing_text(content, str(page)))
