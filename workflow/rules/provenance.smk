rule provenance:
    input:
        unpack(provenance_inputs),
    output:
        "<results>/provenance.json",
    log:
        "<results>/logs/provenance.log",
    benchmark:
        "<results>/benchmarks/provenance.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        ranks=lookup(within=config, dpath="ranks"),
        config_sha256=CONFIG_SHA256,
        seeds=json.dumps(seeds()),
    message:
        "Recording where the numbers come from"
    shell:
        "python -m sampled_metrics study --log {log} provenance {input}"
        " --ranks {params.ranks} --config-sha256 {params.config_sha256}"
        " --seeds {params.seeds:q} --output {output}"
