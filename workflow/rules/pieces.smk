# Several jobs share the users of a recommender; each ranks a piece of them.
PIECES = [f"{n + 1}-of-{STUDY.ranking.pieces}" for n in range(STUDY.ranking.pieces)]


wildcard_constraints:
    piece="|".join(PIECES),


def get_model(wildcards):
    """Return the trained model or the external file that all pieces share."""
    return get_external_file(wildcards) or f"<results>/models/{wildcards.recommender}.npz"


rule train:
    input:
        split=rules.split.output.split,
    output:
        "<results>/models/{recommender}.npz",
    log:
        "<results>/logs/train-{recommender}.log",
    benchmark:
        "<results>/benchmarks/train/{recommender}.tsv"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, 25),
        runtime=scaled(10, 1.5),
    params:
        code=code_digest("ranking"),
        recommender=get_recommender,
        source=get_source,
    message:
        "Train {wildcards.recommender}."
    script:
        "../scripts/train.py"


rule rank:
    input:
        split=rules.split.output.split,
        source=get_model,
    output:
        temp("<results>/ranks/{recommender}.{piece}.parquet"),
    log:
        "<results>/logs/rank-{recommender}.{piece}.log",
    benchmark:
        "<results>/benchmarks/rank/{recommender}.{piece}.tsv"
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, 35),
        runtime=scaled(10, 1.5),
    params:
        code=code_digest("ranking"),
        recommender=get_recommender,
        source=get_source,
        block_size=config["ranking"]["block_size"],
    message:
        "Rank piece {wildcards.piece} of the held-out items by {wildcards.recommender}."
    script:
        "../scripts/rank.py"


rule gather:
    input:
        split=rules.split.output.split,
        pieces=expand(rules.rank.output, piece=PIECES, allow_missing=True),
    output:
        "<results>/ranks/{recommender}.parquet",
    log:
        "<results>/logs/rank-{recommender}.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(600, 15),
        runtime=scaled(10, 0.1),
    params:
        code=code_digest("ranking"),
        recommender=get_recommender,
        source=get_source,
    message:
        "Concatenate the ranks of {wildcards.recommender}."
    script:
        "../scripts/gather.py"
