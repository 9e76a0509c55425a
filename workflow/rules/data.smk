rule fetch:
    input:
        local_archive,
    output:
        archive="<results>/data/ml-1m.zip",
        source="<results>/data/source.json",
    log:
        "<results>/logs/fetch.log",
    benchmark:
        "<results>/benchmarks/fetch.tsv"
    # First what the most waits for, and without which there is nothing to wait for.
    priority: 20
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        archive=ARCHIVE,
        cache=config["dataset"]["cache"] or "",
        url=config["dataset"]["url"] or "",
        timeout=lookup(within=config, dpath="dataset/timeout"),
        retries=lookup(within=config, dpath="dataset/retries"),
    message:
        "Getting the MovieLens 1M archive"
    shell:
        "python -m sampled_metrics study --log {log} fetch"
        " --archive={params.archive:q} --cache={params.cache:q} --url={params.url:q}"
        " --timeout {params.timeout} --retries {params.retries}"
        " --output {output.archive} --source {output.source}"


rule split:
    input:
        rules.fetch.output.archive,
    output:
        split="<results>/split/split.npz",
        counts="<results>/split/split.json",
    log:
        "<results>/logs/split.log",
    benchmark:
        "<results>/benchmarks/split.tsv"
    priority: 20
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        tie_break=lookup(within=config, dpath="split/tie_break"),
        seed=lookup(within=config, dpath="split/seed"),
    message:
        "Holding out each user's last event"
    shell:
        "python -m sampled_metrics study --log {log} split {input}"
        " --tie-break {params.tie_break} --seed {params.seed}"
        " --output {output.split} --counts {output.counts}"
