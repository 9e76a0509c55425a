rule train:
    input:
        split=rules.split.output.split,
        counts=rules.split.output.counts,
    output:
        "<results>/models/{recommender}.npz",
    log:
        "<results>/logs/train/{recommender}.log",
    benchmark:
        "<results>/benchmarks/train/{recommender}.tsv"
    wildcard_constraints:
        recommender=one_of(STUDY.trained),
    priority: 10
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=training_memory(STUDY, 500, split=25),
        runtime=scaled(10, split=0.5),
    params:
        kind=lambda wildcards: STUDY.recommender(wildcards.recommender).kind,
        settings=lambda wildcards: STUDY.recommender(
            wildcards.recommender
        ).settings.as_json(),
    message:
        "Training recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log:q} train {input.split:q}"
        " --kind {params.kind:q} --settings {params.settings:q}"
        " --threads {threads} --output {output:q}"


# In one piece, a ranking is complete and needs no gathering.
if STUDY.ranking.pieces == 1:
    PIECE = "{recommender}"
    RANKED = "<results>/ranks/{recommender}.parquet"
else:
    PIECE = "{recommender}/{scatteritem}"
    RANKED = temp("<results>/ranks/pieces/{recommender}/{scatteritem}.parquet")


rule rank:
    input:
        split=rules.split.output.split,
        model=rules.train.output,
    output:
        RANKED,
    log:
        f"<results>/logs/rank/{PIECE}.log",
    benchmark:
        f"<results>/benchmarks/rank/{PIECE}.tsv"
    wildcard_constraints:
        recommender=one_of(STUDY.trained),
    priority: 10
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, split=15, model=2),
        runtime=scaled(10, split=1.5),
    params:
        block_size=STUDY.ranking.block_size,
        piece=lambda wildcards: wildcards.get("scatteritem", "1-of-1"),
    message:
        "Ranking by recommender {wildcards.recommender}: piece {params.piece}"
    shell:
        "python -m sampled_metrics study --log {log:q} rank {input.split:q} {input.model:q}"
        " --piece {params.piece:q} --block-size {params.block_size} --output {output:q}"


if STUDY.ranking.pieces > 1:

    localrules:
        gather_ranks,

    rule gather_ranks:
        input:
            split=rules.split.output.split,
            pieces=gather.ranking(
                "<results>/ranks/pieces/{{recommender}}/{scatteritem}.parquet"
            ),
        output:
            "<results>/ranks/{recommender}.parquet",
        log:
            "<results>/logs/gather_ranks/{recommender}.log",
        benchmark:
            "<results>/benchmarks/gather_ranks/{recommender}.tsv"
        wildcard_constraints:
            recommender=one_of(STUDY.trained),
        priority: 10
        conda:
            "../envs/study.yaml"
        resources:
            mem_mb=scaled(400, split=10),
            runtime=scaled(10),
        message:
            "Gathering the ranks of recommender {wildcards.recommender}"
        shell:
            "python -m sampled_metrics study --log {log:q} gather-ranks {input.split:q} {input.pieces:q}"
            " --output {output:q}"


rule rank_external:
    input:
        split=rules.split.output.split,
        file=lambda wildcards: STUDY.recommender(wildcards.recommender).settings.path,
    output:
        "<results>/ranks/{recommender}.parquet",
    log:
        "<results>/logs/rank_external/{recommender}.log",
    benchmark:
        "<results>/benchmarks/rank_external/{recommender}.tsv"
    wildcard_constraints:
        recommender=one_of(STUDY.external),
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600, split=15, file=15),
        runtime=scaled(15, split=0.1, file=0.1),
    params:
        form=lambda wildcards: STUDY.recommender(wildcards.recommender).settings.format,
    message:
        "Taking over the ranks of recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log:q} rank-external {input.split:q} {input.file:q}"
        " --format {params.form:q} --output {output:q}"
