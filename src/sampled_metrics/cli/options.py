"""Options that several commands share, so that the same thing has the same name everywhere."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics.cli.output import Format
from sampled_metrics.ranks import Sampling as Drawn

_RANKS = (
    "Rank records (n_candidates, n_better, n_tied), exact ranks (rank), lists or scores, "
    "as CSV, parquet, TREC run, .npy or .npz."
)


def parsed_by(*parsers: str) -> Callable[[list[str] | None], Any]:
    """Parse names by functions, one after the other, with errors that name the option."""

    def callback(names: list[str] | None) -> list[str] | None:
        if not names:
            return None
        try:
            for parser in parsers:
                names = list(map(str, _imported(parser)(names)))
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        if not names:
            raise typer.BadParameter("no name; expected at least one")
        return names

    return callback


def one_of(known: str) -> Callable[[str | None], str | None]:
    """Refuse names that are not in a tuple of the package."""

    def callback(name: str | None) -> str | None:
        if name is not None and name not in (names := _imported(known)):
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}")
        return name

    return callback


def number(is_valid: Callable[[float], bool], words: str) -> Callable[[float | None], Any]:
    """Refuse numbers that are not as the words say."""

    def callback(value: float | None) -> float | None:
        if value is not None and not is_valid(value):
            raise typer.BadParameter(f"{value:g} is not {words}")
        return value

    return callback


def _imported(name: str) -> Any:
    """Import a name such as `metrics.TIES` from the package, once its option is used."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"sampled_metrics.{module}"), attribute)


def _by_suffix(context: typer.Context, form: Format) -> Format:
    """Return the format asked for, or else that of the file to write, if its suffix tells."""
    source = context.get_parameter_source("form")
    output = context.params.get("output")
    if output is None or source is None or source.name != "DEFAULT":
        return form
    return next(
        (of_file for of_file in Format if Path(output).suffix.lower() == f".{of_file}"), form
    )


def _sampling(name: str) -> Drawn:
    try:
        return Drawn(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


SampledFile = Annotated[
    Path,
    typer.Argument(
        help="Sampled ranks (a column sampled_rank, 1 to m + 1), or scores of held-out items and "
        "their negatives: .npy or .npz with --positive, a table of user_id, score and label, or "
        "lists or a TREC run with --relevant."
    ),
]
RankFile = Annotated[Path, typer.Argument(help=_RANKS)]
RankFiles = Annotated[list[Path], typer.Argument(help=_RANKS)]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        help="Such as recall@10,ndcg@10; `sampled-metrics metrics` lists the names.",
        callback=parsed_by("metrics.parse_measures"),
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        help="sampled, rank-estimate, cls or bv:GAMMA; for comparison em:ITERATIONS, mes:GAMMA, "
        "bv-em:GAMMA or mn:ITERATIONS, fitted to the ranks. Several: cls,bv:0.1.",
        callback=parsed_by("estimators.parse_estimators"),
    ),
]
Ties = Annotated[
    str,
    typer.Option(
        help="expected, random, optimistic or pessimistic.", callback=one_of("metrics.TIES")
    ),
]
SampledTies = Annotated[
    str,
    typer.Option(
        help="Place among sampled ties: random, optimistic, pessimistic, paper.",
        callback=one_of("sampling.TIES"),
    ),
]
Items = Annotated[
    int | None,
    typer.Option(
        help="n: candidates of a full ranking, the held-out item included; else the column "
        "n_candidates.",
        min=2,
        max=MOST_ITEMS,
    ),
]
Negatives = Annotated[
    int, typer.Option(help="m: negatives drawn, the held-out item not included.", min=1)
]
SampledNegatives = Annotated[
    int | None,
    typer.Option(
        help="m: negatives drawn, the held-out item not included, if the file does not say.", min=1
    ),
]
Positive = Annotated[
    int | None,
    typer.Option(
        help="Column of the held-out items in scores of them and their negatives: 0 for the "
        "first, -1 for the last."
    ),
]
_DRAWN: Any = {"parser": _sampling, "metavar": f"[{'|'.join(Drawn)}]"}
KnownSampling = Annotated[
    Drawn | None,
    typer.Option(
        help="How uniform negatives were drawn, if the file does not say; by default "
        "without-replacement.",
        **_DRAWN,
    ),
]
_DISTINCT = "How uniform negatives are drawn; distinct: with replacement, duplicates dropped."
Sampling = Annotated[Drawn, typer.Option(help=_DISTINCT, **_DRAWN)]
Relevant = Annotated[
    Path | None,
    typer.Option(
        help="Relevant or held-out items of lists and scores: qrels, or user_id and item_id."
    ),
]
_HELD_OUT = "Held-out items: a table of user_id and item_id, or qrels."
HeldOut = Annotated[Path, typer.Option("--relevant", "--held-out", help=_HELD_OUT)]
Complete = Annotated[
    bool, typer.Option("--complete", help="Lists hold all candidates of their users.")
]
MinGrade = Annotated[
    float,
    typer.Option(
        help="Least grade (qrels, or a column relevance) that makes an item relevant; by default "
        "any above 0. NDCG takes all grades as gains.",
        min=0.0,
        show_default=False,
    ),
]
Seen = Annotated[
    Path | None, typer.Option(help="Items seen in training, no candidates of lists and scores.")
]
Shape = Annotated[
    str,
    typer.Option(
        help="Assumption behind the range: non-increasing (no rank is likelier than the one before "
        "it) or none. Sampled ranks cannot confirm it.",
        callback=one_of("inference.kernels.SHAPES"),
    ),
]
Correction = Annotated[
    str,
    typer.Option(
        help="For several pairs: none, bonferroni, holm or bh.",
        callback=one_of("_base.p_values.CORRECTIONS"),
    ),
]
Test = Annotated[
    str | None,
    typer.Option(
        help="Print the p-value of a test of full rankings: t, wilcoxon or permutation.",
        callback=one_of("inference.significance.TESTS"),
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        help="Nominal coverage of intervals and ranges.",
        callback=number(lambda share: 0.0 < share < 1.0, "between 0 and 1"),
    ),
]
Probability = Annotated[
    float,
    typer.Option(
        help="Wanted probability of the right order.",
        callback=number(lambda share: 0.5 <= share < 1.0, "from 0.5 to below 1"),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")]
Form = Annotated[
    Format,
    typer.Option(
        "--format", help="How to print; by default by the suffix of --output.", callback=_by_suffix
    ),
]
Output = Annotated[
    Path | None, typer.Option(help="File to write instead of printing.", is_eager=True)
]
Population = Annotated[
    str | None,
    typer.Option(
        help="Print the bias for a stated distribution of true ranks: uniform, or a file of exact "
        "ranks or rank records."
    ),
]
PerUser = Annotated[
    bool, typer.Option(help="Correct each row for its own n_candidates, not for their mean.")
]
