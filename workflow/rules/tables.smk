rule exact:
    input:
        ranks=ALL_RANKS,
    output:
        csv=report(
            "<results>/tables/exact.csv", "../report/exact.rst", category="Tables"
        ),
        md="<results>/tables/exact.md",
    log:
        "<results>/logs/exact.log",
    benchmark:
        "<results>/benchmarks/exact.tsv"
    group:
        "tables"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600, ranks=60),
        runtime=scaled(10),
    params:
        settings=setting(STUDY.exact.as_json()),
    message:
        "Computing the exact metrics"
    shell:
        "python -m sampled_metrics study --log {log:q} exact {input:q}"
        " --settings {params.settings:q} --csv {output.csv:q} --md {output.md:q}"
