# The study of "On Sampled Metrics for Item Recommendation", from the raw archive to its numbers.
from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/recommenders.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/experiment.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/provenance.smk"
include: "workflow/rules/report.smk"


# What the paper published is about its own data.
if STUDY.is_papers_data:

    include: "workflow/rules/published.smk"


rule all:
    default_target: True
    input:
        table_files(*STUDY.tables),
        figure_files(*STUDY.figures),
        rules.exact.output,
        ["<results>/scorecard.csv"] if STUDY.is_papers_data else [],
        rules.provenance.output,
        rules.page.output,
