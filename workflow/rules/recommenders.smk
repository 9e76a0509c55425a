rule train:
    input:
        rules.split.output.split,
    output:
        "<results>/models/{recommender}.npz",
    log:
        "<results>/logs/train/{recommender}.log",
    benchmark:
        "<results>/benchmarks/train/{recommender}.tsv"
    wildcard_constraints:
        recommender=one_of(TRAINED),
    priority: 10
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        kind=lambda wildcards: RECOMMENDERS[wildcards.recommender]["kind"],
        settings=lambda wildcards: json.dumps(
            RECOMMENDERS[wildcards.recommender]["settings"]
        ),
    message:
        "Training recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log} train {input}"
        " --kind {params.kind} --settings {params.settings:q}"
        " --threads {threads} --output {output}"


if config["ranking"]["pieces"] == 1:

    rule rank:
        input:
            split=rules.split.output.split,
            model=rules.train.output,
        output:
            "<results>/ranks/{recommender}.parquet",
        log:
            "<results>/logs/rank/{recommender}.log",
        benchmark:
            "<results>/benchmarks/rank/{recommender}.tsv"
        wildcard_constraints:
            recommender=one_of(TRAINED),
        priority: 10
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            block_size=lookup(within=config, dpath="ranking/block_size"),
        message:
            "Ranking all candidates by recommender {wildcards.recommender}"
        shell:
            "python -m sampled_metrics study --log {log} rank {input.split} {input.model}"
            " --block-size {params.block_size} --output {output}"

else:

    localrules:
        rank,

    rule rank_piece:
        input:
            split=rules.split.output.split,
            model=rules.train.output,
        output:
            temp("<results>/ranks/pieces/{recommender}/{scatteritem}.parquet"),
        log:
            "<results>/logs/rank_piece/{recommender}/{scatteritem}.log",
        benchmark:
            "<results>/benchmarks/rank_piece/{recommender}/{scatteritem}.tsv"
        wildcard_constraints:
            recommender=one_of(TRAINED),
        priority: 10
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        params:
            block_size=lookup(within=config, dpath="ranking/block_size"),
        message:
            "Ranking by recommender {wildcards.recommender}: piece {wildcards.scatteritem}"
        shell:
            "python -m sampled_metrics study --log {log} rank {input.split} {input.model}"
            " --piece {wildcards.scatteritem} --block-size {params.block_size} --output {output}"

    rule rank:
        input:
            split=rules.split.output.split,
            pieces=gather.ranking(
                "<results>/ranks/pieces/{{recommender}}/{scatteritem}.parquet"
            ),
        output:
            "<results>/ranks/{recommender}.parquet",
        log:
            "<results>/logs/rank/{recommender}.log",
        benchmark:
            "<results>/benchmarks/rank/{recommender}.tsv"
        wildcard_constraints:
            recommender=one_of(TRAINED),
        priority: 10
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory_mb,
            runtime=minutes,
        message:
            "Gathering the ranks of recommender {wildcards.recommender}"
        shell:
            "python -m sampled_metrics study --log {log} gather-ranks {input.split} {input.pieces}"
            " --output {output}"


rule rank_external:
    input:
        split=rules.split.output.split,
        file=lambda wildcards: RECOMMENDERS[wildcards.recommender]["settings"]["path"],
    output:
        "<results>/ranks/{recommender}.parquet",
    log:
        "<results>/logs/rank_external/{recommender}.log",
    benchmark:
        "<results>/benchmarks/rank_external/{recommender}.tsv"
    wildcard_constraints:
        recommender=one_of(EXTERNAL),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory_mb,
        runtime=minutes,
    params:
        form=lambda wildcards: RECOMMENDERS[wildcards.recommender]["settings"]["format"],
    message:
        "Taking over the ranks of recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log} rank-external {input.split} {input.file:q}"
        " --format {params.form} --output {output}"
