if MOVIELENS:

    localrules:
        fetch,

    rule fetch:
        input:
            local_archive,
        output:
            archive=EVENTS,
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
            name=lookup(within=config, dpath="dataset/name"),
            archive=ARCHIVE,
            cache=config["dataset"]["cache"] or "",
            url=config["dataset"]["url"] or "",
            timeout=lookup(within=config, dpath="dataset/timeout"),
            retries=lookup(within=config, dpath="dataset/retries"),
        message:
            "Getting the archive of {params.name}"
        shell:
            "python -m sampled_metrics study --log {log} fetch --dataset {params.name}"
            " --archive={params.archive:q} --cache={params.cache:q} --url={params.url:q}"
            " --timeout {params.timeout} --retries {params.retries}"
            " --output {output.archive} --source {output.source}"

else:

    localrules:
        describe,

    rule describe:
        input:
            EVENTS,
        output:
            source="<results>/data/source.json",
        log:
            "<results>/logs/describe.log",
        benchmark:
            "<results>/benchmarks/describe.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            dataset=DATASET,
        message:
            "Describing {input}"
        shell:
            "python -m sampled_metrics study --log {log} describe {input:q}"
            " --dataset {params.dataset:q} --source {output.source}"


rule split:
    input:
        EVENTS,
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
        dataset=DATASET,
        filters=json.dumps(config["filters"]),
        method=lookup(within=config, dpath="split/method"),
        tie_break=lookup(within=config, dpath="split/tie_break"),
        seed=lookup(within=config, dpath="split/seed"),
    message:
        "Holding out one event of each user"
    shell:
        "python -m sampled_metrics study --log {log} split {input:q}"
        " --dataset {params.dataset:q} --filters {params.filters:q}"
        " --method {params.method} --tie-break {params.tie_break} --seed {params.seed}"
        " --output {output.split} --counts {output.counts}"
