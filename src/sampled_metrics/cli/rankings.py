"""Commands that evaluate ranks and printed numbers."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.calls import place_of
from sampled_metrics.cli import options
from sampled_metrics.cli.output import (
    Format,
    emit,
    emit_parts,
    emit_results,
    join_tables,
    report_written,
)
from sampled_metrics.ranks import Sampling

FLAGGED = 1  # exit status of `check`
rankings_app = typer.Typer()


@rankings_app.command(
    epilog="Example: sampled-metrics evaluate lists.csv --relevant test.csv --metric HR@10,NDCG@10"
)
def evaluate(
    files: options.RankPaths,
    metric: options.MetricNames = None,
    ties: options.Ties = "expected",
    n_items: options.NItems = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    min_relevance: options.MinRelevance = 0.0,
    complete: options.Complete = False,
    missing: options.Missing = "refuse",
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    seed: options.Seed = 0,
    column: options.ColumnRoles = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Average exact metrics over users, with intervals.

    Keys: file, metric, ties, value, std_error, ci_low, ci_high, n_users, n_items, effective_users
    (few if a handful of users carry the value), n_visits (if users have several), notes
    (about the file: warnings, and how it was read); values are fractions.
    """
    from sampled_metrics._base.records import record_to_row
    from sampled_metrics.evaluation.evaluate import evaluate

    names = options.short_names(files)
    rows = []
    parts_by_file: dict[str, Any] = {}
    for path in files:
        with place_of(path):
            results = evaluate(
                path,
                metric or defaults.DEFAULT_METRICS,
                relevant=relevant,
                seen=seen,
                n_items=n_items,
                min_relevance=min_relevance,
                complete=complete,
                missing=missing,
                ties=ties,
                seed=seed,
                confidence=confidence,
                columns=options.parse_roles(column),
            )
        for result in results:
            rows.append({"file": str(path), **record_to_row(result), "notes": results.notes})
        parts_by_file[names[str(path)]] = results.parts()
    if form is Format.TABLE:
        emit_parts(join_tables("file", parts_by_file), output, explain)
    else:
        emit(rows, form, output)


