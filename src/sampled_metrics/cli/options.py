"""Options that several commands share, and names of files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.cli.output import Format
from sampled_metrics.ranks import Sampling as Drawn


def option(metavar: str, text: str, *names: str, **settings: Any) -> Any:
    """Return an option: placeholder of its value ("" for flags), help text, further names."""
    return typer.Option(*names, help=text, metavar=metavar, **settings)


def argument(metavar: str, text: str, **settings: Any) -> Any:
    """Return an argument: what stands for its value, and the help text, shown with the command.

    The list of arguments in the help of typer would name types of Python.
    """
    return typer.Argument(help=text, metavar=metavar, hidden=True, **settings)


def _by_suffix(context: typer.Context, form: Format) -> Format:
    """Return the format asked for, or else the one that the suffix of the output tells."""
    source, output = context.get_parameter_source("form"), context.params.get("output")
    if output is None or source is None or source.name != "DEFAULT":
        return form
    suffix = Path(output).suffix.lower()
    return next((by_name for by_name in Format if suffix == f".{by_name}"), form)


_RANKS = (
    "Rank records (n_candidates, n_better, n_tied), exact ranks (rank), lists or scores, "
    "as CSV, parquet, TREC run, .npy or .npz."
)
_SAMPLED = (
    "Sampled ranks (a column sampled_rank, 1 to m + 1), or scores of held-out items and their "
    "negatives: .npy or .npz with --positive, a table of user_id, score and label, or lists or a "
    "TREC run with --relevant."
)
_M = "m: negatives drawn, the held-out item not included"
_N = "n: candidates of a full ranking, the held-out item included; else the column n_candidates."
_METRICS = "Such as recall@10,ndcg@10; `sampled-metrics metrics` lists the names."
_ESTIMATORS = "Such as cls,bv:0.1: sampled, rank-estimate, cls, bv:GAMMA or em:ITERATIONS."
_POSITIVE = "Column of held-out items in scores of them and their negatives; -1 for the last."
_WAYS = "without-replacement (default), with-replacement, or distinct: with, duplicates dropped."
_KNOWN = f"How uniform negatives were drawn, if not in the file: {_WAYS}"
_WAY: Any = {"parser": Drawn, "show_default": False}
_SHAPE = (
    "Assumption behind the range: non-increasing (no rank is likelier than a better one; for "
    "sampled ranks near the top only), a number such as 2 (no rank is more than twice as likely as "
    "a better one) or none. Sampled ranks cannot confirm it."
)
_HELD_OUT = "Held-out items: a table of user_id and item_id, or qrels."
_SEEN = "Items seen in training, to exclude from lists and scores."
_ALL_ITEMS = "All items: a table with item_id, if some are in no other file."

SampledFile = Annotated[Path, argument("FILE", _SAMPLED)]
RankFile = Annotated[Path, argument("FILE", _RANKS)]
RankFiles = Annotated[list[Path], argument("FILE", _RANKS)]
Metrics = Annotated[list[str] | None, option("NAMES", _METRICS)]
Estimators = Annotated[list[str] | None, option("NAMES", _ESTIMATORS)]
Ties = Annotated[str, option("POLICY", "expected, random, optimistic or pessimistic.")]
Items = Annotated[int | None, option("N", _N, min=2)]
Negatives = Annotated[int, option("M", f"{_M}.", min=1)]
SampledNegatives = Annotated[int | None, option("M", f"{_M}, if the file does not say.", min=1)]
Positive = Annotated[int | None, option("COLUMN", _POSITIVE)]
KnownSampling = Annotated[Drawn | None, option("WAY", _KNOWN, **_WAY)]
Sampling = Annotated[Drawn, option("WAY", f"How uniform negatives are drawn: {_WAYS}", **_WAY)]
Relevant = Annotated[
    Path | None,
    option("FILE", "Relevant or held-out items of lists and scores: qrels, or user_id, item_id."),
]
HeldOut = Annotated[Path, option("FILE", _HELD_OUT, "--relevant", "--held-out")]
_LEAST = (
    "Least grade (qrels, column relevance or matrix) of an item that is relevant for metrics other "
    "than ndcg; by default any above 0."
)
MinRelevance = Annotated[float, option("GRADE", _LEAST, min=0.0, show_default=False)]
Complete = Annotated[bool, option("", "Lists hold all candidates of their users.", "--complete")]
Missing = Annotated[
    str,
    option("HOW", "What lists lack: refuse it, or count it as not found (last).", "--missing"),
]
Seen = Annotated[Path | None, option("FILE", _SEEN)]
SeenPairs = Annotated[
    Path, option("FILE", "Items seen in training: a table of user_id and item_id.", "--seen")
]
AllItems = Annotated[Path | None, option("FILE", _ALL_ITEMS, "--items")]
Shape = Annotated[str, option("SHAPE", _SHAPE)]
Correction = Annotated[str, option("METHOD", "For several pairs: none or holm.")]
Unscored = Annotated[
    float, option("SHARE", "Largest share of users whose held-out item has no score.")
]
Confidence = Annotated[
    float,
    option("LEVEL", "Nominal coverage of intervals and ranges."),
]
Seed = Annotated[int, option("SEED", "Random seed.", min=0)]
Explain = Annotated[bool, option("", "Say below a table how to read it.", "--explain")]
_FORM = "table, json or csv; by default by the suffix of --output, or table."
Form = Annotated[Format, option("FORM", _FORM, "--format", callback=_by_suffix, show_default=False)]
Output = Annotated[Path | None, option("FILE", "File to write instead of printing.")]
Page = Annotated[Path, option("FILE", "File to write.", "--output")]


_COLUMN = (
    "Role and name of a column, such as item=docno; several of them each with --column. "
    "`sampled-metrics columns` prints the roles, and the names that are known."
)
Columns = Annotated[list[str] | None, option("ROLE=NAME", _COLUMN, "--column")]


def names_by_role(given: Sequence[str] | None) -> dict[str, str] | None:
    """Return names of columns by their roles."""
    if not given:
        return None
    named: dict[str, str] = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not equals:
            raise InputError(
                f"--column {format_value(text)}; expected a role and a name, item=docno"
            )
        if role in named:
            raise InputError(f"--column {role} is {named[role]} and {name}; give one of them")
        named[role] = name
    return named


def short_names(paths: Sequence[Path]) -> dict[str, str]:
    """Names of files without their folders, by path, or paths if two have the same name."""
    are_unique = len({path.name for path in paths}) == len(set(paths))
    return {str(path): path.name if are_unique else str(path) for path in paths}


def by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Name files by their stems, or by their whole names if two have the same stem."""
    stems = {path.stem: path for path in paths}
    return stems if len(stems) == len(paths) else {str(path): path for path in paths}


@contextmanager
def naming_files(paths: dict[str, Path]) -> Iterator[None]:
    """Replace the name of a recommender by its file in errors."""
    try:
        yield
    except InputError as error:
        error.path = paths.get(str(error.path), error.path)
        raise
