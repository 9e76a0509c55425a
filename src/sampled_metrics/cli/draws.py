"""Commands for sampled ranks and negatives, and names of metrics and of columns."""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base.defaults import MAX_REPETITIONS, MAX_ROWS
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, emit, emit_columns, emit_parts, emit_results, wrote
from sampled_metrics.ranks import Sampling

if TYPE_CHECKING:
    from sampled_metrics.ranks import Ranks

LONGEST = 36  # letters in a line of a cell
NOT_SOUND = 1  # exit status of `check-negatives`
app = typer.Typer()


@app.command(
    epilog="Example: sampled-metrics sample ranks.parquet --n-negatives 100 --output sampled.csv"
)
def sample(
    file: options.RankFile,
    n_negatives: options.Negatives,
    repetitions: Annotated[
        int, options.option("TIMES", "How often to sample.", min=1, max=MAX_REPETITIONS)
    ] = 1,
    seed: options.Seed = 0,
    sampling: options.Sampling = Sampling.WITHOUT_REPLACEMENT,
    ties: Annotated[
        str, options.option("POLICY", "random, optimistic, pessimistic or paper.")
    ] = "random",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    complete: options.Complete = False,
    column: options.Columns = None,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw sampled ranks from full rankings.

    Rankings are exact ranks, or scores: a matrix with --relevant, or a table of user_id, item_id
    and score of all candidates with --relevant and --complete. Several held-out items of a user
    are a row each; the negatives of one may include another.

    Keys: repetition (from 0), user_id (if the file has it; with --repetitions else the row from 1),
    visit_id (if users have several visits), item_id (if users have several held-out items, running
    numbers from 0), n_candidates, n_negatives, sampling, sampled_rank.
    """
    import numpy as np

    from sampled_metrics._base.arrays import concatenate_ranges
    from sampled_metrics._base.random_streams import generator
    from sampled_metrics.inputs.roles import USER, VISIT
    from sampled_metrics.ranks.data import as_ranks
    from sampled_metrics.sampling import draw_sampled_ranks

    ranks = as_ranks(
        file,
        n_items=n_items,
        relevant=relevant,
        seen=seen,
        complete=complete,
        columns=options.names_by_role(column),
    )
    if not ranks.is_complete:
        problem = "the lists may be cut off; if they hold all candidates, give --complete"
        raise InputError(problem, path=file)
    ranks = ranks.binary
    items = _by_item(ranks)
    if repetitions * len(items) > MAX_ROWS:
        rows = f"{repetitions:,} repetitions of {len(items):,} ranks"
        raise InputError(f"--repetitions: {rows} are more than {MAX_ROWS:,} rows; sample fewer")
    generators = [generator(seed, "sample", repetition) for repetition in range(repetitions)]
    with reading(file):
        drawn = draw_sampled_ranks(items, n_negatives, generators, sampling, ties)
    columns = {"repetition": np.repeat(np.arange(repetitions), len(items))}
    users = ranks.users
    if users is None and repetitions > 1:
        # Without ids, corrections would take each repetition for another user.
        users = np.arange(1, len(ranks) + 1)
    if users is not None:
        columns[USER] = np.tile(np.repeat(users, ranks.n_found), repetitions)
    if ranks.visits is not None:
        columns[VISIT] = np.tile(np.repeat(ranks.visits, ranks.n_found), repetitions)
    if len(items) > len(ranks):
        columns["item_id"] = np.tile(concatenate_ranges(0, ranks.n_found), repetitions)
    columns["n_candidates"] = np.tile(items.n_candidates, repetitions)
    rest = {"n_negatives": n_negatives, "sampling": str(sampling), "sampled_rank": drawn.ravel()}
    emit_columns(columns | rest, form, output)
    wrote(output, drawn.size, "row")


def _by_item(ranks: "Ranks") -> "Ranks":
    """Return ranks with each held-out item as a user of its own."""
    if ranks.is_single:
        return ranks
    n_candidates = ranks.n_candidates.repeat(ranks.n_found)
    return type(ranks)(
        n_candidates, ranks.n_better, ranks.n_tied, source=ranks.source, is_checked=True
    )


@app.command(
    epilog="Example: sampled-metrics negatives --seen train.csv --relevant test.csv "
    "--n-negatives 100 --output negatives.csv"
)
def negatives(
    relevant: options.HeldOut,
    seen: options.SeenPairs,
    n_negatives: options.Negatives,
    items: options.AllItems = None,
    seed: options.Seed = 0,
    column: options.Columns = None,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw negatives for each user, without replacement.

    Seen and held-out items are no negatives. The same seed gives the same negatives, so that all
    recommenders can be ranked against them; add the held-out item of the user before scoring.

    Keys: user_id, item_id, a row for each negative.
    """
    from sampled_metrics.evaluation.negatives import negatives

    drawn = negatives(
        relevant, seen, n_negatives, items=items, seed=seed, columns=options.names_by_role(column)
    )
    emit_columns({name: drawn[name] for name in drawn}, form, output)
    wrote(output, len(drawn["item_id"]), "negative")


@app.command(
    "check-negatives",
    epilog="Example: sampled-metrics check-negatives negatives.csv --seen train.csv "
    "--relevant test.csv",
)
def check_negatives(
    file: Annotated[Path, options.argument("FILE", "Negatives: a table of user_id and item_id.")],
    relevant: options.HeldOut,
    seen: options.SeenPairs,
    items: options.AllItems = None,
    column: options.Columns = None,
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Check that negatives are uniform and unseen.

    Looks for held-out items, seen items and duplicates among them, and tests whether all items are
    drawn as often.

    Keys: name, passed, found, expected, p_value (of uniformity), remark, notes. Exit status 1 if
    any fails.
    """
    from sampled_metrics.evaluation.negatives import check_negatives

    checks = check_negatives(
        file, relevant, seen, items=items, columns=options.names_by_role(column)
    )
    emit_results(checks, form, output, explain)
    if not all(check.passed for check in checks):
        raise typer.Exit(NOT_SOUND)


@app.command(epilog="Example: sampled-metrics metrics")
def metrics(
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Print the names of metrics, and those of other libraries.

    Names may be in upper or lower case, with _ for -, and with a cut-off as @10, _10 or -10.

    Keys: library, theirs, ours, note; library is sampled-metrics for our own names, and
    theirs lists further names that are understood.
    """
    from sampled_metrics._base.text import Explanation
    from sampled_metrics.metrics.measures import synonyms

    rows = _own_names() + synonyms()
    if form is Format.TABLE:
        noted = [f"{row['library']} {row['theirs']}: {row['note']}." for row in rows if row["note"]]
        named = []
        for row in rows:
            first, *rest = wrap(row["theirs"], LONGEST) or [""]
            named.append({"library": row["library"], "theirs": first, "ours": row["ours"]})
            named += [{"library": "", "theirs": more, "ours": ""} for more in rest]
        emit_parts([named, Explanation("\n".join(noted))], output, explain)
    else:
        emit(rows, form, output)


@app.command(epilog="Example: sampled-metrics columns")
def columns(
    explain: options.Explain = False,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Print the columns of tables, and their other names.

    Names may be in upper or lower case, with _, - or a blank between words; the first that a table
    has is taken. Results name the columns that were not read.

    Keys: column, names, holds.
    """
    from sampled_metrics._base.text import Explanation
    from sampled_metrics.inputs.roles import ROLES

    if form is Format.TABLE:
        named = []
        for name, role in ROLES.items():
            first, *rest = wrap(", ".join(role.aliases), LONGEST) or [""]
            named.append({"column": name, "other names": first})
            named += [{"column": "", "other names": more} for more in rest]
        held = "\n".join(f"{name}: {role.holds}." for name, role in ROLES.items())
        emit_parts([named, Explanation(held)], output, explain)
    else:
        rows = [
            {"column": name, "names": ", ".join(role.aliases), "holds": role.holds}
            for name, role in ROLES.items()
        ]
        emit(rows, form, output)


def _own_names() -> list[dict[str, str]]:
    """Return the rows of our own names."""
    from sampled_metrics.metrics.measures import REGISTERED_METRICS, known_measures

    names = []
    for name in known_measures():
        metric = REGISTERED_METRICS[name.partition("@")[0].removesuffix("BETA")]
        names.append((", ".join(metric.aliases), name))
    return [
        {"library": "sampled-metrics", "theirs": theirs, "ours": ours, "note": ""}
        for theirs, ours in names
    ]
