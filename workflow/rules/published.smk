rule scorecard:
    input:
        cells=[*rules.toy.output.cells, *rules.compare.output.cells],
        published=STUDY.scorecard.published,
        spread=STUDY.scorecard.spread,
    output:
        csv="<results>/scorecard.csv",
        md="<results>/scorecard.md",
    log:
        "<results>/logs/scorecard.log",
    benchmark:
        "<results>/benchmarks/scorecard.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(600),
        runtime=scaled(10),
    message:
        "Comparing every published cell with ours"
    shell:
        "python -m sampled_metrics study --log {log} scorecard {input.cells}"
        " --published {input.published} --spread {input.spread}"
        " --csv {output.csv} --md {output.md}"


rule measure_spread:
    input:
        split=rules.split.output.split,
        ranks=[
            f"<results>/ranks/{name}.parquet"
            for name in STUDY.names
            if name != STUDY.restarted.name
        ],
    output:
        "<results>/spread.csv",
    log:
        "<results>/logs/spread.log",
    benchmark:
        "<results>/benchmarks/spread.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=scaled(900),
        runtime=scaled(30),
    params:
        recommender=STUDY.restarted.as_json(),
        starts=STUDY.scorecard.starts,
        settings=STUDY.experiment.as_json(),
    message:
        "Training a recommender from {params.starts} starts"
    shell:
        "python -m sampled_metrics study --log {log} spread {input.split} {input.ranks}"
        " --recommender {params.recommender:q} --starts {params.starts}"
        " --settings {params.settings:q} --threads {threads} --output {output}"


rule spread:
    input:
        rules.measure_spread.output,


rule measure_readings:
    input:
        archive=rules.fetch.output.events,
        split=rules.split.output.split,
        ranks=expand("<results>/ranks/{recommender}.parquet", recommender=STUDY.names),
        published=STUDY.scorecard.published,
    output:
        csv="<results>/audit.csv",
        md="<results>/audit.md",
    log:
        "<results>/logs/audit.log",
    benchmark:
        "<results>/benchmarks/audit.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=scaled(1200),
        runtime=scaled(60),
    params:
        recommenders=STUDY.recommenders_json(),
        settings=STUDY.experiment.as_json(),
    message:
        "Measuring every reading of the paper"
    shell:
        "python -m sampled_metrics study --log {log} audit {input.split} {input.ranks}"
        " --archive {input.archive} --published {input.published}"
        " --recommenders {params.recommenders:q}"
        " --settings {params.settings:q} --threads {threads}"
        " --csv {output.csv} --md {output.md}"


rule audit:
    input:
        rules.measure_readings.output,
