rule page:
    input:
        ranks=rank_records,
        tables=expand("<results>/tables/table{number}.csv", number=TABLES),
        exact=rules.exact.output.csv,
        figures=expand(
            "<results>/figures/figure{number}.{form}",
            number=FIGURES,
            form=("svg", "pdf", "csv"),
        ),
        scorecard=["<results>/scorecard.csv"] if PAPERS_DATA else [],
        provenance=rules.provenance.output,
        graph="workflow/rulegraph.svg",
    output:
        "<results>/report.html",
    log:
        "<results>/logs/page.log",
    benchmark:
        "<results>/benchmarks/page.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        scorecard=lambda wildcards, input: option("--scorecard", input.scorecard),
        audit=option("--audit", audit_tables()),
        config=json.dumps(config),
        tables=lambda wildcards, input: str(Path(input.tables[0]).parent),
        figures=lambda wildcards, input: str(Path(input.figures[0]).parent),
        times=lambda wildcards, output: str(Path(output[0]).with_name("benchmarks")),
    message:
        "Putting the study on one page"
    shell:
        "python -m sampled_metrics study --log {log} report {input.ranks}"
        " --tables {params.tables} --figures {params.figures}"
        " {params.scorecard} {params.audit}"
        " --provenance {input.provenance} --graph {input.graph} --times {params.times}"
        " --config {params.config:q} --output {output}"
