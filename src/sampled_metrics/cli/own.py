"""Commands for one recommender of one's own: evaluate, correct, sample."""

from typing import Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics.cli import options, reading
from sampled_metrics.cli.output import Format, emit, emit_columns, row_of

app = typer.Typer()


@app.command()
def evaluate(
    files: options.RankFiles,
    metric: options.Metrics = None,
    ties: options.Ties = "expected",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Average exact metrics over users, with standard errors and confidence intervals.

    Keys: file, metric, ties, value, std_error, ci_low, ci_high, n_users, n_items; values are
    fractions.
    """
    from sampled_metrics.inference import evaluate as evaluation

    rows = []
    for path in files:
        ranking = reading.ranking(path, n_items, relevant, seen)
        with reading.errors_of(path):
            found = evaluation.evaluate(
                ranking,
                metric or defaults.METRICS,
                ties=ties,
                confidence=confidence,
                seed=seed,
            )
        rows += [row_of(each, file=str(path)) for each in found]
    emit(rows, form, output, "Fractions. The interval covers the variation over users.")


@app.command()
def correct(
    file: options.SampledFile,
    n_negatives: options.Negatives,
    n_items: options.Items = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    sampling: options.Sampling = options.WITHOUT,
    per_user: options.PerUser = False,
    show_bias: options.Population = None,
    confidence: options.Confidence = defaults.CONFIDENCE,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Correct sampled metrics: estimate the exact ones from sampled ranks.

    The interval covers the variation over users and over the drawn negatives. It cannot cover
    bias: an estimate from m negatives is not expected to be the exact metric, and the sampled
    metric (estimator sampled) least of all. --show-bias says how far off it would be for a stated
    distribution of true ranks. Rows of one user_id are averaged before users are.

    Keys: metric, estimator, value, std_error, ci_low, ci_high, n_users, n_items, n_negatives,
    sampling, and with --show-bias bias; values are fractions.
    """
    from sampled_metrics.inference import correct as correction

    evaluation = reading.sampled(file, n_negatives, n_items, sampling, per_user)
    found = correction.correct(
        evaluation,
        metric or defaults.METRICS,
        estimator or defaults.ESTIMATORS,
        confidence=confidence,
        population=reading.population(show_bias, evaluation.mean_candidates, n_negatives),
    )
    without = ("bias",) if show_bias is None else ()
    note = (
        f"{evaluation.n_users:,} users, {n_negatives} negatives drawn {sampling} from "
        f"{evaluation.mean_candidates - 1:,}.\n{options.INTERVAL}"
    )
    rows = [row_of(each, *without) for each in found]
    emit(rows, form, output, note, hidden="n_users n_items n_negatives sampling")


@app.command()
def sample(
    file: options.RankFile,
    n_negatives: options.Negatives,
    repetitions: Annotated[int, typer.Option(min=1, help="How often to sample.")] = 1,
    seed: options.Seed = 0,
    sampling: options.Sampling = options.WITHOUT,
    ties: options.SampledTies = "random",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw sampled ranks from full rankings, as if negatives had been sampled.

    Keys: repetition (from 0), user_id (if there is one; else with --repetitions the row from 1),
    n_candidates, sampled_rank.
    """
    import numpy as np

    from sampled_metrics._base.seeds import generator
    from sampled_metrics.sampling import draw_sampled_ranks

    ranking = reading.ranking(file, n_items, relevant, seen)
    records = reading.records(file, ranking, n_negatives)
    drawn = [
        draw_sampled_ranks(
            records, n_negatives, generator(seed, "sample", repetition), sampling, ties
        )
        for repetition in range(repetitions)
    ]
    columns = {"repetition": np.repeat(np.arange(repetitions), len(records))}
    users = ranking.users
    if users is None and repetitions > 1:
        # Without an id, corrections would take every row for a user of its own.
        users = np.arange(1, len(records) + 1)
    if users is not None:
        columns["user_id"] = np.tile(users, repetitions)
    columns["n_candidates"] = np.tile(records.n_candidates, repetitions)
    columns["sampled_rank"] = np.concatenate(drawn)
    emit_columns(columns, form, output)
