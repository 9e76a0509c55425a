rule scorecard:
    input:
        cells=[*rules.toy.output.cells, *rules.compare.output.cells],
        published=lookup(within=config, dpath="scorecard/published"),
        spread=lookup(within=config, dpath="scorecard/spread"),
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
        mem_mb=memory_mb,
        runtime=minutes,
    message:
        "Comparing every published cell with ours"
    shell:
        "python -m sampled_metrics study --log {log} scorecard {input.cells}"
        " --published {input.published} --spread {input.spread}"
        " --csv {output.csv} --md {output.md}"


rule measure_spread:
    input:
        split=rules.split.output.split,
        ranks=lambda wildcards: [
            f"<results>/ranks/{name}.parquet"
            for name in RECOMMENDERS
            if name != STARTED
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
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        name=STARTED,
        recommender=json.dumps(RECOMMENDERS.get(STARTED, {}).get("settings", {})),
        starts=lookup(within=config, dpath="scorecard/starts"),
        settings=EXPERIMENT,
        metrics=METRICS,
        estimators=ESTIMATORS,
    message:
        "Training recommender {params.name} from {params.starts} starts"
    shell:
        "python -m sampled_metrics study --log {log} spread {input.split} {input.ranks}"
        " --name={params.name} --recommender {params.recommender:q} --starts {params.starts}"
        " --settings {params.settings:q} --metrics {params.metrics}"
        " --estimators {params.estimators} --threads {threads} --output {output}"


rule spread:
    input:
        rules.measure_spread.output,


rule measure_readings:
    input:
        archive=rules.fetch.output.archive,
        split=rules.split.output.split,
        ranks=expand("<results>/ranks/{recommender}.parquet", recommender=RECOMMENDERS),
        published=lookup(within=config, dpath="scorecard/published"),
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
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        recommenders=json.dumps(config["recommenders"]),
        settings=EXPERIMENT,
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
