"""Options that several commands share, so that one thing has one name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sampled_metrics._base.errors import InputError
from sampled_metrics.cli.output import Format

RANKS = (
    "Rank records (n_candidates, n_better, n_tied), exact ranks (rank), lists or scores, "
    "as CSV, parquet, TREC run, .npy or .npz."
)
WITHOUT = "without-replacement"
INTERVAL = "The interval covers the variation over users and over the drawn negatives, not bias."
MOST_ITEMS = 10**9


def _each(parse: Callable[[str], object], texts: Sequence[str] | None) -> Sequence[str] | None:
    """Refuse the first text that cannot be parsed, so that the option is named and no file."""
    try:
        for text in texts or ():
            parse(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    return texts


def _metrics(names: list[str] | None) -> Any:
    from sampled_metrics.metrics.measures import parse_measure

    return _each(parse_measure, names)


def _estimators(names: list[str] | None) -> Any:
    from sampled_metrics.estimators import parse_estimator

    return _each(parse_estimator, names)


def _sampling(name: str) -> str:
    from sampled_metrics.ranks.sampling import Sampling

    return _one_of(tuple(Sampling), name)


def _ties(name: str) -> str:
    from sampled_metrics.metrics.ties import POLICIES

    return _one_of(POLICIES, name)


def _sampled_ties(name: str) -> str:
    from sampled_metrics.sampling import TIES

    return _one_of(TIES, name)


def _one_of(known: Sequence[str], name: str) -> str:
    if name not in known:
        raise typer.BadParameter(f"{name!r}; allowed: {', '.join(known)}")
    return name


def _confidence(value: float) -> float:
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"{value:g}; allowed: above 0 and below 1")
    return value


def _probability(value: float) -> float:
    if not 0.5 <= value < 1.0:
        raise typer.BadParameter(f"{value:g}; allowed: from 0.5 to below 1")
    return value


SampledFile = Annotated[
    Path, typer.Argument(help="Sampled ranks: a column sampled_rank, 1 to m + 1.")
]
RankFile = Annotated[Path, typer.Argument(help=RANKS, show_default=False)]
RankFiles = Annotated[list[Path], typer.Argument(help=RANKS, show_default=False)]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Such as recall@10; repeat for several.",
        callback=_metrics,
        show_default=False,
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        help="sampled, rank-estimate, cls or bv:GAMMA; repeat for several.",
        callback=_estimators,
        show_default=False,
    ),
]
Ties = Annotated[
    str, typer.Option(help="expected, random, optimistic or pessimistic.", callback=_ties)
]
SampledTies = Annotated[
    str,
    typer.Option(
        "--ties",
        help="Place among sampled ties: random, optimistic, pessimistic, paper.",
        callback=_sampled_ties,
    ),
]
Items = Annotated[
    int | None,
    typer.Option(
        help="n: candidates of a full ranking, the held-out item included; else the column "
        "n_candidates.",
        min=2,
        max=MOST_ITEMS,
        show_default=False,
    ),
]
Negatives = Annotated[
    int, typer.Option(help="m: negatives drawn, the held-out item not included.", min=1)
]
Sampling = Annotated[
    str,
    typer.Option(
        help="without-replacement, with-replacement, or distinct (with replacement, duplicates "
        "collapsed).",
        callback=_sampling,
    ),
]
Relevant = Annotated[
    Path | None,
    typer.Option(
        help="Relevant or held-out items of lists and scores: qrels, or user_id and item_id.",
        show_default=False,
    ),
]
Seen = Annotated[
    Path | None,
    typer.Option(help="Items seen in training, no candidates of scores.", show_default=False),
]
Confidence = Annotated[
    float, typer.Option(help="Nominal coverage of the intervals.", callback=_confidence)
]
Probability = Annotated[
    float, typer.Option(help="Wanted, of the right order.", callback=_probability)
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")]
Form = Annotated[Format, typer.Option("--format", help="How to print.")]
Output = Annotated[
    Path | None, typer.Option(help="File to write instead of printing.", show_default=False)
]
Population = Annotated[
    str | None,
    typer.Option(
        help="Print the bias if true ranks were distributed as stated: uniform, or a file of "
        "exact ranks or rank records.",
        show_default=False,
    ),
]
PerUser = Annotated[
    bool, typer.Option(help="Correct each row for its own n_candidates, not for their mean.")
]
