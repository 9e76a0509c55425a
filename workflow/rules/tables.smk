rule exact:
    input:
        rank_records,
    output:
        csv="<results>/tables/exact.csv",
        md="<results>/tables/exact.md",
    log:
        "<results>/logs/exact.log",
    benchmark:
        "<results>/benchmarks/exact.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        metrics=",".join(config["exact"]["metrics"]),
        ties=",".join(config["exact"]["ties"]),
        seed=lookup(within=config, dpath="exact/seed"),
    message:
        "Computing the exact metrics"
    shell:
        "python -m sampled_metrics study --log {log} exact {input}"
        " --metrics {params.metrics} --ties {params.ties} --seed {params.seed}"
        " --csv {output.csv} --md {output.md}"
