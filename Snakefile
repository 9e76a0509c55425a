# The study, for `snakemake` in this folder. The workflow is in workflow/Snakefile.
include: "workflow/Snakefile"


rule study:
    default_target: True
    input:
        rules.all.input,
