# The study, for `snakemake` in this folder. The workflow is in workflow/Snakefile.
include: "workflow/Snakefile"


# A target of an included file is no default; after one without an output, Snakemake waits a second.
workflow.default_target = "page"
