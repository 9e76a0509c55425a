rule sample:
    input:
        ranks=lambda wildcards: ranks_of(wildcards.recommender),
    output:
        "<results>/samples/{recommender}.npz",
    log:
        "<results>/logs/sample/{recommender}.log",
    benchmark:
        "<results>/benchmarks/sample/{recommender}.tsv"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, ranks=400),
        runtime=scaled(10, ranks=10),
    params:
        settings=setting(STUDY.experiment.as_json()),
    message:
        "Sampling and correcting the metrics of recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log:q} sample {input:q}"
        " --settings {params.settings:q} --output {output:q}"


rule compare:
    input:
        samples=expand("<results>/samples/{recommender}.npz", recommender=STUDY.names),
        published=[own(STUDY.scorecard.published)] if STUDY.is_papers_data else [],
    output:
        cells=expand("<results>/cells/table{number}.csv", number=(3, 4)),
        tables=shown(table_files(3, 4), "table", ".csv"),
    log:
        "<results>/logs/compare.log",
    benchmark:
        "<results>/benchmarks/compare.tsv"
    group:
        "tables"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600),
        runtime=scaled(10),
    params:
        published=lambda wildcards, input: option("--published", input.published),
        cells=folder_of("cells"),
        tables=folder_of("tables"),
    message:
        "Comparing the recommenders: Tables 3 and 4"
    shell:
        "python -m sampled_metrics study --log {log:q} compare {input.samples:q}"
        " {params.published:q} --cells {params.cells:q} --tables {params.tables:q}"


rule ranks_figures:
    input:
        ranks=ALL_RANKS,
        band=[own(STUDY.scorecard.band)] if STUDY.is_papers_data else [],
    output:
        figures=shown(figure_files(5, 6), "figure", ".svg"),
    log:
        "<results>/logs/ranks_figures.log",
    benchmark:
        "<results>/benchmarks/ranks_figures.tsv"
    priority: 5
    group:
        "tables"
    conda:
        "../envs/plot.yaml"
    resources:
        mem_mb=scaled(1500, ranks=20),
        runtime=scaled(15, ranks=10),
    params:
        settings=setting(STUDY.experiment.as_json()),
        band=lambda wildcards, input: option("--band", input.band),
        folder=folder_of("figures"),
    message:
        "Drawing Figures 5 and 6"
    shell:
        "python -m sampled_metrics study --log {log:q} figures {input.ranks:q} --numbers 5,6"
        " {params.band:q}"
        " --settings {params.settings:q} --folder {params.folder:q}"
