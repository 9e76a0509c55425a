"""Commands that draw sampled ranks and negatives, and that list metrics and columns."""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sampled_metrics._base.calls import place_of
from sampled_metrics._base.defaults import MAX_REPETITIONS, MAX_ROWS
from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import options
from sampled_metrics.cli.output import (
    Format,
    emit,
    emit_columns,
    emit_parts,
    emit_results,
    report_written,
)
from sampled_metrics.ranks import Design, Sampling

if TYPE_CHECKING:
    from sampled_metrics.ranks import Ranks

LONGEST_LINE = 36  # letters in a cell
NOT_SOUND = 1  # exit status of `check-negatives`
_COUNTS_HELP = "Popularity of items: a table of events (user_id, item_id), or of item_id and count"
draws_app = typer.Typer()


@draws_app.command(
    epilog="Example: sampled-metrics sample ranks.parquet --n-negatives 100 --output sampled.csv"
)
def sample(
    file: options.RankPath,
    n_negatives: options.NNegatives,
    repetitions: Annotated[
        int, options.option("TIMES", "How often to sample.", min=1, max=MAX_REPETITIONS)
    ] = 1,
    seed: options.Seed = 0,
    sampling: options.SamplingWay = Sampling.WITHOUT_REPLACEMENT,
    ties: Annotated[
        str, options.option("POLICY", "random, optimistic, pessimistic or paper.")
    ] = "random",
    n_items: options.NItems = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    complete: options.Complete = False,
    column: options.ColumnRoles = None,
    form: options.Form = Format.CSV,
    output: options.OutputPath = None,
) -> None:
    """Draw sampled ranks from full rankings.

    Rankings are exact ranks, or scores: a matrix with --relevant, or a table of user_id, item_id
    and score of all candidates with --relevant and --complete. Each held-out item of a user has a
    row of its own; its negatives may include the others.

    Keys: repetition (from 0), user_id (if the file has it; with --repetitions else the row from 1),
    visit_id (if users have several visits), item_id (if users have several held-out items, running
    numbers from 0), n_candidates, n_negatives, sampling, sampled_rank.
    """
    from sampled_metrics._base.random_streams import generator
    from sampled_metrics.read.options import as_ranks
    from sampled_metrics.sampling import draw_sampled_ranks

    ranks = as_ranks(
        file,
        n_items=n_items,
        relevant=relevant,
        seen=seen,
        complete=complete,
        columns=options.parse_roles(column),
    )
    if not ranks.is_complete:
        raise InputError(
            "the lists may be cut off; if they contain all candidates, pass --complete", path=file
        )
    ranks_without_grades = ranks.binary
    ranks_by_item = _by_item(ranks_without_grades)
    if repetitions * len(ranks_by_item) > MAX_ROWS:
        raise InputError(
            f"--repetitions: {repetitions:,} repetitions of {len(ranks_by_item):,} ranks are more "
            f"than {MAX_ROWS:,} rows; sample fewer"
        )
    generators = [generator(seed, "sample", repetition) for repetition in range(repetitions)]
    with place_of(file):
        sampled_ranks = draw_sampled_ranks(ranks_by_item, n_negatives, generators, sampling, ties)
    columns = {
        **_columns_of_items(ranks_without_grades, repetitions),
        "n_negatives": n_negatives,
        "sampling": str(sampling),
        "sampled_rank": sampled_ranks.ravel(),
    }
    emit_columns(columns, form, output)
    report_written(output, sampled_ranks.size, "row")


def _columns_of_items(ranks: "Ranks", repetitions: int) -> dict[str, Any]:
    """Return columns that say of which repetition, user, visit and held-out item a row is.

    Rows are held-out items, repetition by repetition.
    """
    import numpy as np

    from sampled_metrics._base.arrays import concatenate_ranges
    from sampled_metrics.read.roles import USER, VISIT

    n_held_out = int(ranks.n_found.sum())
    columns: dict[str, Any] = {}
    users = ranks.users
    if users is None and repetitions > 1:
        # Without ids, corrections would count each repetition as another user.
        users = np.arange(1, len(ranks) + 1)
    if users is not None:
        columns[USER] = np.repeat(users, ranks.n_found)
    if ranks.visits is not None:
        columns[VISIT] = np.repeat(ranks.visits, ranks.n_found)
    if n_held_out > len(ranks):
        columns["item_id"] = concatenate_ranges(0, ranks.n_found)
    columns["n_candidates"] = np.repeat(ranks.n_candidates, ranks.n_found)
    repeated = {name: np.tile(column, repetitions) for name, column in columns.items()}
    return {"repetition": np.repeat(np.arange(repetitions), n_held_out), **repeated}


def _by_item(ranks: "Ranks") -> "Ranks":
    """Return ranks in which each held-out item is a separate user."""
    if ranks.is_single:
        return ranks
    n_candidates = ranks.n_candidates.repeat(ranks.n_found)
    return type(ranks)(n_candidates, ranks.n_better, ranks.n_tied, source=ranks.source)


