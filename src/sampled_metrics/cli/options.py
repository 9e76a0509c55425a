"""Options that several commands share, and the files of ranks as commands need them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.cli.output import Format
from sampled_metrics.ranks import Sampling as Drawn

if TYPE_CHECKING:
    from sampled_metrics.ranks import Ranks


def option(*names: str, **settings: Any) -> Any:
    """Return an option; the help text comes last, the names before it."""
    return typer.Option(*names[:-1], help=names[-1], **settings)


def _by_suffix(context: typer.Context, form: Format) -> Format:
    """Return the format asked for, or else that of the file to write, if its suffix tells."""
    source, output = context.get_parameter_source("form"), context.params.get("output")
    if output is None or source is None or source.name != "DEFAULT":
        return form
    suffix = Path(output).suffix.lower()
    return next((by_name for by_name in Format if suffix == f".{by_name}"), form)


def _known_suffix(context: typer.Context, output: Path | None) -> Path | None:
    """Return the file to write, or raise InputError unless its suffix is one that is written."""
    known = _PAGES if context.command.name == "report" else _RESULTS
    if context.command.name in _TABLES:
        known = (*known, ".parquet")
    if output is not None and Path(output).suffix.lower() not in ("", *known):
        suffix = Path(output).suffix
        raise InputError(f"unknown suffix {suffix}; known: {', '.join(known)}", path=output)
    return output


_RESULTS, _PAGES = (".csv", ".json", ".table", ".txt"), (".html", ".htm")
_TABLES = ("sample", "negatives", "ask")
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
_KNOWN = "How uniform negatives were drawn, if not in the file; default: without-replacement."
_DISTINCT = "How uniform negatives are drawn; distinct: with replacement, duplicates dropped."
_DRAWN: Any = {"parser": Drawn, "metavar": f"[{'|'.join(Drawn)}]"}
_SHAPE = (
    "Assumption behind the range: non-increasing (no rank is likelier than the one before it; for "
    "sampled ranks near the top only) or none. Sampled ranks cannot confirm it."
)
_HELD_OUT = "Held-out items: a table of user_id and item_id, or qrels."

SampledFile = Annotated[Path, typer.Argument(help=_SAMPLED)]
RankFile = Annotated[Path, typer.Argument(help=_RANKS)]
RankFiles = Annotated[list[Path], typer.Argument(help=_RANKS)]
Metrics = Annotated[list[str] | None, option(_METRICS)]
Estimators = Annotated[list[str] | None, option(_ESTIMATORS)]
Ties = Annotated[str, option("expected, random, optimistic or pessimistic.")]
Items = Annotated[int | None, option(_N, min=2, max=MOST_ITEMS)]
Negatives = Annotated[int, option(f"{_M}.", min=1)]
SampledNegatives = Annotated[int | None, option(f"{_M}, if the file does not say.", min=1)]
Positive = Annotated[int | None, option(_POSITIVE)]
KnownSampling = Annotated[Drawn | None, option(_KNOWN, **_DRAWN)]
Sampling = Annotated[Drawn, option(_DISTINCT, **_DRAWN)]
Relevant = Annotated[
    Path | None,
    option("Relevant or held-out items of lists and scores: qrels, or user_id and item_id."),
]
HeldOut = Annotated[Path, option("--relevant", "--held-out", _HELD_OUT)]
Complete = Annotated[bool, option("--complete", "Lists hold all candidates of their users.")]
Seen = Annotated[Path | None, option("Items seen in training, no candidates of lists and scores.")]
SeenPairs = Annotated[
    Path, option("--seen", "Items seen in training: a table of user_id and item_id.")
]
AllItems = Annotated[
    Path | None,
    option("--items", "All items: a table with item_id, if some are in no other file."),
]
Shape = Annotated[str, option(_SHAPE)]
Correction = Annotated[str, option("For several pairs: none or holm.")]
Confidence = Annotated[float, option("Nominal coverage of intervals and ranges.")]
Seed = Annotated[int, option("Seed of what is drawn.", min=0)]
Form = Annotated[
    Format,
    option("--format", "How to print; by default by the suffix of --output.", callback=_by_suffix),
]
_FILE: Any = {"is_eager": True, "callback": _known_suffix}
Output = Annotated[Path | None, option("File to write instead of printing.", **_FILE)]
Page = Annotated[Path, option("--output", "File to write.", **_FILE)]


def full_ranking(ranks: "Ranks", path: Path, n_negatives: int = 1) -> "Ranks":
    """Return ranks read from a file if each user has one item among more than m candidates."""
    with reading(path):
        single = ranks.single()
        few = single.n_candidates <= n_negatives
        if few.any():
            n = int(single.n_candidates[few].min())
            raise InputError(f"a ranking has {n} candidates; {n_negatives} negatives need more")
        return single


def by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Name files by their stems, or by their whole names if two have the same stem."""
    duplicate = next((path for path in paths if paths.count(path) > 1), None)
    if duplicate is not None:
        raise InputError("the same file twice; give different ones", path=duplicate)
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
