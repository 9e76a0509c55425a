"""Commands for two recommenders or more: compare, plan."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import options, reading
from sampled_metrics.cli.output import Format, emit, row_of

if TYPE_CHECKING:
    from sampled_metrics.inference.plan import Pair

app = typer.Typer()


@app.command()
def compare(
    files: options.RankFiles,
    n_negatives: Annotated[
        int | None,
        typer.Option(
            help="m: negatives drawn, where the files hold sampled ranks.",
            min=1,
            show_default=False,
        ),
    ] = None,
    n_items: options.Items = None,
    metric: options.Metrics = None,
    estimator: options.Estimators = None,
    sampling: options.Sampling = options.WITHOUT,
    per_user: options.PerUser = False,
    ties: options.Ties = "expected",
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    confidence: options.Confidence = defaults.CONFIDENCE,
    seed: options.Seed = 0,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Say of every two recommenders which is better, and how sure that is.

    From full rankings, or with --n-negatives from sampled ranks. Users are paired where the files
    have the same user_id. With few negatives bias can decide the order of corrected estimates too;
    the verdict says so where the sampled ranks show it.

    Keys: a, b, metric, estimator, value_a, value_b, difference (b - a), std_error, ci_low, ci_high,
    probability (that the difference expected has the sign observed, bias apart), paired, n_users,
    n_items, n_negatives, sampling, verdict; values are fractions.
    """
    from sampled_metrics.inference import compare as comparison

    if len(files) < 2:
        raise InputError(f"one file ({files[0]}) to compare; allowed: two or more")
    if n_negatives is None and estimator:
        raise InputError("--estimator is of no use without --n-negatives; allowed: with both")
    names, metrics = reading.names(files), metric or defaults.METRICS
    rows = []
    if n_negatives is None:
        rankings = [reading.ranking(path, n_items, relevant, seen) for path in files]
        for i, j in combinations(range(len(files)), 2):
            with reading.errors_of(files[i], files[j]):
                rows += comparison.compare_exact(
                    rankings[i],
                    rankings[j],
                    metrics,
                    names=(names[i], names[j]),
                    ties=ties,
                    confidence=confidence,
                    seed=seed,
                )
    else:
        sampled = [
            reading.sampled(path, n_negatives, n_items, sampling, per_user) for path in files
        ]
        for i, j in combinations(range(len(files)), 2):
            rows += comparison.compare_sampled(
                sampled[i],
                sampled[j],
                metrics,
                estimator or defaults.ESTIMATORS,
                names=(names[i], names[j]),
                confidence=confidence,
            )
    hidden = "std_error paired n_users n_items n_negatives sampling verdict"
    verdicts = [
        f"{each.a}, {each.b}, {each.metric} {each.estimator}: {each.verdict}" for each in rows
    ]
    note = "\n".join([*verdicts, "", f"Fractions, b - a. {options.INTERVAL}"])
    emit([row_of(each) for each in rows], form, output, note, hidden)


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
    sampling: options.Sampling = options.WITHOUT,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Say how many negatives order two recommenders correctly.

    Either --ranks A B: of two recommenders whose full rankings are known, for the same users, or
    with --n-users for as many users like them. Or --n-items N --n-users D --level L --effect E: of
    two recommenders with metrics L and L + E whose ranks are at most k with probability
    (k/n)^a; sampling cannot reverse such two, so this is the effort for chance alone.

    Keys: metric, estimator, n_negatives (null if more than largest), probability, at_largest (the
    probability there), largest, exact_a, exact_b, n_items, n_users, sampling.
    """
    from sampled_metrics.inference import plan as planning

    metrics = metric or defaults.METRICS[:1]
    if ranks is not None:
        if level is not None or effect is not None:
            raise InputError("--level and --effect are of no use with --ranks; allowed: without it")
        groups = [(metrics, _known_pair(ranks, n_items, n_users, sampling))]
    else:
        assumed = _Assumed.checked(n_items, n_users, level, effect, sampling)
        groups = [([name], assumed.pair(name)) for name in metrics]
    found = [
        each
        for names, pair in groups
        for each in planning.plan(
            pair,
            names,
            estimator or defaults.ESTIMATORS,
            probability=probability,
            largest=largest,
        )
    ]
    note = (
        f"n_negatives: from there on the order is right with probability {probability:g}; "
        f"-: more than {found[0].largest:,}."
    )
    hidden = "probability largest n_items n_users sampling"
    emit([row_of(each) for each in found], form, output, note, hidden)


def _known_pair(
    paths: tuple[Path, Path], n_items: int | None, n_users: int | None, sampling: str
) -> "Pair":
    """Two recommenders with their true ranks, users matched where both files have them."""
    from sampled_metrics.inference.compare import common_users
    from sampled_metrics.inference.plan import Pair
    from sampled_metrics.inference.population import Population

    reading.names(paths)
    rankings = [reading.ranking(path, n_items) for path in paths]
    records = [reading.records(*each) for each in zip(paths, rankings, strict=True)]
    rows = common_users(rankings[0].users, rankings[1].users)
    if rows is not None:
        records = [each.take(of) for each, of in zip(records, rows, strict=True)]
    a, b = map(Population.of_users, records)
    users = n_users or min(map(len, records))
    return Pair(a, b, users, n_users is not None, rows is not None, sampling)


@dataclass(frozen=True)
class _Assumed:
    """Two recommenders of a family with stated metrics."""

    n_items: int
    n_users: int
    level: float
    effect: float
    sampling: str

    @classmethod
    def checked(
        cls,
        n_items: int | None,
        n_users: int | None,
        level: float | None,
        effect: float | None,
        sampling: str,
    ) -> "_Assumed":
        given = {"--n-items": n_items, "--n-users": n_users, "--level": level, "--effect": effect}
        missing = [name for name, value in given.items() if value is None]
        if n_items is None or n_users is None or level is None or effect is None:
            raise InputError(f"{missing[0]} is missing; give --ranks A B, or {', '.join(given)}")
        if not effect > 0.0:
            raise InputError(f"--effect is {effect:g}; allowed: above 0")
        return cls(n_items, n_users, level, effect, sampling)

    def pair(self, metric: str) -> "Pair":
        from sampled_metrics.inference.plan import Pair, population_with
        from sampled_metrics.metrics.measures import parse_measure

        levels = {"--level": self.level, "--level plus --effect": self.level + self.effect}
        populations = []
        for option, level in levels.items():
            try:
                found = population_with(parse_measure(metric), level, self.n_items)
            except InputError as error:
                raise InputError(f"{option}: {error}") from error
            populations.append(found)
        a, b = populations
        return Pair(a, b, self.n_users, drawn=True, sampling=self.sampling)