@draws_app.command(
    epilog="Example: sampled-metrics negatives --seen train.csv --relevant test.csv "
    "--n-negatives 100 --output negatives.csv"
)
def negatives(
    relevant: options.HeldOutPairs,
    seen: options.SeenPairs,
    n_negatives: options.NNegatives,
    items: options.AllItems = None,
    design: Annotated[
        Design,
        options.option(
            "DESIGN",
            "uniform (default); popularity, by the counts of items; or half, half by popularity "
            "and half uniform.",
            parser=options.parser_of(Design),
            show_default=False,
        ),
    ] = Design.UNIFORM,
    counts: Annotated[
        Path | None, options.option("FILE", f"{_COUNTS_HELP}; by default the events of --seen.")
    ] = None,
    seed: options.Seed = 0,
    column: options.ColumnRoles = None,
    form: options.Form = Format.CSV,
    output: options.OutputPath = None,
) -> None:
    """Draw negatives for each user, without replacement.

    Seen and held-out items are never drawn. The same seed gives the same negatives, so that all
    recommenders can be ranked against them; add the held-out item of the user before scoring.
    Metrics among negatives that are not uniform need `correct --counts`.

    Keys: user_id, item_id, a row for each negative.
    """
    from sampled_metrics.evaluation.negatives import negatives

    table = negatives(
        relevant,
        seen,
        n_negatives,
        items=items,
        design=design,
        counts=counts,
        seed=seed,
        columns=options.parse_roles(column),
    )
    emit_columns({name: table[name] for name in table}, form, output)
    report_written(output, len(table), "negative")


@draws_app.command(
    "check-negatives",
    epilog="Example: sampled-metrics check-negatives negatives.csv --seen train.csv "
    "--relevant test.csv",
)
def check_negatives(
    file: Annotated[Path, options.argument("FILE", "Negatives: a table of user_id and item_id.")],
    relevant: options.HeldOutPairs,
    seen: options.SeenPairs,
    items: options.AllItems = None,
    counts: Annotated[
        Path | None, options.option("FILE", f"{_COUNTS_HELP}, if they may be drawn by it.")
    ] = None,
    column: options.ColumnRoles = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Check that negatives are uniform and unseen.

    Looks for held-out items, seen items and duplicates among them, and tests whether all items are
    drawn equally often; with --counts also whether items of the same popularity are.

    Keys: name, passed, found, expected, p_value (of uniformity and evenness), remark, notes. Exit
    status 1 if any fails; with --counts, negatives need not be uniform.
    """
    from sampled_metrics.evaluation.negatives import check_negatives
    from sampled_metrics.sampling.negatives import are_sound

    checks = check_negatives(
        file, relevant, seen, items=items, counts=counts, columns=options.parse_roles(column)
    )
    emit_results(checks, form, output, explain)
    if not are_sound(checks):
        raise typer.Exit(NOT_SOUND)


def _divide_row(row: dict[str, str], column: str) -> list[dict[str, str]]:
    """Divide a row into several if its cell of a column is long; no name is broken.

    All other cells of further rows are empty.
    """
    names = row[column]
    lines = wrap(names, LONGEST_LINE, break_long_words=False, break_on_hyphens=False) or [""]
    first_line, *further_lines = lines
    empty_row = dict.fromkeys(row, "")
    return [{**row, column: first_line}, *({**empty_row, column: line} for line in further_lines)]


@draws_app.command(epilog="Example: sampled-metrics metrics")
def metrics(
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Print the metrics, and their names in other libraries.

    Names may be in upper or lower case, with _ for -, and with a cut-off as @10, _10 or -10.

    Keys: library, theirs, ours, note; library is sampled-metrics for our own names, and
    theirs lists their synonyms.
    """
    from sampled_metrics._base.text import Explanation
    from sampled_metrics.metrics.measures import synonyms

    rows = _metric_names() + synonyms()
    if form is Format.TABLE:
        notes = [f"{row['library']} {row['theirs']}: {row['note']}." for row in rows if row["note"]]
        table = []
        for row in rows:
            shown = {name: row[name] for name in ("library", "theirs", "ours")}
            table += _divide_row(shown, "theirs")
        emit_parts([table, Explanation("\n".join(notes))], output, explain)
    else:
        emit(rows, form, output)


@draws_app.command(epilog="Example: sampled-metrics columns")
def columns(
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.OutputPath = None,
) -> None:
    """Print the columns of tables, and their other names.

    Names may be in upper or lower case, with _, - or a blank between words. If a table has several
    names of a column, the first in this list is read. Results list the columns that were not read.

    Keys: column, names (joined by commas), holds (what is in the column).
    """
    from sampled_metrics._base.text import Explanation
    from sampled_metrics.read.roles import ROLES

    if form is Format.TABLE:
        table = []
        for name, role in ROLES.items():
            row = {"column": name, "other names": ", ".join(role.aliases)}
            table += _divide_row(row, "other names")
        meanings = "\n".join(f"{name}: {role.holds}." for name, role in ROLES.items())
        emit_parts([table, Explanation(meanings)], output, explain)
    else:
        rows = [
            {"column": name, "names": ", ".join(role.aliases), "holds": role.holds}
            for name, role in ROLES.items()
        ]
        emit(rows, form, output)


def _metric_names() -> list[dict[str, str]]:
    """Return a row for each of our metrics, with its synonyms."""
    from sampled_metrics.metrics.measures import REGISTERED_METRICS, known_measures

    rows = []
    for name in known_measures(any_bounds=True):  # such as recall@k and fBETA@k
        registered_name = name.partition("@")[0].removesuffix("BETA")
        synonyms = ", ".join(REGISTERED_METRICS[registered_name].aliases)
        rows.append({"library": "sampled-metrics", "theirs": synonyms, "ours": name, "note": ""})
    return rows
