# The study, for `snakemake` in this folder. The workflow is in workflow/Snakefile.
include: "workflow/Snakefile"


# A target of an included file is no default.
rule study:
    default_target: True
    input:
        rules.all.input,
