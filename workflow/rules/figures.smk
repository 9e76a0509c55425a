rule theory:
    input:
        published=PUBLISHED,
    output:
        cells=expand("<results>/cells/table{n}.csv", n=[1, 2]),
        csv=expand("<results>/tables/table{n}.csv", n=[1, 2]),
        tex=expand("<results>/tables/table{n}.tex", n=[1, 2]),
        table1=report(
            "<results>/tables/table1.md",
            caption="../report/toys.rst",
            category="Tables",
            labels={"title": "Table 1. Exact metrics of the toys"},
        ),
        table2=report(
            "<results>/tables/table2.md",
            caption="../report/toys.rst",
            category="Tables",
            labels={"title": "Table 2. Sampled metrics of the toys"},
        ),
        figure1=report(
            "<results>/figures/figure1.svg",
            caption="../report/theory.rst",
            category="Figures",
            labels={"title": "Figure 1. Metrics by rank"},
        ),
        figure2=report(
            "<results>/figures/figure2.svg",
            caption="../report/theory.rst",
            category="Figures",
            labels={"title": "Figure 2. Sampled metrics of the toys"},
        ),
        figure3=report(
            "<results>/figures/figure3.svg",
            caption="../report/theory.rst",
            category="Figures",
            labels={"title": "Figure 3. Sampled metrics by rank"},
        ),
        figure4=report(
            "<results>/figures/figure4.svg",
            caption="../report/theory.rst",
            category="Figures",
            labels={"title": "Figure 4. Corrected metrics"},
        ),
        others=expand(
            "<results>/figures/figure{n}.{form}", n=[1, 2, 3, 4], form=["pdf", "png", "csv"]
        ),
    log:
        "<results>/logs/theory.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 0),
        runtime=scaled(10, 0),
    params:
        code=code_digest("figures"),
        toy=config["toy"],
    message:
        "Compute what needs no data: Tables 1 and 2, Figures 1 to 4."
    script:
        "../scripts/theory.py"


rule figures:
    input:
        ranks=RANKS,
        band=BAND,
    output:
        figure5=report(
            "<results>/figures/figure5.svg",
            caption="../report/figure5.rst",
            category="Figures",
            labels={"title": "Figure 5. Users by predicted rank"},
        ),
        figure6=report(
            "<results>/figures/figure6.svg",
            caption="../report/figure6.rst",
            category="Figures",
            labels={"title": "Figure 6. Recall@10 by number of negatives"},
        ),
        errors=report(
            "<results>/figures/errors.svg",
            caption="../report/errors.rst",
            category="Figures",
            labels={"title": "Errors of estimators beside Figure 6"},
        ),
        others=expand(
            "<results>/figures/{name}.{form}",
            name=["figure5", "figure6", "errors"],
            form=["pdf", "png", "csv"],
        ),
    log:
        "<results>/logs/figures.log",
    priority: 1  # the longest step; started last, it would run alone at the end
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 400),
        runtime=scaled(15, 10),
    params:
        code=code_digest("figures"),
        origin=get_origin,
        experiment=config["experiment"],
    message:
        "Compute and draw Figures 5 and 6, and the errors of estimators."
    script:
        "../scripts/figures.py"
