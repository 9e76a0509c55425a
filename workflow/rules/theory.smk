rule toy:
    input:
        own(STUDY.scorecard.published),
    output:
        cells=expand("<results>/cells/table{number}.csv", number=(1, 2)),
        tables=shown(table_files(1, 2), "table", ".csv"),
    log:
        "<results>/logs/toy.log",
    benchmark:
        "<results>/benchmarks/toy.tsv"
    group:
        "tables"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600),
        runtime=scaled(10),
    params:
        settings=setting(STUDY.toy.as_json()),
        cells=folder_of("cells"),
        tables=folder_of("tables"),
    message:
        "Evaluating the toy recommenders: Tables 1 and 2"
    shell:
        "python -m sampled_metrics study --log {log:q} toy --published {input:q}"
        " --settings {params.settings:q} --cells {params.cells:q} --tables {params.tables:q}"


rule theory_figures:
    output:
        figures=shown(figure_files(1, 2, 3, 4), "figure", ".svg"),
    log:
        "<results>/logs/theory_figures.log",
    benchmark:
        "<results>/benchmarks/theory_figures.tsv"
    group:
        "tables"
    conda:
        "../envs/plot.yaml"
    resources:
        mem_mb=scaled(700),
        runtime=scaled(10),
    params:
        folder=folder_of("figures"),
    message:
        "Drawing Figures 1-4"
    shell:
        "python -m sampled_metrics study --log {log:q} figures --numbers 1,2,3,4"
        " --folder {params.folder:q}"


rule theory:
    input:
        rules.toy.output,
        rules.theory_figures.output,
