rule train:
    input:
        rules.split.output.split,
    output:
        "results/models/{recommender}.npz",
    log:
        "results/logs/train/{recommender}.log",
    benchmark:
        "results/benchmarks/train/{recommender}.tsv"
    priority: 10
    conda:
        "../../environment.yml"
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


rule rank:
    input:
        split=rules.split.output.split,
        model=rules.train.output,
    output:
        "results/ranks/{recommender}.parquet",
    log:
        "results/logs/rank/{recommender}.log",
    benchmark:
        "results/benchmarks/rank/{recommender}.tsv"
    priority: 10
    conda:
        "../../environment.yml"
    params:
        block_size=lookup(within=config, dpath="ranking/block_size"),
    message:
        "Ranking all candidates by recommender {wildcards.recommender}"
    shell:
        "python -m sampled_metrics study --log {log} rank {input.split} {input.model}"
        " --block-size {params.block_size} --output {output}"
