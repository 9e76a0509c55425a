rule page:
    input:
        ranks=get_ranks,
        tables=get_tables,
        figures=get_figures,
        exact=rules.exact.output,
        scorecard=get_scorecard,
        audit=get_audit,
        kept=get_kept,
        origin=[own(path) for path in STUDY.origin],
        chain=get_chain,
    output:
        page="<results>/report.html",
        provenance="<results>/provenance.json",
    log:
        "<results>/logs/page.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 40),
        runtime=scaled(10, 1),
    params:
        code=code_of("page"),
        study=config,
        identity=STUDY.identity(),
    message:
        "Put all on one page, and record where the numbers come from."
    script:
        "../scripts/page.py"
