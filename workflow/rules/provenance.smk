localrules:
    provenance,


rule provenance:
    input:
        [own(path) for path in STUDY.origin],
    output:
        "<results>/provenance.json",
    log:
        "<results>/logs/provenance.log",
    benchmark:
        "<results>/benchmarks/provenance.tsv"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(400),
        runtime=scaled(10),
    params:
        study=setting(STUDY.identity()),
    message:
        "Recording where the numbers come from"
    shell:
        "python -m sampled_metrics study --log {log:q} provenance {input:q}"
        " --study {params.study:q} --output {output:q}"
