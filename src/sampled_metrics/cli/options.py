"""Options that several commands share, and names of files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.cli.output import Format
from sampled_metrics.ranks import Sampling

Parsed = TypeVar("Parsed")


def option(metavar: str, text: str, *names: str, **settings: Any) -> Any:
    """Declare an option.

    Parameters
    ----------
    metavar
        Placeholder for the value in the help; "" for flags.
    text
        Help text.
    names
        Names, if they differ from that of the parameter.
    settings
        Further arguments of `typer.Option`.
    """
    return typer.Option(*names, help=text, metavar=metavar, **settings)


def argument(metavar: str, text: str, **settings: Any) -> Any:
    """Declare an argument; its help is shown with that of the command.

    It is hidden from typer's own list of arguments, which would show Python types.
    """
    return typer.Argument(help=text, metavar=metavar, hidden=True, **settings)


def _default_form(context: typer.Context, form: Format) -> Format:
    """Return the requested format; by default the format of the output file's suffix."""
    source = context.get_parameter_source("form")
    is_default = source is not None and source.name == "DEFAULT"
    output = context.params.get("output")
    if output is None or not is_default:
        return form
    suffix = Path(output).suffix.lower()
    return next((each for each in Format if suffix == f".{each}"), form)


# Data

_RANKS_HELP = (
    "Rank records (n_candidates, n_better, n_tied), exact ranks (rank), lists or scores, "
    "as CSV, parquet, TREC run, .npy or .npz."
)
RankPath = Annotated[Path, argument("FILE", _RANKS_HELP)]
RankPaths = Annotated[list[Path], argument("FILE", _RANKS_HELP)]
SampledPath = Annotated[
    Path,
    argument(
        "FILE",
        "Sampled ranks (a column sampled_rank, 1 to m + 1), or scores of held-out items and their "
        "negatives: .npy or .npz with --positive, a table of user_id, score and label, or lists or "
        "a TREC run with --relevant.",
    ),
]
Relevant = Annotated[
    Path | None,
    option("FILE", "Relevant or held-out items of lists and scores: qrels, or user_id, item_id."),
]
Seen = Annotated[
    Path | None,
    option("FILE", "Items seen in training, to exclude from lists and scores; or none."),
]
HeldOutPairs = Annotated[
    Path,
    option(
        "FILE",
        "Held-out items: a table of user_id and item_id, or qrels.",
        "--relevant",
        "--held-out",
    ),
]
SeenPairs = Annotated[
    Path,
    option(
        "FILE",
        "Items seen in training: a table of user_id and item_id; or none.",
        "--seen",
    ),
]
AllItems = Annotated[
    Path | None,
    option("FILE", "All items: a table with item_id, if some are in no other file.", "--items"),
]
ColumnRoles = Annotated[
    list[str] | None,
    option(
        "ROLE=NAME",
        "Role and name of a column, such as item=docno; repeat --column for several. "
        "`sampled-metrics columns` prints the roles, and the names that are known.",
        "--column",
    ),
]
Complete = Annotated[bool, option("", "Lists contain all candidates of their users.", "--complete")]
Missing = Annotated[
    str,
    option(
        "HOW",
        "Held-out items that are missing from the user's candidates, or have no score: refuse "
        "them, or rank them last.",
        "--missing",
    ),
]
MinRelevance = Annotated[
    float,
    option(
        "GRADE",
        "Least grade (qrels, column relevance or matrix) of an item that is relevant for metrics "
        "other than ndcg; by default any above 0.",
        min=0.0,
        show_default=False,
    ),
]
Positive = Annotated[
    int | None,
    option("COLUMN", "Column of held-out items in scores of them and their negatives; -1: last."),
]

# Sampling

Counts = Annotated[
    Path | None,
    option(
        "FILE",
        "For negatives by popularity: events of training (user_id, item_id), or item_id and count.",
        "--counts",
    ),
]
Power = Annotated[
    float,
    option("POWER", "With --counts: power of the counts by which negatives were drawn, 1 or 0.75."),
]
ItemsOfScores = Annotated[
    Path | None,
    option("FILE", "With --counts: ids of the items of scores, .npy of the same shape.", "--items"),
]
UsersOfScores = Annotated[
    Path | None,
    option("FILE", "With --counts: ids of the users of rows of scores, .npy.", "--users"),
]
Cluster = Annotated[
    str | None,
    option(
        "COLUMN",
        "With --counts: the column whose values rows share that have the same negatives or batch.",
        "--cluster",
    ),
]
NItems = Annotated[
    int | None,
    option(
        "N",
        "n: candidates of a full ranking, the held-out item included; by default the column "
        "n_candidates.",
        min=2,
    ),
]
_N_NEGATIVES_HELP = "m: negatives drawn per held-out item, the item itself not counted"
NNegatives = Annotated[int, option("M", f"{_N_NEGATIVES_HELP}.", min=1)]
NNegativesOfFile = Annotated[
    int | None, option("M", f"{_N_NEGATIVES_HELP}, if the file does not say.", min=1)
]
_SAMPLING_HELP = (
    "without-replacement (default), with-replacement, or distinct: with, duplicates dropped."
)


