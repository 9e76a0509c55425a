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
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600, 25),
        runtime=scaled(10, 0.2),
    params:
        code=code_digest("data"),
        dataset=STUDY.dataset.without_locations().model_dump(mode="json"),
        filters=config["filters"],
        split=config["split"],
        data=get_data,
    message:
        "Filter the events and hold out one item of each user."
    script:
        "../scripts/split.py"
