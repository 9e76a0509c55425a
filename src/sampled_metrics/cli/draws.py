"""Commands for sampled ranks and negatives, names of metrics, and errors of ratings."""

from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampled_metrics._base.errors import reading
from sampled_metrics.cli import options
from sampled_metrics.cli.output import Format, Row, emit, emit_columns
from sampled_metrics.ranks import Sampling

if TYPE_CHECKING:
    from sampled_metrics.sampling.negatives import Check

app = typer.Typer()


@app.command()
def sample(
    file: options.RankFile,
    n_negatives: options.Negatives,
    repetitions: Annotated[int, options.option("How often to sample.", min=1)] = 1,
    seed: options.Seed = 0,
    sampling: options.Sampling = Sampling.WITHOUT_REPLACEMENT,
    ties: Annotated[str, options.option("random, optimistic, pessimistic or paper.")] = "random",
    n_items: options.Items = None,
    relevant: options.Relevant = None,
    seen: options.Seen = None,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw sampled ranks from full rankings, as if negatives had been sampled.

    Several held-out items of a user are a row each; the negatives of one may include the others.

    Keys: repetition (from 0), user_id (if the file has it; with --repetitions else the row from 1),
    item_id (if users have several held-out items, running numbers from 0), n_candidates,
    n_negatives, sampling, sampled_rank.
    """
    import numpy as np

    from sampled_metrics._base.arrays import generator, ranges
    from sampled_metrics.ranks import Ranks
    from sampled_metrics.sampling import draw_sampled_ranks

    ranks = Ranks.read(file, n_items=n_items, relevant=relevant, seen=seen)
    items = ranks.ungraded
    if items.is_complete and not items.is_single:  # each held-out item as a user of its own
        n_candidates = np.repeat(items.n_candidates, items.n_found)
        items = Ranks.trusted(n_candidates, items.n_better, items.n_tied, source=items.source)
    items = options.full_ranking(items, file, n_negatives)
    generators = [generator(seed, "sample", repetition) for repetition in range(repetitions)]
    drawn = draw_sampled_ranks(items, n_negatives, generators, sampling, ties)
    columns = {"repetition": np.repeat(np.arange(repetitions), len(items))}
    users = ranks.users
    if users is None and repetitions > 1:
        # Without ids, corrections would take each repetition for another user.
        users = np.arange(1, len(ranks) + 1)
    if users is not None:
        columns["user_id"] = np.tile(np.repeat(users, ranks.n_found), repetitions)
    if len(items) > len(ranks):
        columns["item_id"] = np.tile(ranges(0, ranks.n_found), repetitions)
    columns["n_candidates"] = np.tile(items.n_candidates, repetitions)
    rest = {"n_negatives": n_negatives, "sampling": str(sampling), "sampled_rank": drawn.ravel()}
    emit_columns(columns | rest, form, output)


@app.command()
def negatives(
    relevant: options.HeldOut,
    seen: options.SeenPairs,
    n_negatives: options.Negatives,
    items: options.AllItems = None,
    seed: options.Seed = 0,
    form: options.Form = Format.CSV,
    output: options.Output = None,
) -> None:
    """Draw negatives for each user, uniformly and without replacement.

    Seen and held-out items are no negatives. The same seed gives the same negatives, so that all
    recommenders can be ranked against them; add the held-out item of the user before scoring.

    Keys: user_id, item_id, a row for each negative.
    """
    import numpy as np

    from sampled_metrics.ranks.pairs import read_known_items
    from sampled_metrics.sampling.negatives import draw_negatives

    known = read_known_items(relevant, seen, items)
    with reading(relevant):
        drawn = draw_negatives(known.seen + known.held_out, n_negatives, seed=seed)
    users = np.repeat(known.user_ids, n_negatives)
    emit_columns({"user_id": users, "item_id": known.item_ids[drawn.ravel()]}, form, output)


@app.command("check-negatives")
def check_negatives(
    file: Annotated[Path, typer.Argument(help="Negatives: a table of user_id and item_id.")],
    relevant: options.HeldOut,
    seen: options.SeenPairs,
    items: options.AllItems = None,
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Test whether negatives are as corrections and ranges assume.

    Looks for held-out and seen items and duplicates among them, users with another number and
    negatives shared by users, and tests whether they are uniform over the items, over their ids
    and over their popularity. The p-values of these three are adjusted by Holm's method.

    Keys: name, passed, found, expected, p_value (of three), remark.
    """
    from sampled_metrics.ranks.pairs import read_known_items
    from sampled_metrics.sampling.negatives import check_negatives
    from sampled_metrics.tables import ITEM, USER, read_table

    table = read_table(file, "negatives (user_id, item_id)")
    table.require(USER, ITEM)
    known = read_known_items(relevant, seen, items, [table])
    user = table.places(USER, known.user_ids, "an id of the relevant items")
    item = table.places(ITEM, known.item_ids, "an id of the items")
    checks = check_negatives(user, item, known.seen, known.held_out)
    if form is not Format.TABLE:
        emit(list(map(asdict, checks)), form, output)
        return
    remarks = [f"{check.name}: {check.remark}." for check in checks if not check.passed]
    sound = "Sound: distinct, unseen and uniform as far as these tests can tell."
    emit(list(map(_shown, checks)), form, output, "\n".join(remarks) or sound)


def _shown(check: "Check") -> Row:
    """Show counts as whole numbers, and mean places in an order of the items in percent."""
    number = "{:,.0f}" if isnan(check.p_value) or check.expected > 1.0 else "{:.1%}"
    return {
        "check": check.name,
        "passed": "yes" if check.passed else "NO",
        "found": number.format(check.found),
        "if sound": number.format(check.expected),
        "p": "" if isnan(check.p_value) else f"{check.p_value:.2g}",
    }


@app.command()
def metrics(form: options.Form = Format.TABLE, output: options.Output = None) -> None:
    """Print the names of all metrics, and what other libraries call them.

    Names may be in upper or lower case, with _ for -, and with a cut-off as @10, _10 or -10.

    Keys: library, theirs, ours, note; library is sampled-metrics for our own names, theirs being
    the other names that are understood.
    """
    from sampled_metrics.metrics.measures import METRICS, known_measures, synonyms

    rows = []
    for name in known_measures():
        aliases = ", ".join(METRICS[name.partition("@")[0].removesuffix("BETA")].aliases)
        rows.append({"library": "sampled-metrics", "theirs": aliases, "ours": name, "note": ""})
    emit(rows + synonyms(), form, output)


@app.command()
def ratings(
    file: Annotated[Path, typer.Argument(help="Columns rating and prediction.")],
    form: options.Form = Format.TABLE,
    output: options.Output = None,
) -> None:
    """Calculate the errors of predicted ratings, in the unit of the ratings: RMSE and MAE.

    Keys: metric, value, n_ratings.
    """
    from sampled_metrics.metrics.formulas import mae, rmse
    from sampled_metrics.tables import read_table

    table = read_table(file, "ratings and their predictions", ("rating", "prediction"), ids=())
    table.require("rating", "prediction")
    true, predicted = table.finite("rating"), table.finite("prediction")
    errors = {"rmse": rmse(true, predicted), "mae": mae(true, predicted)}
    rows = [{"metric": n, "value": error, "n_ratings": true.size} for n, error in errors.items()]
    emit(rows, form, output)
