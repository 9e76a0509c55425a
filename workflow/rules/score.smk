rule scorecard:
    input:
        cells=rules.theory.output.cells + rules.tables.output.cells,
        published=find_file(STUDY.scorecard.published),
        spread=find_file(STUDY.scorecard.spread),
    output:
        csv="<results>/scorecard.csv",
        md=report(
            "<results>/scorecard.md",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"title": "All 300 published numbers beside ours"},
        ),
        z=report(
            "<results>/figures/z.svg",
            caption="../report/z.rst",
            category="Scorecard",
            labels={"title": "Differences in standard errors"},
        ),
        others=multiext("<results>/figures/z", ".csv", ".pdf", ".png"),
    log:
        "<results>/logs/scorecard.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 40),
        runtime=scaled(10, 1),
    params:
        code=code_digest("figures"),
        of_tables=code_digest("tables"),
        origin=get_origin,
        toy=config["toy"],
        experiment=config["experiment"],
        departures=DEPARTURES,
    message:
        "Compare every published cell with ours."
    script:
        "../scripts/scorecard.py"
