rule fetch:
    input:
        archive=get_archive,
    output:
        archive=STUDY.events[0],
        source="<results>/data/source.json",
    log:
        "<results>/logs/fetch.log",
    localrule: True  # nodes of a cluster often have no network
    conda:
        "../envs/study.yaml"
    params:
        code=code_digest("data"),
        dataset=config["dataset"],
    message:
        "Fetch the archive of MovieLens, or copy a local one."
    script:
        "../scripts/fetch.py"
