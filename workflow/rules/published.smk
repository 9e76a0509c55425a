rule scorecard:
    input:
        cells=[*rules.toy.output.cells, *rules.compare.output.cells],
        ranks=ALL_RANKS,
        published=own(STUDY.scorecard.published),
        spread=own(STUDY.scorecard.spread),
        starts=own(STUDY.scorecard.by_start),
    output:
        csv=report(
            "<results>/scorecard.csv", "../report/scorecard.rst", category="Comparison"
        ),
        md="<results>/scorecard.md",
    log:
        "<results>/logs/scorecard.log",
    benchmark:
        "<results>/benchmarks/scorecard.tsv"
    group:
        "tables"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600),
        runtime=scaled(10),
    params:
        ranks=lambda wildcards, input: options("--ranks", input.ranks),
        settings=setting(STUDY.experiment.as_json()),
        toy=setting(STUDY.toy.as_json()),
    message:
        "Comparing every published cell with ours"
    shell:
        "python -m sampled_metrics study --log {log:q} scorecard {input.cells:q} {params.ranks:q}"
        " --settings {params.settings:q} --toy {params.toy:q}"
        " --published {input.published:q} --spread {input.spread:q} --by-start {input.starts:q}"
        " --csv {output.csv:q} --md {output.md:q}"


rule claims:
    input:
        cells=rules.compare.output.cells,
        ranks=ALL_RANKS,
        published=own(STUDY.scorecard.published),
        starts=own(STUDY.scorecard.by_start),
        figure6="<results>/figures/figure6.csv",
    output:
        csv="<results>/claims.csv",
        md="<results>/claims.md",
    log:
        "<results>/logs/claims.log",
    benchmark:
        "<results>/benchmarks/claims.tsv"
    group:
        "tables"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=scaled(800),
        runtime=scaled(10),
    params:
        ranks=lambda wildcards, input: options("--ranks", input.ranks),
    message:
        "Measuring every claim of the paper"
    shell:
        "python -m sampled_metrics study --log {log:q} claims {input.cells:q} {params.ranks:q}"
        " --published {input.published:q} --by-start {input.starts:q} --figure6 {input.figure6:q}"
        " --csv {output.csv:q} --md {output.md:q}"


rule z_scores:
    input:
        rules.scorecard.output.csv,
    output:
        expand("<results>/figures/z.{form}", form=("csv", "svg", "pdf", "png")),
    log:
        "<results>/logs/z_scores.log",
    benchmark:
        "<results>/benchmarks/z_scores.tsv"
    group:
        "tables"
    conda:
        "../envs/plot.yaml"
    resources:
        mem_mb=scaled(600),
        runtime=scaled(10),
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
    message:
        "Drawing the scatter of the published numbers around ours"
    shell:
        "python -m sampled_metrics study --log {log:q} z-scores {input:q}"
        " --folder {params.folder:q}"


rule measure_spread:
    input:
        split=rules.split.output.split,
        ranks=[
            f"<results>/ranks/{name}.parquet"
            for name in STUDY.names
            if STUDY.restarted is None or name != STUDY.restarted.name
        ],
    output:
        spread="<results>/spread.csv",
        starts="<results>/starts.csv",
        band="<results>/band.csv",
    log:
        "<results>/logs/spread.log",
    benchmark:
        "<results>/benchmarks/spread.tsv"
    conda:
        "../envs/train.yaml"
    threads: 2
    resources:
        mem_mb=scaled(900),
        runtime=scaled(30),
    params:
        recommender=setting(STUDY.restarted and STUDY.restarted.as_json()),
        starts=STUDY.scorecard.starts,
        settings=setting(STUDY.experiment.as_json()),
    message:
        "Training a recommender from {params.starts} starts"
    shell:
        "python -m sampled_metrics study --log {log:q} spread {input.split:q} {input.ranks:q}"
        " --recommender {params.recommender:q} --starts {params.starts}"
        " --settings {params.settings:q} --threads {threads}"
        " --output {output.spread:q} --by-start {output.starts:q}"
        " --band {output.band:q}"


rule spread:
    input:
        rules.measure_spread.output,


rule measure_readings:
    input:
        archive=rules.fetch.output.events,
        split=rules.split.output.split,
        ranks=expand("<results>/ranks/{recommender}.parquet", recommender=STUDY.names),
        published=own(STUDY.scorecard.published),
    output:
        csv="<results>/audit.csv",
        md="<results>/audit.md",
    log:
        "<results>/logs/audit.log",
    benchmark:
        "<results>/benchmarks/audit.tsv"
    conda:
        "../envs/train.yaml"
    threads: 2
    resources:
        mem_mb=scaled(1200),
        runtime=scaled(60),
    params:
        recommenders=setting(STUDY.recommenders_json()),
        settings=setting(STUDY.experiment.as_json()),
    message:
        "Measuring every reading of the paper"
    shell:
        "python -m sampled_metrics study --log {log:q} audit {input.split:q} {input.ranks:q}"
        " --archive {input.archive:q} --published {input.published:q}"
        " --recommenders {params.recommenders:q}"
        " --settings {params.settings:q} --threads {threads}"
        " --csv {output.csv:q} --md {output.md:q}"


rule audit:
    input:
        rules.measure_readings.output,
