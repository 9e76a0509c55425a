"""Commands for two recommenders or more: compare, plan."""

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.cli import inputs, options
from sampled_metrics.cli.output import Format, emit, row_of
from sampled_metrics.ranks import Sampling

if TYPE_CHECKING:
    from sampled_metrics.inference.plan import Pair

app = typer.Typer()


@app.command()
def compare(
    files: options.RankFiles,
    n_negatives: Annotated[
        int | None,
        typer.Option(
            help="m: negatives drawn, if the files hold sampled ranks.",
            min=1,
            show_default=False,
        ),
    ] = None,
    n_items: options.Items = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    sampling: options.Sampling = Sampling.WITHOUT_REPLACEMENT,
    per_user: options.PerUser = False,
    ties: options.Ties = "expected",
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Compare recommenders in pairs: which is better, and how certain that is.

    From full rankings, or with --n-negatives from sampled ranks. Users are paired if the files
    have the same user_id. With few negatives bias can decide the order of corrected estimates too;
    the verdict says so if the sampled ranks show it.

    Keys: a, b, metric, estimator, value_a, value_b, difference (b - a), std_error, ci_low, ci_high,
    probability (that the observed sign is right, ignoring bias), paired, n_users, n_items,
    n_negatives, sampling, verdict; values are fractions.
    """
    from sampled_metrics.inference import compare as comparison
    from sampled_metrics.ranks import Ranks, SampledRanks

    if len(files) < 2:
        raise InputError("the only file; compare needs two or more", path=files[0])
    if n_negatives is None and estimator:
        raise InputError("--estimator requires --n-negatives")
    names, metrics = inputs.names(files), metric or defaults.METRICS
    results = []
    if n_negatives is None:
        full = [Ranks.read(path, n_items=n_items, relevant=relevant, seen=seen) for path in files]
        for i, j in combinations(range(len(files)), 2):
            with reading(f"{files[i]} and {files[j]}"):
                results += comparison.compare_exact(
                    full[i],
                    full[j],
                    metrics,
                    names=(names[i], names[j]),
                    ties=ties,
                    confidence=confidence,
                    seed=seed,
                )
    else:
        sampled = [SampledRanks.read(path, n_negatives, n_items, sampling) for path in files]
        for i, j in combinations(range(len(files)), 2):
            results += comparison.compare_sampled(
                sampled[i],
                sampled[j],
                metrics,
                estimator or defaults.ESTIMATORS,
                names=(names[i], names[j]),
                per_user=per_user,
                confidence=confidence,
            )
    hidden = "std_error paired n_users n_items n_negatives sampling verdict"
    verdicts = [
        f"{each.a}, {each.b}, {each.metric} {each.estimator}: {each.verdict}" for each in results
    ]
    note = "\n".join([*verdicts, "", f"Fractions, b - a. {options.INTERVAL}"])
    emit([row_of(each) for each in results], form, output, note, hidden)


@app.command()
def plan(
    ranks: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Exact ranks of two recommenders.", show_default=False),
    ] = None,
    n_items: options.Items = None,
    n_users: Annotated[
        int | None,
        typer.Option(min=1, help="Users to be evaluated; with --ranks they are drawn anew."),
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Exact metric of the first, as a fraction.")
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="How much higher that of the second is.")
    ] = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    probability: options.Probability = defaults.PROBABILITY,
    largest: Annotated[
        int, typer.Option(min=1, help="Most negatives to look at.")
    ] = defaults.LARGEST,
    sampling: options.Sampling = Sampling.WITHOUT_REPLACEMENT,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Find how many negatives order two recommenders correctly.

    Either --ranks A B: for two recommenders whose full rankings are known, with the same users, or
    with --n-users as many users like them. Or --n-items N --n-users D --level L --effect E: for
    two recommenders with metrics L and L + E whose ranks are at most k with probability (k/n)^a;
    sampling cannot reverse such a pair, so this is the effort for chance alone.

    Keys: metric, estimator, n_negatives (null if more than largest), probability, at_largest (the
    probability there), largest, exact_a, exact_b, n_items, n_users, sampling.
    """
    from sampled_metrics.inference import plan as planning

    names = metric or list(defaults.METRICS[:1])
    if ranks is None:
        settings = _required(n_items, n_users, level, effect)
        groups = [([name], _assumed_pair(name, *settings, sampling)) for name in names]
    elif level is None and effect is None:
        groups = [(names, _known_pair(ranks, n_items, n_users, sampling))]
    else:
        raise InputError("--level and --effect cannot be combined with --ranks")
    results = [
        planned
        for metrics, pair in groups
        for planned in planning.plan(
            pair,
            metrics,
            estimator or defaults.ESTIMATORS,
            probability=probability,
            largest=largest,
        )
    ]
    note = (
        f"n_negatives: from there on the order is right with probability {probability:g}; "
        f"-: more than {results[0].largest:,}."
    )
    hidden = "probability largest n_items n_users sampling"
    emit([row_of(each) for each in results], form, output, note, hidden)


def _known_pair(
    paths: tuple[Path, Path], n_items: int | None, n_users: int | None, sampling: Sampling
) -> "Pair":
    """Read two recommenders with their true ranks, users paired if both files have ids."""
    from sampled_metrics.inference.compare import common_users
    from sampled_metrics.inference.plan import Pair
    from sampled_metrics.inference.population import Population
    from sampled_metrics.ranks import Ranks

    inputs.names(paths)
    a, b = (inputs.full_ranking(Ranks.read(path, n_items=n_items), path) for path in paths)
    rows = common_users(a.users, b.users)
    if rows is not None:
        a, b = a.take(rows[0]), b.take(rows[1])
    return Pair(
        Population.of_users(a),
        Population.of_users(b),
        n_users or min(len(a), len(b)),
        drawn=n_users is not None,
        paired=rows is not None,
        sampling=sampling,
    )


def _required(
    n_items: int | None, n_users: int | None, level: float | None, effect: float | None
) -> tuple[int, int, float, float]:
    options = {"--n-items": n_items, "--n-users": n_users, "--level": level, "--effect": effect}
    if n_items is None or n_users is None or level is None or effect is None:
        missing = next(name for name, value in options.items() if value is None)
        raise InputError(f"{missing} is missing; give --ranks A B, or {', '.join(options)}")
    if not effect > 0.0:
        raise InputError(f"--effect is {effect:g}; it must be above 0")
    return n_items, n_users, level, effect


def _assumed_pair(
    metric: str, n_items: int, n_users: int, level: float, effect: float, sampling: Sampling
) -> "Pair":
    """Assume two recommenders of a family with stated metrics."""
    from sampled_metrics.inference.plan import Pair, population_with
    from sampled_metrics.metrics.measures import parse_measure

    measure = parse_measure(metric)
    with reading("--level"):
        a = population_with(measure, level, n_items)
    with reading("--level plus --effect"):
        b = population_with(measure, level + effect, n_items)
    return Pair(a, b, n_users, drawn=True, sampling=sampling)
