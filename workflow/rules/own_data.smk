rule describe:
    input:
        tables=STUDY.events,
    output:
        source="<results>/data/source.json",
    log:
        "<results>/logs/fetch.log",
    localrule: True
    conda:
        "../envs/study.yaml"
    params:
        code=code_digest("data"),
        dataset=config["dataset"],
    message:
        "Record checksums and terms of the tables of events."
    script:
        "../scripts/describe.py"
