# All results except the page, which depends on them, so that missing ones are made again. The page
# refuses results that were edited.
RESULTS = [*rules.tables.output, *rules.exact.output, *rules.figures.output]
if STUDY.is_papers_data:
    RESULTS += [*rules.theory.output, *rules.scorecard.output]
if STUDY.ranks == "trained":
    RESULTS += [*STUDY.origin, *rules.split.output]
    RESULTS += expand("<results>/ranks/{name}.parquet", name=STUDY.names)
    if STUDY.dataset.is_movielens:
        RESULTS += rules.fetch.output
    if STUDY.ranking.pieces > 1:
        trained = [one.name for one in STUDY.recommenders if one.kind != "external"]
        RESULTS += expand("<results>/models/{name}.npz", name=trained)


rule page:
    input:
        ranks=RANKS,
        audit=AUDIT,
        stored=STORED,
        origin=[find_file(path) for path in STUDY.origin],
        results=RESULTS,
    output:
        page=report(
            "<results>/report.html",
            caption="../report/page.rst",
            category="Everything on one page",
            labels={"title": "report.html: verdict, tables, figures, lens, evidence"},
        ),
        provenance="<results>/provenance.json",
        summary="<results>/summary.txt",  # the first lines of Snakemake's report
    log:
        "<results>/logs/page.log",
    conda:
        "../envs/study.yaml"
    resources:
        mem_mb=scaled(1500, 40),
        runtime=scaled(10, 1),
    params:
        code=code_digest("page"),
        study=config,
        is_paper=STUDY.is_papers_data,
        upstream=get_origin,
        identity=STUDY.identity(),
    message:
        "Put all on one page, and record where the numbers come from."
    script:
        "../scripts/page.py"
