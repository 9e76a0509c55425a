if config["experiment"]["pieces"] == 1:

    rule sample:
        input:
            rank_record,
        output:
            "<results>/samples/{recommender}.npz",
        log:
            "<results>/logs/sample/{recommender}.log",
        benchmark:
            "<results>/benchmarks/sample/{recommender}.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            settings=EXPERIMENT,
            metrics=METRICS,
            estimators=ESTIMATORS,
        message:
            "Sampling and correcting the metrics of recommender {wildcards.recommender}"
        shell:
            "python -m sampled_metrics study --log {log} sample {input}"
            " --settings {params.settings:q}"
            " --metrics {params.metrics} --estimators {params.estimators} --output {output}"

else:

    rule draw:
        input:
            rank_record,
        output:
            temp("<results>/samples/pieces/{recommender}/{scatteritem}.npz"),
        log:
            "<results>/logs/draw/{recommender}/{scatteritem}.log",
        benchmark:
            "<results>/benchmarks/draw/{recommender}/{scatteritem}.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            settings=EXPERIMENT,
            estimators=ESTIMATORS,
        message:
            "Sampling recommender {wildcards.recommender}: piece {wildcards.scatteritem}"
        shell:
            "python -m sampled_metrics study --log {log} draw {input}"
            " --piece {wildcards.scatteritem} --settings {params.settings:q}"
            " --estimators {params.estimators} --output {output}"

    rule sample:
        input:
            ranks=rank_record,
            pieces=gather.experiment(
                "<results>/samples/pieces/{{recommender}}/{scatteritem}.npz"
            ),
        output:
            "<results>/samples/{recommender}.npz",
        log:
            "<results>/logs/sample/{recommender}.log",
        benchmark:
            "<results>/benchmarks/sample/{recommender}.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            settings=EXPERIMENT,
            metrics=METRICS,
            estimators=ESTIMATORS,
        message:
            "Correcting the metrics of recommender {wildcards.recommender}"
        shell:
            "python -m sampled_metrics study --log {log} gather-samples {input.ranks}"
            " {input.pieces} --settings {params.settings:q}"
            " --metrics {params.metrics} --estimators {params.estimators} --output {output}"


rule compare:
    input:
        samples=expand("<results>/samples/{recommender}.npz", recommender=RECOMMENDERS),
        published=[config["scorecard"]["published"]] if PAPERS_DATA else [],
    output:
        cells=expand("<results>/cells/table{number}.csv", number=(3, 4)),
        tables=table_files(3, 4),
    log:
        "<results>/logs/compare.log",
    benchmark:
        "<results>/benchmarks/compare.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        published=lambda wildcards, input: option("--published", input.published),
        cells=folder_of("cells"),
        tables=folder_of("tables"),
    message:
        "Comparing the recommenders: Tables 3 and 4"
    shell:
        "python -m sampled_metrics study --log {log} compare {input.samples}"
        " {params.published} --cells {params.cells} --tables {params.tables}"


rule ranks_figures:
    input:
        rank_records,
    output:
        figures=figure_files(5, 6),
    log:
        "<results>/logs/ranks_figures.log",
    benchmark:
        "<results>/benchmarks/ranks_figures.tsv"
    priority: 5
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        settings=EXPERIMENT,
        folder=folder_of("figures"),
    message:
        "Drawing Figures 5 and 6"
    shell:
        "python -m sampled_metrics study --log {log} figures {input} --numbers 5,6"
        " --settings {params.settings:q} --folder {params.folder}"
