# On a cluster, local rules run where Snakemake runs: nodes often have no network, and a job of a
# second is not worth a place in a queue.
if STUDY.dataset.is_movielens:

    localrules:
        fetch,

    rule fetch:
        input:
            # A newer one is read again; `fetch` says if it is missing.
            archive=followed(STUDY.archive),
        output:
            events=STUDY.events,
            source="<results>/data/source.json",
        log:
            "<results>/logs/fetch.log",
        benchmark:
            "<results>/benchmarks/fetch.tsv"
        priority: 20
        conda:
            "../envs/train.yaml"
        resources:
            mem_mb=scaled(400),
            runtime=scaled(10),
        params:
            dataset=setting(STUDY.dataset.as_json()),
            archive=setting(STUDY.archive),
        message:
            "Getting the archive of the data"
        shell:
            "python -m sampled_metrics study --log {log:q} fetch --dataset {params.dataset:q}"
            " --archive={params.archive:q} --unreachable {log:q}.unreachable"
            " --output {output.events:q} --source {output.source:q}"

else:

    localrules:
        describe,

    rule describe:
        input:
            STUDY.events,
        output:
            source="<results>/data/source.json",
        log:
            "<results>/logs/describe.log",
        benchmark:
            "<results>/benchmarks/describe.tsv"
        conda:
            "../envs/train.yaml"
        resources:
            mem_mb=scaled(500),
            runtime=scaled(10),
        params:
            dataset=setting(STUDY.dataset.without_places().as_json()),
        message:
            "Describing {input}"
        shell:
            "python -m sampled_metrics study --log {log:q} describe {input:q}"
            " --dataset {params.dataset:q} --source {output.source:q}"


rule split:
    input:
        events=STUDY.events,
    output:
        split="<results>/split/split.npz",
        counts="<results>/split/split.json",
    log:
        "<results>/logs/split.log",
    benchmark:
        "<results>/benchmarks/split.tsv"
    priority: 20
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=scaled(600, events=45),
        runtime=scaled(10, events=0.1),
    params:
        dataset=setting(STUDY.dataset.without_places().as_json()),
        filters=setting(STUDY.filters.as_json()),
        settings=setting(STUDY.split.as_json()),
    message:
        "Holding out one event of each user"
    shell:
        "python -m sampled_metrics study --log {log:q} split {input:q}"
        " --dataset {params.dataset:q} --filters {params.filters:q} --settings {params.settings:q}"
        " --output {output.split:q} --counts {output.counts:q}"
