"""Commands for one recommender: evaluate, correct, sample."""

from pathlib import Path
from typing import Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import reading
from sampled_metrics._base.files import write_text
from sampled_metrics.cli import inputs, options
from sampled_metrics.cli.output import Format, emit, emit_columns, emit_results, row_of, write_users
from sampled_metrics.ranks import Sampling

app = typer.Typer()


@app.command()
def evaluate(
    files: options.RankFiles,
    metric: options.Metrics = None,
    ties: options.Ties = "expected",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    min_grade: options.MinGrade = 0.0,
    complete: options.Complete = False,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
    per_user_output: Annotated[
        Path | None,
        typer.Option(
            help="File (CSV, JSON or parquet) for the values of each user: file, user_id, and a "
            "column for each metric."
        ),
    ] = None,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Average exact metrics over users, with standard errors and confidence intervals.

    Keys: file, metric, ties, value, std_error, ci_low, ci_high, n_users, n_items, effective_users
    (few where a handful of users carry the value); values are fractions.
    """
    from sampled_metrics.inference import evaluate as evaluation
    from sampled_metrics.inference import printed
    from sampled_metrics.ranks import Ranks

    results: list[evaluation.Evaluated] = []
    rows, relevance, of_users = [], "", []
    for path in files:
        ranks = Ranks.read(
            path,
            n_items=n_items,
            relevant=relevant,
            seen=seen,
            min_grade=min_grade,
            complete=complete,
        )
        relevance = relevance or printed.relevance_note(ranks)
        with reading(path):
            evaluated = evaluation.evaluate(
                ranks, metric or defaults.METRICS, ties=ties, confidence=confidence, seed=seed
            )
            if per_user_output is not None:
                known = [result.metric for result in evaluated]
                values = evaluation.values_by_user(ranks, known, ties=ties, seed=seed)
                of_users.append(values.reset_index().assign(file=str(path)))
        rows += [row_of(result, file=str(path)) for result in evaluated]
        results += evaluated
    if per_user_output is not None:
        write_users(of_users, per_user_output)
    note = printed.evaluated_note(results, confidence, relevance)
    emit(rows, form, output, note, "ties effective_users")


@app.command()
def correct(
    file: options.SampledFile,
    n_negatives: options.SampledNegatives = None,
    n_items: options.Items = None,
    positive: options.Positive = None,
    relevant: options.Relevant = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    sampling: options.KnownSampling = None,
    ties: Annotated[
        str,
        typer.Option(
            help="Place of a held-out item among negatives of its score: random, optimistic or "
            "pessimistic.",
            callback=options.one_of("ranks.candidates.TIES"),
        ),
    ] = "random",
    seed: options.Seed = 0,
    per_user: options.PerUser = False,
    show_bias: options.Population = None,
    shape: options.Shape = defaults.SHAPE,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Print the interval of each estimate.")
    ] = False,
    confidence: options.Confidence = defaults.CONFIDENCE,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Compute the range of exact metrics that sampled ranks allow, and corrected estimates.

    The range holds the exact metric of the users' population with the confidence asked for,
    whatever their true ranks are as long as --shape holds. An estimate is precise, but of another
    quantity: the rank at which its credit has fallen to half is printed beside it ("acts like"),
    and its interval (--intervals, and in CSV and JSON) covers its expectation, not the exact
    metric. --show-bias prints the difference of the two for a stated distribution of true ranks.
    Rows of one user_id are averaged first.

    Keys: metric, estimator, value, std_error, ci_low, ci_high, range_low, range_high, shape,
    behaves_like, n_users, n_items, n_negatives, sampling, and with --show-bias bias; values are
    fractions.
    """
    from sampled_metrics.inference import correct as correction
    from sampled_metrics.ranks import SampledRanks

    ranks = SampledRanks.read(
        file,
        n_negatives,
        n_items,
        sampling,
        positive=positive,
        relevant=relevant,
        ties=ties,
        seed=seed,
    )
    with reading(file):
        results = correction.correct(
            ranks,
            metric or defaults.METRICS,
            estimator or defaults.ESTIMATORS,
            shape=shape,
            per_user=per_user,
            confidence=confidence,
            population=inputs.population(show_bias, ranks.mean_candidates, ranks.n_negatives),
        )
    without = ("bias",) if show_bias is None else ()
    emit_results(results, form, output, *without, intervals=intervals)


@app.command()
def report(
    files: options.RankFiles,
    output: Annotated[Path, typer.Option(help="File to write.")],
    n_negatives: options.SampledNegatives = None,
    n_items: options.Items = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    positive: options.Positive = None,
    sampling: options.KnownSampling = None,
    ties: options.Ties = "expected",
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    shape: options.Shape = defaults.SHAPE,
    confidence: options.Confidence = defaults.CONFIDENCE,
) -> None:
    """Write one HTML page about one recommender or several, which opens without a network.

    From sampled ranks, or scores of held-out items and their negatives, as compare takes them:
    ranges of the exact metrics, estimates, comparisons, and what it would cost to know more. From
    full rankings: exact metrics, comparisons, and what ranking against random items would make of
    them. Recall@10 by default.
    """
    from sampled_metrics.ranks.given import all_alike
    from sampled_metrics.ranks.options import Drawn, Ranked
    from sampled_metrics.report.page.own import own_full, own_sampled
    from sampled_metrics.report.page.render import render

    names, metrics = inputs.names(files), metric or defaults.METRICS[:1]
    drawn = Drawn(n_items, n_negatives, sampling, positive, relevant)
    ranked = Ranked(n_items, relevant, seen)
    with inputs.naming_files(names, files):
        samples, rankings = all_alike(dict(zip(names, files, strict=True)), drawn, ranked)
    if rankings:
        rankings = {
            name: inputs.full_ranking(rankings[name], path)
            for name, path in zip(names, files, strict=True)
        }
        content = own_full(rankings, metrics, ties=ties, confidence=confidence)
    else:
        with inputs.naming_files(names, files):
            content = own_sampled(
                samples,
                metrics,
                estimator or defaults.ESTIMATORS,
                shape=shape,
                confidence=confidence,
            )
    write_text(output, render(content, "own.html"))


@app.command()
def sample(
    file: options.RankFile,
    n_negatives: options.Negatives,
    repetitions: Annotated[int, typer.Option(min=1, help="How often to sample.")] = 1,
    seed: options.Seed = 0,
    sampling: options.Sampling = Sampling.WITHOUT_REPLACEMENT,
    ties: options.SampledTies = "random",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw sampled ranks from full rankings, as if negatives had been sampled.

    Several held-out items of a user are a row each; the negatives of one may include the others.

    Keys: repetition (from 0), user_id (if the file has it; with --repetitions else the row from 1),
    item_id (if users have several held-out items, running numbers from 0), n_candidates,
    n_negatives, sampling, sampled_rank.
    """
    import numpy as np

    from sampled_metrics._base.arrays import ranges
    from sampled_metrics._base.seeds import generator
    from sampled_metrics.ranks import Ranks
    from sampled_metrics.sampling import draw_sampled_ranks

    ranks = Ranks.read(file, n_items=n_items, relevant=relevant, seen=seen)
    items = inputs.item_by_item(ranks, file, n_negatives)
    generators = [generator(seed, "sample", repetition) for repetition in range(repetitions)]
    drawn = draw_sampled_ranks(items, n_negatives, generators, sampling, ties)
    columns = {"repetition": np.repeat(np.arange(repetitions), len(items))}
    users = ranks.users
    if users is None and repetitions > 1:
        # Without ids, corrections would take each repetition for another user.
        users = np.arange(1, len(ranks) + 1)
    if users is not None:
        columns["user_id"] = np.tile(np.repeat(users, ranks.n_found), repetitions)
    if len(items) > len(ranks):
        columns["item_id"] = np.tile(ranges(0, ranks.n_found), repetitions)
    rows = len(items) * repetitions
    columns["n_candidates"] = np.tile(items.n_candidates, repetitions)
    columns["n_negatives"] = np.full(rows, n_negatives)
    columns["sampling"] = np.full(rows, str(sampling))
    columns["sampled_rank"] = drawn.ravel()
    emit_columns(columns, form, output)
