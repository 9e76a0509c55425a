rule rank:
    input:
        split=rules.split.output.split,
        source=get_external_file,
    output:
        "<results>/ranks/{recommender}.parquet",
    log:
        "<results>/logs/rank-{recommender}.log",
    benchmark:
        "<results>/benchmarks/rank/{recommender}.tsv"
    priority: 2
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
        "Rank the held-out items by {wildcards.recommender} among all candidates."
    script:
        "../scripts/rank.py"