@rankings_app.command(
    epilog="Example: sampled-metrics correct scores.npy --positive 0 --n-items 3541 --metric HR@10"
)
def correct(
    file: options.SampledPath,
    n_negatives: options.NNegativesOfFile = None,
    n_items: options.NItems = None,
    metric: options.MetricNames = None,
    estimator: options.EstimatorNames = None,
    positive: options.Positive = None,
    relevant: options.Relevant = None,
    missing: options.Missing = "refuse",
    sampling: options.SamplingOfFile = None,
    counts: options.Counts = None,
    items: options.ItemsOfScores = None,
    users: options.UsersOfScores = None,
    cluster: options.Cluster = None,
    ties: Annotated[
        Literal["random", "optimistic", "pessimistic"],
        options.option(
            "POLICY",
            "Order of candidates with the same score: random, optimistic or pessimistic.",
        ),
    ] = "random",
    seed: options.Seed = 0,
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    intervals: Annotated[
        bool, options.option("", "Show confidence intervals of the estimates.", "--intervals")
    ] = False,
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    column: options.ColumnRoles = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Compute the range of metrics that sampled ranks allow.

    The range contains the exact metric of the users' population with the given confidence,
    whatever their true ranks are, as long as --shape holds. An estimate is precise, but it measures
    another quantity: the metric with the cut-off that is printed beside it ("acts like"). Its
    interval (--intervals, and in CSV and JSON) covers its expectation, not the exact metric. Rows
    of one user_id, or of one visit of a user, are averaged first.

    Keys: metric, estimator, value, std_error, ci_low, ci_high, range_low, range_high,
    likely_low, likely_high (of the exact metric, for `likely`), shape, acts_like, n_users,
    n_items, n_negatives, sampling, n_visits (if users have several), tastes (with --counts: which
    tastes for popularity the range allows, smooth or any), notes (warnings about the file); values
    are fractions. The estimate to quote is by `likely`.

    Negatives by popularity, or by another design that follows it, are corrected with --counts and
    the ids of the items.
    """
    from sampled_metrics.evaluation.correct import correct

    with place_of(file):
        results = correct(
            file,
            metric or defaults.DEFAULT_METRICS,
            estimator or defaults.DEFAULT_ESTIMATORS,
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            counts=counts,
            items=items,
            users=users,
            cluster=cluster,
            positive=positive,
            relevant=relevant,
            missing=missing,
            ties=ties,
            seed=seed,
            shape=shape,
            confidence=confidence,
            columns=options.parse_roles(column),
        )
    emit_results(results, form, output, explain, intervals=intervals)


@rankings_app.command(
    epilog="Example: sampled-metrics reported HR@10=0.8245 NDCG@10=0.5905 --n-items 3253 "
    "--n-negatives 100 --n-users 6040"
)
def reported(
    printed: Annotated[
        list[str],
        options.argument("METRIC=VALUE", "Printed sampled metrics, such as HR@10=0.8245."),
    ],
    n_items: Annotated[int, options.option("N", "n: candidates of a full ranking.", min=2)],
    n_negatives: options.NNegatives,
    n_users: Annotated[
        int | None, options.option("USERS", "Users averaged over, for the sampling error.", min=1)
    ] = None,
    metric: options.MetricNames = None,
    sampling: options.SamplingWay = Sampling.WITHOUT_REPLACEMENT,
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    unscored: options.MaxUnscored = defaults.MAX_UNSCORED,
    runs: Annotated[
        int, options.option("R", "Runs over the same users whose means are printed.", min=1)
    ] = 1,
    counts: options.Counts = None,
    power: options.Power = 1.0,
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Compute the metrics that a paper's numbers allow.

    Keys: metric, reported, range_low, range_high, likely, likely_low, likely_high, shape,
    n_items, n_negatives, n_users, sampling, printed, power (with --counts), notes. Values are
    fractions. Negatives by popularity (--counts) allow a wide range, and no number to quote.
    """
    from sampled_metrics.printed.reported import reported

    results = reported(
        printed,
        metric,
        n_items=n_items,
        n_negatives=n_negatives,
        n_users=n_users,
        sampling=sampling,
        shape=shape,
        unscored=unscored,
        runs=runs,
        counts=counts,
        power=power,
        confidence=confidence,
    )
    emit_results(results, form, output, explain)


@rankings_app.command(epilog="Example: sampled-metrics check table.csv")
def check(
    file: Annotated[
        Path, options.argument("FILE", "Table of printed metrics, a row for each model.")
    ],
    metric: Annotated[
        str, options.option("NAME", "Exact metric of ranges and orders.")
    ] = defaults.CHECKED_METRIC,
    n_items: Annotated[
        int | None, options.option("N", "n_items of rows without this column.", min=2)
    ] = None,
    n_negatives: Annotated[
        int | None, options.option("M", "n_negatives of rows without this column.", min=1)
    ] = None,
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    unscored: options.MaxUnscored = defaults.MAX_UNSCORED,
    counts: options.Counts = None,
    power: options.Power = 1.0,
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Check a table of printed sampled metrics.

    Flags numbers that are impossible, and says which orders the numbers decide.

    Columns: n_items, n_negatives and, if known, n_users, runs (numbers are means over them),
    sampling, model, data_set, source_id; a column for each sampled metric, such as HR@10, and for
    each metric over all items, such as `exact HR@10`.

    Flags mark numbers that do not fit together: hit rates that cannot be an average over the users
    (granularity), numbers that contradict each other (bounds), that no distribution of true ranks
    gives (ranks), or that none gives together with the metrics over all items (exact).

    Keys: row, source, data_set, model, printed, exact, n_items, n_negatives, n_users, runs,
    sampling, metric, range_low, range_high, likely, likely_low, likely_high, flags, and of
    the exact metric in the table measured and standing. Exit status 1 if a row has a flag.
    """
    from sampled_metrics.printed.check import check

    checks = check(
        file,
        metric,
        n_items=n_items,
        n_negatives=n_negatives,
        shape=shape,
        unscored=unscored,
        counts=counts,
        power=power,
        confidence=confidence,
    )
    if form is Format.TABLE:
        emit_parts(checks.parts(), output, explain)
    elif form is Format.JSON:
        emit(checks.rows(), form, output)
    else:
        emit(checks.flat_rows(), form, output)
    if any(row.flags for row in checks):
        raise typer.Exit(FLAGGED)


@rankings_app.command(
    "compare",
    epilog="Example: sampled-metrics compare A.csv B.csv --n-negatives 100 --n-items 3541 "
    "--metric HR@10",
)
def compare_files(
    files: options.RankPaths,
    n_negatives: options.NNegativesOfFile = None,
    n_items: options.NItems = None,
    metric: options.MetricNames = None,
    estimator: options.EstimatorNames = None,
    positive: options.Positive = None,
    sampling: options.SamplingOfFile = None,
    counts: options.Counts = None,
    items: options.ItemsOfScores = None,
    users: options.UsersOfScores = None,
    cluster: options.Cluster = None,
    ties: Annotated[
        str | None,
        options.option(
            "POLICY",
            "As for evaluate, of full rankings, by default expected; as for correct, of "
            "scores among negatives, by default random.",
        ),
    ] = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    min_relevance: options.MinRelevance = 0.0,
    complete: options.Complete = False,
    missing: options.Missing = "refuse",
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    correction: options.PairCorrection = "holm",
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    seed: options.Seed = 0,
    column: options.ColumnRoles = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Decide which recommender has the higher exact metric.

    The files contain full rankings, or sampled ranks or scores of held-out items and their
    negatives, which are recognised by --n-negatives, --positive, or a column sampled_rank or label.
    Sampled ranks decide the order of the exact metrics if the range of their difference excludes 0;
    the estimates beside it may be ordered otherwise. Users are paired if the files have the same
    user_id, which decides most if all recommenders ranked the same negatives.

    Keys: a, b, metric, estimator, value_a, value_b, difference (b - a), std_error, ci_low, ci_high,
    range_low, range_high, likely_low, likely_high (of the exact difference, for `likely`), order
    (a, b or undecided), p_value, acts_like, verdict, paired, n_users, n_items, n_negatives,
    sampling, users_needed (about as many users would decide an undecided order of full rankings),
    holds_up_to (the largest factor of --shape at which sampled ranks decide the order), n_visits
    (if users have several), tastes (with --counts: smooth or any), notes (warnings, and how files
    were read); values are fractions.
    """
    from sampled_metrics.evaluation.compare import compare

    paths = options.paths_by_name(files)
    with options.files_in_errors(paths):
        results = compare(
            paths,
            metric or defaults.DEFAULT_METRICS,
            estimator,
            relevant=relevant,
            seen=seen,
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            counts=counts,
            items=items,
            users=users,
            cluster=cluster,
            positive=positive,
            min_relevance=min_relevance,
            complete=complete,
            missing=missing,
            ties=ties,
            seed=seed,
            shape=shape,
            correction=correction,
            confidence=confidence,
            columns=options.parse_roles(column),
        )
    emit_results(results, form, output, explain)


@rankings_app.command(
    epilog="Example: sampled-metrics plan --ranks A.parquet B.parquet --metric HR@10"
)
def plan(
    ranks: Annotated[
        tuple[Path, Path] | None,
        options.option("A B", "Exact ranks of two recommenders, or scores with --relevant."),
    ] = None,
    effect: Annotated[
        float | None, options.option("D", "Without --ranks: the difference to detect.")
    ] = None,
    value: Annotated[
        float | None, options.option("V", "Without --ranks: metric of the weaker one.")
    ] = None,
    n_items: options.NItems = None,
    metric: options.MetricNames = None,
    n_users: Annotated[
        int | None, options.option("USERS", "Users to be evaluated, drawn anew from these.", min=1)
    ] = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    counts: Annotated[
        Path | None,
        options.option(
            "FILE",
            "Popularity of items, to plan negatives half by popularity and half uniform too: "
            "events (user_id, item_id), or item_id and count. Needs scores of all items.",
        ),
    ] = None,
    sampling: options.SamplingWay = Sampling.WITHOUT_REPLACEMENT,
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    column: options.ColumnRoles = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Compute how many negatives decide between recommenders.

    The table shows how likely various numbers of negatives, and full rankings, decide their order.
    An order is decided if the range of the exact difference excludes 0.

    The full rankings of two recommenders are known. The plan is for the same users or, with
    --n-users, for as many users like them.

    Without rankings: sampled-metrics plan --effect 0.02 --value 0.1 --metric HR@10 --n-items 3000
    --n-users 6000. Ranks are then assumed to follow power laws with these metrics, independently
    for the two recommenders.

    Keys: metric, n_negatives (null: full rankings), probability, decides_above (the difference of
    which about half are decided), decides (the least n_negatives with a probability of 0.95),
    exact_a, exact_b, n_items, n_users, sampling, n_visits (if users have several), design (uniform
    or half, with --counts), notes (warnings about the files).
    """
    from sampled_metrics.evaluation.plan import plan

    a, b = (None, None) if ranks is None else ranks
    results = plan(
        a,
        b,
        metric or defaults.DEFAULT_METRICS[:1],
        effect=effect,
        value=value,
        n_items=n_items,
        n_users=n_users,
        relevant=relevant,
        seen=seen,
        counts=counts,
        sampling=sampling,
        shape=shape,
        confidence=confidence,
        columns=options.parse_roles(column),
    )
    emit_results(results, form, output, explain)


@rankings_app.command(
    "report", epilog="Example: sampled-metrics report A.parquet B.parquet --output page.html"
)
def write_report(
    files: options.RankPaths,
    output: options.PagePath,
    n_negatives: options.NNegativesOfFile = None,
    n_items: options.NItems = None,
    metric: options.MetricNames = None,
    estimator: options.EstimatorNames = None,
    positive: options.Positive = None,
    sampling: options.SamplingOfFile = None,
    counts: options.Counts = None,
    items: options.ItemsOfScores = None,
    users: options.UsersOfScores = None,
    cluster: options.Cluster = None,
    ties: options.Ties = "expected",
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    missing: options.Missing = "refuse",
    shape: options.ShapeName = defaults.DEFAULT_SHAPE,
    confidence: options.Confidence = defaults.DEFAULT_CONFIDENCE,
    column: options.ColumnRoles = None,
) -> None:
    """Write one HTML page about one or several recommenders.

    From sampled ranks, or scores of held-out items and their negatives, as for compare: ranges of
    the exact metrics, estimates, comparisons, and how to learn more. From full rankings: exact
    metrics, comparisons, and the same metrics against random items. Recall@10 by default.
    """
    from sampled_metrics.pages.report import report

    paths = options.paths_by_name(files)
    with options.files_in_errors(paths):
        report(
            paths,
            output,
            metric or defaults.DEFAULT_METRICS[:1],
            estimator or defaults.DEFAULT_ESTIMATORS,
            relevant=relevant,
            seen=seen,
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            counts=counts,
            items=items,
            users=users,
            cluster=cluster,
            positive=positive,
            missing=missing,
            ties=ties,
            shape=shape,
            confidence=confidence,
            columns=options.parse_roles(column),
        )
    report_written(output, len(paths), "recommender")
