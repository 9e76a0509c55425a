rule exact:
    input:
        ranks=RANKS,
    output:
        csv="<results>/tables/exact.csv",
        md=report(
            "<results>/tables/exact.md",
            caption="../report/exact.rst",
            category="Tables",
            labels={"title": "Exact metrics by tie policy"},
        ),
        ranges="<results>/ranges.csv",
    log:
        "<results>/logs/exact.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(700, 400),
        runtime=scaled(10, 10),
    params:
        code=code_digest("tables"),
        origin=get_origin,
        exact=config["exact"],
        metrics=config["experiment"]["metrics"],
    message:
        "Compute the exact metrics, and the ranges of them that samples allow."
    script:
        "../scripts/exact.py"


rule tables:
    input:
        ranks=RANKS,
        published=PUBLISHED,
    output:
        cells=expand("<results>/cells/table{n}.csv", n=[3, 4]),
        csv=expand("<results>/tables/table{n}.csv", n=[3, 4]),
        tex=expand("<results>/tables/table{n}.tex", n=[3, 4]),
        table3=report(
            "<results>/tables/table3.md",
            caption="../report/table3.rst",
            category="Tables",
            labels={"title": "Table 3. Exact, sampled and corrected metrics"},
        ),
        table4=report(
            "<results>/tables/table4.md",
            caption="../report/table4.rst",
            category="Tables",
            labels={"title": "Table 4. Repetitions that find the order"},
        ),
        likely="<results>/tables/likely.csv",
        likely_md=report(
            "<results>/tables/likely.md",
            caption="../report/likely.rst",
            category="Tables",
            labels={"title": "The number to quote beside the estimators"},
        ),
    log:
        "<results>/logs/tables.log",
    benchmark:
        "<results>/benchmarks/tables.tsv"
    priority: 1  # the scorecard waits for this rule
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 400),
        runtime=scaled(15, 10),
    params:
        code=code_digest("tables"),
        origin=get_origin,
        experiment=config["experiment"],
    message:
        "Repeat the sampled evaluations and correct them: Tables 3 and 4, and the number to quote."
    script:
        "../scripts/tables.py"
