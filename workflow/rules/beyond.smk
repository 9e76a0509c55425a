# Not a part of `all`: it takes much longer than the rest of the study.
rule outcomes:
    input:
        split=rules.split.output.split,
        source=source_of_scores(STUDY),
    output:
        temp("<results>/beyond/outcomes/{recommender}.npy"),
    log:
        "<results>/logs/outcomes/{recommender}.log",
    benchmark:
        "<results>/benchmarks/outcomes/{recommender}.tsv"
    wildcard_constraints:
        recommender=one_of(STUDY.scored),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=scaled(700, split=25, source=2),
        runtime=scaled(10, split=1.5),
    params:
        external=lambda wildcards: (
            ["--external"] if wildcards.recommender in STUDY.external else []
        ),
    message:
        "Comparing all items with the held-out ones by recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log:q} outcomes {input.split:q} {input.source:q}"
        " {params.external:q} --output {output:q}"


if STUDY.negatives:

    rule negatives:
        input:
            split=rules.split.output.split,
            negatives=STUDY.negatives,
            outcomes=expand(rules.outcomes.output, recommender=STUDY.scored),
        output:
            csv=expand(
                "<results>/negatives/{kind}.csv", kind=("values", "orders", "checks")
            ),
            md="<results>/negatives/negatives.md",
            ranks=expand(
                "<results>/negatives/{recommender}.parquet", recommender=STUDY.scored
            ),
        log:
            "<results>/logs/negatives.log",
        benchmark:
            "<results>/benchmarks/negatives.tsv"
        conda:
            "../envs/train.yaml"
        resources:
            mem_mb=scaled(1200, outcomes=12),
            runtime=scaled(30, outcomes=0.1),
        params:
            folder=folder_of("csv"),
            settings=setting(STUDY.beyond.as_json()),
        message:
            "Evaluating by the negatives in {input.negatives}"
        shell:
            "python -m sampled_metrics study --log {log:q} negatives {input.split:q}"
            " {input.negatives:q} {input.outcomes:q} --output {params.folder:q}"
            " --settings {params.settings:q}"


rule repeat:
    input:
        split=rules.split.output.split,
        outcomes=expand(rules.outcomes.output, recommender=STUDY.scored),
    output:
        values="<results>/beyond/parts/{part}.values.csv",
        orders="<results>/beyond/parts/{part}.orders.csv",
    log:
        "<results>/logs/beyond/{part}.log",
    benchmark:
        "<results>/benchmarks/beyond/{part}.tsv"
    wildcard_constraints:
        part=one_of(STUDY.beyond.parts),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=scaled(1200, outcomes=12),
        runtime=scaled(30, outcomes=3),
    params:
        settings=setting(STUDY.beyond.as_json()),
    message:
        "Repeating evaluations: {wildcards.part}"
    shell:
        "python -m sampled_metrics study --log {log:q} repeat {input.split:q} {input.outcomes:q}"
        " --part {wildcards.part:q} --settings {params.settings:q}"
        " --values {output.values:q} --orders {output.orders:q}"


rule beyond:
    input:
        values=expand(rules.repeat.output.values, part=STUDY.beyond.parts),
        orders=expand(rules.repeat.output.orders, part=STUDY.beyond.parts),
    output:
        csv=expand("<results>/beyond/{kind}.csv", kind=("values", "orders")),
        tables=table_files(5, 6),
        figures=figure_files(7, 8),
    log:
        "<results>/logs/beyond.log",
    benchmark:
        "<results>/benchmarks/beyond.tsv"
    conda:
        "../envs/plot.yaml"
    resources:
        mem_mb=scaled(700),
        runtime=scaled(10),
    params:
        orders=lambda wildcards, input: options("--orders", input.orders),
        folder=folder_of("csv"),
        tables=folder_of("tables"),
        figures=folder_of("figures"),
        settings=setting(STUDY.beyond.as_json()),
    message:
        "Comparing methods of evaluation: Tables 5 and 6, Figures 7 and 8"
    shell:
        "python -m sampled_metrics study --log {log:q} beyond {input.values:q} {params.orders:q}"
        " --output {params.folder:q} --tables {params.tables:q} --figures {params.figures:q}"
        " --settings {params.settings:q}"