def parser_of(convert: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """Return a parser whose error says why a text is refused, with all versions of click.

    `convert` is a function or a class, such as `Sampling`, that raises InputError.
    """

    def parse(text: str) -> Parsed:
        try:
            return convert(text)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error

    return parse


_SAMPLING_SETTINGS: Any = {"parser": parser_of(Sampling), "show_default": False}
SamplingWay = Annotated[
    Sampling,
    option("WAY", f"How uniform negatives are drawn: {_SAMPLING_HELP}", **_SAMPLING_SETTINGS),
]
SamplingOfFile = Annotated[
    Sampling | None,
    option(
        "WAY",
        f"How uniform negatives were drawn, if not in the file: {_SAMPLING_HELP}",
        **_SAMPLING_SETTINGS,
    ),
]
Seed = Annotated[int, option("SEED", "Random seed.", min=0)]

# Results

MetricNames = Annotated[
    list[str] | None,
    option("NAMES", "Such as recall@10,ndcg@10; `sampled-metrics metrics` lists the names."),
]
EstimatorNames = Annotated[
    list[str] | None,
    option("NAMES", "Such as cls,bv:0.1: sampled, rank-estimate, cls, bv:GAMMA or em:ITERATIONS."),
]
Ties = Annotated[str, option("POLICY", "expected, random, optimistic or pessimistic.")]
ShapeName = Annotated[
    str,
    option(
        "SHAPE",
        "Assumption behind the range: non-increasing (no rank is likelier than a better one; for "
        "sampled ranks near the top only), a number such as 2 (no rank is more than twice as "
        "likely as a better one) or none. Sampled ranks cannot confirm it.",
    ),
]
PairCorrection = Annotated[str, option("METHOD", "For several pairs: none or holm.")]
MaxUnscored = Annotated[
    float, option("SHARE", "Largest share of users whose held-out item has no score.")
]
Confidence = Annotated[float, option("LEVEL", "Nominal coverage of intervals and ranges.")]

# Output

Explain = Annotated[bool, option("", "Print below a table how to read it.", "--explain")]
Form = Annotated[
    Format,
    option(
        "FORM",
        "table, json or csv; by default by the suffix of --output, or table.",
        "--format",
        callback=_default_form,
        show_default=False,
    ),
]
OutputPath = Annotated[Path | None, option("FILE", "File to write instead of printing.")]
PagePath = Annotated[Path, option("FILE", "File to write.", "--output")]


def parse_roles(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Return the names of columns by their roles, from texts such as item=docno."""
    if not texts:
        return None
    names_by_role: dict[str, str] = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not equals:
            raise InputError(
                f"--column {format_value(text)}; expected a role and a name, item=docno"
            )
        if role in names_by_role:
            raise InputError(
                f"--column {role} is {names_by_role[role]} and {name}; pass one of them"
            )
        names_by_role[role] = name
    return names_by_role


def short_names(paths: Sequence[Path]) -> dict[str, str]:
    """Return names of files without folders, by path; whole paths if two names are the same."""
    are_unique = len({path.name for path in paths}) == len(set(paths))
    return {str(path): path.name if are_unique else str(path) for path in paths}


def paths_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Name files by their stems without .sampled, or by their whole paths if two are the same.

    Examples
    --------
    >>> list(paths_by_name([Path("runs/X.sampled.parquet"), Path("runs/Y.csv")]))
    ['X', 'Y']
    >>> list(paths_by_name([Path("X.sampled.parquet"), Path("X.parquet")]))
    ['X.sampled.parquet', 'X.parquet']
    """
    stems = {path.stem.removesuffix(".sampled"): path for path in paths}
    return stems if len(stems) == len(paths) else {str(path): path for path in paths}


@contextmanager
def files_in_errors(paths: dict[str, Path]) -> Iterator[None]:
    """Name files instead of recommenders in errors; `paths` are those of the recommenders."""
    try:
        yield
    except InputError as error:
        error.path = paths.get(str(error.path), error.path)
        raise
