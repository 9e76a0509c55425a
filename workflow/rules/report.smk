rule ranges:
    input:
        ranks=ALL_RANKS,
    output:
        "<results>/ranges.csv",
    log:
        "<results>/logs/ranges.log",
    benchmark:
        "<results>/benchmarks/ranges.tsv"
    group:
        "tables"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, ranks=150),
        runtime=scaled(20),
    params:
        settings=setting(STUDY.experiment.as_json()),
    message:
        "Computing the ranges of the exact metrics that samples allow"
    shell:
        "python -m sampled_metrics study --log {log:q} ranges {input:q}"
        " --settings {params.settings:q} --output {output:q}"


rule page:
    input:
        ranks=ALL_RANKS,
        tables=expand("<results>/tables/table{number}.csv", number=STUDY.tables),
        exact=rules.exact.output.csv,
        figures=expand(
            "<results>/figures/{name}.{form}",
            name=[
                *map("figure{}".format, STUDY.figures),
                *["z"] * STUDY.is_papers_data,
            ],
            form=("svg", "pdf", "csv"),
        ),
        scorecard=["<results>/scorecard.csv"] if STUDY.is_papers_data else [],
        claims=["<results>/claims.csv"] if STUDY.is_papers_data else [],
        audit=[own(path) for path in STUDY.audit],
        ranges=rules.ranges.output,
        beyond=[own(path) for path in STUDY.orders],
        negatives=rules.negatives.output.csv if STUDY.negatives else [],
        provenance=rules.provenance.output,
        graph=own("workflow/rulegraph.svg"),
        benchmarks=expand("<results>/benchmarks/{step}.tsv", step=STUDY.benchmarks()),
    output:
        "<results>/report.html",
    log:
        "<results>/logs/page.log",
    benchmark:
        "<results>/benchmarks/page.tsv"
    group:
        "tables"
    conda:
        "../envs/plot.yaml"
    resources:
        mem_mb=scaled(700, ranks=150),
        runtime=scaled(10),
    params:
        scorecard=lambda wildcards, input: option("--scorecard", input.scorecard),
        claims=lambda wildcards, input: option("--claims", input.claims),
        audit=lambda wildcards, input: option("--audit", input.audit),
        beyond=lambda wildcards, input: option("--beyond", input.beyond),
        negatives=lambda wildcards, input: option(
            "--negatives", [str(Path(path).parent) for path in input.negatives]
        ),
        config=setting(STUDY.as_json()),
        tables=lambda wildcards, input: str(Path(input.tables[0]).parent),
        figures=lambda wildcards, input: str(Path(input.figures[0]).parent),
        times=lambda wildcards, output: str(Path(output[0]).with_name("benchmarks")),
    message:
        "Putting the study on one page"
    shell:
        "python -m sampled_metrics study --log {log:q} report {input.ranks:q}"
        " --tables {params.tables:q} --figures {params.figures:q}"
        " {params.scorecard:q} {params.claims:q} {params.audit:q} --ranges {input.ranges:q}"
        " {params.beyond:q} {params.negatives:q} --provenance {input.provenance:q} --graph {input.graph:q} --times {params.times:q}"
        " --config {params.config:q} --output {output:q}"
