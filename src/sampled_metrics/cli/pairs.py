"""Commands for two recommenders or more: compare, plan."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import inputs, options
from sampled_metrics.cli.output import Format, emit_results
from sampled_metrics.ranks import Sampling

if TYPE_CHECKING:
    from sampled_metrics.inference.pair import Pair

app = typer.Typer()


@app.command("compare")
def compare_files(
    files: options.RankFiles,
    n_negatives: options.SampledNegatives = None,
    n_items: options.Items = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    positive: options.Positive = None,
    sampling: options.KnownSampling = None,
    per_user: options.PerUser = False,
    ties: Annotated[
        str | None,
        typer.Option(
            help="As for evaluate, of full rankings, by default expected; as for correct, of "
            "scores among negatives, by default random.",
            callback=options.one_of("metrics.TIES"),
        ),
    ] = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    min_grade: options.MinGrade = 0.0,
    complete: options.Complete = False,
    shape: options.Shape = defaults.SHAPE,
    test: options.Test = None,
    correction: options.Correction = "holm",
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Compare recommenders in pairs: which has the higher exact metric, if that can be told.

    From full rankings, or from sampled ranks or scores of held-out items and their negatives, which
    --n-negatives, --positive or a column sampled_rank or label tell. From those the order is that
    of the exact metrics and decided if the range of their difference excludes 0; the estimates
    beside it may be ordered otherwise. Users are paired if the files have the same user_id, which
    decides most if all recommenders ranked the same negatives.

    Keys: a, b, metric, estimator, value_a, value_b, difference (b - a), std_error, ci_low, ci_high,
    range_low, range_high, order (a, b or undecided), p_value, behaves_like, verdict, paired,
    n_users, n_items, n_negatives, sampling; values are fractions.
    """
    if len(files) < 2:
        raise InputError("the only file; compare needs two or more", path=files[0])
    from sampled_metrics.inference.compare import compare

    names = inputs.names(files)
    with inputs.naming_files(names, files):
        results = compare(
            dict(zip(names, files, strict=True)),
            metric or defaults.METRICS,
            estimator,
            relevant=relevant,
            seen=seen,
            n_items=n_items,
            min_grade=min_grade,
            complete=complete,
            positive=positive,
            n_negatives=n_negatives,
            sampling=sampling,
            ties=ties,
            shape=shape,
            per_user=per_user,
            test=test,
            correction=correction,
            confidence=confidence,
            seed=seed,
        )
    emit_results(results, form, output)


@app.command()
def plan(
    ranks: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Exact ranks of two recommenders.")
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
    shape: options.Shape = defaults.SHAPE,
    confidence: options.Confidence = defaults.CONFIDENCE,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Find how many negatives order two recommenders correctly.

    Estimator range: until the range of the exact difference excludes 0, which can be seen from the
    sampled ranks alone. The others: until the estimates are ordered as the exact metrics are, which
    cannot be seen.

    Either --ranks A B: for two recommenders whose full rankings are known, with the same users, or
    with --n-users as many users like them. Or --n-items N --n-users D --level L --effect E: for two
    recommenders with metrics L and L + E, the worst of two families of rank distributions, members
    of which cross (P(rank <= k) = (k/n)^a, and such distributions mixed with a random order).

    Keys: metric, estimator, n_negatives (null if more than largest), probability, at_largest (the
    probability there), largest, exact_a, exact_b, n_items, n_users, sampling.
    """
    from sampled_metrics.inference import plan as planning
    from sampled_metrics.inference import printed
    from sampled_metrics.inference.assumed import assumed_pairs
    from sampled_metrics.inference.results import Results
    from sampled_metrics.metrics.measures import parse_measure

    names = metric or list(defaults.METRICS[:1])
    if ranks is None:
        n, users, low, more = _required(n_items, n_users, level, effect)
        groups = [
            ([name], assumed_pairs(parse_measure(name), low, more, n, users, sampling))
            for name in names
        ]
        assumed = "the worst of assumed distributions of ranks, which may cross"
    elif level is None and effect is None:
        groups = [(names, [_known_pair(ranks, n_items, n_users, sampling)])]
        assumed = "true ranks as in the two files"
    else:
        raise InputError("--level and --effect cannot be combined with --ranks")
    results = [
        planned
        for metrics, pairs in groups
        for planned in planning.plan(
            pairs,
            metrics,
            estimator or defaults.ESTIMATORS,
            shape=shape,
            confidence=confidence,
            probability=probability,
            largest=largest,
        )
    ]
    show = partial(printed.planned, largest=largest, shape=shape, assumed=assumed)
    emit_results(Results(results, show), form, output)


def _known_pair(
    paths: tuple[Path, Path], n_items: int | None, n_users: int | None, sampling: Sampling
) -> "Pair":
    """Read two recommenders with their true ranks, users paired if both files have ids."""
    from sampled_metrics.inference.pair import Pair
    from sampled_metrics.inference.pairing import common_users
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
